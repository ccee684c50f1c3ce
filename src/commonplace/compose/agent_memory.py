"""From settings to the memory of an agent: exactly one backend of its own, and the workspace's memory beside it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from commonplace.agent.memory.backend import MemoryBackend
from commonplace.agent.memory.curated_pair import CuratedMemoryBackend
from commonplace.agent.memory.workspace import Consolidate, LearnInRoom, WorkspaceMemory, WorkspaceMemoryOptions
from commonplace.markdown.curated_pair import CuratedFiles

if TYPE_CHECKING:
    from commonplace.agent.memory.gateway import MemoryGatewayBackend
    from commonplace.agent.memory.gateway_client import GatewayOptions
    from commonplace.settings import Settings


@dataclass(frozen=True, kw_only=True, slots=True)
class AgentMemory:
    """
    `backend` is the one that the settings chose. `curated` are the files of the tool `memory`: None in gateway mode, which has no such tool.
    `workspace` is None if it neither recalls nor learns. Close it with `aclose`.
    """

    backend: CuratedMemoryBackend | MemoryGatewayBackend
    curated: CuratedFiles | None
    workspace: WorkspaceMemory | None

    @property
    def backends(self) -> tuple[MemoryBackend, ...]:
        """In the order in which their sections stand in a prompt."""
        return (self.backend,) if self.workspace is None else (self.backend, self.workspace)

    async def aclose(self) -> None:
        if not isinstance(self.backend, CuratedMemoryBackend):
            await self.backend.aclose()


def agent_memory(
    settings: Settings, *, consolidate: Consolidate | None = None, learn_in_room: LearnInRoom | None = None
) -> AgentMemory:
    """
    Chosen once: another mode counts after a restart.

    Raises:
        InvalidInput: the mode is memory_gateway, and something that it needs is missing or wrong.
    """
    gateway = gateway_options(settings)
    options = WorkspaceMemoryOptions(
        recall=settings.agent_recall if settings.agent_recall is not None else gateway is None,
        learn=settings.agent_learn if settings.agent_learn is not None else gateway is None,
        capture=settings.agent_capture,
        budget=settings.token_budget,
    )
    workspace = (
        WorkspaceMemory(options, consolidate=consolidate, learn_in_room=learn_in_room)
        if options.recall or options.learn
        else None
    )
    if gateway is None:
        files = CuratedFiles(settings.home, settings.tenant)
        return AgentMemory(backend=CuratedMemoryBackend(files), curated=files, workspace=workspace)
    # A client of HTTP loads slowly, and curated memory needs none.
    from commonplace.agent.memory.gateway import MemoryGatewayBackend  # noqa: PLC0415
    from commonplace.agent.memory.gateway_client import MemoryGatewayClient  # noqa: PLC0415

    backend = MemoryGatewayBackend(MemoryGatewayClient(gateway))
    return AgentMemory(backend=backend, curated=None, workspace=workspace)


def gateway_options(settings: Settings) -> GatewayOptions | None:
    """
    The gateway of the settings; None in curated mode.

    Raises:
        InvalidInput: as above. What it says never holds the key.
    """
    if settings.memory_mode == "curated":
        return None
    from commonplace.agent.memory.gateway_client import GatewayOptions  # noqa: PLC0415 - as above

    key = settings.memory_gateway_user_key
    return GatewayOptions(
        base_url=settings.memory_gateway_base_url or "",
        user_id=settings.memory_gateway_user_id or "",
        user_key=key.get_secret_value() if key else "",
        app_id=settings.memory_gateway_app_id,
        project_id=settings.memory_gateway_project_id,
        scope=settings.memory_gateway_scope,
        top_k=settings.memory_gateway_top_k,
        timeout_seconds=settings.memory_gateway_timeout_seconds,
    )
