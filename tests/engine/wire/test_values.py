"""Answers are the values themselves: what goes out as JSON comes back equal, and its schema promises every field."""

import json
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from pydantic import TypeAdapter, ValidationError

from commonplace.errors import InvalidQuery
from commonplace.sdk.calls.records import narrowed
from commonplace.values.audit import AuditPage, AuditRow
from commonplace.values.principal import Key, ScopePattern
from commonplace.values.query import Filter, Filters, Page
from commonplace.values.record import Provenance, Record
from commonplace.values.review import Waiting, WaitingPage
from commonplace.values.scope import Scope
from commonplace.values.shelf import ShelfFile, ShelfFiles
from commonplace.values.upkeep import Rule
from commonplace.wire.queries import ListQuery, SearchQuery, filters_of
from commonplace.wire.search import SearchBody
from commonplace.wire.shapes import reader, to_json

NOW = datetime(2026, 3, 1, 9, 30, tzinfo=UTC)
RECORD = Record(
    id="0197",
    scope=Scope("channel", "room: 7"),
    text="We ship on Fridays ☕",
    created_at=NOW,
    updated_at=NOW + timedelta(milliseconds=7),
    tags=("a", "b"),
    metadata={"n": 1, "x": 1.5, "list": [None, True, {"deep": "yes"}]},
    at=NOW - timedelta(days=1),
    provenance=Provenance(run="r"),
)
FILE = ShelfFile(path="feedback/tone.md", bytes=12, modified_at=NOW, etag='"e"', type="feedback", name="Tone")
VALUES = [
    RECORD,
    Page((RECORD,), "next"),
    WaitingPage((Waiting(record=RECORD, reasons=("rate",)),), None),
    ShelfFiles(root="user", scope=Scope("user", "local"), trust="verified", index="", files=(FILE,), total=1),
    AuditPage((AuditRow(id="1", at=NOW, tenant="a/b", actor="ana", action="record.put", scope=Scope("global")),), None),
    Key(id="k", name="ci", tenant="a/b", role="writer", created_at=NOW, created_by="op", scopes=(ScopePattern("*"),)),
    Rule(scope="session", max_age=timedelta(days=90)),
]


@pytest.mark.parametrize("value", VALUES, ids=lambda value: type(value).__name__)
def test_a_value_comes_back_from_the_wire_as_it_was(value: object) -> None:
    assert reader(type(value))(to_json(value, NOW)) == value


@pytest.mark.parametrize("value", VALUES, ids=lambda value: type(value).__name__)
def test_the_schema_of_a_value_requires_every_field_of_it(value: object) -> None:
    schema = TypeAdapter[Any](type(value)).json_schema(mode="serialization")

    assert set(schema["required"]) == set(json.loads(to_json(value, NOW)))


def test_times_are_written_to_the_millisecond_scopes_as_text_and_spans_in_seconds() -> None:
    record = json.loads(to_json(RECORD, NOW))
    rule = json.loads(to_json(VALUES[-1]))

    assert (record["created_at"], record["updated_at"]) == ("2026-03-01T09:30:00.000Z", "2026-03-01T09:30:00.007Z")
    assert record["scope"] == "channel:room: 7"
    assert rule["max_age"] == 7_776_000.0


def test_a_record_has_the_state_of_the_moment_it_is_sent_at() -> None:
    record = Record(id="1", scope=Scope("global"), text="t", created_at=NOW, updated_at=NOW, expires_at=NOW)

    before, after = (json.loads(to_json(Page((record,), None), NOW + timedelta(seconds=n))) for n in (-1, 1))

    assert (before["records"][0]["state"], after["records"][0]["state"]) == ("live", "expired")


def test_a_field_that_is_new_does_not_disturb_the_reader() -> None:
    document = {**json.loads(to_json(RECORD, NOW)), "since_tomorrow": 1}

    assert reader(Record)(json.dumps(document)) == RECORD


@pytest.mark.parametrize(("field", "wrong"), [("scope", "nowhere:x"), ("created_at", "yesterday"), ("at", 7)])
def test_what_is_no_scope_and_no_time_is_refused(field: str, wrong: object) -> None:
    document = {**json.loads(to_json(RECORD, NOW)), field: wrong}

    with pytest.raises(ValidationError):
        reader(Record)(json.dumps(document))


# ---- one filter

FILTERS: Filters = {"kinds": ["fact"], "tags": ["a", "b"], "sessions": ["s"], "speaker": "ana", "pinned": True}


def test_a_filter_is_the_same_in_a_url_in_a_body_and_from_a_client() -> None:
    params: dict[str, Any] = {"kind": ["fact"], "tag": ["a", "b"], "session": ["s"], "speaker": "ana", "pinned": True}
    body = SearchBody.model_validate({"text": "?", "scopes": ["global"], **FILTERS})
    search = SearchQuery.model_validate({"q": "?", "scope": ["global"], **params})
    listing = ListQuery.model_validate({"scope": ["global"], **params})

    filters = [Filter.parse(asked.scopes, ("live",), filters_of(asked)) for asked in (body, search, listing)]

    assert filters == [Filter.parse("global", ("live",), FILTERS)] * 3


def test_a_client_names_in_a_url_what_the_daemon_reads_there() -> None:
    params = narrowed("global", ("live",), FILTERS)
    assert params is not None
    several = {name: [value for key, value in params if key == name] for name, _ in params}
    single = {name: several[name][0] for name in ("speaker", "pinned")}

    query = ListQuery.model_validate({**several, **single})

    assert Filter.parse(query.scopes, query.states(), filters_of(query)) == Filter.parse("global", ("live",), FILTERS)


@pytest.mark.parametrize(
    ("states", "filters"), [(("live",), {"kindz": ["x"]}), (("alive",), {}), (("live",), {"trust": ["blind"]})]
)
def test_no_client_sends_a_filter_that_there_is_not(states: Any, filters: Any) -> None:
    with pytest.raises(InvalidQuery):
        narrowed(None, states, filters)
