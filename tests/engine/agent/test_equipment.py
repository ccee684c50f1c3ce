"""What an agent has in a turn, by who speaks."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from commonplace.agent.equipment import EquipmentParts, Outfit, ToolOptions
from commonplace.agent.live_session import LiveSession, PermissionParts, Player, Prompt
from commonplace.agent.permissions import Permissions
from commonplace.agent.turn_course import Equipment
from commonplace.events.ring import Ring
from commonplace.governance.work_folders import WorkFolders
from commonplace.ports.memory_client import MemoryClient
from commonplace.service.local import LocalMemory
from commonplace.testing.agents import WHO, TurnBench
from commonplace.values.agent_profile import AgentProfile, ApprovalMode
from commonplace.values.note import Note
from commonplace.values.principal import Principal, ScopePattern
from commonplace.values.scope import Scope
from commonplace.values.session import Session
from commonplace.values.session_state import SessionOptions

pytestmark = pytest.mark.anyio

ANA = Principal(subject="ana", tenant=WHO.tenant, role="writer")
FILES = {"read_file", "list_folder", "write_file", "edit_file", "glob", "grep"}


async def no_scopes(who: Principal) -> tuple[Scope, ...]:
    del who
    return ()


class IdlePlayer(Player):
    async def play(self, live: LiveSession, prompt: Prompt) -> None:
        del live, prompt

    async def options(self, live: LiveSession, who: Principal) -> SessionOptions:
        raise NotImplementedError

    async def configure(self, live: LiveSession, who: Principal, *, mode: str | None, model: str | None) -> None:
        raise NotImplementedError


class Wardrobe:
    """Outfits of turns in one session, over a real store."""

    def __init__(self, bench: TurnBench, folders: WorkFolders) -> None:
        self.profile = AgentProfile()
        self.askers: list[Principal] = []
        self._bench = bench
        self._outfit = Outfit(
            EquipmentParts(
                memory_of=self._memory_of,
                scopes_of=no_scopes,
                profile_of=self._profile_of,
                model_of=lambda *_: "librarian",
                backends=(),
                curated=None,
                recalls=True,
                clock=bench.services.desk.clock,
                tools=ToolOptions(folders=folders),
            )
        )

    def _memory_of(self, who: Principal) -> MemoryClient:
        self.askers.append(who)
        return LocalMemory(self._bench.services, who)

    async def _profile_of(self, who: Principal, agent: str) -> AgentProfile:
        del who, agent
        return self.profile

    def live(self, **fields: object) -> LiveSession:
        now = self._bench.services.desk.clock.now()
        session = Session(id="talk", owner=WHO.subject, agent="assistant", created_at=now, updated_at=now)
        session = replace(session, **fields)  # pyright: ignore[reportArgumentType] - as a test says
        permissions = Permissions(mode="default")

        def make(who: Principal, session: Session) -> Permissions:
            del who, session
            return permissions

        return LiveSession(
            session,
            [],
            tenant=WHO.tenant,
            ring=Ring(self._bench.services.desk.clock),
            permissions=PermissionParts(rules=make, clock=self._bench.services.desk.clock),
            player=IdlePlayer(),
        )

    async def equip(self, live: LiveSession, who: Principal) -> Equipment:
        prompt = Prompt(who=who, run="run-1", text="Hello", at=self._bench.services.desk.clock.now())
        async with self._outfit.equip(live, prompt) as equipment:
            return equipment


@pytest.fixture
def open_root(tmp_path: Path) -> Path:
    (tmp_path / "open").mkdir()
    return tmp_path / "open"


def names(equipment: Equipment) -> set[str]:
    return {tool.name for tool in equipment.tools}


async def test_a_folder_gives_the_operator_files_and_commands_and_others_files_below_a_root_alone(
    bench: TurnBench, open_root: Path, tmp_path: Path
) -> None:
    wardrobe = Wardrobe(bench, WorkFolders(roots=(open_root,), home=tmp_path / "home"))
    below, elsewhere = wardrobe.live(folder=str(open_root)), wardrobe.live(folder=str(tmp_path))

    assert names(await wardrobe.equip(elsewhere, WHO)) > FILES | {"shell"}
    # The session was begun by the operator; what counts is who speaks in it.
    assert not names(await wardrobe.equip(elsewhere, ANA)) & (FILES | {"shell"})
    assert names(await wardrobe.equip(below, ANA)) > FILES
    assert "shell" not in names(await wardrobe.equip(below, ANA))
    assert "shell" not in names(await wardrobe.equip(below, replace(ANA, role="admin")))


async def test_nobodys_tools_work_in_our_own_home(bench: TurnBench, tmp_path: Path) -> None:
    wardrobe = Wardrobe(bench, WorkFolders(home=tmp_path / "home"))

    assert not names(await wardrobe.equip(wardrobe.live(folder=str(tmp_path / "home" / "agents")), WHO)) & FILES


@pytest.mark.parametrize(("row", "mode"), [("plan", "plan"), ("auto-edit", "auto-edit"), ("yolo", "default")])
async def test_the_agents_row_says_what_is_asked_and_only_the_operator_turns_questions_off(
    bench: TurnBench, row: ApprovalMode, mode: ApprovalMode
) -> None:
    wardrobe = Wardrobe(bench, WorkFolders())
    wardrobe.profile = AgentProfile(approval=row)
    live = wardrobe.live()

    await wardrobe.equip(live, WHO)

    assert live.permissions_of(WHO).mode == mode


async def test_the_mode_of_a_session_counts_before_that_of_the_agents_row(bench: TurnBench) -> None:
    wardrobe = Wardrobe(bench, WorkFolders())
    wardrobe.profile = AgentProfile(approval="auto-edit")
    live = wardrobe.live()
    live.mode = "plan"

    await wardrobe.equip(live, WHO)

    assert live.permissions_of(WHO).mode == "plan"


async def test_in_a_shared_session_nothing_is_recalled_that_is_only_the_speakers(bench: TurnBench) -> None:
    wardrobe = Wardrobe(bench, WorkFolders())
    own = Note(text="Ana's salary is 4711", scope="user:ana")
    await LocalMemory(bench.services, WHO).put_many(
        [own, Note(text="The salary round is in May", scope="workspace:web")]
    )

    async def texts(*, shared: bool) -> set[str]:
        live = wardrobe.live(shared=shared, workspace="web")
        memory = (await wardrobe.equip(live, ANA)).context.memory
        return {hit.record.text for hit in await memory.search("salary")}

    assert len(await texts(shared=False)) == 2
    assert await texts(shared=True) == {"The salary round is in May"}
    # The tools of the model have no more than that.
    assert {who.reaches(own_scope) for who in wardrobe.askers[-2:]} == {False}


own_scope = Scope("user", "ana")


@pytest.mark.parametrize(
    ("patterns", "reached"),
    [
        (None, {"global", "workspace:web", "agent:coder", "session:talk"}),
        (["*"], {"global", "workspace:web", "agent:coder", "session:talk"}),
        (["workspace:web", "user:ana"], {"workspace:web", "session:talk"}),
        (["user:*", "session:*"], {"session:talk"}),
    ],
)
def test_in_company_a_person_has_what_is_everybodys_as_far_as_their_key_goes(
    patterns: list[str] | None, reached: set[str]
) -> None:
    scopes = None if patterns is None else tuple(map(ScopePattern, patterns))
    names = ["global", "workspace:web", "agent:coder", "user:ana", "user:bob", "session:talk", "session:talk-2"]

    for role in ("writer", "admin"):
        who = replace(ANA, scopes=scopes, role=role).in_company("talk")
        assert {name for name in names if who.reaches(Scope.parse(name))} == reached


def test_a_star_in_the_id_of_a_session_opens_no_other_session() -> None:
    who = ANA.in_company("*")

    assert not who.reaches(Scope("session", "others"))
    assert not ANA.in_company("talk*").reaches(Scope("session", "talk-2"))
