"""
Memory as folders: addresses and nodes.

    commonplace://resources/<project>/…              the scope workspace:<project>
    commonplace://user/<id>[/memories]/…             user:<id>
    commonplace://agent/<id>[/skills|/memories]/…    agent:<id>
    commonplace://session/<id>/…                     session:<id>
    commonplace://channel/<id>/…                     channel:<id>
    commonplace://global/…                           global

`tandem://` is read as well. What stands between two slashes is percent-encoded only if it would be read as something else.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Final, Literal
from unicodedata import category
from urllib.parse import quote, unquote

from commonplace.errors import InvalidInput
from commonplace.values.json import Json, JsonObject, Natural
from commonplace.values.moment import Moment
from commonplace.values.scope import Scope, ScopeKind

SCHEME: Final = "commonplace://"
SCHEMES: Final = (SCHEME, "tandem://")
MAX_URI: Final = 4_096
GLOBAL: Final = "global"
KINDS: Final[Mapping[str, ScopeKind]] = {
    "agent": "agent",
    "channel": "channel",
    "resources": "workspace",
    "session": "session",
    "user": "user",
}
"""The folders of the root, and the kind of scope that each holds."""
ALIASES: Final[Mapping[str, tuple[str, ...]]] = {"agent": ("memories", "skills"), "user": ("memories",)}
"""What may stand after an id without leading anywhere else."""

NodeType = Literal["directory", "file"]

# Punctuation that means nothing in an address.
_PLAIN: Final = frozenset("-._~@+,=()!$'*:")


@dataclass(frozen=True, kw_only=True, slots=True)
class Node(JsonObject):
    """
    A folder, or a record as a file. The `id` of a file is the record's, that of a folder its address. A folder's times are those
    of the records in it; None if there are none.
    """

    id: str
    uri: str
    parent_uri: str | None
    name: str
    node_type: NodeType
    metadata: Mapping[str, Json] = field(default_factory=dict[str, Json])
    created_at: Moment | None = None
    updated_at: Moment | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class LayerSummary(JsonObject):
    """How the layers begin that were made. `has_l2`: there is a text."""

    l0_preview: str | None = None
    l1_preview: str | None = None
    has_l2: bool = False


@dataclass(frozen=True, kw_only=True, slots=True)
class TreeNode(JsonObject):
    """
    A node and what is in it. `files` is how many records are in it and below, None if they were not counted. `abstract` is its L0, else how its text begins.
    `more` children are not shown; `cursor` gets the next ones of a listing of one level.
    """

    node: Node
    children: tuple[TreeNode, ...] = ()
    layer_summary: LayerSummary = LayerSummary()
    files: Natural | None = None
    abstract: str | None = None
    more: Natural = 0
    cursor: str | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Outline:
    """What a record's name in the tree is made of. `beginning` is how its text begins."""

    id: str
    kind: str
    beginning: str
    created_at: datetime
    updated_at: datetime
    is_live: bool
    key: str | None = None
    title: str | None = None
    file: str | None = None
    session: str | None = None
    position: int | None = None
    speaker: str | None = None
    pinned: bool = False
    importance: int = 0
    expires_at: datetime | None = None

    def is_listed(self, now: datetime) -> bool:
        return self.is_live and (self.expires_at is None or self.expires_at > now)


@dataclass(frozen=True, slots=True)
class TreePlace:
    """What an address names. `kind` is empty for the root, `id` is None for all of a kind, `path` empty for a whole scope."""

    kind: str = ""
    id: str | None = None
    alias: str | None = None
    path: tuple[str, ...] = ()

    @property
    def scope(self) -> Scope | None:
        if self.kind == GLOBAL:
            return Scope("global")
        return Scope(KINDS[self.kind], self.id) if self.id is not None else None

    @property
    def uri(self) -> str:
        parts = (self.kind, self.id, self.alias, *self.path)
        return SCHEME + "/".join(_encoded(part) for part in parts if part)

    @property
    def name(self) -> str:
        return self.path[-1] if self.path else self.alias or self.id or self.kind

    @property
    def parent(self) -> TreePlace | None:
        if self.path:
            return replace(self, path=self.path[:-1])
        if self.alias is not None:
            return replace(self, alias=None)
        if self.id is not None:
            return TreePlace(self.kind)
        return TreePlace() if self.kind else None

    @property
    def steps(self) -> tuple[str, ...]:
        """The path as folders have it. In addresses of before, a key with slashes in it is one part."""
        return tuple(step for part in self.path for step in part.split("/"))

    def below(self, name: str) -> TreePlace:
        return replace(self, path=(*self.path, name))

    @classmethod
    def of(cls, scope: Scope) -> TreePlace:
        if scope.kind == "global":
            return cls(GLOBAL)
        return cls(next(folder for folder, kind in KINDS.items() if kind == scope.kind), scope.id)


def is_address(text: str) -> bool:
    """Whether it begins as an address in the tree does."""
    return text.lower().startswith(SCHEMES)


def read_uri(uri: str) -> TreePlace:
    """
    Raises:
        InvalidInput: it is no address in the tree.
    """
    scheme = next((scheme for scheme in SCHEMES if uri[: len(scheme)].lower() == scheme), None)
    if scheme is None or len(uri) > MAX_URI:
        raise InvalidInput(f"{uri!r:.80} is no address in the context tree. Write commonplace://resources/<project>.")
    path = uri[len(scheme) :].removesuffix("/")
    parts = [unquote(part, errors="strict") if _is_utf8(part) else "" for part in path.split("/")] if path else []
    if not all(parts):
        raise InvalidInput(f"{uri!r:.80} has an empty or unreadable part between two slashes.")
    if not parts:
        return TreePlace()
    kind, *rest = parts
    if kind == GLOBAL:
        return TreePlace(kind, path=tuple(rest))
    if kind not in KINDS:
        folders = ", ".join([*KINDS, GLOBAL])
        raise InvalidInput(f"{kind!r:.40} is no folder of the context tree. There are {folders}.")
    if not rest:
        return TreePlace(kind)
    id, *rest = rest
    alias = rest.pop(0) if rest and rest[0] in ALIASES.get(kind, ()) else None
    return TreePlace(kind, id, alias, tuple(rest))


def _encoded(part: str) -> str:
    """Letters of any script stay readable."""
    return "".join(sign if _is_plain(sign) else quote(sign, safe="") for sign in part)


def _is_plain(sign: str) -> bool:
    return sign.isalnum() or sign in _PLAIN or category(sign)[0] == "M"


def _is_utf8(part: str) -> bool:
    try:
        unquote(part, errors="strict").encode("utf-8")
    except UnicodeError:
        return False
    return True
