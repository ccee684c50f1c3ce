"""Processes that take a session, write to it, sleep for long and let go, in any order: what one of them was told is kept is kept, and one writes at a time."""

import asyncio
import tempfile
from datetime import timedelta
from pathlib import Path
from typing import Final, Literal, TypeAlias

from hypothesis import given, settings
from hypothesis import strategies as st

from commonplace.agent.session_claims import ClaimedHistory, SessionClaims
from commonplace.compose.services import ComposeOptions, composed
from commonplace.settings import Settings
from commonplace.testing.agents import WHO
from commonplace.testing.clock import FakeClock
from commonplace.values.session import MessageDraft
from commonplace.values.session_lease import LeaseHolder, SessionElsewhere, SessionLost

LEASE: Final = timedelta(seconds=30)
Step: TypeAlias = tuple[Literal["take", "write", "renew", "release", "sleep"], int]
STEPS = st.tuples(st.sampled_from(("take", "write", "write", "renew", "release", "sleep")), st.integers(0, 2))


class Process:
    def __init__(self, number: int, claims: SessionClaims, history: ClaimedHistory) -> None:
        self.number = number
        self.claims = claims
        self.history = history

    async def do(self, what: str, session: str, text: str) -> list[str]:
        """What was kept."""
        key = WHO.tenant, session
        try:
            match what:
                case "take" if not self.claims.holds(*key):
                    await self.claims.take(*key)
                case "write":
                    draft = MessageDraft(id=text, role="user", kind="text", text=text)
                    await self.history.append(WHO, session, [draft])
                    return [text]
                case "renew":
                    await self.claims.renew()
                case "release":
                    await self.claims.release(key)
                case _:
                    pass
        except (SessionElsewhere, SessionLost):
            pass
        return []


async def played(home: Path, steps: list[Step]) -> None:
    clock = FakeClock()
    async with composed(Settings(home=home, embedder="none"), ComposeOptions(clock=clock)) as services:
        session = (await services.history.create(WHO, "assistant", {})).id
        leases = services.desk.store.session_leases
        processes: list[Process] = []
        for number in range(3):
            holder = LeaseHolder(process=f"p{number}", url=f"http://p{number}")
            claims = SessionClaims(leases, clock, holder, lease=LEASE, dead=lambda _: False)
            processes.append(Process(number, claims, ClaimedHistory(services.history, claims)))
        kept: list[str] = []
        for place, (what, number) in enumerate(steps):
            if what == "sleep":
                clock.advance(LEASE * (number + 1) / 2)
                continue
            lease = await leases.session_lease(WHO.tenant, session)
            new = await processes[number].do(what, session, f"{place} by p{number}")
            kept += new
            # Nobody writes while another process has a lease that holds.
            assert not new or lease is None or lease.holder.process == f"p{number}"
        messages = (await services.history.messages(WHO, session, limit=1000)).messages

    assert [message.text for message in messages] == kept


@settings(max_examples=25, deadline=None)
@given(steps=st.lists(STEPS, min_size=4, max_size=30))
def test_one_process_writes_at_a_time_and_what_it_was_told_is_kept_is_kept(steps: list[Step]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        asyncio.run(played(Path(folder) / "home", steps))
