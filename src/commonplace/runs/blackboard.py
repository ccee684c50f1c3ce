"""What a patch makes of a blackboard. Pure, as the transitions are."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Final

from commonplace.errors import InvalidInput, TextTooLarge
from commonplace.values.json import Json
from commonplace.values.run import (
    TASK_OPS,
    Blackboard,
    BlackboardArtifact,
    BlackboardItem,
    BlackboardPatch,
    PatchDraft,
    PatchOp,
)

MOST_TEXT: Final = 64 * 1024
_ITEMS: Final[frozenset[PatchOp]] = frozenset({"add_fact", "add_decision", "add_open_question"})
_SUMMARIES: Final[frozenset[PatchOp]] = frozenset({"set_rolling_summary", "set_latest_context_pack"})
_SUMMARY_NAMES: Final = ("text", "summary", "value")


def checked_patch(draft: PatchDraft) -> PatchDraft:
    """
    The patch with nothing in it but what the blackboard takes.

    Raises:
        InvalidInput: it lacks a text, or a path, or an id is no text.
        TextTooLarge: a text has more than 64 KiB.
    """
    if draft.op in TASK_OPS:
        return draft
    payload = draft.payload
    if draft.op in _SUMMARIES:
        text = next((payload[name] for name in _SUMMARY_NAMES if isinstance(payload.get(name), str)), None)
        if not isinstance(text, str):
            raise InvalidInput(f"{draft.op} needs a payload with a `text`.")
        return replace(draft, payload={"text": _short("text", text)})
    names = ("text",) if draft.op in _ITEMS else ("path", "artifact_type")
    fields: dict[str, Json] = {name: _required(draft.op, payload, name) for name in names}
    for name in ("id", "step_id", "source_event_id"):
        value = payload.get(name)
        if value is not None:
            fields[name] = _required(draft.op, payload, name)
    return replace(draft, payload=fields)


def patched(board: Blackboard, patch: BlackboardPatch) -> Blackboard:
    """The blackboard after the patch. One that it has already changes nothing; those of tasks change the revision alone."""
    if patch.seq <= board.revision:
        return board
    payload = patch.payload
    match patch.op:
        case "add_fact":
            return replace(board, facts=(*board.facts, _item(patch)), revision=patch.seq)
        case "add_decision":
            return replace(board, decisions=(*board.decisions, _item(patch)), revision=patch.seq)
        case "add_open_question":
            return replace(board, open_questions=(*board.open_questions, _item(patch)), revision=patch.seq)
        case "add_artifact":
            return replace(board, artifacts=(*board.artifacts, _artifact(patch)), revision=patch.seq)
        case "set_rolling_summary":
            summaries = replace(board.summaries, rolling=_string(payload, "text"))
            return replace(board, summaries=summaries, revision=patch.seq)
        case "set_latest_context_pack":
            summaries = replace(board.summaries, latest_context_pack=_string(payload, "text"))
            return replace(board, summaries=summaries, revision=patch.seq)
        case _:
            return replace(board, revision=patch.seq)


def _item(patch: BlackboardPatch) -> BlackboardItem:
    payload = patch.payload
    return BlackboardItem(
        id=_string(payload, "id") or patch.patch_id,
        ts_ms=patch.ts_ms,
        text=_string(payload, "text"),
        step_id=_string(payload, "step_id") or None,
        source_event_id=_string(payload, "source_event_id") or None,
    )


def _artifact(patch: BlackboardPatch) -> BlackboardArtifact:
    payload = patch.payload
    return BlackboardArtifact(
        id=_string(payload, "id") or patch.patch_id,
        ts_ms=patch.ts_ms,
        path=_string(payload, "path"),
        artifact_type=_string(payload, "artifact_type"),
        step_id=_string(payload, "step_id") or None,
        source_event_id=_string(payload, "source_event_id") or None,
    )


def _string(payload: Mapping[str, Json], name: str) -> str:
    value = payload.get(name)
    return value if isinstance(value, str) else ""


def _required(op: str, payload: Mapping[str, Json], name: str) -> str:
    value = payload.get(name)
    if not isinstance(value, str) or not value.strip():
        raise InvalidInput(f"{op} needs a payload whose `{name}` is a text.")
    return _short(name, value)


def _short(name: str, text: str) -> str:
    if len(text) > MOST_TEXT:
        raise TextTooLarge(f"`{name}` has more than {MOST_TEXT >> 10} KiB. Keep it as an artifact and name that.")
    return text
