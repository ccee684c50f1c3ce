"""Talk becomes memory."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from commonplace.sdk.documents import given, written
from commonplace.sdk.talk import Call, Talk, asked
from commonplace.values.extraction import Extracted, TalkFields
from commonplace.values.record import Json, Turn
from commonplace.wire.extraction import ExtractAnswer
from commonplace.wire.shapes import reader
from commonplace.wire.transfer import QueuedAnswer


def extract(talk: str | Sequence[Turn] | None, fields: TalkFields, *, wait: bool) -> Talk[Extracted]:
    def done(body: bytes) -> Extracted:
        return reader(ExtractAnswer)(body).extracted()

    def queued(body: bytes) -> Extracted:
        return Extracted(status="queued", job=QueuedAnswer.model_validate_json(body).job.id)

    body: dict[str, Json] = given({**fields})
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
            decode=done if wait else queued,
            endless=wait,
        )
    )


def _turn(turn: Turn) -> dict[str, Any]:
    return {
        "speaker": turn.speaker,
        "text": turn.text,
        "at": turn.at,
        "message": turn.message,
        "metadata": dict(turn.metadata) or None,
    }
