# Generated from async_catalog.py by tools/sync_client.py. Do not edit: change that file, then run `make docs`.
"""What every call of a client goes through, and the calls for agents, workspaces, documents and the tree."""

from __future__ import annotations

import builtins
from collections.abc import Mapping, Sequence
from types import TracebackType
from typing import Self, TypeVar, Unpack

import httpx

from commonplace.sdk.address import TIMEOUT, address
from commonplace.sdk.connection import DaemonConnection
from commonplace.sdk.documents import changed, document, part, query, texts, whole, written
from commonplace.sdk.rooms import DaemonChannels, DaemonRooms
from commonplace.sdk.runs import DaemonArtifacts, DaemonRuns
from commonplace.sdk.schedules import DaemonSchedules
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


class DaemonCatalog:
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
        transport: httpx.BaseTransport | None = None,
    ) -> None:
        """
        `agent`: a model writes here, so that what it writes is labelled `model_generated`, whoever's the key is. `transport` sends
        requests in another way than over the network, for instance through one of your own. `url` may name several daemons on one
        store, separated by commas: the first is asked, and another one for a session that it leads. One on the host of the first need not be
        named.
        """
        self._daemon = DaemonConnection(address(url, token, tenant, client_id, agent=agent), timeout, transport)

    @property
    def runs(self) -> DaemonRuns:
        return DaemonRuns(self._daemon)

    @property
    def schedules(self) -> DaemonSchedules:
        return DaemonSchedules(self._daemon)

    @property
    def artifacts(self) -> DaemonArtifacts:
        return DaemonArtifacts(self._daemon)

    @property
    def rooms(self) -> DaemonRooms:
        return DaemonRooms(self._daemon)

    @property
    def channels(self) -> DaemonChannels:
        return DaemonChannels(self._daemon)

    def close(self) -> None:
        """Close the connections. A second time does nothing."""
        self._daemon.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _get(
        self, path: str, answer: type[T], parameters: Mapping[str, object] | None = None, *, waits: float = 0.0
    ) -> T:
        params = (*query(parameters or {}), *waiting(waits))
        call = Call(method="GET", path=path, query=params, decode=reader(answer), reads=True, waits=waits)
        return self._daemon.ask(asked(call))

    def _send(
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
        return self._daemon.ask(asked(call))

    def _send_only(self, method: str, path: str, body: Mapping[str, Json] | None = None) -> None:
        """As above, for an answer that nobody reads."""
        content = None if body is None else written(body)
        self._daemon.ask(asked(Call(method=method, path=path, body=content, decode=len)))

    # ---- agents and workspaces

    def agents(self) -> builtins.list[Owner]:
        """The agents in reach, by name. What one remembers are the records of the scope `agent:<id>`."""
        return builtins.list((self._get("/v1/agents", AgentsAnswer)).agents)

    def agent(self, id: str) -> Owner:
        """Raises NotFound: nobody created it, and its scope is empty."""
        return self._get(f"/v1/agents/{part(id)}", Owner)

    def create_agent(self, name: str, **fields: Unpack[NewAgentFields]) -> Owner:
        """A new agent, with its memory switched on or off. Raises Conflict: the id is taken."""
        body = changed({"name": name, **fields, "profile": whole(fields.get("profile"))})
        return self._send("POST", "/v1/agents", Owner, body)

    def edit_agent(self, id: str, **fields: Unpack[AgentFields]) -> Owner:
        """
        Rename an agent, switch its memory on or off (while it is off, no prompt has a section for it), or give it another profile
        in place of the one it has.
        """
        body = changed({**fields, "profile": whole(fields.get("profile"))})
        return self._send("PATCH", f"/v1/agents/{part(id)}", Owner, body)

    def remove_agent(self, id: str) -> int:
        """Remove an agent and delete all that it remembers; answers how many records that were."""
        return (self._send("DELETE", f"/v1/agents/{part(id)}", OwnerRemovedAnswer, endless=True)).records

    def workspaces(self) -> builtins.list[Owner]:
        """The workspaces in reach, by name. What one remembers are the records of the scope `workspace:<id>`."""
        return builtins.list((self._get("/v1/workspaces", WorkspacesAnswer)).workspaces)

    def workspace(self, id: str) -> Owner:
        """Raises NotFound: nobody created it, and its scope is empty."""
        return self._get(f"/v1/workspaces/{part(id)}", Owner)

    def create_workspace(self, name: str, *, id: str | None = None) -> Owner:
        """A new workspace. Raises Conflict: the id is taken."""
        return self._send("POST", "/v1/workspaces", Owner, changed({"name": name, "id": id}))

    def edit_workspace(self, id: str, *, name: str) -> Owner:
        """Rename a workspace."""
        return self._send("PATCH", f"/v1/workspaces/{part(id)}", Owner, {"name": document(name)})

    def remove_workspace(self, id: str) -> int:
        """Remove a workspace and delete all that it remembers; answers how many records that were."""
        return (self._send("DELETE", f"/v1/workspaces/{part(id)}", OwnerRemovedAnswer, endless=True)).records

    # ---- documents

    def put_resource(self, content: str, *, uri: str | None = None, title: str | None = None) -> UserResource:
        """Keep a document of the caller's own; under a `uri` that is known, its next version."""
        body = changed({"content": content, "uri": uri, "title": title})
        return self._send("POST", "/v1/resources", UserResource, body)

    def resources(self, *, limit: int = 100, cursor: str | None = None) -> ResourcePage:
        """The caller's own documents, newest first, a page at a time."""
        return self._get("/v1/resources", ResourcePage, {"limit": limit, "cursor": cursor})

    def resource(self, uri: str) -> Record:
        """A document of the caller's own. Raises NotFound."""
        return self._get(f"/v1/resources/{part(uri)}", Record)

    def remove_resource(self, uri: str) -> None:
        """Delete a document of the caller's own; `undo` brings it back. Raises NotFound."""
        self._send_only("DELETE", f"/v1/resources/{part(uri)}")

    # ---- memory as folders

    def tree(
        self,
        uri: str = "commonplace://",
        *,
        depth: int = 1,
        everyone: bool = False,
        after: str | None = None,
    ) -> TreeNode:
        """
        Memory as folders: what is in the folder at `uri`, at most five levels deep. `after` is the `cursor` of the page before, of
        one level. Only shared scopes and the caller's own are listed; for an admin, `everyone` lists other people's, too.
        """
        parameters = {"uri": uri, "depth": depth, "everyone": everyone or None, "after": after}
        return self._get("/v1/tree", TreeNode, parameters)

    def resolve(self, uri: str) -> Node:
        """What an address in the tree names. Raises NotFound."""
        return self._get("/v1/tree/node", Node, {"uri": uri})

    def layer(self, node: str, name: LayerName = "L0") -> LayerText:
        """A record or a folder, by its id or its address, as a layer tells it: L0 an abstract, L1 an overview, L2 the text itself."""
        return self._get("/v1/layers", LayerText, {"node": node, "name": name})

    def make_layers(self, node: str) -> builtins.list[LayerText]:
        """Make the layers L0 and L1 of a record, by the model if there is one, and keep them. Those that are there stay."""
        answer = self._send("POST", "/v1/layers", NodeLayersAnswer, {"node": document(node)}, endless=True)
        return builtins.list(answer.layers)

    def distill(self, session: str, conversation: Sequence[str], **fields: Unpack[DistillFields]) -> DistillReport:
        """
        Keep the important facts of a conversation, part by part, in its session's scope or in `scope`. The same conversation
        again adds nothing.
        """
        body = changed({"session": session, "conversation": texts(conversation), **fields})
        return self._send("POST", "/v1/distill", DistillReport, body, endless=True)
