"""The context tree, as far as the caller may read."""

from __future__ import annotations

from typing import Final

from commonplace.errors import ModelError, SpendingCapReached
from commonplace.governance.access import require_role
from commonplace.guard.caution import is_attack
from commonplace.learning.by_model import MICRO_USD
from commonplace.learning.prompting import SHORTEN, fenced
from commonplace.memory.tree import Node, Shorten, Tree, TreeNode
from commonplace.ports.knowledge import Layer
from commonplace.ports.models import Limits, Task
from commonplace.service.desk import Desk
from commonplace.text.scrub import scrub
from commonplace.values.principal import Principal
from commonplace.values.usage import work_session

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
        desk = self._desk
        return Tree(desk.store, desk.store, desk.store, who.tenant, desk.room.count, who.reaches, shorten)

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
                limits=Limits(output_tokens=most + _ROOM, micro_usd=MICRO_USD, turns=1),
            )
            try:
                told = (await model.act(task, ())).text.strip()
            except (ModelError, SpendingCapReached):
                return None
            return None if is_attack(told) else scrub(told).text

        return shorten
