"""What reviewers do with findings, through the clients: each step with its reason, which the audit keeps."""

from typing import Any

import httpx
import pytest

from commonplace import AsyncClient, Client
from commonplace.errors import InvalidTransition, ReviewRequired
from commonplace.testing.daemon import Daemon, InProcess


def steps(rows: list[dict[str, Any]]) -> list[tuple[str, str]]:
    """What was done to findings, newest first, and why."""
    return [(row["details"]["to"], row["details"]["reason"]) for row in rows if "to" in row["details"]]


@pytest.mark.anyio
async def test_a_finding_is_promoted_approved_and_given_up_with_a_reason(
    client: AsyncClient, running: InProcess
) -> None:
    space = (await running.client.post("/v1/knowledge/spaces", json={"project": "shop"})).json()["id"]
    made = (await running.client.post("/v1/knowledge/items", json={"space": space, "title": "VAT is 19 %"})).json()[
        "id"
    ]

    await client.promote_finding(made, reason="checked twice")
    with pytest.raises(ReviewRequired):
        await client.promote_finding(made, to="approved_default", reason="nobody signed it")
    await client.promote_finding(made, to="approved_default", reviewer="operator", approval="A-7", reason="signed")
    await client.deprecate_finding(made, reason="the law has changed")

    found = (await running.client.get(f"/v1/knowledge/items/{made}")).json()
    rows = (await running.client.get("/v1/audit", params={"limit": 50})).json()["rows"]
    assert (found["status"], found["approval_id"]) == ("deprecated", "A-7")
    assert steps([row for row in rows if row["outcome"] == "ok"]) == [
        ("deprecated", "the law has changed"),
        ("approved_default", "signed"),
        ("promoted", "checked twice"),
    ]


def test_the_same_without_async(daemon: Daemon) -> None:
    headers = {"Authorization": f"Bearer {daemon.token}"}
    with Client(daemon.url, daemon.token) as client, httpx.Client(base_url=daemon.url, headers=headers) as http:
        space = http.post("/v1/knowledge/spaces", json={"project": "shop"}).json()["id"]
        made = http.post("/v1/knowledge/items", json={"space": space, "title": "VAT is 19 %"}).json()["id"]

        client.promote_finding(made, reason="checked twice")
        client.deprecate_finding(made, reason="the law has changed")

        with pytest.raises(InvalidTransition):
            client.promote_finding(made)
        rows = http.get("/v1/audit", params={"limit": 50}).json()["rows"]
        assert steps([row for row in rows if row["outcome"] == "ok"]) == [
            ("deprecated", "the law has changed"),
            ("promoted", "checked twice"),
        ]
