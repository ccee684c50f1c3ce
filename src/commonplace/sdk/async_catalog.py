"""What every call of a client goes through, and the calls for agents, workspaces, documents and the tree."""

from __future__ import annotations

import builtins
from collections.abc import Mapping, Sequence
from types import TracebackType
from typing import Self, TypeVar, Unpack

import httpx

from commonplace.sdk.address import TIMEOUT, address
from commonplace.sdk.async_connection import AsyncDaemonConnection
from commonplace.sdk.async_rooms import AsyncDaemonChannels, AsyncDaemonRooms
from commonplace.sdk.async_runs import AsyncDaemonArtifacts, AsyncDaemonRuns
from commonplace.sdk.async_schedules import AsyncDaemonSchedules
from commonplace.sdk.documents import changed, document, part, query, texts, whole, written
from commonplace.sdk.talk import Call, asked, waiting
from commonplace.values.agent_profile import AgentFields, NewAgentFields
from commonplace.values.distillation import DistillFields, DistillReport
from commonplace.values.layer import LayerName, LayerText
from commonplace.values.principal import Owner
from commonplace.values.record import Json, Record
from commonplace.values.resource import ResourcePage, UserResource
from commonplace.values.tree import Node, TreeNode
from commonplace.wire.owners import AgentsAnswer, OwnerRemovedAnswer, WorkspacesAnswer
from commonplace.wire.shapes import reader
from commonplace.wire.tree import NodeLayersAnswer

T = TypeVar("T")


class AsyncDaemonCatalog:
    """The connection of a client, and what it does with agents, workspaces, documents and the tree."""

    def __init__(
        self,
        url: str | None = None,
        token: str | None = None,
        tenant: str | None = None,
        client_id: str | None = None,
        timeout: float = TIMEOUT,
        *,
        agent: bool = False,
        transport: httpx.AsyncBaseTransport | None = None,
    ) -> None:
        """
        `agent`: a model writes here, so that what it writes is labelled `model_generated`, whoever's the key is. `transport` sends
        requests in another way than over the network, for instance through one of your own. `url` may name several daemons on one
        store, separated by commas: the first is asked, and another one for a session that it leads. One on the host of the first need not be
        named.
        """
        self._daemon = AsyncDaemonConnection(address(url, token, tenant, client_id, agent=agent), timeout, transport)

    @property
    def runs(self) -> AsyncDaemonRuns:
        return AsyncDaemonRuns(self._daemon)

    @property
    def schedules(self) -> AsyncDaemonSchedules:
        return AsyncDaemonSchedules(self._daemon)

    @property
    def artifacts(self) -> AsyncDaemonArtifacts:
        return AsyncDaemonArtifacts(self._daemon)

    @property
    def rooms(self) -> AsyncDaemonRooms:
        return AsyncDaemonRooms(self._daemon)

    @property
    def channels(self) -> AsyncDaemonChannels:
        return AsyncDaemonChannels(self._daemon)

    async def aclose(self) -> None:
        """Close the connections. A second time does nothing."""
        await self._daemon.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()

    async def _get(
        self, path: str, answer: type[T], parameters: Mapping[str, object] | None = None, *, waits: float = 0.0
    ) -> T:
        params = (*query(parameters or {}), *waiting(waits))
        call = Call(method="GET", path=path, query=params, decode=reader(answer), reads=True, waits=waits)
        return await self._daemon.ask(asked(call))

    async def _send(
        self,
        method: str,
        path: str,
        answer: type[T],
        body: Mapping[str, Json] | None = None,
        *,
        reads: bool = False,
        endless: bool = False,
        condition: tuple[str, str] | None = None,
    ) -> T:
        call = Call(
            method=method,
            path=path,
            body=None if body is None else written(body),
            decode=reader(answer),
            reads=reads,
            endless=endless,
            condition=condition,
        )
        return await self._daemon.ask(asked(call))

    async def _send_only(self, method: str, path: str, body: Mapping[str, Json] | None = None) -> None:
        """As above, for an answer that nobody reads."""
        content = None if body is None else written(body)
        await self._daemon.ask(asked(Call(method=method, path=path, body=content, decode=len)))

    # ---- agents and workspaces

    async def agents(self) -> builtins.list[Owner]:
        return builtins.list((await self._get("/v1/agents", AgentsAnswer)).agents)

    async def agent(self, id: str) -> Owner:
        return await self._get(f"/v1/agents/{part(id)}", Owner)

    async def create_agent(self, name: str, **fields: Unpack[NewAgentFields]) -> Owner:
        body = changed({"name": name, **fields, "profile": whole(fields.get("profile"))})
        return await self._send("POST", "/v1/agents", Owner, body)

    async def edit_agent(self, id: str, **fields: Unpack[AgentFields]) -> Owner:
        body = changed({**fields, "profile": whole(fields.get("profile"))})
        return await self._send("PATCH", f"/v1/agents/{part(id)}", Owner, body)

    async def remove_agent(self, id: str) -> int:
        return (await self._send("DELETE", f"/v1/agents/{part(id)}", OwnerRemovedAnswer, endless=True)).records

    async def workspaces(self) -> builtins.list[Owner]:
        return builtins.list((await self._get("/v1/workspaces", WorkspacesAnswer)).workspaces)

    async def workspace(self, id: str) -> Owner:
        return await self._get(f"/v1/workspaces/{part(id)}", Owner)

    async def create_workspace(self, name: str, *, id: str | None = None) -> Owner:
        return await self._send("POST", "/v1/workspaces", Owner, changed({"name": name, "id": id}))

    async def edit_workspace(self, id: str, *, name: str) -> Owner:
        return await self._send("PATCH", f"/v1/workspaces/{part(id)}", Owner, {"name": document(name)})

    async def remove_workspace(self, id: str) -> int:
        return (await self._send("DELETE", f"/v1/workspaces/{part(id)}", OwnerRemovedAnswer, endless=True)).records

    # ---- documents

    async def put_resource(self, content: str, *, uri: str | None = None, title: str | None = None) -> UserResource:
        body = changed({"content": content, "uri": uri, "title": title})
        return await self._send("POST", "/v1/resources", UserResource, body)

    async def resources(self, *, limit: int = 100, cursor: str | None = None) -> ResourcePage:
        return await self._get("/v1/resources", ResourcePage, {"limit": limit, "cursor": cursor})

    async def resource(self, uri: str) -> Record:
        return await self._get(f"/v1/resources/{part(uri)}", Record)

    async def remove_resource(self, uri: str) -> None:
        await self._send_only("DELETE", f"/v1/resources/{part(uri)}")

    # ---- memory as folders

    async def tree(
        self,
        uri: str = "commonplace://",
        *,
        depth: int = 1,
        everyone: bool = False,
        after: str | None = None,
    ) -> TreeNode:
        parameters = {"uri": uri, "depth": depth, "everyone": everyone or None, "after": after}
        return await self._get("/v1/tree", TreeNode, parameters)

    async def resolve(self, uri: str) -> Node:
        return await self._get("/v1/tree/node", Node, {"uri": uri})

    async def layer(self, node: str, name: LayerName = "L0") -> LayerText:
        return await self._get("/v1/layers", LayerText, {"node": node, "name": name})

    async def make_layers(self, node: str) -> builtins.list[LayerText]:
        answer = await self._send("POST", "/v1/layers", NodeLayersAnswer, {"node": document(node)}, endless=True)
        return builtins.list(answer.layers)

    async def distill(
        self, session: str, conversation: Sequence[str], **fields: Unpack[DistillFields]
    ) -> DistillReport:
        body = changed({"session": session, "conversation": texts(conversation), **fields})
        return await self._send("POST", "/v1/distill", DistillReport, body, endless=True)
