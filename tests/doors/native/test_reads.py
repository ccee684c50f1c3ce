"""How often a request reads the record that it changes, counted at the store."""

from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import Any

import httpx
import pytest

from commonplace.service.records import Records
from commonplace.testing.daemon import InProcess

pytestmark = pytest.mark.anyio

READS = ("get", "history", "find", "lineages")


class CountedStore:
    """A store, and its records, as they are. `reads` are the calls that answer records; `between` happens after the next."""

    def __init__(self, inner: Any) -> None:
        self._inner = inner
        self.reads: list[str] = []
        self.between: list[Callable[[], Awaitable[None]]] = []

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._inner, name)
        if name == "records":
            records = CountedStore(found)
            records.reads, records.between = self.reads, self.between
            return records
        if name not in READS:
            return found

        async def read(*args: Any, **kwargs: Any) -> Any:
            self.reads.append(name)
            answer = await found(*args, **kwargs)
            if self.between:
                await self.between.pop()()
            return answer

        return read


@pytest.fixture
def counted(running: InProcess) -> CountedStore:
    """The store that the daemon reads and changes records in."""
    desk = running.services.desk
    store: Any = CountedStore(desk.store)
    running.services.records = Records(replace(desk, store=store))
    return store


@pytest.mark.parametrize(
    ("method", "path", "body"),
    [
        ("POST", "/pin", {"pinned": True}),
        ("POST", "/demote", {}),
        ("POST", "/expire", {}),
        ("POST", "/promote", {}),
        ("PATCH", "", {"tags": ["a"], "importance": 7}),
        ("DELETE", "", None),
    ],
)
async def test_a_change_reads_its_record_once(
    counted: CountedStore, http: httpx.AsyncClient, put: Any, method: str, path: str, body: Any
) -> None:
    id = (await put("We ship on Fridays"))["id"]
    counted.reads.clear()

    answer = await http.request(method, f"/v1/records/{id}{path}", json=body)

    assert (answer.status_code, answer.json()["version"]) == (200, 2)
    # A promotion asks who wrote it.
    assert counted.reads == (["get", "history"] if path == "/promote" else ["get"])


async def test_an_undo_reads_its_record_once_and_its_versions_once(
    counted: CountedStore, http: httpx.AsyncClient, put: Any
) -> None:
    id = (await put("We ship on Fridays"))["id"]
    await http.patch(f"/v1/records/{id}", json={"text": "We ship on Mondays"})
    counted.reads.clear()

    answer = await http.post(f"/v1/records/{id}/undo", json={})

    assert (answer.json()["text"], answer.json()["version"]) == ("We ship on Fridays", 3)
    assert counted.reads == ["get", "history"]


async def test_a_pin_that_changes_nothing_reads_its_record_once_too(
    counted: CountedStore, http: httpx.AsyncClient, put: Any
) -> None:
    id = (await put("We ship on Fridays", pinned=True))["id"]
    counted.reads.clear()

    answer = await http.post(f"/v1/records/{id}/pin", json={"pinned": True})

    assert answer.json()["version"] == 1
    assert counted.reads == ["get"]


async def test_a_pin_whose_record_was_changed_after_it_was_read_pins_what_is_there_by_then(
    counted: CountedStore, http: httpx.AsyncClient, put: Any
) -> None:
    id = (await put("We ship on Fridays"))["id"]

    async def other() -> None:
        await http.patch(f"/v1/records/{id}", json={"importance": 7})

    counted.between.append(other)
    answer = await http.post(f"/v1/records/{id}/pin", json={"pinned": True})

    record = answer.json()
    assert (record["version"], record["pinned"], record["importance"]) == (3, True, 7)
