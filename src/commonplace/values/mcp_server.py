"""An MCP server that an agent may use."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from commonplace.errors import InvalidInput
from commonplace.values.json import JsonObject

_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9-]{0,23}")


@dataclass(frozen=True, kw_only=True, slots=True)
class McpServer(JsonObject):
    """
    Either a `command` that is started, with `args` and `env`, or a `url` that is asked, with `headers`. Its tools are called
    `<name>_<tool>`. Only if it is `trusted` are its tools used without a question; its text is untrusted all the same.
    """

    name: str
    command: str | None = None
    args: tuple[str, ...] = ()
    env: Mapping[str, str] = field(default_factory=dict[str, str], repr=False)
    url: str | None = None
    headers: Mapping[str, str] = field(default_factory=dict[str, str], repr=False)
    trusted: bool = False
    start_seconds: float = 20.0
    call_seconds: float = 60.0

    def check(self) -> McpServer:
        """
        Itself.

        Raises:
            InvalidInput: it could not be started or asked.
        """
        if not _NAME.fullmatch(self.name):
            raise InvalidInput("An MCP server's name has 1 to 24 letters, digits and hyphens.")
        if bool(self.command) == bool(self.url):
            raise InvalidInput(f"The MCP server {self.name} needs either a command or a url.")
        if self.url and not self.url.startswith(("http://", "https://")):
            raise InvalidInput(f"The url of the MCP server {self.name} begins with http:// or https://.")
        if not (0 < self.start_seconds <= 600 and 0 < self.call_seconds <= 3600):
            raise InvalidInput(f"The MCP server {self.name} may take at most 600 s to start and 3600 s for a call.")
        words = (self.command or "", *self.args, *self.env, *self.env.values(), *self.headers, *self.headers.values())
        if any("\0" in word or "\n" in word for word in words):
            raise InvalidInput(f"What the MCP server {self.name} is started with has a NUL or a line end in it.")
        return self
