"""A walk through the context tree: what is in a folder, as deep as somebody asked, and no further than a bound."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from commonplace.errors import InvalidInput
from commonplace.ports.knowledge import Layer, StoredLayer
from commonplace.service.desk import Desk
from commonplace.service.tree_index import TreeIndex, TreeIndexes
from commonplace.values.query import Filter
from commonplace.values.record import Json, Record
from commonplace.values.scope import Scope
from commonplace.values.tree import GLOBAL, KINDS, LayerSummary, Node, NodeType, Outline, TreeNode, TreePlace

MAX_CHILDREN: Final = 200
MAX_NODES: Final = 1_000
"""How many nodes a whole tree has at most."""
_ABSTRACT: Final = 160


@dataclass(frozen=True, slots=True)
class NodeLocation:
    """Where an address leads: to a record, or to a folder. `index` is that of its scope, if it is in one."""

    place: TreePlace
    index: TreeIndex | None = None
    record: Record | None = None

    def node(self, now: datetime) -> Node:
        if self.record is not None:
            return _file(self.place, self.record)
        return _directory(self.place, self.index.listed(self.place.path, now) if self.index else ())


@dataclass(frozen=True, slots=True)
class Child:
    """Something in a folder: another folder, or a record that is shown."""

    place: TreePlace
    outline: Outline | None = None
    files: int | None = None

    @property
    def node_type(self) -> NodeType:
        return "directory" if self.outline is None else "file"

    @property
    def order(self) -> tuple[bool, str]:
        """By node type, from z to a, so that files stand before folders; then by name."""
        return self.outline is None, self.place.name

    @property
    def rank(self) -> tuple[int, bool, int, float]:
        """Folders, then what is pinned, important, new."""
        outline = self.outline
        if outline is None:
            return 0, False, 0, 0.0
        return 1, not outline.pinned, -outline.importance, -outline.updated_at.timestamp()

    @property
    def cursor(self) -> str:
        return f"{self.node_type}/{self.place.name}"


class TreeWalk:
    """`lists` says which scopes are shown when a listing goes over several of them."""

    def __init__(self, desk: Desk, indexes: TreeIndexes, tenant: str, lists: Callable[[Scope], bool]) -> None:
        self._desk = desk
        self._indexes = indexes
        self._tenant = tenant
        self._lists = lists
        self._now = desk.clock.now()
        self._nodes = MAX_NODES

    async def tree(self, location: NodeLocation, depth: int, after: str | None = None) -> TreeNode:
        """Raises InvalidInput: the cursor is none, or goes on with something deeper than one level."""
        if after is not None and depth != 1:
            raise InvalidInput("A cursor goes on with a listing of one level. Ask for a depth of 1.")
        if location.record is not None:
            [leaf] = await self._leaves([(location.place, location.record)])
            return leaf
        node = location.node(self._now)
        if depth == 0:
            return TreeNode(node=node)
        children = await self._children(location.place, location.index)
        if depth == 1:
            return await self._page(node, location, children, _begin(children, after))
        return await self._branch(node, location, children, depth)

    async def _page(self, node: Node, location: NodeLocation, children: list[Child], start: int) -> TreeNode:
        """A listing of one level, in order."""
        children = sorted(children, key=lambda child: child.order)
        selection = children[start : start + MAX_CHILDREN]
        rest = len(children) - start - len(selection)
        return TreeNode(
            node=node,
            children=tuple(await self._nodes_of(selection, {})),
            files=self._size(location),
            more=rest + (location.index.unnamed if location.index and not location.place.path else 0),
            cursor=selection[-1].cursor if rest else None,
        )

    async def _branch(self, node: Node, location: NodeLocation, children: list[Child], depth: int) -> TreeNode:
        limit = max(min(MAX_CHILDREN, self._nodes), 0)
        selection = sorted(children, key=lambda child: child.rank)[:limit]
        self._nodes -= len(selection)
        below: dict[TreePlace, TreeNode] = {}
        if depth > 1:
            for child in selection:
                if child.outline is None and self._nodes > 0:
                    below[child.place] = await self._below(child, location.index, depth - 1)
        more = len(children) - len(selection)
        return TreeNode(
            node=node,
            children=tuple(await self._nodes_of(sorted(selection, key=lambda child: child.order), below)),
            files=self._size(location),
            more=more + (location.index.unnamed if location.index and not location.place.path else 0),
        )

    async def _below(self, child: Child, index: TreeIndex | None, depth: int) -> TreeNode:
        scope = child.place.scope
        if scope is not None and index is None:
            index = await self._indexes.of(self._tenant, scope)
        location = NodeLocation(child.place, index)
        children = await self._children(child.place, index)
        return await self._branch(location.node(self._now), location, children, depth)

    # ---- what is in a folder

    async def _children(self, place: TreePlace, index: TreeIndex | None) -> list[Child]:
        if index is not None:
            entries = index.folders.get(place.path)
            if entries is None:
                return []
            sizes = {name: len(index.listed(path, self._now)) for name, path in entries.folders.items()}
            return [
                *(Child(place.below(name), files=size) for name, size in sizes.items() if size),
                *(
                    Child(place.below(name), outline)
                    for name, outline in entries.files.items()
                    if outline.is_listed(self._now)
                ),
            ]
        if not place.kind:
            folders = [Child(TreePlace(kind)) for kind in KINDS]
            return [*folders, Child(TreePlace(GLOBAL))] if self._lists(Scope("global")) else folders
        marks = await self._desk.store.recall.marks(self._tenant, None)
        kind = KINDS[place.kind]
        scopes = [mark.scope for mark in marks if mark.scope.kind == kind and mark.passages and self._lists(mark.scope)]
        return [Child(TreePlace(place.kind, scope.id)) for scope in scopes]

    def _size(self, location: NodeLocation) -> int | None:
        return len(location.index.listed(location.place.path, self._now)) if location.index else None

    # ---- nodes of what is shown

    async def _nodes_of(self, children: Sequence[Child], below: Mapping[TreePlace, TreeNode]) -> list[TreeNode]:
        """What is no longer live by now is left out."""
        ids = tuple(child.outline.id for child in children if child.outline is not None)
        records: dict[str, Record] = {}
        if ids:
            page = await self._desk.store.records.find(self._tenant, Filter(ids=ids), "newest", len(ids), None)
            scopes = {child.place.scope for child in children}
            records = {record.id: record for record in page.records if record.scope in scopes}
        places = [
            (child.place, records[child.outline.id])
            for child in children
            if child.outline is not None and child.outline.id in records
        ]
        leaves = {leaf.node.uri: leaf for leaf in await self._leaves(places)}
        nodes: list[TreeNode] = []
        for child in children:
            if child.outline is None:
                nodes.append(below.get(child.place) or TreeNode(node=_directory(child.place), files=child.files))
            elif leaf := leaves.get(child.place.uri):
                nodes.append(leaf)
        return nodes

    async def _leaves(self, places: Sequence[tuple[TreePlace, Record]]) -> list[TreeNode]:
        engine = self._desk.room.of(self._tenant).layers
        layers = await engine.stored([record for _, record in places])
        return [_leaf(place, record, layers[record.id]) for place, record in places]


def _begin(children: Sequence[Child], after: str | None) -> int:
    """Where a listing goes on. Raises InvalidInput."""
    if after is None:
        return 0
    node_type, slash, name = after.partition("/")
    if not slash or node_type not in ("file", "directory"):
        raise InvalidInput("The cursor is not one of ours. Begin without one.")
    return sum(child.order <= (node_type == "directory", name) for child in children)


def _leaf(place: TreePlace, record: Record, layers: Mapping[StoredLayer, Layer]) -> TreeNode:
    texts = {name: layer.text for name, layer in layers.items()}
    beginning = " ".join(record.text[: 4 * _ABSTRACT].split())
    return TreeNode(
        node=_file(place, record),
        layer_summary=LayerSummary(
            l0_preview=texts["L0"][:100] if "L0" in texts else None,
            l1_preview=texts["L1"][:200] if "L1" in texts else None,
            has_l2=True,
        ),
        files=1,
        abstract=texts.get("L0")
        or (beginning if len(beginning) <= _ABSTRACT else f"{beginning[:_ABSTRACT].rstrip()} …"),
    )


def _directory(place: TreePlace, outlines: Sequence[Outline] = ()) -> Node:
    scope = place.scope
    return Node(
        id=place.uri,
        uri=place.uri,
        parent_uri=place.parent.uri if place.parent else None,
        name=place.name,
        node_type="directory",
        metadata={"scope": str(scope)} if scope is not None else {},
        created_at=min((outline.created_at for outline in outlines), default=None),
        updated_at=max((outline.updated_at for outline in outlines), default=None),
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
        name=place.name,
        node_type="file",
        metadata=metadata,
        created_at=record.created_at,
        updated_at=record.updated_at,
    )
