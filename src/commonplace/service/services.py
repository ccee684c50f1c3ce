"""
All use cases over one store. Each is made when it is first asked for: a command that only searches loads neither learning nor
the files of memory.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Final

from commonplace.errors import InvalidInput
from commonplace.service.recall import Recalling
from commonplace.service.records import Records
from commonplace.values.scope import DEFAULT_TENANT

if TYPE_CHECKING:
    from collections.abc import Sequence

    from commonplace.governance.work_folders import WorkFolders
    from commonplace.jobs.waiter import JobWaiter
    from commonplace.ports.embedder import Embedder
    from commonplace.service.approvals import Approvals
    from commonplace.service.artifacts import Artifacts
    from commonplace.service.budgets import Budgets
    from commonplace.service.capabilities import CapabilityIssuer
    from commonplace.service.census import Counting
    from commonplace.service.desk import Desk
    from commonplace.service.director import Directing
    from commonplace.service.distill import Distilling
    from commonplace.service.embedders import EmbedderSwitch, MakeEmbedders
    from commonplace.service.events import Listening
    from commonplace.service.extraction import Extracting
    from commonplace.service.history import History
    from commonplace.service.identity import Identity
    from commonplace.service.jobs import Tasks
    from commonplace.service.knowledge import Registry
    from commonplace.service.lanes import Lanes
    from commonplace.service.maintenance import Keeping
    from commonplace.service.markdown import Ground, Managed
    from commonplace.service.members import Members
    from commonplace.service.owners import Owners
    from commonplace.service.permission_log import PermissionLog
    from commonplace.service.resources import OwnResources
    from commonplace.service.review import Reviewing
    from commonplace.service.room_lessons import RoomLessons
    from commonplace.service.room_memory import RoomMemories
    from commonplace.service.run_streams import RunStreams
    from commonplace.service.runs import Runs
    from commonplace.service.schedules import Schedules
    from commonplace.service.shelves import Shelves
    from commonplace.service.transfer import Moving
    from commonplace.service.tree import Browsing
    from commonplace.values.principal import Principal
    from commonplace.values.task import MemoryTask, TaskKind
    from commonplace.values.upkeep import LimitsInForce


def no_embedders(names: Sequence[str]) -> Sequence[Embedder]:
    """Whoever composed the services makes no embedders: the store keeps those it has."""
    raise InvalidInput(f"{', '.join(names)} cannot be made here.")


_FILES: Final = ("context_runs", "artifacts")
"""As `runs/archive` and `artifacts/cabinet` call them, which load slowly."""


@dataclass(frozen=True, kw_only=True, slots=True)
class ServiceOptions:
    """
    What the use cases are told by whoever composes them. `token` and `signing` are of the operator's token; `most_records` is how
    many records a page or a batch may have; `ground` is where the files of memory lie, None where there are none; `limits` are those of a
    daemon, to be told; `make_embedders` makes embedders from their names, and `fixed_embedder` is the one that the settings name. Below `run_home` lie runs and
    artifacts, kept for `run_kept` after the last event and `artifact_kept` (None: forever); an artifact has at most `most_artifact` bytes.
    `schedule_zone` and `schedule_quiet` hold for schedules that name none.
    """

    token: bytes | None = None
    signing: bytes | None = None
    open_to_all: bool = False
    most_records: int = 1_000
    import_roots: tuple[Path, ...] = ()
    agent_roots: tuple[Path, ...] = ()
    home: Path | None = None
    tenant: str = DEFAULT_TENANT
    ground: Ground | None = None
    model: str | None = None
    daily_micro_usd: int = 0
    chat_micro_usd: int = 0
    models: tuple[str, ...] | None = None
    dreams: bool = False
    dream_micro_usd: int = 0
    session_idle: timedelta | None = timedelta(days=30)
    history_kept: timedelta | None = None
    limits: LimitsInForce | None = None
    make_embedders: MakeEmbedders = no_embedders
    fixed_embedder: str | None = None
    run_home: Path | None = None
    run_kept: timedelta | None = timedelta(days=30)
    artifact_kept: timedelta | None = timedelta(days=90)
    most_artifact: int = 8 << 20
    schedule_zone: str = "UTC"
    schedule_quiet: str | None = None


class Services:
    def __init__(self, desk: Desk, options: ServiceOptions) -> None:
        self.desk = desk
        self._options = options

    @cached_property
    def records(self) -> Records:
        return Records(self.desk, most=self._options.most_records, erase_runs=self._erase_runs)

    @cached_property
    def recall(self) -> Recalling:
        return Recalling(self.desk)

    @cached_property
    def identity(self) -> Identity:
        # Loaded when it is asked for, as the others below.
        from commonplace.service.identity import Identity  # noqa: PLC0415

        options = self._options
        return Identity(self.desk, options.token, open_to_all=options.open_to_all, signing=options.signing)

    @cached_property
    def members(self) -> Members:
        # As above.
        from commonplace.service.members import Members  # noqa: PLC0415

        return Members(self.desk)

    @cached_property
    def capabilities(self) -> CapabilityIssuer:
        # As above.
        from commonplace.service.capabilities import CapabilityIssuer  # noqa: PLC0415

        return CapabilityIssuer(self.desk, self._options.signing)

    @cached_property
    def approvals(self) -> Approvals:
        # As above.
        from commonplace.service.approvals import Approvals  # noqa: PLC0415

        return Approvals(self.desk)

    @cached_property
    def review(self) -> Reviewing:
        # As above.
        from commonplace.service.review import Reviewing  # noqa: PLC0415

        return Reviewing(self.desk)

    @cached_property
    def permission_log(self) -> PermissionLog:
        # As above.
        from commonplace.service.permission_log import PermissionLog  # noqa: PLC0415

        return PermissionLog(self.desk)

    @cached_property
    def moving(self) -> Moving:
        # As above: what reads files, and a .gitignore among them.
        from commonplace.service.transfer import Moving  # noqa: PLC0415

        return Moving(self.desk, self._options.import_roots, home=self._options.home)

    @cached_property
    def keeping(self) -> Keeping:
        # As above.
        from commonplace.service.maintenance import Keeping  # noqa: PLC0415

        return Keeping(self.desk, session_idle=self._options.session_idle, limits=self._options.limits)

    @cached_property
    def embedders(self) -> EmbedderSwitch:
        # As above.
        from commonplace.service.embedders import EmbedderSwitch  # noqa: PLC0415

        return EmbedderSwitch(self.desk, self._options.make_embedders, fixed=self._options.fixed_embedder)

    @cached_property
    def census(self) -> Counting:
        # As above.
        from commonplace.service.census import Counting  # noqa: PLC0415

        return Counting(self.desk)

    @cached_property
    def budgets(self) -> Budgets:
        # As above.
        from commonplace.service.budgets import Budgets  # noqa: PLC0415

        options = self._options
        return Budgets(self.desk, standard=options.daily_micro_usd, chat=options.chat_micro_usd, model=options.model)

    @cached_property
    def extraction(self) -> Extracting:
        # As above: rules of two languages.
        from commonplace.service.extraction import Extracting  # noqa: PLC0415

        return Extracting(self.desk)

    @cached_property
    def director(self) -> Directing:
        # As above.
        from commonplace.service.director import Directing  # noqa: PLC0415

        return Directing(self.desk)

    @cached_property
    def knowledge(self) -> Registry:
        # As above.
        from commonplace.service.knowledge import Registry  # noqa: PLC0415

        return Registry(self.desk)

    async def _erase_runs(self, tenant: str, owner: str, session: str | None = None, /) -> int:
        if not self.has_files:
            return 0
        count = await self.runs.erase(tenant, owner, session)
        return count if session is not None else count + await self.artifacts.erase(tenant, owner)

    @property
    def has_files(self) -> bool:
        """Whether there ever was a run or an artifact here."""
        home = self._options.run_home
        return home is not None and any((home / name).is_dir() for name in _FILES)

    @cached_property
    def work_folders(self) -> WorkFolders:
        """Where the tools of agents may work, and for whom."""
        # As above.
        from commonplace.governance.work_folders import WorkFolders  # noqa: PLC0415

        return WorkFolders(roots=self._options.agent_roots, home=self._options.home)

    @cached_property
    def history(self) -> History:
        # As above.
        from commonplace.service.history import History  # noqa: PLC0415

        return History(
            self.desk, retention=self._options.history_kept, folders=self.work_folders, erase_runs=self._erase_runs
        )

    @cached_property
    def schedules(self) -> Schedules:
        # As above.
        from commonplace.service.room_rules import RoomRules  # noqa: PLC0415
        from commonplace.service.schedules import SESSION, ScheduleOptions, Schedules, SessionRules  # noqa: PLC0415
        from commonplace.values.schedule import ROOM  # noqa: PLC0415

        options = self._options
        rules = {SESSION: SessionRules(self.history), ROOM: RoomRules(self.desk)}
        return Schedules(
            self.desk, ScheduleOptions(zone=options.schedule_zone, quiet=options.schedule_quiet, rules=rules)
        )

    @cached_property
    def room_memory(self) -> RoomMemories:
        # As above.
        from commonplace.service.room_memory import RoomMemories  # noqa: PLC0415

        return RoomMemories(self.desk, self._options.home, self._options.tenant)

    @cached_property
    def room_lessons(self) -> RoomLessons:
        # As above: rules of two languages.
        from commonplace.service.room_lessons import RoomLessons  # noqa: PLC0415

        return RoomLessons(self.desk, self.room_memory)

    @cached_property
    def owners(self) -> Owners:
        # As above.
        from commonplace.service.owners import Owners  # noqa: PLC0415

        return Owners(self.desk, self._options.models, self.work_folders)

    @cached_property
    def tree(self) -> Browsing:
        # As above: what makes layers of texts.
        from commonplace.service.tree import Browsing  # noqa: PLC0415

        return Browsing(self.desk)

    @cached_property
    def distilling(self) -> Distilling:
        # As above: rules of two languages.
        from commonplace.service.distill import Distilling  # noqa: PLC0415

        return Distilling(self.desk)

    @cached_property
    def resources(self) -> OwnResources:
        # As above.
        from commonplace.service.resources import OwnResources  # noqa: PLC0415

        return OwnResources(self.desk, self.records)

    @cached_property
    def runs(self) -> Runs:
        # As above.
        from commonplace.service.runs import Runs  # noqa: PLC0415

        return Runs(self.desk, self._options.run_home, keep=self._options.run_kept)

    @cached_property
    def run_streams(self) -> RunStreams:
        # As above.
        from commonplace.service.run_streams import RunStreams  # noqa: PLC0415

        return RunStreams(self.desk, self.runs)

    @cached_property
    def artifacts(self) -> Artifacts:
        # As above.
        from commonplace.service.artifacts import ArtifactLimits, Artifacts  # noqa: PLC0415

        limits = ArtifactLimits(keep=self._options.artifact_kept, most_bytes=self._options.most_artifact)
        return Artifacts(self.desk, self._options.run_home, self.runs, self.records, limits)

    @cached_property
    def managed(self) -> Managed:
        # As above: all of Markdown.
        from commonplace.service.markdown import Ground, Managed  # noqa: PLC0415

        nowhere = Ground(home=Path(), workspace=Path(), tenant="", enabled=False)
        return Managed(self.desk, self._options.ground or nowhere)

    @cached_property
    def shelves(self) -> Shelves:
        # As above.
        from commonplace.service.shelves import Shelves  # noqa: PLC0415

        return Shelves(self.desk, self.managed)

    @cached_property
    def lanes(self) -> Lanes:
        # As above.
        from commonplace.service.lanes import Lanes  # noqa: PLC0415

        options = self._options
        return Lanes(self.desk, self.managed, dreams=options.dreams, dream_micro_usd=options.dream_micro_usd)

    @cached_property
    def tasks(self) -> Tasks:
        # As above.
        from commonplace.service.jobs import Tasks  # noqa: PLC0415

        return Tasks(self.desk)

    @cached_property
    def job_waiter(self) -> JobWaiter:
        # As above.
        from commonplace.jobs.waiter import JobWaiter  # noqa: PLC0415

        job_waiter = JobWaiter()
        self.events.hub.watch(job_waiter.hear)
        return job_waiter

    @cached_property
    def events(self) -> Listening:
        # As above.
        from commonplace.events.hub import Hub  # noqa: PLC0415
        from commonplace.service.events import Listening  # noqa: PLC0415

        return Listening(self.desk, Hub(self.desk.store.events))


async def waited_task(services: Services, who: Principal, kind: TaskKind, id: str, seconds: float) -> MemoryTask:
    """A task of managed memory, as soon as it is over or the wait is. No method: a daemon observes services, and this is none."""
    # As above.
    from commonplace.jobs.waiter import Wait  # noqa: PLC0415

    look = partial(services.lanes.task, who, kind, id)
    return await services.job_waiter.until(who, id, Wait(seconds=seconds), look)
