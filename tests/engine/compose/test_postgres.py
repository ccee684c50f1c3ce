"""The same door onto PostgreSQL."""

from datetime import timedelta

import pytest

from commonplace import Memory, Rule, Turn, open_memory
from commonplace.errors import Conflict, EmbedderChanged, InvalidInput
from commonplace.testing.clock import FakeClock

WEB = "workspace:web"


def remember(memory: Memory) -> None:
    memory.put("Deploy with `make ship` from the repo root", scope=WEB, key="deploy", importance=80)
    memory.add_turns("standup", [Turn(speaker="user", text="We ship on Fridays")], scope=WEB)


def test_a_memory_on_postgres_remembers_recalls_and_forgets(address: str) -> None:
    clock = FakeClock()
    with open_memory(address, clock=clock) as memory:
        remember(memory)
        hits = memory.search("how do we deploy?", scopes=[WEB])
        heir = memory.supersede(hits[0].record.id, "Deploy with the button")
        memory.edit(heir.id, text="Deploy with the red button")
        memory.undo(heir.id)
        memory.set_rule(Rule(scope="workspace", max_age=timedelta(days=1)))
        clock.advance(timedelta(days=2))
        tidied = memory.tidy()

        assert hits[0].record.key == "deploy"
        assert (heir.key, memory.get(heir.id).text) == ("deploy", "Deploy with the button")
        assert memory.get(hits[0].record.id[:30]).superseded_by == heir.id
        assert [(entry.action, entry.records) for entry in tidied] == [("aged_out", 3)]
        assert memory.purge(scope=WEB).records == 3
        assert {finding.severity for finding in memory.check()} == {"ok"}


def test_a_key_that_is_taken_is_a_conflict_on_postgres_too(address: str) -> None:
    with open_memory(address) as memory:
        remember(memory)
        other = memory.put("mine", scope="agent:scout", key="deploy")

        with pytest.raises(Conflict):
            memory.promote(other.id, scope=WEB)


def test_the_embedders_of_a_store_on_postgres_are_kept(address: str) -> None:
    with open_memory(address) as memory:
        remember(memory)
    with pytest.raises(EmbedderChanged):
        open_memory(address, embedder="none")
    with open_memory(address, embedder="none", reindex=True) as memory:
        assert memory.reindex() == 2
        assert memory.stats().embedders == {}


def test_an_address_that_is_none_is_refused() -> None:
    with pytest.raises(InvalidInput):
        open_memory("postgresql://host/db?schema=public")
