"""How an agent is set up, at the command: read from a file, changed by options, shown in lines."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from commonplace.cli.lines import clean, oneline
from commonplace.cli.moments import stamp
from commonplace.errors import InvalidInput
from commonplace.values.agent_profile import AgentProfile, ApprovalMode
from commonplace.values.principal import Owner

_ALL = "all"


def read_profile(text: str) -> AgentProfile:
    """Raises InvalidInput: it is no profile, and which field is wrong."""
    # They load slowly, and hardly any command reads a profile.
    from pydantic import ValidationError

    # As above.
    from commonplace.wire.owners import AgentProfileBody

    try:
        return AgentProfileBody.model_validate_json(text).value()
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        field = ".".join(map(str, first["loc"])) or "the file"
        raise InvalidInput(f"The profile cannot be used: {field}: {first['msg']}.") from error


@dataclass(frozen=True, kw_only=True)
class ProfileEdit:
    """What is to be different. None leaves as it is; an empty text, or no entry but an empty one, takes it away."""

    persona: str | None = None
    model: str | None = None
    skills: Sequence[str] | None = None
    resources: Sequence[str] | None = None
    tools: Sequence[str] | None = None
    approval: ApprovalMode | None = None

    @property
    def is_empty(self) -> bool:
        return self == ProfileEdit()

    def applied(self, profile: AgentProfile) -> AgentProfile:
        changes: dict[str, Any] = {}
        if self.persona is not None:
            changes["persona"] = self.persona
        if self.model is not None:
            changes["model"] = self.model or None
        if self.skills is not None:
            changes["skills"] = tuple(filter(None, self.skills))
        if self.resources is not None:
            changes["resources"] = tuple(filter(None, self.resources))
        if self.tools is not None:
            changes["tools"] = None if list(self.tools) == [_ALL] else tuple(filter(None, self.tools))
        if self.approval is not None:
            changes["approval"] = self.approval
        return replace(profile, **changes)


def agent_lines(agent: Owner) -> list[str]:
    """The agent's own line, and one for each thing that was set up."""
    switch = "on" if agent.memory_enabled else "off"
    lines = [f"{clean(agent.id)}\t{clean(agent.name)}\t{switch}\t{stamp(agent.updated_at)}"]
    profile = agent.profile
    if profile is None:
        return lines
    servers = (
        f"{server.name} ({server.url or ' '.join((server.command or '', *server.args))})"
        for server in profile.mcp_servers
    )
    rows = [
        ("persona", oneline(profile.persona)),
        ("model", profile.model or ""),
        ("skills", " ".join(profile.skills)),
        ("resources", " ".join(profile.resources)),
        ("tools", "" if profile.tools is None else " ".join(profile.tools) or "none"),
        ("mcp servers", ", ".join(servers)),
        ("approval", profile.approval),
    ]
    return [*lines, *(f"{name}\t{clean(text)}" for name, text in rows if text)]
