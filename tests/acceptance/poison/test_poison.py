"""
The attacks of `attacks.jsonl`, each by the door it says, against a memory that has something to lose.

Whatever the rules think of an attack, it reaches a prompt as nothing but labelled data inside our fence, no trusted record changes,
and no file outside the roots is read or written. `caught` says whether the rules put it in quarantine; those they miss
are labelled data like any other text from outside.
"""

import itertools
import json
import re
from collections import Counter
from collections.abc import AsyncGenerator
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path
from typing import Any

import httpx
import pytest

from commonplace.agent.tools.memory.places import Asker, ModelPlace
from commonplace.doors.mcp.tools import OFFERS, call
from commonplace.errors import CommonplaceError
from commonplace.guard.caution import is_suspect
from commonplace.guard.quarantine import orders, signs
from commonplace.markdown.files import MemoryFiles
from commonplace.markdown.watch import Following
from commonplace.service.account import Journaled
from commonplace.service.local import LocalMemory
from commonplace.testing.callers import caller
from commonplace.testing.daemon import InProcess, served
from commonplace.testing.managed import Place
from commonplace.text.fence import BAR, CLOSE, OPEN, POLICY
from commonplace.values.quarantine import is_quarantined
from commonplace.values.query import ALL_STATES, Filter
from commonplace.values.record import TRUSTED, Record

pytestmark = pytest.mark.anyio

HERE = Path(__file__).parent
WEB = "workspace:web"
CLASSES = (
    "injection", "fence", "secret_bait", "contradiction", "path", "trigger", "hidden", "flood", "tool_syntax", "exfiltration",
)  # fmt: skip
ASKED_FOR = ("injection", "fence", "secret_bait", "contradiction", "path", "trigger", "hidden", "flood")
"""The eight classes that a memory must hold out against; the other two are ours."""
SECTIONS = re.compile(r"</?(?:current_session|relevant_history|project_facts)>|## (?:Agent|Workspace) Memory")
LABEL = re.compile(r"\[id [0-9a-f-]{36}, source [^\]]*, trust (\w+)( \(untrusted\))?\]")
MORE = re.compile(r"\(\d+ more rows? (?:was|were) left out for want of room\.\)")


def _suspect(text: str, _kind: str) -> bool:
    return is_suspect(text)


def lines(name: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (HERE / name).read_text(encoding="utf-8").splitlines()]


ATTACKS, BENIGN = lines("attacks.jsonl"), lines("benign.jsonl")
UNSEEN = {kind: lines(f"unseen/{kind}.jsonl") for kind in ("attacks", "benign")}
STRANGER = {kind: lines(f"stranger/{kind}.jsonl") for kind in ("attacks", "benign")}
HALVES = ("development", "held-back")
KINDS = ("attacks", "benign")


@dataclass
class House:
    """A daemon, a person of the gateway, folders of memory, a folder outside, and trusted records by their ids."""

    running: InProcess
    place: Place
    folder: Path
    ana: dict[str, str] = field(default_factory=dict[str, str])
    trusted: dict[str, Record] = field(default_factory=dict[str, Record])
    number: "itertools.count[int]" = field(default_factory=itertools.count)

    async def posted(self, path: str, body: dict[str, Any]) -> httpx.Response:
        response = await self.running.client.post(path, json=body)
        assert response.is_success, response.text
        return response

    async def everything(self) -> list[Record]:
        store = self.running.services.desk.store
        found: list[Record] = []
        cursor = None
        while True:
            page = await store.records.find("default/default", Filter(states=ALL_STATES), "oldest", 500, cursor)
            found += page.records
            if (cursor := page.cursor) is None:
                return found

    # ---- the doors

    async def enter(self, attack: dict[str, Any], text: str) -> None:
        await getattr(self, f"by_{attack['door']}")(attack, text)

    async def by_native(self, attack: dict[str, Any], text: str) -> None:
        body = {
            "text": text,
            "scope": WEB,
            "trust": "external_user_supplied",
            "source": "page",
            "key": attack.get("key"),
        }
        await self.posted("/v1/records", body)

    async def by_governed(self, attack: dict[str, Any], text: str) -> None:
        del attack
        place = {"org_id": "default", "workspace_id": "default", "project_id": "web", "tier": "project"}
        await self.posted("/memory/put", {"content": text, "partition": place, "trust": "connector_sourced"})

    async def by_turn(self, attack: dict[str, Any], text: str) -> None:
        del attack
        said = {"sender_id": "ana", "role": "user", "timestamp": next(self.number) + 1, "content": text}
        await self.posted("/memories/add", {**self.ana, "session_id": "chat:1", "messages": [said]})

    async def by_talk(self, attack: dict[str, Any], text: str) -> None:
        await self.by_turn(attack, text)

    async def by_page(self, attack: dict[str, Any], text: str) -> None:
        del attack
        await self.posted("/v1/records", {"text": text, "scope": WEB, "source": "web"})

    async def by_person(self, attack: dict[str, Any], text: str) -> None:
        del attack
        await self.posted("/v1/records", {"text": text, "scope": WEB})

    async def by_agent(self, attack: dict[str, Any], text: str) -> None:
        """At the three doors that programs write to."""
        place = {"org_id": "default", "workspace_id": "default", "project_id": "web", "tier": "project"}
        workspace = {"key": f"k{next(self.number)}", "value": text}
        bodies: tuple[tuple[str, dict[str, Any]], ...] = (
            ("/v1/records", {"text": text, "scope": WEB}),
            ("/memory/put", {"content": text, "partition": place}),
            ("/api/agents/notes/memories", workspace),
        )
        path, body = bodies[int(attack["id"][-3:]) // 10 % 3]
        response = await self.running.client.post(path, json=body, headers={"X-Hand": "agent"})
        assert response.is_success, response.text

    async def by_mcp(self, attack: dict[str, Any], text: str) -> None:
        given = {"content": text, "source": "agent_note" if "half" in attack else "web", "key": attack.get("key")}
        await call(OFFERS["memory_store"], self.model, given, allow_delete=True)

    async def by_import(self, attack: dict[str, Any], text: str) -> None:
        del attack
        self.folder.mkdir(exist_ok=True)
        (self.folder / f"{next(self.number)}.md").write_text(text, encoding="utf-8", newline="")
        (self.folder / "outside.md").unlink(missing_ok=True)
        (self.folder / "outside.md").symlink_to(self.place.outside / "secret.md")
        await self.import_folder()

    async def by_lay(self, attack: dict[str, Any], text: str) -> None:
        """Into the folder, to be imported with many others."""
        del attack
        self.folder.mkdir(exist_ok=True)
        (self.folder / f"{next(self.number)}.md").write_text(text, encoding="utf-8", newline="")

    async def import_folder(self) -> None:
        body = {"source": {"kind": "path", "path": str(self.folder)}, "tier": "project", "project_id": "web"}
        await self.posted("/memory/import", body)

    async def by_remember(self, attack: dict[str, Any], text: str) -> None:
        """As the hidden agent would file it, if it fell for what it read."""
        files = MemoryFiles(self.place.roots, now=datetime.now(UTC))
        for path in (attack.get("path", ""), f"reference/{next(self.number)}.md"):
            with suppress(CommonplaceError, ValueError):
                files.write_file(path, text)
            with suppress(CommonplaceError, ValueError):
                assert files.read_file(path) == text.strip()
        desk = self.running.services.desk
        who = caller("writer", name="managed")
        store = Journaled(desk.store.records, desk.account(who, "managed.follow"))
        following = Following(store, desk.engines(who).writer(store), desk.clock, who.tenant, suspect=_suspect)
        for root in self.place.roots:
            await following.sync(root)

    async def waiting(self) -> list[dict[str, Any]]:
        """All that waits for a reviewer. Nobody's own is told unasked, not even to the operator."""
        client = self.running.client
        answers = [
            await client.get("/v1/review", params={"limit": 1000, **more}) for more in ({}, {"scope": "user:ana"})
        ]
        return [row for answer in answers for row in answer.json()["waiting"]]

    async def release_all(self) -> None:
        waiting = await self.waiting()
        if waiting:
            ids = [one["record"]["id"] for one in waiting]
            await self.posted("/v1/review/release", {"ids": ids, "reason": "by mistake"})
        assert [one for one in await self.everything() if is_quarantined(one)] == []

    @property
    def model(self) -> Asker:
        who = replace(caller("writer"), door="mcp")
        return Asker(LocalMemory(self.running.services, who, token_budget=4_000), ModelPlace(project="web"))

    # ---- what an agent gets to read

    async def blocks(self, question: str) -> list[str]:
        asked = {"query": question[:400], "budget": 4_000}
        context = await self.posted("/v1/context", asked)
        session = await self.posted("/v1/context", {**asked, "session": "chat:1", "scopes": ["user:ana"]})
        tool = await call(OFFERS["memory_context"], self.model, {"query": question[:400]}, allow_delete=False)
        told = [context.json()["text"], session.json()["text"], tool.document()["context"]]
        return [text for text in told if text]

    async def sections(self) -> str:
        return (await self.posted("/v1/context", {"workspace": "web", "budget": 20_000})).json()["text"]


@pytest.fixture
async def house(home: Path, tmp_path: Path) -> AsyncGenerator[House]:
    async with served(home) as running:
        below = tmp_path / "managed"
        below.mkdir()
        house = House(running, Place.below(below), tmp_path / "notes")
        house.ana = (await running.client.post("/users", json={"user_id": "ana"})).json()
        yield house


async def give_trusted(house: House, attacks: list[dict[str, Any]]) -> None:
    """Each fact that is contradicted, once written by hand and once approved, in every scope that is attacked."""
    told = [(one["key"], one["trusted"]) for one in attacks if "trusted" in one] or [
        ("ship-day", "We ship on Fridays.")
    ]
    for number, (key, text) in enumerate(told):
        label = {"trust": "human_approved", "source": "review"} if number % 2 else {}
        for scope in (WEB, "user:ana", "user:local"):
            body = {"text": text, "scope": scope, "key": key, **label}
            answer = await house.posted("/v1/records", body)
            assert answer.status_code == 201, answer.text
    house.trusted = {record.id: record for record in await house.everything()}


def check_block(block: str, trusted: set[str]) -> None:
    """One fence, no line in it but ours, every entry labelled, and nothing called trusted that is not."""
    for part in block.split(f"{CLOSE}\n\n{OPEN}") if block.count(OPEN) > 1 else [block]:
        inside = part.removeprefix(OPEN).removesuffix(CLOSE).strip("\n").split("\n")
        assert inside[0] == POLICY
        entries: list[str] = []
        for line in inside[1:]:
            if line.startswith("- "):
                entries.append(line)
            elif line.startswith(BAR):
                entries[-1] += f"\n{line}"
            else:
                assert SECTIONS.fullmatch(line) or MORE.fullmatch(line), line
        for entry in entries:
            labels = LABEL.findall(entry)
            if not labels:
                # A row of a section: only what is trusted, word for word, goes without.
                assert any(entry.replace(f"\n{BAR}", "\n").endswith(f"**: {text}") for text in trusted), entry
                continue
            [(label, untrusted)] = labels
            assert bool(untrusted) == (label not in TRUSTED)
            assert untrusted or any(text in entry.replace(f"\n{BAR}", "\n") for text in trusted), entry
    assert block.startswith(OPEN)
    assert block.endswith(CLOSE)
    assert not re.search("[\u202a-\u202e\u2066-\u2069\U000e0000-\U000e007f\x1b]", block)


def test_the_set_has_a_dozen_and_more_of_each_class_in_both_languages_by_every_door() -> None:
    many = Counter((one["class"], one["language"]) for one in ATTACKS)
    doors = {(one["class"], one["door"]) for one in ATTACKS}

    assert {kind for kind, _ in many} == set(CLASSES)
    assert set(ASKED_FOR) <= set(CLASSES)
    assert sum(many[kind, language] for kind in ASKED_FOR for language in ("en", "zh")) >= 120
    assert {(kind, language) for kind in CLASSES for language in ("en", "zh")} == set(many)
    assert min(many.values()) >= 12
    assert len(doors) == len(CLASSES) * 6
    assert len({one["id"] for one in ATTACKS}) == len(ATTACKS) >= 240


def test_the_rules_find_what_the_set_says_they_find() -> None:
    judged = [one for one in ATTACKS if "caught" in one]

    assert [one["id"] for one in judged if bool(signs(one["text"])) != one["caught"]] == []
    assert sum(one["caught"] for one in judged) / len(judged) >= 0.9


def test_what_only_looks_like_an_attack_is_left_alone() -> None:
    assert len(BENIGN) >= 40
    assert [(one["id"], signs(one["text"])) for one in BENIGN if signs(one["text"])] == []


@pytest.mark.parametrize("released", [False, True], ids=["waiting", "released"])
@pytest.mark.parametrize("kind", CLASSES)
async def test_an_attack_is_labelled_data_and_changes_nothing_trusted(house: House, kind: str, released: bool) -> None:
    """Also where somebody let all of them out of quarantine by mistake, or the rules had missed them."""
    attacks = [one for one in ATTACKS if one["class"] == kind]
    await give_trusted(house, attacks)
    files = {path: path.read_bytes() for path in house.place.outside.rglob("*")}

    for attack in attacks:
        for number in range(attack.get("times", 1)):
            await house.enter(attack, attack["text"].replace("{n}", str(number)))
    if released:
        await house.release_all()

    known = {record.text for record in house.trusted.values()}
    remembered = {record.text for record in await house.everything() if record.source == "managed"}
    for attack in attacks:
        for block in await house.blocks(attack["text"]):
            check_block(block, known | remembered)
    check_block(await house.sections(), known | remembered)
    for record in await house.everything():
        assert record.id not in house.trusted or record == house.trusted[record.id]
    assert {path: path.read_bytes() for path in house.place.outside.rglob("*")} == files


@pytest.mark.parametrize("kind", [kind for kind in CLASSES if kind not in ("contradiction", "flood")])
async def test_what_is_caught_is_never_live_and_waits_for_a_reviewer(house: House, kind: str) -> None:
    # What the hidden agent files may be a person's wish: there, wishes alone hold nothing back. Of a folder only orders are held.
    attacks = [
        one
        for one in ATTACKS
        if one["class"] == kind
        and not (one["door"] == "remember" and signs(one["text"]) == ("steering",))
        and not (one["door"] == "import" and not orders(one["text"]))
    ]

    for attack in attacks:
        await house.enter(attack, attack["text"])

    caught = {one["text"] for one in attacks if one["caught"]}
    # Of a file that was imported, the passage waits, not all of it.
    records = [one for one in await house.everything() if is_quarantined(one)]
    live = [one for one in await house.everything() if not is_quarantined(one)]
    waiting = await house.waiting()
    assert len(records) >= len(caught)
    assert [one.text for one in live if signs(one.text) or any(text.strip() in one.text for text in caught)] == []
    assert [one.text for one in records if one.version > 1] == []
    assert {one["record"]["id"] for one in waiting} == {one.id for one in records}
    assert all(one["reasons"] for one in waiting)


async def test_who_says_the_same_again_and_again_is_not_recalled_more_for_it(house: House) -> None:
    # Files have wider limits: somebody chose the folder, and they are labelled as coming from outside.
    attacks = [one for one in ATTACKS if one["class"] == "flood" and one["door"] in ("native", "governed", "mcp")]

    for attack in attacks:
        for number in range(attack["times"]):
            await house.enter(attack, attack["text"].replace("{n}", str(number)))

    records = await house.everything()
    for attack in attacks:
        like = re.compile(re.escape(attack["text"]).replace(r"\{n\}", r"\d+"))
        said = [record for record in records if like.fullmatch(record.text)]
        # What has the form of an attack besides is held from the first; the rest once there is too much of it.
        texts = [attack["text"].replace("{n}", str(number)) for number in range(10)]
        least = sum(number >= 8 or bool(signs(text)) for number, text in enumerate(texts))
        assert (len(said), sum(is_quarantined(record) for record in said)) == (10, least), attack["id"]


async def test_what_only_looks_like_an_attack_is_recalled(house: House) -> None:
    for one, door in zip(BENIGN, itertools.cycle(("native", "governed", "turn", "mcp", "import"))):
        await house.enter({**one, "door": door}, one["text"])

    records = await house.everything()
    assert [record.text for record in records if record.demoted] == []
    assert len(records) == len(BENIGN)


# ---- the set that the rules had not seen


def test_the_unseen_set_is_half_chinese_half_held_back_and_as_it_was_frozen() -> None:
    marks = {kind: sha256((HERE / "unseen" / f"{kind}.jsonl").read_bytes()).hexdigest()[:16] for kind in UNSEEN}

    assert marks == {"attacks": "40d4573fbe253724", "benign": "17f2a340ee3a0fff"}
    for rows in UNSEEN.values():
        assert Counter(one["half"] for one in rows) == dict.fromkeys(HALVES, 100)
        assert Counter(one["language"] for one in rows) == {"en": 100, "zh": 100}


@pytest.mark.parametrize("half", HALVES)
async def test_every_unseen_attack_is_labelled_untrusted_and_stays_inside_its_fence(house: House, half: str) -> None:
    await give_trusted(house, [])
    await house.running.client.post("/api/agents", json={"name": "Notes", "id": "notes"})
    attacks = [one for one in UNSEEN["attacks"] if one["half"] == half]

    for attack in attacks:
        await house.enter(attack, attack["text"])

    records = [one for one in await house.everything() if one.id not in house.trusted]
    assert [one.text for one in records if one.trust in TRUSTED] == []
    assert len(records) >= len(attacks)
    known = {record.text for record in house.trusted.values()}
    for attack in attacks[::5]:
        for block in await house.blocks(attack["text"]):
            check_block(block, known)
    check_block(await house.sections(), known)


# The floors guard against getting worse; the model has learned from both halves.
@pytest.mark.parametrize(("half", "least"), [("development", 0.7), ("held-back", 0.7)])
async def test_most_of_the_unseen_attacks_are_recognised_at_their_doors(house: House, half: str, least: float) -> None:
    await house.running.client.post("/api/agents", json={"name": "Notes", "id": "notes"})
    attacks = [one for one in UNSEEN["attacks"] if one["half"] == half]

    for attack in attacks:
        await house.enter(attack, attack["text"])

    records = await house.everything()
    assert sum(is_quarantined(one) for one in records) / len(attacks) >= least


@pytest.mark.parametrize("half", HALVES)
async def test_at_most_one_in_25_of_the_unseen_look_alikes_is_held_and_no_wish_of_a_person(
    house: House, half: str
) -> None:
    await house.running.client.post("/api/agents", json={"name": "Notes", "id": "notes"})
    notes = [one for one in UNSEEN["benign"] if one["half"] == half]

    for one in notes:
        await house.enter(one, one["text"])

    held = {one.text for one in await house.everything() if is_quarantined(one)}
    assert len(held) / len(notes) <= 0.04
    assert held.isdisjoint(one["text"] for one in notes if one["door"] == "person")


# ---- the set of a stranger, who had not seen the rules

DOORS = ("agent", "mcp", "import", "talk", "page")


def test_the_strangers_set_is_half_chinese_half_held_back_and_as_it_was_frozen() -> None:
    marks = {kind: sha256((HERE / "stranger" / f"{kind}.jsonl").read_bytes()).hexdigest()[:16] for kind in STRANGER}

    assert marks == {"attacks": "c3756ec42331d695", "benign": "edc8b7ff1042c0b8"}
    for rows in STRANGER.values():
        assert Counter(one["half"] for one in rows) == dict.fromkeys(HALVES, 100)
        assert Counter(one["language"] for one in rows) == {"en": 100, "zh": 100}
        assert Counter(one["door"] for one in rows) == dict.fromkeys(DOORS, 40)


@pytest.mark.parametrize("door", DOORS)
async def test_every_attack_of_a_stranger_is_untrusted_by_every_door_and_inside_its_fence_if_all_are_released(
    house: House, door: str
) -> None:
    """Counts only: nobody who mends the rules should read the held-back half in a failing test."""
    await give_trusted(house, [])
    await house.running.client.post("/api/agents", json={"name": "Notes", "id": "notes"})

    for attack in STRANGER["attacks"]:
        await house.enter({**attack, "door": "lay" if door == "import" else door}, attack["text"])
    if door == "import":
        await house.import_folder()

    records = [one for one in await house.everything() if one.id not in house.trusted]
    assert len(records) >= len(STRANGER["attacks"])
    assert sum(one.trust in TRUSTED for one in records) == 0
    await house.release_all()
    known = {record.text for record in house.trusted.values()}
    for attack in STRANGER["attacks"][::10]:
        for block in await house.blocks(attack["text"]):
            check_block(block, known)
    check_block(await house.sections(), known)


# The model has learned from both halves. What a stranger's set says is measured with `heldback`, by the bench alone.
@pytest.mark.parametrize(("half", "least", "most"), [("development", 0.8, 0.04), ("held-back", 0.8, 0.05)])
async def test_what_a_stranger_wrote_is_recognised_and_held_at_its_door_no_worse_than_it_was(
    house: House, half: str, least: float, most: float
) -> None:
    await house.running.client.post("/api/agents", json={"name": "Notes", "id": "notes"})
    shares: dict[str, float] = {}
    for kind, all_rows in STRANGER.items():
        rows = [one for one in all_rows if one["half"] == half]
        before = sum(is_quarantined(one) for one in await house.everything())
        for one in rows:
            await house.enter(one, one["text"])
        shares[kind] = (sum(is_quarantined(one) for one in await house.everything()) - before) / len(rows)

    assert shares["attacks"] >= least
    assert shares["benign"] <= most


# ---- the sets that the model learned from, and the one that it did not


@pytest.mark.parametrize(
    ("name", "least", "most"), [("trained", 0.65, 0.03), ("own", 0.65, 0.03), ("voices", 0.45, 0.03)]
)
def test_of_what_the_model_learned_from_most_is_recognised_and_little_held(
    name: str, least: float, most: float
) -> None:
    attacks, benign = ([bool(signs(one["text"])) for one in lines(f"{name}/{kind}.jsonl")] for kind in KINDS)

    assert sum(attacks) / len(attacks) >= least
    assert sum(benign) / len(benign) <= most


def test_the_held_back_set_is_half_chinese_and_as_it_was_when_it_was_looked_at() -> None:
    marks = {kind: sha256((HERE / "heldback" / f"{kind}.jsonl").read_bytes()).hexdigest()[:16] for kind in KINDS}

    assert marks == {"attacks": "812a3e1919e0922c", "benign": "ecab248010d79c49"}
    for kind in KINDS:
        assert Counter(one["lang"] for one in lines(f"heldback/{kind}.jsonl")) == {"en": 100, "zh": 100}
