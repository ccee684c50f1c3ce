"""
The context tree: memory as folders, a view over the records and no table of its own.

A scope is a folder, a record in it a file; `tree_index` says in which folder, and how both are called. A record's text is its
layer L2; L0 and L1 are shorter. Whoever names no scope sees those at home with them; an admin may look at everyone's.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Final, TypeAlias

from commonplace.errors import ModelError, NotFound, RecordNotFound, SpendingCapReached
from commonplace.governance.access import require_role
from commonplace.guard.caution import is_attack
from commonplace.learning.by_model import MICRO_USD
from commonplace.learning.prompts import SHORTEN, fenced
from commonplace.memory.layers import LAYERS, READ, Shorten
from commonplace.ports.knowledge import Layer
from commonplace.ports.models import Task, TaskLimits
from commonplace.service.account import Account
from commonplace.service.desk import Desk
from commonplace.service.tree_index import TreeIndexes
from commonplace.service.tree_walk import NodeLocation, TreeWalk
from commonplace.text.scrub import scrub
from commonplace.text.tokens import TokenCounter
from commonplace.values.layer import LayerName, LayerText
from commonplace.values.principal import Principal
from commonplace.values.query import Filter
from commonplace.values.record import Record
from commonplace.values.scope import Scope
from commonplace.values.tree import Node, TreeNode, TreePlace, is_address, read_uri
from commonplace.values.usage import work_session

DEPTH: Final = 3
MAX_DEPTH: Final = 5

Reaches: TypeAlias = Callable[[Scope], bool]

_BEFORE: Final = "dir-"
"""How ids of folders began before they were addresses."""
_ROOM: Final = 50


@dataclass(frozen=True, kw_only=True, slots=True)
class TreeQuery:
    """What to look at. `after` is the cursor of a listing of one level."""

    uri: str
    depth: int = DEPTH
    everyone: bool = False
    after: str | None = None


class Browsing:
    def __init__(self, desk: Desk) -> None:
        self._desk = desk
        self._indexes = TreeIndexes(desk.store.recall, desk.store.statistics)

    async def resolve(self, who: Principal, uri: str) -> Node:
        """
        What an address names. A scope needs no registration, so that its folder is always there, if only empty.

        Raises:
            InvalidInput, Forbidden
            NotFound: there is nothing at this address.
        """
        async with self._desk.account(who, "tree.resolve") as account:
            return (await self._located(account, read_uri(uri))).node(self._desk.clock.now())

    async def tree(self, who: Principal, query: TreeQuery) -> TreeNode:
        """
        What is below an address, at most five levels deep, 200 children a folder and 1,000 nodes in all. A listing of one level
        is in the order of names, and `cursor` gets the next children; a deeper one shows what is pinned and important first.

        Raises:
            InvalidInput, Forbidden
            NotFound: there is nothing at this address.
        """
        desk = self._desk
        async with desk.account(who, "tree.read") as account:
            if query.everyone:
                require_role(who, "admin")
                await account.note_read(everyone=True)
            location = await self._located(account, read_uri(query.uri))
            lists = await self._lists(who, location.place, everyone=query.everyone)
            walk = TreeWalk(desk, self._indexes, who.tenant, lists)
            return await walk.tree(location, min(max(query.depth, 0), MAX_DEPTH), query.after)

    async def make_layers(self, who: Principal, node: str) -> tuple[LayerText, ...]:
        """As `generate`: their texts."""
        return layer_texts(await self.generate(who, node))

    async def generate(self, who: Principal, node: str) -> list[Layer]:
        """Make the layers of a node that are not there yet. Answers all of them; a folder has none to keep."""
        async with self._desk.account(who, "tree.generate") as account:
            require_role(who, "writer")
            record = await self._record(account, node)
            if record is None:
                await account.note(layers=0)
                return []
            account.record = record.id
            engine, shorten = self._desk.engines(who).layers, self._shortened(who, record.id)
            layers = (await engine.stored([record]))[record.id]
            new_layers = [await engine.make(record, name, shorten) for name in LAYERS if name not in layers]
            if new_layers:
                await self._desk.store.knowledge.put_layers(who.tenant, new_layers)
            layers |= {layer.name: layer for layer in new_layers}
            await account.note(layers=len(layers))
            return [layers[name] for name in LAYERS]

    async def layer(self, who: Principal, node: str, name: LayerName) -> LayerText:
        """
        A node as one of its layers tells it: by the layer that was made, else by sentences of the text. A folder's abstract and
        overview tell what is in it; it has no text.

        Raises:
            InvalidInput, Forbidden
            NotFound: there is no such node, or a folder's text is asked for.
        """
        async with self._desk.account(who, "tree.layer") as account:
            record = await self._record(account, node)
            if record is not None:
                account.record = record.id
                return (await self._desk.engines(who).layers.read([record], [name]))[record.id][name]
            if name == "L2" or not is_address(node):
                raise NotFound("A folder has no text of its own. Ask for its abstract (L0) or its overview (L1).")
        return overview(await self.tree(who, TreeQuery(uri=node, depth=1)), name, self._desk.room.count)

    async def _located(self, account: Account, place: TreePlace) -> NodeLocation:
        """Raises Forbidden, NotFound."""
        scope, who = place.scope, account.who
        if scope is None:
            return NodeLocation(place)
        await self._desk.require(who, scope)
        account.scope = scope
        index, now = await self._indexes.of(who.tenant, scope), self._desk.clock.now()
        outline = index.files.get(place.steps)
        if outline is not None and outline.is_listed(now):
            record = await self._live(who, Filter(scopes=(scope,), ids=(outline.id,)))
        elif not place.steps or index.listed(place.steps, now):
            return NodeLocation(replace(place, path=place.steps), index)
        else:
            # As addresses were before there were names: by the key, else by the id.
            leaf = "/".join(place.path)
            record = await self._live(who, Filter(scopes=(scope,), key=leaf))
            record = record or await self._live(who, Filter(scopes=(scope,), ids=(leaf,)))
        if record is None:
            raise NotFound("There is nothing at this address.", uri=place.uri)
        return NodeLocation(replace(place, path=index.paths.get(record.id, place.path)), index, record)

    async def _live(self, who: Principal, filter: Filter) -> Record | None:
        page = await self._desk.store.records.find(who.tenant, filter, "newest", 1, None)
        return page.records[0] if page.records else None

    async def _record(self, account: Account, node: str) -> Record | None:
        """The live record of a node, by its address or its id; None for a folder. Raises RecordNotFound, NotFound, Forbidden."""
        if is_address(node):
            return (await self._located(account, read_uri(node))).record
        if node.startswith(_BEFORE):
            return None
        record = await self._desk.found(account.who, account, node)
        if record.state(self._desk.clock.now()) != "live":
            raise RecordNotFound(ids=[record.id])
        return record

    async def _lists(self, who: Principal, place: TreePlace, *, everyone: bool) -> Reaches:
        """Which scopes are shown to somebody who names none."""
        if everyone or place.scope is not None:
            return who.reaches
        return (await self._desk.with_every_scope(who)).is_at_home

    def _shortened(self, who: Principal, node: str) -> Shorten | None:
        """By the model, if there is one. What goes wrong with it leaves the text's own sentences."""
        model = self._desk.model
        if model is None:
            return None

        async def shorten(text: str, most: int) -> str | None:
            task = Task(
                tenant=who.tenant,
                purpose="layers",
                session=work_session("layers", node[:64]),
                system=SHORTEN.format(most=most),
                prompt=fenced(text[:READ]),
                limits=TaskLimits(output_tokens=most + _ROOM, micro_usd=MICRO_USD, turns=1),
            )
            try:
                answer = (await model.act(task, ())).text.strip()
            except (ModelError, SpendingCapReached):
                return None
            return None if is_attack(answer) else scrub(answer).text

        return shorten


def layer_texts(layers: Sequence[Layer]) -> tuple[LayerText, ...]:
    return tuple(
        LayerText(name=layer.name, text=layer.text, tokens=layer.tokens, method=layer.method) for layer in layers
    )


def overview(folder: TreeNode, name: LayerName, count: TokenCounter) -> LayerText:
    """What is in a folder: L0 names it, L1 has a line for each."""
    most = LAYERS["L0" if name == "L0" else "L1"]
    folders = [child for child in folder.children if child.node.node_type == "directory"]
    files = [child for child in folder.children if child.node.node_type == "file"]
    lines = [f"{folder.node.uri}: {len(folders)} folders and {len(files)} memories."]
    if name == "L0":
        lines += [f"{child.node.name}/" for child in folders] + [child.node.name for child in files]
    else:
        lines += [f"- {child.node.name}/" for child in folders]
        lines += [f"- {child.node.name}: {child.abstract or ''}" for child in files]
    between = " " if name == "L0" else "\n"
    text = lines[0]
    for line in lines[1:]:
        if count(longer := f"{text}{between}{line}") > most:
            break
        text = longer
    return LayerText(name=name, text=text, tokens=count(text))
