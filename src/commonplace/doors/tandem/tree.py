"""
The context tree: memory as folders, a view over the records and no table of its own.

    commonplace://resources/<project>              the scope workspace:<project>
    commonplace://user/<id>[/memories]             user:<id>
    commonplace://agent/<id>[/skills|/memories]    agent:<id>
    commonplace://session/<id>                     session:<id>
    commonplace://channel/<id>                     channel:<id>
    commonplace://global                           global

A scope is a directory, a record in it a file, named by its key or else its id. What stands between two slashes is
percent-encoded where it has to be. A record's text is its layer L2. L0 and L1 are shorter tellings of it, made when
somebody asks for them and kept with the version they tell.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from hashlib import sha256
from typing import Final, Literal, TypeAlias
from urllib.parse import quote, unquote

from commonplace.errors import Forbidden, InvalidInput, ModelError, NotFound, RecordNotFound, SpendingCapReached
from commonplace.governance.access import require_role
from commonplace.guard.caution import is_attack
from commonplace.learning.by_model import MICRO_USD
from commonplace.learning.prompts import SHORTEN, fenced
from commonplace.ports.knowledge import KnowledgeStore, Layer, LayerName
from commonplace.ports.models import Task, TaskLimits
from commonplace.ports.recall import RecallStore
from commonplace.ports.records import RecordStore
from commonplace.service.desk import Desk
from commonplace.text.extractive import summary
from commonplace.text.scrub import scrub
from commonplace.text.tokens import TokenCounter
from commonplace.values.principal import Principal
from commonplace.values.query import Filter, Page
from commonplace.values.record import Json, Record
from commonplace.values.scope import Scope, ScopeKind
from commonplace.values.usage import work_session

SCHEME: Final = "commonplace://"
SCHEMES: Final = (SCHEME, "tandem://")
MAX_URI: Final = 4_096
DEPTH: Final = 3
MAX_DEPTH: Final = 5
MAX_CHILDREN: Final = 200
MAX_NODES: Final = 1_000
"""How many nodes a whole tree has at most."""

LAYERS: Final[Mapping[LayerName, int]] = {"L0": 100, "L1": 2_000}
"""How many tokens a layer has at most."""

NodeType = Literal["directory", "file"]
Reaches: TypeAlias = Callable[[Scope], bool]
Shorten: TypeAlias = Callable[[str, int], Awaitable[str | None]]
"""Tells a text in at most so many tokens, in words of its own; None where that cannot be done."""

_KINDS: Final[Mapping[str, ScopeKind]] = {
    "agent": "agent",
    "channel": "channel",
    "resources": "workspace",
    "session": "session",
    "user": "user",
}
_FOLDERS: Final[Mapping[str, tuple[str, ...]]] = {"agent": ("memories", "skills"), "user": ("memories",)}
_GLOBAL: Final = "global"
_DIRECTORY: Final = "dir-"
# Further pages that are read in one tree only to say how many children were left out.
_COUNTED_PAGES: Final = 10


@dataclass(frozen=True, kw_only=True, slots=True)
class Node:
    """A directory's times are those of the records that were looked at in it; None where there were none."""

    id: str
    uri: str
    parent_uri: str | None
    node_type: NodeType
    metadata: Mapping[str, Json] = field(default_factory=dict[str, Json])
    created_at: datetime | None = None
    updated_at: datetime | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class LayerSummary:
    l0_preview: str | None = None
    l1_preview: str | None = None
    has_l2: bool = False


@dataclass(frozen=True, kw_only=True, slots=True)
class TreeNode:
    """`more` children are not shown; of a great many only some are counted, so that it may be still more."""

    node: Node
    children: tuple[TreeNode, ...] = ()
    layer_summary: LayerSummary = LayerSummary()
    more: int = 0


@dataclass(frozen=True, slots=True)
class TreePlace:
    """
    What a URI names. `kind` is empty for the root, `id` is None for all of a kind, `leaf` None for a directory.
    """

    kind: str = ""
    id: str | None = None
    folder: str | None = None
    leaf: str | None = None

    @property
    def scope(self) -> Scope | None:
        if self.kind == _GLOBAL:
            return Scope("global")
        return Scope(_KINDS[self.kind], self.id) if self.id is not None else None

    @property
    def uri(self) -> str:
        parts = (self.kind, self.id, self.folder, self.leaf)
        return SCHEME + "/".join(quote(part, safe="") for part in parts if part)

    @property
    def parent(self) -> TreePlace | None:
        if self.leaf is not None:
            return replace(self, leaf=None)
        if self.folder is not None:
            return replace(self, folder=None)
        if self.id is not None:
            return TreePlace(self.kind)
        return TreePlace() if self.kind else None

    def of(self, record: Record) -> TreePlace:
        """The place of a record in this directory. A key that would be taken for something else gives way to the id."""
        key = record.key
        is_unambiguous = (
            key is not None and key.strip("/") == key and "//" not in key and key not in _FOLDERS.get(self.kind, ())
        )
        return replace(self, leaf=key if is_unambiguous else record.id)


def read_uri(uri: str) -> TreePlace:
    """
    Raises:
        InvalidInput: it is no URI of the tree.
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
    if kind == _GLOBAL:
        return TreePlace(kind, leaf="/".join(rest) or None)
    if kind not in _KINDS:
        folders = ", ".join([*_KINDS, _GLOBAL])
        raise InvalidInput(f"{kind!r:.40} is no folder of the context tree. There are {folders}.")
    if not rest:
        return TreePlace(kind)
    id, *rest = rest
    folder = rest.pop(0) if rest and rest[0] in _FOLDERS.get(kind, ()) else None
    return TreePlace(kind, id, folder, "/".join(rest) or None)


class Tree:
    """
    `reaches` says which scopes may be read (None: all). Those that may not are not listed, and refused when named. `shorten`
    makes the layers of what is too long; without it, or where it cannot, they are made of the text's own sentences.
    """

    def __init__(
        self,
        records: RecordStore,
        recall: RecallStore,
        layers: KnowledgeStore,
        tenant: str,
        count: TokenCounter,
        reaches: Reaches | None = None,
        shorten: Shorten | None = None,
    ) -> None:
        self._records = records
        self._recall = recall
        self._layers = layers
        self._tenant = tenant
        self._count = count
        self._reaches: Reaches = reaches or (lambda _: True)
        self._shorten = shorten

    async def resolve(self, uri: str) -> Node:
        """
        The node of a URI. A scope needs no registration, so that a directory is always there, if only empty.

        Raises:
            InvalidInput, Forbidden
            NotFound: there is no such record.
        """
        place = self._allowed(read_uri(uri))
        if place.leaf is not None:
            return _file(place, await self._record(place))
        page = await self._page(place.scope, 1) if place.scope is not None else None
        return _directory(place, page.records if page else ())

    async def tree(self, uri: str, max_depth: int = DEPTH) -> TreeNode:
        """
        What is below a URI, at most five levels deep, 200 children a directory and 1,000 nodes in all.

        Raises:
            InvalidInput, Forbidden
            NotFound: there is no such record.
        """
        place = self._allowed(read_uri(uri))
        walk = _Walk()
        if place.leaf is not None:
            return await self._leaf(place, await self._record(place))
        return await self._branch(place, min(max(max_depth, 0), MAX_DEPTH), walk)

    async def generate(self, node: str) -> list[Layer]:
        """
        The layers of a node, those made that were not there. A directory has no text and so no layers.

        Raises:
            RecordNotFound
        """
        if node.startswith(_DIRECTORY):
            return []
        record = await self._live(node)
        layers = {layer.name: layer for layer in await self._layers.layers(self._tenant, record.id, record.version)}
        new_layers = [await self._layer(record, name, most) for name, most in LAYERS.items() if name not in layers]
        if new_layers:
            await self._layers.put_layers(self._tenant, new_layers)
        layers.update((layer.name, layer) for layer in new_layers)
        return [layers[name] for name in LAYERS]

    async def _layer(self, record: Record, name: LayerName, most: int) -> Layer:
        if self._shorten is not None and self._count(record.text.strip()) > most:
            text = await self._shorten(record.text, most)
            if text and self._count(text) <= most:
                tokens = self._count(text)
                return Layer(
                    record=record.id, version=record.version, name=name, text=text, tokens=tokens, method="model"
                )
        # A long text takes a while; others go on meanwhile.
        text = await asyncio.to_thread(summary, record.text, most, self._count)
        return Layer(record=record.id, version=record.version, name=name, text=text, tokens=self._count(text))

    # ---- what is where

    def _allowed(self, place: TreePlace) -> TreePlace:
        scope = place.scope
        if scope is not None and not self._reaches(scope):
            raise Forbidden(f"The key does not reach {scope}. Name a scope that it reaches.", scope=str(scope))
        return place

    async def _page(self, scope: Scope, limit: int, cursor: str | None = None) -> Page:
        return await self._records.find(self._tenant, Filter(scopes=(scope,)), "pinned", limit, cursor)

    async def _record(self, place: TreePlace) -> Record:
        """The live record that a place names: by its key, else by its id. Raises NotFound."""
        scope, leaf = place.scope, place.leaf
        if scope is None or leaf is None:
            raise NotFound("There is nothing at this address.", uri=place.uri)
        for filter in (Filter(scopes=(scope,), key=leaf), Filter(scopes=(scope,), ids=(leaf,))):
            page = await self._records.find(self._tenant, filter, "newest", 1, None)
            if page.records:
                return page.records[0]
        raise NotFound("There is nothing at this address.", uri=place.uri)

    async def _live(self, id: str) -> Record:
        page = await self._records.find(self._tenant, Filter(ids=(id,)), "newest", 1, None)
        if not page.records or not self._reaches(page.records[0].scope):
            raise RecordNotFound(id=id)
        return page.records[0]

    # ---- the walk

    async def _branch(self, place: TreePlace, depth: int, walk: _Walk) -> TreeNode:
        if depth == 0:
            return TreeNode(node=_directory(place))
        scope = place.scope
        if scope is not None:
            return await self._scope(place, scope, walk)
        places = await self._below(place)
        children: list[TreeNode] = []
        for child in places[: min(MAX_CHILDREN, walk.nodes)]:
            if walk.nodes <= 0:
                break
            walk.nodes -= 1
            children.append(await self._branch(child, depth - 1, walk))
        return TreeNode(
            node=_directory(place), children=tuple(sorted(children, key=_order)), more=len(places) - len(children)
        )

    async def _below(self, place: TreePlace) -> list[TreePlace]:
        """The directories in the root, or those of a kind's scopes that hold something, by name."""
        if not place.kind:
            folders = [TreePlace(kind) for kind in _KINDS]
            return [*folders, TreePlace(_GLOBAL)] if self._reaches(Scope("global")) else folders
        marks = await self._recall.marks(self._tenant, None)
        scopes = {mark.scope for mark in marks if mark.scope.kind == _KINDS[place.kind] and mark.passages > 0}
        return [TreePlace(place.kind, scope.id) for scope in sorted(scopes) if self._reaches(scope)]

    async def _scope(self, place: TreePlace, scope: Scope, walk: _Walk) -> TreeNode:
        page = await self._page(scope, max(min(MAX_CHILDREN, walk.nodes), 1))
        records = page.records[: max(walk.nodes, 0)]
        walk.nodes -= len(records)
        children = [await self._leaf(place.of(record), record) for record in records]
        more = len(page.records) - len(records) + await self._count_on(scope, page.cursor, walk)
        return TreeNode(
            node=_directory(place, records), children=tuple(sorted(children, key=_order)), more=more
        )  # fmt: skip

    async def _count_on(self, scope: Scope, cursor: str | None, walk: _Walk) -> int:
        more = 0
        while cursor is not None and walk.pages > 0:
            walk.pages -= 1
            page = await self._page(scope, MAX_CHILDREN, cursor)
            more += len(page.records)
            cursor = page.cursor
        return max(more, 1) if cursor is not None else more

    async def _leaf(self, place: TreePlace, record: Record) -> TreeNode:
        layers = await self._layers.layers(self._tenant, record.id, record.version)
        texts = {layer.name: layer.text for layer in layers}
        previews = LayerSummary(
            l0_preview=texts["L0"][:100] if "L0" in texts else None,
            l1_preview=texts["L1"][:200] if "L1" in texts else None,
            has_l2=True,
        )
        return TreeNode(node=_file(place, record), layer_summary=previews)


@dataclass(slots=True)
class _Walk:
    """What a tree may still cost."""

    nodes: int = MAX_NODES
    pages: int = _COUNTED_PAGES


def directory_id(uri: str) -> str:
    """The id of a directory: the same for the same URI, and never that of a record."""
    return _DIRECTORY + sha256(uri.encode("utf-8", "surrogatepass")).hexdigest()[:32]


def _directory(place: TreePlace, records: Sequence[Record] = ()) -> Node:
    scope = place.scope
    return Node(
        id=directory_id(place.uri),
        uri=place.uri,
        parent_uri=place.parent.uri if place.parent else None,
        node_type="directory",
        metadata={"scope": str(scope)} if scope is not None else {},
        created_at=min((record.created_at for record in records), default=None),
        updated_at=max((record.updated_at for record in records), default=None),
    )


def _file(place: TreePlace, record: Record) -> Node:
    metadata: dict[str, Json] = {
        "scope": str(record.scope),
        "kind": record.kind,
        "key": record.key,
        "source": record.source,
        "trust": record.trust,
        "tags": list(record.tags),
        "version": record.version,
    }
    return Node(
        id=record.id,
        uri=place.uri,
        parent_uri=place.parent.uri if place.parent else None,
        node_type="file",
        metadata=metadata,
        created_at=record.created_at,
        updated_at=record.updated_at,
    )


def _order(child: TreeNode) -> tuple[bool, str]:
    """By node type, from z to a, so that files stand before directories; then by URI."""
    return child.node.node_type != "file", child.node.uri


def _is_utf8(part: str) -> bool:
    try:
        unquote(part, errors="strict").encode("utf-8")
    except UnicodeError:
        return False
    return True


_READ: Final = 48_000
_ROOM: Final = 50


class Browsing:
    def __init__(self, desk: Desk) -> None:
        self._desk = desk

    async def resolve(self, who: Principal, uri: str) -> Node:
        async with self._desk.account(who, "tree.resolve"):
            return await self._tree(who).resolve(uri)

    async def tree(self, who: Principal, uri: str, max_depth: int) -> TreeNode:
        async with self._desk.account(who, "tree.read"):
            return await self._tree(who).tree(uri, max_depth)

    async def generate(self, who: Principal, node: str) -> list[Layer]:
        """Make the layers of a node that are not there yet. Answers all of them."""
        async with self._desk.account(who, "tree.generate") as account:
            require_role(who, "writer")
            layers = await self._tree(who, shorten=self._shortened(who, node)).generate(node)
            account.record = layers[0].record if layers else None
            await account.note(layers=len(layers))
            return layers

    def _tree(self, who: Principal, shorten: Shorten | None = None) -> Tree:
        desk, store = self._desk, self._desk.store
        return Tree(store.records, store.recall, store.knowledge, who.tenant, desk.room.count, who.reaches, shorten)

    def _shortened(self, who: Principal, node: str) -> Shorten | None:
        """By the model, where there is one. What goes wrong with it leaves the text's own sentences."""
        model = self._desk.model
        if model is None:
            return None

        async def shorten(text: str, most: int) -> str | None:
            task = Task(
                tenant=who.tenant,
                purpose="layers",
                session=work_session("layers", node[:64]),
                system=SHORTEN.format(most=most),
                prompt=fenced(text[:_READ]),
                limits=TaskLimits(output_tokens=most + _ROOM, micro_usd=MICRO_USD, turns=1),
            )
            try:
                answer = (await model.act(task, ())).text.strip()
            except (ModelError, SpendingCapReached):
                return None
            return None if is_attack(answer) else scrub(answer).text

        return shorten
