"""The context tree, its layers, and conversations distilled."""

from typing import Any

import pytest

from commonplace.testing.governed import Door, capability

pytestmark = pytest.mark.anyio

TALK = [
    "user: I prefer dark mode in every editor, and please always answer in English when we work together.",
    "assistant: Noted. I will keep that in mind for all of your projects from now on.",
    "user: We decided to deploy the payment service on Fridays. The root cause of the outage was a missing index on orders.",
]


async def tree(door: Door, uri: str, **params: Any) -> Any:
    [root] = (await door.done("GET", "/memory/context/tree", params={"uri": uri, **params}))["tree"]
    return root


@pytest.mark.parametrize("scheme", ["commonplace", "tandem"])
async def test_an_address_is_resolved_in_both_schemes(door: Door, scheme: str) -> None:
    put = await door.share("We ship on Fridays", project="shop")

    node = (await door.done("POST", "/memory/context/resolve", json={"uri": f"{scheme}://resources/shop"}))["node"]
    leaf = {"uri": f"{scheme}://resources/shop/{put['id']}"}
    found = (await door.done("POST", "/memory/context/resolve", json=leaf))["node"]

    assert (node["node_type"], node["uri"]) == ("directory", "commonplace://resources/shop")
    assert (found["id"], found["node_type"], found["parent_uri"]) == (put["id"], "file", "commonplace://resources/shop")


async def test_an_empty_directory_has_its_times_and_no_null(door: Door) -> None:
    node = (await door.done("POST", "/memory/context/resolve", json={"uri": "commonplace://"}))["node"]

    assert isinstance(node["created_at"], str)
    assert isinstance(node["updated_at"], str)
    assert "parent_uri" not in node


async def test_a_tree_shows_what_the_key_reaches(door: Door) -> None:
    await door.share("for the shop", project="shop")
    await door.share("for the bank", project="bank")
    narrow = await door.key("reader", "workspace:shop")

    everything = await tree(door, "tandem://resources")
    some = await tree(narrow, "tandem://resources")

    assert [child["node"]["uri"].rpartition("/")[2] for child in everything["children"]] == ["bank", "shop"]
    assert [child["node"]["uri"].rpartition("/")[2] for child in some["children"]] == ["shop"]
    assert everything["children"][0]["children"][0]["layer_summary"] == {"has_l2": True}
    assert (await tree(door, "tandem://resources", max_depth=1))["children"][0]["children"] == []
    refused = await narrow.refused("GET", "/memory/context/tree", params={"uri": "tandem://resources/bank"})
    assert refused == (403, "forbidden")


@pytest.mark.parametrize(
    ("uri", "status"), [("https://example", 400), ("tandem://nonsense", 400), ("tandem://resources/shop/none", 404)]
)
async def test_an_address_that_names_nothing_is_refused(door: Door, uri: str, status: int) -> None:
    assert (await door.refused("POST", "/memory/context/resolve", json={"uri": uri}))[0] == status
    assert (await door.refused("GET", "/memory/context/tree", params={"uri": uri}))[0] == status


async def test_layers_are_made_once_and_shown_in_the_tree(either: Door) -> None:
    put = await either.share("We ship on Fridays. " * 60, project="shop")
    body = {"node_id": put["id"]}

    done = await either.done("POST", "/memory/context/layers/generate", json=body)
    again = await either.done("POST", "/memory/context/layers/generate", json=body)

    assert done == again
    assert [layer["layer_type"] for layer in done["layers"]] == ["L0", "L1"]
    [leaf] = (await tree(either, "tandem://resources/shop"))["children"]
    assert leaf["layer_summary"]["l0_preview"].startswith("We ship on Fridays")
    assert len(leaf["layer_summary"]["l0_preview"]) <= 100


async def test_layers_of_what_is_out_of_reach_are_not_made(door: Door) -> None:
    put = await door.put("We ship on Fridays", private=True)
    other, reader = await door.key("writer", "workspace:shop"), await door.key("reader")
    path, body = "/memory/context/layers/generate", {"node_id": put["id"]}

    assert await other.refused("POST", path, json=body) == (404, "record_not_found")
    assert await reader.refused("POST", path, json=body) == (403, "forbidden")
    assert await door.refused("POST", path, json={"node_id": "nothing"}) == (404, "record_not_found")


# ---- distill


async def distilled(door: Door, **fields: Any) -> Any:
    body = {"session_id": "s1", "conversation": TALK, **fields}
    return await door.done("POST", "/memory/context/distill", json=body)


async def test_a_conversation_becomes_facts_of_its_session(either: Door) -> None:
    done = await distilled(either, artifact_refs=["notes.md"], workflow_id="release")

    assert (done["ok"], done["session_id"], done["status"]) == (True, "s1", "stored")
    assert done["facts_extracted"] == done["stored_count"] == len(done["memory_ids"]) > 1
    assert done["report"]["method"] == "rules"
    assert done["report"]["user_memory_updated"]
    assert done["report"]["agent_memory_updated"]
    [row] = (await either.search("dark mode", session_id="s1"))["results"]
    assert (row["kind"], row["tier"], row["artifact_refs"]) == ("fact", "session", ["notes.md"])
    assert row["memory_trust"]["label"] == "external_user_supplied"
    assert row["metadata"]["category"] == "user_preference"
    assert row["run_id"] == "distill-s1"


async def test_the_same_conversation_again_adds_nothing_and_a_deleted_fact_stays_deleted(either: Door) -> None:
    first = await distilled(either)
    await either.done("DELETE", f"/memory/{first['memory_ids'][0]}")

    again = await distilled(either)

    assert (again["stored_count"], again["deduped_count"]) == (0, first["stored_count"])
    assert again["status"] == "facts_extracted_only"
    assert set(again["memory_ids"]) == set(first["memory_ids"])
    assert not again["report"]["user_memory_updated"]
    assert (await either.done("GET", "/memory"))["count"] == first["stored_count"] - 1


async def test_another_workflow_learns_for_itself(door: Door) -> None:
    await distilled(door)

    assert (await distilled(door, workflow_id="release"))["stored_count"] > 0


async def test_a_short_conversation_is_skipped_and_an_empty_one_too(door: Door) -> None:
    for conversation in ([], ["hello there"]):
        done = await distilled(door, conversation=conversation)

        assert (done["status"], done["facts_extracted"], done["memory_ids"]) == ("skipped_short_conversation", 0, [])


async def test_what_is_not_important_enough_is_left_out(door: Door) -> None:
    done = await distilled(door, importance_threshold=1.0)

    assert (done["status"], done["stored_count"]) == ("no_important_facts", 0)


async def test_distilling_writes_and_so_needs_a_writer_who_reaches_the_session(door: Door) -> None:
    body = {"session_id": "s1", "conversation": TALK}
    reader, elsewhere = await door.key("reader"), await door.key("writer", "session:s2")
    writer = await door.key("writer")

    assert await reader.refused("POST", "/memory/context/distill", json=body) == (403, "forbidden")
    assert await elsewhere.refused("POST", "/memory/context/distill", json=body) == (403, "forbidden")
    for_another = {**body, "subject": "bo"}
    assert await writer.refused("POST", "/memory/context/distill", json=for_another) == (403, "forbidden")
    held = capability(memory={"write_tiers": []})
    under = {**body, "capability": held}
    assert await writer.refused("POST", "/memory/context/distill", json=under) == (403, "tier_not_allowed")


@pytest.mark.parametrize(
    "uri",
    [
        "tandem://global/%00",
        "tandem://user/a%00b",
        "tandem://session/%ff",
        "tandem://resources/a//b",
        "tandem://x/%ED%A0%80",
    ],
)
async def test_an_address_with_what_is_no_character_is_refused(either: Door, uri: str) -> None:
    assert (await either.refused("POST", "/memory/context/resolve", json={"uri": uri}))[0] in (400, 404)
    assert (await either.refused("GET", "/memory/context/tree", params={"uri": uri}))[0] in (400, 404)
