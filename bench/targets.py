"""What the project promises of itself, held against what was measured."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from bench import talks
from bench.extraction import HALVES

Results = Mapping[str, Mapping[str, Any]]

_RECALL = (
    ("locomo", "R@10", 0.769),
    ("locomo", "R@20", 0.81),
    ("longmemeval", "all@5", 0.69),
    ("beam", "R@10", 0.615),
    ("own-chinese", "R@10", 0.9),
)
_MAIN = {"longmemeval": "all@5"}
_CLOSE = 0.01
_MILLION = 1_000_000
_HUNDRED_THOUSAND = 100_000


_CONTEXTUAL = {"own-english": 0.9, "locomo": 0.8, "beam": 0.64}


class Judged(NamedTuple):
    """`met` None: what it takes was not there to be measured."""

    target: str
    wanted: str
    measured: str
    met: bool | None


def judged(results: Results) -> Iterator[Judged]:
    """Each target that something was measured for."""
    yield from _recall(results)
    yield from _relevance(results)
    yield from _librarian(results)
    yield from _agent(results)
    yield from _sessions(results)
    yield from _channels(results)
    yield from _stores(results)
    yield from _contextual(results)
    yield from _scale(results)
    yield from _small(results)
    yield from _learning(results)
    yield from _poisoning(results)
    yield from _daemon(results)
    yield from _console(results)
    yield from _peers(results)


def _figures(results: Results, name: str) -> dict[tuple[str, str], Mapping[str, float]]:
    return {(one["set"], one["mode"]): one["figures"] for one in results.get(name, {}).get("results", [])}


def _recall(results: Results) -> Iterator[Judged]:
    found = _figures(results, "recall-sqlite")
    for name, figure, wanted in _RECALL:
        if (name, "hybrid") in found:
            yield _at_least(f"{name} {figure}", wanted, found[name, "hybrid"][figure])
    for name, mode in found:
        if mode == "hybrid":
            figure = _MAIN.get(name, "R@10")
            single = max(found.get((name, alone), {}).get(figure, 0.0) for alone in ("words", "meaning"))
            yield _at_least(
                f"{name} {figure}: hybrid no lower than the better channel", single, found[name, mode][figure]
            )


def _relevance(results: Results) -> Iterator[Judged]:
    """That the number beside a hit is true, at the default floor."""
    result = results.get("relevance", {})
    rows = {(row["set"], row["records"]): row for row in result.get("results", [])}
    for size, auc in ((1, 0.97), (3, 0.96), (10, 0.94), (30, 0.92)):
        row = rows.get(("LoCoMo turns as notes", size))
        if row is not None:
            yield _at_least(f"{size} notes: AUC of relevance", auc, row["AUC"])
            yield _at_least(f"{size} notes: unrelated questions that get nothing", 0.9, row["nothing"])
            yield _at_least(f"{size} notes: answerable questions that keep theirs", 0.95, row["kept"])
    for size, first in ((3, 0.89), (10, 0.82)):
        row = rows.get(("LoCoMo turns as notes", size))
        if row is not None:
            yield _at_least(f"{size} notes: the right one first", first, row["first"])
    for name in ("locomo", "longmemeval", "beam"):
        row = rows.get((name, "whole"))
        if row is not None:
            yield _at_least(f"{name}: unrelated questions that get nothing", 0.9, row["nothing"])
            yield _at_least(f"{name}: share of recall kept at the floor", 0.85, row["kept"])
    if result:
        yield _at_most("expected calibration error", 0.05, result["calibration_error"])


def _librarian(results: Results) -> Iterator[Judged]:
    for row in results.get("librarian", {}).get("results", []):
        yield _at_least("librarian: quotes the evidence that recall has first", 0.95, row["quoted"])
        yield _at_least("librarian: says so where the floor says nothing", 0.95, row["says so"])
        yield _at_most("librarian: own milliseconds in a turn, median", 5, row["own_ms_p50"])


def _agent(results: Results) -> Iterator[Judged]:
    for row in results.get("agent", {}).get("results", []):
        yield _at_most(f"agent, {row['way']}: milliseconds of our own in a turn, median", 60, row["turn_p50_ms"])
    for row in results.get("agent", {}).get("runs", []):
        yield _at_most(f"run of {row['events']:,} events replayed, milliseconds", 1_000, row["replay_ms"])


def _sessions(results: Results) -> Iterator[Judged]:
    for row in results.get("sessions", {}).get("results", []):
        if "first_event_p50_ms" in row and row["way"].startswith("daemon"):
            yield _at_most(f"{row['way']}: ms to the first event after a prompt, median", 30, row["first_event_p50_ms"])
        if "mb_a_session" in row:
            yield _at_most(f"{row['way']}: events that are missing", 0, row["missing"])
            yield _at_most(f"{row['way']}: milliseconds that an event is late, 95th of 100", 150, row["delay_p95_ms"])
            yield _at_most(f"{row['way']}: MB a session", 4, row["mb_a_session"])
    greetings = {row["agent"]: row for row in results.get("sessions", {}).get("greetings", [])}
    for agent in ("qwen-code", "gemini-cli") if greetings else ():
        target = f"greeting of `commonplace acp` against {agent}"
        if agent in greetings:
            yield _at_most(target, 0.4, greetings[agent]["ours_to_this"])
        else:
            yield Judged(target, "≤ 0.4", "not measured", None)


def _channels(results: Results) -> Iterator[Judged]:
    found = results.get("channels", {})
    for row in found.get("start", []):
        yield _at_most("rooms: ms from a message to its turn, 95th of 100", 20, row["start_p95_ms"])
    for row in found.get("rooms", []):
        where = f"{row['rooms']:,} rooms, {row['per_second']:g} messages a second"
        yield _at_most(f"{where}: messages lost", 0, row["lost"])
        yield _at_most(f"{where}: ms to the answer, 95th of 100", 1_000, row["answer_p95_ms"])
    for row in found.get("schedules", []):
        where = f"{row['schedules']:,} schedules in rooms, a daemon killed"
        yield _at_most(f"{where}: due times without exactly one recorded turn", 0, row["not_once"] + row["failed"])
        yield _at_most(f"{where}: replies that are missing", 0, row["not_posted"])
        yield _at_most(f"{where}: turns that were begun twice", row["in_flight_at_the_kill"], row["begun_twice"])
        yield _at_most(f"{where}: of those, without saying so", 0, row["twice_without_saying_so"])
    for row in found.get("connections", []):
        where = f"{row['platform']}, connection lost {row['losses']:,} times"
        yield _at_most(f"{where}: messages not answered", 0, row["not_answered"] + row["left_in_the_inbox"])
        if row["keys"] == "yes":
            yield _at_most(f"{where}: messages answered twice", 0, row["answered_twice"])


def _stores(results: Results) -> Iterator[Judged]:
    lite, post = _figures(results, "recall-sqlite"), _figures(results, "recall-postgres")
    for name, mode in post:
        figure = _MAIN.get(name, "R@10")
        if mode == "hybrid" and (name, mode) in lite:
            apart = abs(post[name, mode][figure] - lite[name, mode][figure])
            yield _at_most(f"{name} {figure}: PostgreSQL against SQLite", _CLOSE, apart)
    both = _figures(results, "recall-sqlite-static-and-sentence-transformers")
    for name, mode in both:
        figure = _MAIN.get(name, "R@10")
        if mode == "hybrid" and (name, mode) in lite and not name.startswith("own-"):
            yield _at_least(
                f"{name} {figure}: a second embedder beside", lite[name, mode][figure], both[name, mode][figure]
            )


def _contextual(results: Results) -> Iterator[Judged]:
    """What a person gains who adds gte-small, and what it costs."""
    lite = _figures(results, "recall-sqlite")
    # Measured as a whole, or set by set.
    names = [name for name in results if name.startswith("recall-sqlite-gte-small")]
    found = {place: row for name in names for place, row in _figures(results, name).items()}
    for name, wanted in _CONTEXTUAL.items():
        if (name, "hybrid") in found:
            yield _at_least(f"{name} R@10: gte-small", wanted, found[name, "hybrid"]["R@10"])
    chinese = ("own-chinese", "hybrid")
    if chinese in found and chinese in lite:
        yield _at_least(
            "own-chinese R@10: gte-small no lower than without", lite[chinese]["R@10"], found[chinese]["R@10"]
        )
    for one in results.get("embedding", {}).get("results", []):
        if one["embedder"] == "gte-small, eight bits":
            # By the time of the processor: on a machine that others use, the clock tells of them.
            yield _at_least("gte-small: short texts a second of two cores", 250, 2 * one["texts_per_core_s"])


def _scale(results: Results) -> Iterator[Judged]:
    for one in results.get("scale", {}).get("results", []):
        if one["records"] >= _HUNDRED_THOUSAND:
            told = f"{one['records']:,} records: file over text and vectors"
            yield _at_most(told, 2.5, one["file_over_text_and_vectors"])
        if one["records"] == _MILLION:
            yield _at_most("1,000,000 records: MiB resident while ingesting", 1024, one["ingest_peak_mib"])
    if "scope-in-store" in results:
        inside = results["scope-in-store"]
        yield _at_most(f"a scope of 1,000 in a store of {inside['store']:,}, p50 ratio", 2, inside["ratio_p50"])


def _small(results: Results) -> Iterator[Judged]:
    if "shell" in results:
        yield _at_most("`import commonplace`, ms", 150, results["shell"]["import_ms"])
        yield _at_most("`commonplace search` from a cold shell, ms", 500, results["shell"]["shell_search_ms"])
    for one in results.get("install", {}).get("results", [])[:1]:
        yield _at_most("the default installation, MB of files", 150, one["files_mb"])
        yield _at_most("the default installation, MB with byte code", 150, one["together_mb"])


def _learning(results: Results) -> Iterator[Judged]:
    for one in results.get("extraction", {}).get("results", []):
        # The bar is for the halves. What stands beside them is told, and promises nothing.
        if one["half"] not in HALVES:
            continue
        where = f"extraction by rules, {one['half']} half, {one['language']}"
        yield _at_least(f"{where}: recall", 0.5, one["recall"])
        yield _at_least(f"{where}: precision", 0.9, one["precision"])
        yield _at_most(f"{where}: added by a second run", 0, one["added by a second run"])
    for one in results.get("extraction", {}).get("talks", []):
        # The half that may be looked at promises nothing.
        if one["half"] != talks.HELD_BACK:
            continue
        where = f"extraction by rules, talks of strangers, {one['language']}"
        yield _at_least(f"{where}: precision", 0.85, one["precision"])
        yield _at_least(f"{where}: recall", 0.45, one["recall"])
        yield _at_most(f"{where}: private facts in a workspace", 0, one["private facts in a workspace"])
    if "learning" in results:
        found = results["learning"]
        yield _at_most("remember by rules, end to end, p95 ms", 50, found["remember"]["p95_ms"])
        for one in found["extraction"]:
            yield _at_most(f"extraction, ms added to `{one['request']}`", 5, one["added_ms"])


def _poisoning(results: Results) -> Iterator[Judged]:
    """On the set that nobody has seen who worked on the rules or the model."""
    for row in results.get("poisoning", {}).get("results", []):
        if row["learned from"] == "no" and row["language"] == "both":
            where = f"poisoning, {row['set']}"
            yield _at_least(f"{where}: attacks labelled untrusted", row["attacks"], row["labelled untrusted"])
            yield _at_least(f"{where}: attacks recognised", 0.75, row["recognised"])
            yield _at_most(f"{where}: look-alikes held by mistake", 0.04, row["held by mistake"])


def _daemon(results: Results) -> Iterator[Judged]:
    if "daemon" not in results:
        return
    found = results["daemon"]
    for one in found["results"]:
        # The other store's figures stand beside it and promise nothing.
        if one["store"] == "sqlite" and found["records"] >= _HUNDRED_THOUSAND:
            where = f"daemon, {found['records']:,} records, {found['clients']} clients"
            yield _at_least(f"{where}: searches a second", 200, one["searches_per_s"])
            yield _at_most(f"{where}: p99 of a search, ms", 250, one["p99_ms"])
            yield _at_most(f"{where}: errors", 0, one["errors"] + one["write_errors"])
            yield _at_least(
                f"{where}: writes a second meanwhile", 0.98 * found["asked_writes_per_s"], one["writes_per_s"]
            )
    yield _at_most("daemon: seconds to the first answer", 5, found["starts"]["slowest_first_answer_s"])
    yield _at_most("daemon: MB when idle", 200, found["starts"]["after_a_put_and_a_search_mb"])
    yield _at_most(f"daemon: MB for {found['streams']['streams']:,} idle streams", 150, found["streams"]["cost_mb"])


def _console(results: Results) -> Iterator[Judged]:
    if "console" not in results:
        return
    found = results["console"]
    if found["records"] >= _HUNDRED_THOUSAND:
        where = f"console, {found['records']:,} records"
        for one in found["paint"]:
            yield _at_most(f"{where}, {one['cache']} cache: first paint, ms", 300, one["first_ms"])
        for one in found["interactions"]:
            yield _at_most(f"{where}: {one['interaction']}: feedback, ms", 100, one["feedback_ms"])
            yield _at_most(f"{where}: {one['interaction']}: until data, ms", 100, one["done_ms"])
    yield _at_most("console: kB sent for all pages", 250, found["transfer"]["all_pages_kb"])


def _peers(results: Results) -> Iterator[Judged]:
    for one in results.get("peers", {}).get("ratios", []):
        where = f"{one['peer']} at {one['size']:,}"
        if one["peer"] == "chromadb":
            yield _at_least(f"ingest, times {where}", 5, one["ingest_times_faster_with_embedding"])
            if one["size"] >= _HUNDRED_THOUSAND:
                yield _at_most(f"p50 over {where}", 3, one["our_p50_over_theirs_with_embedding"])
        elif one["peer"] in ("mem0", "mcp_memory_service"):
            yield _at_least(f"search, times faster than {where}", 5, 1 / one["our_p50_over_theirs_with_embedding"])


def _at_least(target: str, wanted: float, measured: float) -> Judged:
    return Judged(target, f"≥ {wanted:.4g}", f"{measured:.4g}", measured >= wanted)


def _at_most(target: str, wanted: float, measured: float) -> Judged:
    return Judged(target, f"≤ {wanted:.4g}", f"{measured:.4g}", measured <= wanted)
