"""How the lists of a memory are used: findings, agents, workspaces, documents, and the tree of them. See `memory_client`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    # Half of all values: whoever only searches needs few of them.
    import builtins
    from datetime import datetime
    from typing import Unpack

    from commonplace.values.agent_profile import AgentFields, NewAgentFields
    from commonplace.values.knowledge import (
        FindingFields,
        FindingFilters,
        Item,
        Preflight,
        PreflightFields,
        Recording,
        Space,
        SpaceFields,
    )
    from commonplace.values.layer import LayerName, LayerText
    from commonplace.values.principal import Owner
    from commonplace.values.record import Record
    from commonplace.values.resource import ResourcePage, UserResource
    from commonplace.values.tree import Node, TreeNode


class KnowledgeClient(Protocol):
    """What earlier runs found out: spaces of findings, and whether a run may build on them."""

    async def create_space(self, namespace: str = "general", **fields: Unpack[SpaceFields]) -> Space:
        """Make a space for findings: of a project, of a run, or (neither) of everybody. One that is there already is answered."""
        ...

    async def spaces(self) -> builtins.list[Space]:
        """The spaces in reach, by namespace."""
        ...

    async def record_finding(self, space: str, title: str, **fields: Unpack[FindingFields]) -> Recording:
        """
        Record what was found out, as `working`. The same finding again is `refreshed`; with other words under the same `dedupe_key` it is
        the working `successor` of the one there; one that looks like an attack is `quarantined`. `outcome` says which.
        """
        ...

    async def findings(self, **filters: Unpack[FindingFilters]) -> builtins.list[Item]:
        """Findings in reach, newest first."""
        ...

    async def finding(self, id: str) -> Item:
        """One finding. Raises NotFound."""
        ...

    async def refresh_finding(
        self, id: str, *, freshness_expires_at: datetime | None = None, reason: str | None = None
    ) -> Item:
        """Confirm a finding: it is fresh until then, or (None) for as long again as it was. For reviewers. Raises InvalidTransition."""
        ...

    async def preflight(self, subject: str, **fields: Unpack[PreflightFields]) -> Preflight:
        """Whether what a run is about to find out is known already, trusted enough and fresh."""
        ...


class CatalogClient(Protocol):
    """Agents, workspaces, documents, and memory as folders."""

    async def agents(self) -> builtins.list[Owner]:
        """The agents in reach, by name. What one remembers are the records of the scope `agent:<id>`."""
        ...

    async def agent(self, id: str) -> Owner:
        """Raises NotFound: nobody created it, and its scope is empty."""
        ...

    async def create_agent(self, name: str, **fields: Unpack[NewAgentFields]) -> Owner:
        """A new agent, with its memory switched on or off. Raises Conflict: the id is taken."""
        ...

    async def edit_agent(self, id: str, **fields: Unpack[AgentFields]) -> Owner:
        """
        Rename an agent, switch its memory on or off (while it is off, no prompt has a section for it), or give it another profile
        in place of the one it has.
        """
        ...

    async def remove_agent(self, id: str) -> int:
        """Remove an agent and delete all that it remembers; answers how many records that were."""
        ...

    async def workspaces(self) -> builtins.list[Owner]:
        """The workspaces in reach, by name. What one remembers are the records of the scope `workspace:<id>`."""
        ...

    async def workspace(self, id: str) -> Owner:
        """Raises NotFound: nobody created it, and its scope is empty."""
        ...

    async def create_workspace(self, name: str, *, id: str | None = None) -> Owner:
        """A new workspace. Raises Conflict: the id is taken."""
        ...

    async def edit_workspace(self, id: str, *, name: str) -> Owner:
        """Rename a workspace."""
        ...

    async def remove_workspace(self, id: str) -> int:
        """Remove a workspace and delete all that it remembers; answers how many records that were."""
        ...

    async def put_resource(self, content: str, *, uri: str | None = None, title: str | None = None) -> UserResource:
        """Keep a document of the caller's own; under a `uri` that is known, its next version."""
        ...

    async def resources(self, *, limit: int = 100, cursor: str | None = None) -> ResourcePage:
        """The caller's own documents, newest first, a page at a time."""
        ...

    async def resource(self, uri: str) -> Record:
        """A document of the caller's own. Raises NotFound."""
        ...

    async def remove_resource(self, uri: str) -> None:
        """Delete a document of the caller's own; `undo` brings it back. Raises NotFound."""
        ...

    async def tree(
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
        ...

    async def resolve(self, uri: str) -> Node:
        """What an address in the tree names. Raises NotFound."""
        ...

    async def layer(self, node: str, name: LayerName = "L0") -> LayerText:
        """A record or a folder, by its id or its address, as a layer tells it: L0 an abstract, L1 an overview, L2 the text itself."""
        ...

    async def make_layers(self, node: str) -> builtins.list[LayerText]:
        """Make the layers L0 and L1 of a record, by the model if there is one, and keep them. Those that are there stay."""
        ...
