"""Talk becomes memory: extraction, and what a director learned."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from commonplace.sdk.documents import given, written
from commonplace.sdk.talk import Call, Talk, asked
from commonplace.values.extraction import Extracted, TalkFields
from commonplace.values.record import Json, Record, Turn
from commonplace.wire.extraction import ExtractAnswer, LearningsAnswer
from commonplace.wire.moving import QueuedAnswer
from commonplace.wire.records import RecordAnswer


def extract(talk: str | Sequence[Turn] | None, told: TalkFields, *, wait: bool) -> Talk[Extracted]:
    def done(body: bytes) -> Extracted:
        return ExtractAnswer.model_validate_json(body).value()

    def queued(body: bytes) -> Extracted:
        return Extracted(status="queued", job=QueuedAnswer.model_validate_json(body).job.id)

    body: dict[str, Json] = given({**told})
    if isinstance(talk, str):
        body["transcript"] = talk
    elif talk is not None:
        body["turns"] = [given(_turn(turn)) for turn in talk]
    return asked(
        Call(
            method="POST",
            path="/v1/extract",
            query=(("wait", "true"),) if wait else (),
            body=written(body),
            read=done if wait else queued,
            endless=wait,
        )
    )


def learn(agents: Sequence[str], learning: str, run: str | None) -> Talk[Record]:
    def read(body: bytes) -> Record:
        return RecordAnswer.model_validate_json(body).value()

    body = given({"agents": list(agents), "learning": learning, "run": run})
    return asked(Call(method="POST", path="/v1/agents/learnings", body=written(body), read=read))


def learnings(agents: Sequence[str]) -> Talk[list[Record]]:
    def read(body: bytes) -> list[Record]:
        return [one.value() for one in LearningsAnswer.model_validate_json(body).learnings]

    query = tuple(("agent", agent) for agent in agents)
    return asked(Call(method="GET", path="/v1/agents/learnings", query=query, read=read, reads=True))


def _turn(turn: Turn) -> dict[str, Any]:
    return {
        "speaker": turn.speaker,
        "text": turn.text,
        "at": turn.at,
        "message": turn.message,
        "metadata": dict(turn.metadata) or None,
    }
