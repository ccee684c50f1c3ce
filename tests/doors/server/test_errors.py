"""One error, the shape of each door."""

import pytest

from commonplace import errors
from commonplace.testing.daemon import TOKEN, InProcess

pytestmark = pytest.mark.anyio


async def test_each_door_has_its_shape(running: InProcess) -> None:
    native = (await running.client.get("/v1/trial/missing")).json()
    keyed = (await running.client.get("/api/trial/missing")).json()
    governed = (await running.client.get("/memory/trial/missing")).json()
    gateway = (await running.client.get("/users/trial/missing")).json()

    assert native["error"]["code"] == "record_not_found"
    assert native["error"]["details"] == {"ids": ["1"]}
    assert keyed == {"success": False, "error": native["error"]["message"]}
    assert governed == gateway == {"error": native["error"]["message"], "code": "record_not_found"}


async def test_what_does_not_fit_is_named_and_not_repeated(running: InProcess) -> None:
    wrong = {"text": ["sk-ant-REDACTED"], "importance": 4711}

    native = await running.client.post("/v1/trial/echo", json=wrong)
    keyed = await running.client.post("/api/trial/echo", json=wrong)

    assert (native.status_code, native.json()["error"]["code"]) == (400, "invalid_input")
    assert [one["where"] for one in native.json()["error"]["details"]["problems"]] == ["text", "importance"]
    assert keyed.json()["error"].startswith("text: ")
    assert "; importance: " in keyed.json()["error"]
    assert not any(told in answer.text for answer in (native, keyed) for told in ("sk-ant", "4711"))


async def test_an_address_or_a_method_that_is_not_there_is_told_in_the_shape_of_its_door(running: InProcess) -> None:
    nowhere = await running.client.get("/v1/nowhere")
    keyed = await running.client.get("/api/nowhere")
    method = await running.client.delete("/v1/trial/whoami")

    assert (nowhere.status_code, nowhere.json()["error"]["code"]) == (404, "route_not_found")
    assert keyed.json()["success"] is False
    assert (method.status_code, method.json()["error"]["code"]) == (405, "method_not_allowed")
    assert method.headers["allow"] == "GET"


async def test_the_old_path_of_signing_in_is_not_served_and_names_the_new_one(running: InProcess) -> None:
    keyed = await running.client.get("/v1/session")
    stranger = await running.stranger.post("/v1/session", json={"key": TOKEN})

    for answer in (keyed, stranger):
        error = answer.json()["error"]
        assert (answer.status_code, error["code"], error["details"]["path"]) == (404, "route_not_found", "/v1/sign-in")
        assert "set-cookie" not in answer.headers


async def test_a_store_that_is_away_says_when_to_come_back(running: InProcess) -> None:
    answer = await running.client.get("/v1/trial/down")

    assert (answer.status_code, answer.json()["error"]["code"]) == (503, "store_unavailable")
    assert answer.headers["retry-after"] == "1"


async def test_a_mistake_of_ours_tells_nothing(running: InProcess, caplog: pytest.LogCaptureFixture) -> None:
    answer = await running.client.get("/v1/trial/mistake", headers={"X-Request-Id": "r-7"})

    assert (answer.status_code, answer.json()["error"]["code"]) == (500, "internal_error")
    assert "the text" not in answer.text
    assert [record.__dict__["told"]["request"] for record in caplog.records if record.msg == "unexpected"] == ["r-7"]


def test_every_error_has_a_place_in_the_tree() -> None:
    drawn = errors.__doc__ or ""
    classes = [value for value in vars(errors).values() if isinstance(value, type)]

    assert [kind.__name__ for kind in classes if kind.__name__ not in drawn] == []
    assert all(issubclass(kind, errors.CommonplaceError) for kind in classes)
