"""What an editor asks for, as far as we read it. What else stands in a request is of no matter to us, and does no harm."""

from __future__ import annotations

from typing import Annotated, Any, Literal, TypeAlias

from pydantic import BaseModel, ConfigDict, Field
from pydantic.alias_generators import to_camel

Text: TypeAlias = Annotated[str, Field(max_length=4_096)]
SessionId: TypeAlias = Annotated[str, Field(min_length=1, max_length=255)]


class _Shape(BaseModel):
    model_config = ConfigDict(alias_generator=to_camel, frozen=True)


class EditorFileCapabilities(_Shape):
    read_text_file: bool = False
    write_text_file: bool = False


class EditorCapabilities(_Shape):
    fs: EditorFileCapabilities | None = None
    terminal: bool | None = None


class InitializeParams(_Shape):
    protocol_version: Annotated[int, Field(ge=0, le=65_535)]
    client_capabilities: EditorCapabilities | None = None


class AuthenticateParams(_Shape):
    method_id: Text


class LogoutParams(_Shape):
    """Nothing is said."""


class NameValue(_Shape):
    name: Text
    value: str


class EditorServer(_Shape):
    """An MCP server: of the type `stdio`, which says no type, it has a command; else it has a url."""

    name: Text
    type: Text = "stdio"
    command: Text | None = None
    args: tuple[str, ...] = ()
    env: tuple[NameValue, ...] = ()
    url: Text | None = None
    headers: tuple[NameValue, ...] = ()


class NewSessionParams(_Shape):
    cwd: Text
    mcp_servers: Annotated[tuple[EditorServer, ...], Field(max_length=32)] = ()


class OpenSessionParams(_Shape):
    session_id: SessionId
    cwd: Text | None = None
    mcp_servers: Annotated[tuple[EditorServer, ...], Field(max_length=32)] = ()


class ListSessionsParams(_Shape):
    cursor: Text | None = None
    cwd: Text | None = None


class NamedSessionParams(_Shape):
    session_id: SessionId


class ModeParams(_Shape):
    session_id: SessionId
    mode_id: Text


class ConfigOptionParams(_Shape):
    session_id: SessionId
    config_id: Text
    value: Any


class EmbeddedResource(_Shape):
    uri: str
    text: str | None = None


class PromptBlock(_Shape):
    """A piece of a prompt: a text, a link or a resource. Pictures and sounds are not taken."""

    type: Literal["text", "resource_link", "resource", "image", "audio"]
    text: str | None = None
    name: str | None = None
    uri: str | None = None
    resource: EmbeddedResource | None = None


class PromptParams(_Shape):
    session_id: SessionId
    prompt: Annotated[tuple[PromptBlock, ...], Field(min_length=1, max_length=1_000)]


class CancelParams(_Shape):
    request_id: int | str
