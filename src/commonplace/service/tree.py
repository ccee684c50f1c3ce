"""The context tree, as far as the caller may read."""

from __future__ import annotations

from commonplace.governance.access import require_role
from commonplace.memory.tree import Node, Tree, TreeNode
from commonplace.ports.knowledge import Layer
from commonplace.service.desk import Desk
from commonplace.values.principal import Principal


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
            layers = await self._tree(who).generate(node)
            account.record = layers[0].record if layers else None
            await account.note(layers=len(layers))
            return layers

    def _tree(self, who: Principal) -> Tree:
        desk = self._desk
        return Tree(desk.store, desk.store, desk.store, who.tenant, desk.room.count, who.reaches)
