"""The bench counts as it says it does. Tiny worlds, no public data, nothing about speed."""

import asyncio
import json
from pathlib import Path
from typing import Any

import httpx
import pytest
from bench import console, install, learning, report, routing, runs, sessions
from bench.__main__ import main
from bench.counting import gain, means, of_sessions, of_turns, share
from bench.machine import ROOT, describe, keep, percentile
from bench.peers.run import ratios
from bench.recall import measure
from bench.scale import many_scopes, one_scope, scope_in_store
from bench.sets import Asked, load, locomo, own
from bench.synthetic import Texts
from bench.targets import judged

from commonplace import open_memory

CONVERSATION = {
    "session_1_date_time": "1:56 pm on 8 May, 2023",
    "session_1": [
        {"speaker": "Ana", "dia_id": "D1:1", "text": "I adopted a grey cat called Pixel."},
        {"speaker": "Ben", "dia_id": "D1:2", "text": "Lovely!", "blip_caption": "a kitten on a sofa"},
    ],
    "session_2_date_time": "9:05 am on 2 June, 2023",
    "session_2": [{"speaker": "Ben", "dia_id": "D2:1", "text": "My train to Lisbon leaves on Monday."}],
}
QUESTIONS = [
    {"question": "What is the name of Ana's cat?", "evidence": ["D1:1"], "category": 1},
    {"question": "Where does Ben travel?", "evidence": ["D2:1; D9:9"], "category": 2},
    {"question": "Not counted", "evidence": ["D1:1"], "category": 5},
]


@pytest.fixture
def data(tmp_path: Path) -> Path:
    folder = tmp_path / "data"
    folder.mkdir()
    (folder / "locomo-dev.json").write_text(json.dumps([{"conversation": CONVERSATION, "qa": QUESTIONS}]))
    return folder


def test_a_conversation_is_read_with_captions_times_and_the_questions_that_count(data: Path):
    (world,) = locomo(data)

    assert [talk.session for talk in world.talks] == ["session-1", "session-2"]
    assert world.talks[0].turns[1].text == "Lovely! [image: a kitten on a sofa]"
    assert str(world.talks[0].turns[0].at) == "2023-05-08 13:56:00+00:00"
    assert [sorted(asked.evidence) for asked in world.questions] == [["D1:1"], ["D2:1"]]


def test_a_set_whose_data_is_not_here_is_skipped(tmp_path: Path):
    assert load("beam", tmp_path) is None
    assert load("locomo", None) is None


def test_recall_is_measured_through_the_public_door(data: Path, tmp_path: Path):
    with open_memory(tmp_path / "memory.db", embedder="static") as memory:
        (figures,) = measure(memory, "locomo", locomo(data), ["hybrid"])

    assert figures.questions == 2
    assert figures.figures == {"R@5": 1.0, "R@10": 1.0, "R@20": 1.0}


def test_the_share_of_evidence_among_the_first_k_is_counted():
    assert share(["a", "b", "c"], {"a", "c"}, 2) == 0.5
    assert of_turns(Asked("?", frozenset({"f"}), overlap=False), list("abcdef")) == {
        "R@5": 0.0,
        "R@10": 1.0,
        "R@20": 1.0,
        "R@10 no shared word": 1.0,
    }


def test_a_session_stands_where_its_first_hit_does():
    found = ["s1", "s1", "s1", "s1", "s1", "s1", "s2"]

    figures = of_sessions(Asked("?", frozenset({"s1", "s2"})), found)

    assert figures == {"all@5": 1.0, "all@10": 1.0, "nDCG@10": 1.0}
    assert gain(["x", "s1"], {"s1"}, 10) == pytest.approx(0.6309, abs=1e-4)


def test_a_mean_is_over_the_questions_that_have_the_figure():
    assert means([{"a": 1.0, "b": 0.5}, {"a": 0.0}]) == {"a": 0.5, "b": 0.5}


def test_a_percentile_is_the_nearest_rank():
    assert percentile([5.0, 1.0, 3.0, 2.0, 4.0], 0.5) == 3.0
    assert percentile([1.0], 0.95) == 1.0


def test_our_own_set_is_read_whole():
    (world,) = own("chinese")

    assert len(world.notes) + sum(len(talk.turns) for talk in world.talks) >= 300
    assert len(world.questions) >= 100


def test_the_same_number_gives_the_same_text_and_texts_look_natural():
    one, other = Texts(), Texts()

    batch = one.batch(1000, 300)

    assert batch == other.batch(1000, 300)
    assert batch != one.batch(2000, 300)
    assert 15 < sum(len(text.split()) for text in batch) / len(batch) < 25
    assert len(set(one.questions(20))) == 20


def test_size_and_speed_are_measured_on_a_few_records(tmp_path: Path):
    figures = one_scope(30, 4, tmp_path)

    assert figures["records"] == 30
    assert figures["queries"] == 4
    assert figures["file_over_text_and_vectors"] > 1


def test_a_small_scope_is_measured_alone_and_among_others(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("bench.scale.SMALL", 20)

    figures = scope_in_store(60, 4, tmp_path)

    assert figures["alone"]["queries"] == figures["inside"]["queries"] == 4
    assert figures["ratio_p50"] > 0


def test_a_long_question_is_measured_against_a_short_one(tmp_path: Path):
    figures = many_scopes(4, 5, 2, tmp_path)

    assert (figures["scopes"], figures["records"]) == (4, 20)
    assert figures["short"]["queries"] == figures["long"]["queries"] == 2
    assert figures["ratio_p50"] > 0


def test_learning_is_measured_on_a_few_facts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("bench.scale.SCRATCH", tmp_path)
    monkeypatch.setattr("bench.learning._SETTLED", 0.0)

    figures = learning.measure(runs=1, facts=2, pairs=1, idle=0.1)

    assert figures["remember"]["facts"] == 2
    assert [one["request"] for one in figures["extraction"]] == ["POST /memories/flush", "POST /v1/extract"]
    assert all(one["learned_after_ms"] > one["with_ms"] for one in figures["extraction"])


def test_what_extraction_adds_is_the_median_of_the_differences_without_the_first():
    on, off = iter([9.0, 0.005, 0.004, 0.009]), iter([0.0, 0.003, 0.001, 0.002])

    with httpx.Client() as client:
        found = learning.paired(client, "a request", 3, lambda _: (next(on), None), lambda _: (next(off), None))

    assert (found["added_ms"], found["with_ms"], found["without_ms"]) == (3.0, 5.0, 2.0)


def test_the_console_is_measured_on_a_few_records(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("bench.scale.SCRATCH", tmp_path)
    monkeypatch.setattr("bench.console._QUIET_MS", 0)

    figures = console.measure(records=400, visits=1, times=1, peer=False)

    assert [one["cache"] for one in figures["paint"]] == ["cold", "warm"]
    assert all(one["p95_done_ms"] >= one["done_ms"] > 0 for one in figures["interactions"])
    assert all(one["done_ms"] > 0 for one in figures["pages"])
    assert 0 < figures["transfer"]["first_page_kb"] < figures["transfer"]["all_pages_kb"]


def test_the_report_tells_how_soon_the_console_is_painted_and_beside_whom(tmp_path: Path):
    paint = {"cache": "cold", "first_ms": 120.0, "content_ms": 130.0, "rows_ms": 300.0, "slowest_rows_ms": 400.0}
    told: dict[str, Any] = {
        "records": 100_000,
        "paint": [paint],
        "interactions": [{"interaction": "pinning", "feedback_ms": 20.0, "done_ms": 140.0, "longest_task_ms": 30.0}],
        "transfer": {"files": 80, "first_page_kb": 50.0, "all_pages_kb": 251.0},
        "peer": {"peer": "datasette", "paint": [{"cache": "cold", "first_ms": 240.0}]},
    }
    made = {"command": "python -m bench console", "machine": describe(), "busy_elsewhere_before": 0.0}
    keep("console", {**made, **told}, tmp_path)

    results = report.kept(tmp_path)

    told_of = [row.replace(" ", "") for row in report.written(results).splitlines()]
    assert any(row.startswith("|cold|120|130|300|240|0.500|") for row in told_of)
    assert [one.met for one in judged(results)] == [True, True, False, False]


def test_the_report_tells_what_learning_costs_and_how_good_the_rules_are(tmp_path: Path):
    made = {"command": "python -m bench learning", "machine": describe()}
    added = {"request": "POST /v1/extract", "added_ms": 7.5}
    told = {"remember": {"p95_ms": 30.0}, "extraction": [added], "idle": {"idle_cores": 0.01}, **made}
    rules = {"half": "first", "language": "en", "recall": 0.4, "precision": 0.95, "added by a second run": 0}
    keep("learning", {**told, "busy_elsewhere_before": 0.0}, tmp_path)
    keep("extraction", {"results": [rules], **made}, tmp_path)

    results = report.kept(tmp_path)
    page = report.written(results)

    assert [one.met for one in judged(results)] == [False, True, True, True, False]
    assert "## Extraction by rules" in page
    assert "## Learning while somebody waits" in page


def test_the_held_back_talks_are_held_to_their_targets_and_the_others_are_only_shown(tmp_path: Path):
    row = {"language": "en", "precision": 0.86, "recall": 0.4, "private facts in a workspace": 0}
    strangers = [{"half": half, **row} for half in ("development", "held-back")]
    keep(
        "extraction",
        {"results": [], "talks": strangers, "command": "python -m bench extraction", "machine": describe()},
        tmp_path,
    )

    results = report.kept(tmp_path)

    assert [one.met for one in judged(results)] == [True, False, True]
    assert "| held-back" in report.written(results)


def test_an_installation_is_weighed_by_its_largest_packages_and_the_rest_together(tmp_path: Path):
    rows = [("small", 1_000_000, 0), ("large", 90_000_000, 5_000_000), ("other", 50_000_000, 8_000_000)]
    made = {"command": "python -m bench install", "machine": describe()}

    packages = install.largest(rows, 2)
    whole = {"install": "commonplace", **install.largest([("all", 141_000_000, 13_000_000)])[0]}
    keep("install", {"wheel_mb": 49.1, "results": [whole], "packages": packages, **made}, tmp_path)

    assert [(row["package"], row["together_mb"]) for row in packages] == [("large", 95), ("other", 58), ("1 others", 1)]
    assert [one.met for one in judged(report.kept(tmp_path))] == [True, False]
    assert "## What an installation weighs" in report.written(report.kept(tmp_path))


def test_a_ratio_adds_the_cost_of_vectors_to_a_peer_that_was_handed_them():
    ours = {"peer": "commonplace", "size": 100, "ingest_per_s": 1000.0, "p50_ms": 2.0}
    theirs = {
        "peer": "chromadb",
        "size": 100,
        "stored": 100,
        "ingest_s": 0.5,
        "ingest_per_s": 200.0,
        "p50_ms": 0.5,
        "embed_records_s": 0.5,
        "embed_question_ms": 0.5,
        "note": "vectors given",
    }

    (ratio,) = ratios([ours, theirs, {"peer": "mem0", "size": 100, "failed": "no"}], 100)

    assert ratio["ingest_times_faster"] == 5.0
    assert ratio["ingest_times_faster_with_embedding"] == 10.0
    assert ratio["our_p50_over_theirs"] == 4.0
    assert ratio["our_p50_over_theirs_with_embedding"] == 2.0


def test_the_report_names_what_is_missed(tmp_path: Path):
    found = [
        {"set": "locomo", "mode": mode, "questions": 2, "figures": {"R@5": 0.5, "R@10": value, "R@20": 0.9}}
        for mode, value in (("hybrid", 0.7), ("words", 0.6), ("meaning", 0.5))
    ]
    made = {"command": "python -m bench recall", "machine": describe()}
    keep("recall-sqlite", {"store": "sqlite", "embedder": "static", "results": found, **made}, tmp_path)

    results = report.kept(tmp_path)
    page = report.written(results)

    assert [one.met for one in judged(results)] == [False, True, True]
    assert "**missed**" in page
    assert "`python -m bench recall`" in page


def test_a_set_that_the_guard_has_learned_from_promises_nothing_and_another_does(tmp_path: Path):
    row = {"set": "seen", "learned from": "yes", "language": "both", "attacks": 200, "labelled untrusted": 200}
    row |= {"recognised": 0.5, "look-alikes": 200, "held by mistake": 0.5}
    held = {**row, "set": "heldback", "learned from": "no", "recognised": 0.74, "held by mistake": 0.04}
    made = {"command": "python -m bench poisoning", "machine": describe()}
    keep("poisoning", {"results": [row, held, {**held, "language": "zh"}], **made}, tmp_path)

    judgements = [*judged(report.kept(tmp_path))]

    assert [(one.wanted, one.met) for one in judgements] == [("≥ 200", True), ("≥ 0.75", False), ("≤ 0.04", True)]


def test_recall_is_held_against_what_it_was(tmp_path: Path):
    wanted = {"locomo": ("R@10", 0.769), "longmemeval": ("all@5", 0.69), "beam": ("R@10", 0.615)}
    found = [
        {"set": name, "mode": "hybrid", "questions": 2, "figures": {"R@20": 0.9, figure: least - 0.001}}
        for name, (figure, least) in wanted.items()
    ]
    keep("recall-sqlite", {"store": "sqlite", "embedder": "static", "results": found}, tmp_path)

    missed = {one.target: one.wanted for one in judged(report.kept(tmp_path)) if not one.met}

    assert missed == {f"{name} {figure}": f"≥ {least}" for name, (figure, least) in wanted.items()}


def test_every_request_that_routing_is_measured_with_is_answered(tmp_path: Path):
    rows = asyncio.run(routing.measure(tmp_path / "home", times=1))

    assert [row["request"] for row in rows] == list(routing.REQUESTS)


def test_the_command_says_which_sets_it_skips(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    main(["recall", "--set", "beam", "--data", str(tmp_path), "--dry"])

    assert "beam: skipped" in capsys.readouterr().out


def test_the_page_on_poisoning_has_the_figures_that_were_measured():
    rows = json.loads((ROOT / "bench" / "results" / "poisoning.json").read_text(encoding="utf-8"))["results"]
    figures = {
        row["set"]: (round(100 * row["recognised"]), round(100 * row["held by mistake"]))
        for row in rows
        if row["language"] == "both"
    }
    page = " ".join((ROOT / "docs" / "why" / "poisoning.md").read_text(encoding="utf-8").split())
    strange = figures.pop("heldback")
    recognised, held = zip(*figures.values(), strict=True)

    assert all(row["labelled untrusted"] == row["attacks"] for row in rows)
    assert "recognises **{} in 100 attacks, and holds {} in 100 look-alikes**".format(*strange) in page
    assert f"it recognises {min(recognised)} to {max(recognised)} in 100 and holds at most {max(held)}," in page


def test_sessions_are_measured_at_both_doors_beside_a_bare_application() -> None:
    rows = sessions.measure(sessions=2, chunks=3, prompts=4)

    ways = [row["way"] for row in rows]
    assert ways == [
        "daemon, one session, /v1",
        "daemon, one session, /session",
        "bare FastAPI echo",
        "daemon, 2 sessions, /v1",
        "daemon, 2 sessions, /session",
        "bare relay, 2 streams",
    ]
    assert all(row["first_event_p50_ms"] > 0 for row in rows[:3])
    assert [(row["events"], row["missing"]) for row in rows[3:]] == [(6, 0)] * 3


def test_a_greeting_that_nothing_was_compared_with_is_not_measured_and_says_so() -> None:
    alone = {"sessions": {"greetings": [{"agent": "commonplace acp", "initialize_ms": 90.0, "ours_to_this": 1.0}]}}
    beside = {"sessions": {"greetings": [{"agent": "qwen-code", "ours_to_this": 0.2}]}}

    assert [one.met for one in judged(alone)] == [None, None]
    assert [row["met"] for row in report.rows_of_targets(alone)] == ["**not measured**"] * 2
    assert [one.met for one in judged(beside)] == [True, None]
    assert "COMMONPLACE_PUBLISHED" in sessions.LEFT_OUT


def test_a_run_is_measured_to_its_last_event_and_its_state_does_not_grow(tmp_path: Path) -> None:
    [row] = runs.measure(tmp_path, events=500)

    assert row["events"] == 500
    assert abs(row["state_bytes_late"] - row["state_bytes_early"]) < 20
