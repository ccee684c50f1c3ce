"""A client waits where the daemon can, and looks again and again, never in a tight loop, where it cannot."""

import json
from typing import Any

import pytest

from commonplace.sdk.calls import transfer
from commonplace.sdk.talk import HttpReply, Pause, Send
from commonplace.values.pauses import Pauses
from commonplace.values.transfer import ImportOptions

MOMENT = "2026-01-01T00:00:00Z"
COUNTS = "discovered_files files_processed indexed_files skipped_files deleted_files chunks_created errors".split()


def job(state: str, result: Any = None) -> dict[str, Any]:
    return {
        **dict.fromkeys(("scope", "not_before", "client", "error")),
        **dict.fromkeys(("attempts", "max_attempts", "done", "total"), 0),
        **dict.fromkeys(("created_at", "updated_at"), MOMENT),
        "id": "j1",
        "kind": "import",
        "state": state,
        "created_by": "ana",
        "result": result,
    }


def reply(told: Any) -> HttpReply:
    return HttpReply(status=200, body=json.dumps(told).encode())


def test_of_a_daemon_that_cannot_wait_a_client_asks_less_and_less_often() -> None:
    talk = transfer.import_files({"a.md": "We ship."}, "global", ImportOptions(), None)
    asked, pauses, report = list[tuple[str, Any]](), list[float](), None
    step: Send | Pause = next(talk)
    try:
        while True:
            if isinstance(step, Pause):
                pauses.append(step.seconds)
                step = talk.send(None)
                continue
            asked.append((step.call.path, step.call.query))
            queued, over = len(asked) == 1, len(asked) > 12
            told: Any = (
                {"job": job("queued")}
                if queued
                else job("done", {**dict.fromkeys(COUNTS, 1), "problems": []})
                if over
                else job("running")
            )
            step = talk.send(reply(told))
    except StopIteration as end:
        report = end.value

    assert asked[1:] == [("/v1/tasks/j1", (("wait", "10"),))] * 12
    assert len(pauses) == 11
    assert pauses == sorted(pauses)
    assert (pauses[0], pauses[-1] > 0.5, report.indexed_files) == (0.05, True, 1)


def test_a_look_that_has_waited_is_followed_by_no_pause() -> None:
    pauses = Pauses(next=0.1, longest=0.2)

    waited = [pauses.after(took, 10.0) for took in (10.0, 5.0)]
    early = [pauses.after(took, wait) for took, wait in ((4.9, 10.0), (0.0, 10.0), (3.0, 0.0), (0.0, 1.0), (0.0, 1.0))]

    assert waited == [0.0, 0.0]
    assert early == pytest.approx([0.1, 0.13, 0.169, 0.2, 0.2])
