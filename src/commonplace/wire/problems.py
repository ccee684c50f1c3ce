"""What went wrong, on the wire."""

from __future__ import annotations

from pydantic import ConfigDict, JsonValue

from commonplace.wire.shapes import Answer


class Problem(Answer):
    """`code` is stable: programs may compare it. `message` says what to do next."""

    code: str
    message: str
    details: dict[str, JsonValue] | None = None


class ProblemAnswer(Answer):
    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {
                    "error": {
                        "code": "record_not_found",
                        "message": "There is no such record. `commonplace list` shows what there is.",
                    }
                }
            ]
        }
    )

    error: Problem
