"""A caller at the governed door, for tests, and a capability to go with it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import httpx

from commonplace.testing.callers import caller
from commonplace.testing.daemon import InProcess
from commonplace.values.principal import Role


@dataclass(frozen=True)
class Door:
    """`put`, `search` and the others answer what a successful request brought; `refused` the status and the code."""

    running: InProcess
    headers: Mapping[str, str] | None = None

    async def __call__(self, method: str, path: str, **sent: Any) -> httpx.Response:
        return await self.running.client.request(method, path, headers=self.headers, **sent)

    async def done(self, method: str, path: str, **sent: Any) -> Any:
        response = await self(method, path, **sent)
        assert response.status_code == 200, response.text
        return response.json()

    async def refused(self, method: str, path: str, **sent: Any) -> tuple[int, str]:
        response = await self(method, path, **sent)
        return response.status_code, response.json()["code"]

    async def put(self, content: str, **fields: Any) -> Any:
        return await self.done("POST", "/memory/put", json={"content": content, **fields})

    async def share(self, content: str, *, tier: str = "project", project: str = "default", **fields: Any) -> Any:
        """Put, and promoted at once, by somebody who may."""
        put = await self.put(content, partition={"project_id": project, "tier": tier}, **fields)
        await self.promote(put["id"], to_tier=tier)
        return put

    async def search(self, query: str, **fields: Any) -> Any:
        return await self.done("POST", "/memory/search", json={"query": query, **fields})

    async def found(self, query: str, **fields: Any) -> list[str]:
        return [row["content"] for row in (await self.search(query, **fields))["results"]]

    async def promote(self, id: str, **fields: Any) -> Any:
        return await self.done("POST", "/memory/promote", json={"id": id, **fields})

    async def audit(self, **params: Any) -> list[Any]:
        return (await self.done("GET", "/memory/audit", params=params))["entries"]

    async def key(
        self,
        role: Role,
        *scopes: str,
        name: str | None = None,
        user: str | None = None,
        tenant: str = "default/default",
    ) -> Door:
        """The same door, entered with a new key."""
        admin = caller("admin", tenant=tenant)
        _, secret = await self.running.services.identity.create_key(
            admin, name or role, role, scopes=scopes or None, user=user
        )
        return Door(self.running, {"Authorization": f"Bearer {secret}"})


def capability(**fields: Any) -> dict[str, Any]:
    """One that allows as much as can be, for a writer's key in its own tenant."""
    tiers = ["session", "project", "team", "curated", "global"]
    memory = {"read_tiers": tiers, "write_tiers": tiers, "promote_targets": tiers, **fields.pop("memory", {})}
    told = {
        "run_id": "r1",
        "subject": "writer",
        "org_id": "default",
        "workspace_id": "default",
        "project_id": "shop",
        "memory": memory,
    }
    return {**told, **fields}
