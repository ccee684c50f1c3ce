"""The command: `python -m bench`, or one measurement of it by name."""

from __future__ import annotations

import argparse
import asyncio
import sys
from collections.abc import Callable, Generator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, get_args

from bench import agent as agents
from bench import channels as chat_rooms
from bench import console as consoles
from bench import contradictions as disagreements
from bench import daemon as daemons
from bench import embedding as embeddings
from bench import extraction as extractions
from bench import install as installs
from bench import learning as lessons
from bench import librarian as librarians
from bench import lost_connections, report, room_schedules, talks, versions
from bench import poisoning as attacks
from bench import relevance as answers
from bench import routing as routes
from bench import runs as journals
from bench import sessions as conversations
from bench.embedding import home_with_model
from bench.machine import ROOT, describe, keep
from bench.peers import run as peers
from bench.postgres import server
from bench.recall import Mode, measure
from bench.scale import COLD_QUERIES, QUERIES, apart, many_scopes, one_scope, scope_in_store, scratch
from bench.sets import load
from bench.shell import cold_starts
from bench.stages import stages
from bench.tables import rows_of_console, rows_of_daemon, rows_of_peers, rows_of_recall, rows_of_scale, table
from commonplace import open_memory
from commonplace.errors import EmbedderUnavailable

SETS = ("locomo", "longmemeval", "beam", "own-english", "own-chinese")
SHARED = ROOT.parent / "shared" / "data"
_SEVERAL = "static,sentence-transformers:all-MiniLM-L6-v2"


def main(given: Sequence[str] | None = None) -> None:
    asked = _parser().parse_args(given)
    # Now, not when the result is written: by then the load is our own.
    asked.made = {"command": _command(given or ()), "machine": describe()}
    work: Callable[[argparse.Namespace], None] = asked.work
    work(asked)


# ---- recall


def recall(asked: argparse.Namespace) -> None:
    """One set after another, each in a store of its own."""
    modes: list[Mode] = [asked.mode] if asked.mode else list(get_args(Mode))
    if asked.embedder == "none":
        modes = ["words"]
    results: list[dict[str, Any]] = []
    for name in [one for one in SETS if not asked.set or one == asked.set or one.startswith(f"{asked.set}-")]:
        worlds = load(name, asked.data)
        if worlds is None:
            print(f"{name}: skipped, its data is not here (--data FOLDER).")
            continue
        with (
            home_with_model(asked.embedder),
            _store(asked.store, name) as address,
            open_memory(address, embedder=asked.embedder) as memory,
        ):
            results += [figures.as_row() for figures in measure(memory, name, worlds, modes)]
    print(table(rows_of_recall(results)))
    _keep(asked, _recall_name(asked), {"store": asked.store, "embedder": asked.embedder, "results": results})


def embedding(asked: argparse.Namespace) -> None:
    """Short texts a second."""
    rows = embeddings.measure()
    print(table(rows))
    _keep(asked, "embedding", {"results": rows})


def _recall_name(asked: argparse.Namespace) -> str:
    embedder = "" if asked.embedder == "static" else f"-{asked.embedder.split(':')[0].replace(',', '-and-')}"
    narrowed = "".join(f"-{told}" for told in (asked.set, asked.mode) if told)
    return f"recall-{asked.store}{embedder}{narrowed}"


@contextmanager
def _store(kind: str, name: str) -> Generator[str]:
    """The address of an empty store."""
    with ExitStack() as stack:
        folder = stack.enter_context(scratch(f"recall-{name}"))
        yield stack.enter_context(server(folder)) if kind == "postgres" else str(folder / "memory.db")


def relevance(asked: argparse.Namespace) -> None:
    """Whether the memory knows when it knows nothing."""
    with (
        home_with_model(asked.embedder),
        _store("sqlite", "relevance") as address,
        open_memory(address, embedder=asked.embedder) as memory,
    ):
        figures = answers.measure(
            memory, asked.data, asked.questions, "held-back" if asked.held_back else "development"
        )
    sample = figures.pop("sample")
    print(*(table(figures[name]) for name in ("results", "notebooks", "reliability")), sep="\n\n")
    print(f"\nExpected calibration error: {figures['calibration_error']}")
    if asked.fit:
        print("Fitted:", answers.fitted(sample, answers.curve_of(asked.embedder)))
    embedder = "" if asked.embedder == "static" else f"-{asked.embedder.split(':')[0]}"
    narrowed = ("-small" if asked.small else "") + ("-held-back" if asked.held_back else "")
    _keep(asked, f"relevance{embedder}{narrowed}", {"embedder": asked.embedder, **figures})


# ---- speed and size


def scale(asked: argparse.Namespace) -> None:
    """By size, and what the rest of a store costs a small scope."""
    if asked.scope_in_store:
        with scratch("scope-in-store") as folder:
            figures = apart(scope_in_store, max(asked.sizes), asked.queries, folder)
        print(table([figures["alone"] | {"scope": "alone"}, figures["inside"] | {"scope": f"in {figures['store']:,}"}]))
        _keep(asked, "scope-in-store", figures)
        return
    if asked.many_scopes:
        with scratch("many-scopes") as folder:
            figures = apart(many_scopes, asked.scopes, asked.each, min(asked.queries, COLD_QUERIES), folder)
        print(table([figures[name] | {"question": name} for name in ("short", "long")]))
        _keep(asked, "many-scopes", figures)
        return
    results: list[dict[str, Any]] = []
    for size in asked.sizes:
        with scratch(f"scale-{size}") as folder:
            results.append(apart(one_scope, size, asked.queries, folder))
        print(table(rows_of_scale(results[-1:])), flush=True)
    _keep(asked, "scale", {"results": results})


def shell(asked: argparse.Namespace) -> None:
    """Cold starts."""
    with scratch("shell") as folder:
        figures = cold_starts(asked.records, folder, asked.times)
    print(table([figures]))
    _keep(asked, "shell", figures)


def runs(asked: argparse.Namespace) -> None:
    """What a run costs."""
    with scratch("runs") as folder:
        rows = journals.measure(folder, asked.events)
    print(table(rows))
    _keep(asked, "runs", {"results": rows})


def agent(asked: argparse.Namespace) -> None:
    """Our own time a turn, and what its run costs."""
    with scratch("agent") as folder:
        rows = agents.measure(folder, asked.records, asked.turns)
        of_runs = journals.measure(folder / "runs", asked.events)
    print(table(rows), table(of_runs), sep="\n\n")
    _keep(asked, "agent", {"results": rows, "runs": of_runs})


def sessions(asked: argparse.Namespace) -> None:
    """Sessions for many at once, and how soon our agent greets an editor."""
    rows = conversations.measure(asked.sessions, asked.chunks, asked.prompts)
    published = conversations.published_folder()
    if published is None:
        print(conversations.LEFT_OUT, file=sys.stderr, flush=True)
    greetings = conversations.greetings(published, asked.greetings)
    print(table(rows), table(greetings), sep="\n\n")
    _keep(asked, "sessions", {"results": rows, "greetings": greetings})


def channels(asked: argparse.Namespace) -> None:
    """Rooms at work, what is due in them, and a platform that is lost again and again."""
    if asked.short:
        vars(asked).update(chat_rooms.SHORT)
    figures: dict[str, Any] = {}
    for part in asked.only or chat_rooms.PARTS:
        print(f"channels: {part}", file=sys.stderr, flush=True)
        figures[part] = _measured_part(asked, part)
        print(table(figures[part]), flush=True)
    goals = report.rows_of_targets({"channels": figures})
    print(f"\n{table(goals)}")
    _keep(asked, "channels", figures)


def _measured_part(asked: argparse.Namespace, part: str) -> list[dict[str, Any]]:
    with scratch(f"channels-{part}") as folder:
        match part:
            case "start":
                return [chat_rooms.one_room(folder, asked.messages)]
            case "rooms":
                return [chat_rooms.many_rooms(folder, asked.rooms, asked.per_second, asked.seconds)]
            case "schedules":
                return [room_schedules.measure(folder, asked.schedules, asked.a_room, asked.over, _tell)]
            case _:
                platforms = lost_connections.PLATFORMS
                return [lost_connections.measure(folder / one, one, asked.losses, _tell) for one in platforms]


def _tell(how_far: str) -> None:
    """What takes minutes says how far it is."""
    print(f"  {how_far}", file=sys.stderr, flush=True)


def install(asked: argparse.Namespace) -> None:
    """What an installation weighs."""
    figures = installs.measure()
    print(table(figures["results"]), table(figures["packages"]), sep="\n\n")
    _keep(asked, "install", figures)


# ---- talk that becomes memory


def extraction(asked: argparse.Namespace) -> None:
    """Facts found by rules, on conversations of our own and on talks of strangers."""
    rows = [figures.as_row() for figures in extractions.measure_all()]
    strangers = [figures.as_row() for figures in talks.measure_all_talks(asked.halves)]
    print(table(rows), table(strangers), sep="\n\n")
    _keep(asked, "extraction", {"method": "rules", "results": rows, "talks": strangers})


def poisoning(asked: argparse.Namespace) -> None:
    """Attacks that the guard recognises, and look-alikes that it holds, on a set of our own."""
    rows = attacks.measure_all()
    print(table(rows))
    _keep(asked, "poisoning", {"results": rows})


def contradictions(asked: argparse.Namespace) -> None:
    """Hits that say which others contradict them, on a set of a stranger's."""
    rows = disagreements.measure_all(asked.halves)
    print(table(rows))
    _keep(asked, "contradictions", {"results": rows})


def librarian(asked: argparse.Namespace) -> None:
    """What it answers without a language model, and which sentences it understands."""
    figures: dict[str, Any] = {"sentences": librarians.sentences(asked.halves), "results": []}
    if asked.data is None or not (asked.data / "locomo-dev.json").is_file():
        print("locomo: skipped, its data is not here (--data FOLDER).")
    else:
        with home_with_model(asked.embedder), _store("sqlite", "librarian") as address:
            figures["results"].append(asyncio.run(librarians.answers(asked.data, address, asked.embedder)))
    print(*(table(figures[name]) for name in ("results", "sentences") if figures[name]), sep="\n\n")
    _keep(asked, "librarian", figures)


def learning(asked: argparse.Namespace) -> None:
    """What learning costs those who wait."""
    quiet = daemons.calm()
    figures = lessons.measure(asked.runs, asked.facts, asked.pairs, asked.idle)
    figures["busy_elsewhere_before"] = quiet
    rows = [[figures["remember"]], figures["extraction"], [figures["idle"]]]
    print(*map(table, rows), sep="\n\n")
    _keep(asked, "learning", figures)


# ---- the daemon


def daemon(asked: argparse.Namespace) -> None:
    """Under load, by stages, idle, and with many streams open."""
    load = daemons.Load(records=asked.records, seconds=asked.seconds)
    figures: dict[str, Any] = {"records": load.records, "clients": load.clients, "workers": daemons.WORKERS}
    figures |= {"asked_writes_per_s": load.writes, "results": []}
    for store in asked.stores:
        figures["results"].append(daemons.under_load(store, load))
        print(table(rows_of_daemon(figures["results"][-1:])), flush=True)
    figures["stages"] = stages(load)
    print(table(figures["stages"]), flush=True)
    figures["starts"] = daemons.starts()
    figures["streams"] = daemons.idle_streams()
    print(table([figures["starts"]]), table([figures["streams"]]), sep="\n")
    _keep(asked, "daemon", figures)


def routing(asked: argparse.Namespace) -> None:
    """How long a request looks for its route."""
    with scratch("routing") as folder:
        rows = asyncio.run(routes.measure(folder / "home", asked.times))
    print(table(rows))
    _keep(asked, "routing", {"results": rows})


# ---- the console


def console(asked: argparse.Namespace) -> None:
    """First paint, interaction and transfer, in a browser."""
    figures = consoles.measure(asked.records, asked.visits, asked.times)
    tables = (rows_of_console(figures), figures["interactions"], figures["pages"], [figures["transfer"]])
    print(*map(table, tables), sep="\n\n")
    _keep(asked, "console", figures)


# ---- another version


def against(asked: argparse.Namespace) -> None:
    """This version beside another one."""
    figures = versions.compare(asked.python, asked.records, asked.rounds)
    print(table([{"": name, **figures[name]} for name in ("other", "this", "ratio")]))
    _keep(asked, "versions", figures)


# ---- peers


def compare(asked: argparse.Namespace) -> None:
    """The same work done by others."""
    caps = peers.Caps(ingest=asked.ingest_cap, search=asked.search_cap)
    results = peers.compare(asked.sizes, asked.peers, asked.queries, caps)
    print(table(rows_of_peers(results)))
    _keep(asked, "peers", results)


def write_report(asked: argparse.Namespace) -> None:
    """`docs/benchmarks.md` from the results kept."""
    path = ROOT / "docs" / "benchmarks.md"
    path.write_text(report.written(report.kept(asked.results)), encoding="utf-8")
    print(f"Written: {path.relative_to(ROOT)}")


# ---- everything


QUICK = (
    "recall",
    "relevance --questions 50",
    "scale --sizes 1000,10000",
    "scale --scope-in-store --sizes 20000",
    "scale --many-scopes --queries 3",
    "shell --records 1000 --times 5",
    "extraction",
    "poisoning",
    "contradictions",
    "librarian",
    "agent --records 1000 --turns 20 --events 1000",
    "channels --short",
    "learning --runs 2 --facts 20 --pairs 20",
    "daemon --records 10000 --seconds 5",
    "routing --times 100",
    "console --records 10000 --visits 3 --times 3",
    "peers --sizes 10000 --ingest-cap 30 --search-cap 10",
    "report",
)
FULL = (
    "recall",
    "recall --store postgres",
    f"recall --embedder {_SEVERAL}",
    "recall --embedder gte-small --mode hybrid",
    "relevance",
    "relevance --embedder gte-small --small",
    "relevance --embedder none --small",
    "embedding",
    "scale",
    "scale --scope-in-store",
    "scale --many-scopes",
    "shell",
    "install",
    "extraction",
    "poisoning",
    "contradictions",
    "librarian",
    "agent",
    "sessions",
    "channels",
    "learning",
    "daemon",
    "routing",
    "console",
    "peers",
    "report",
)


def everything(asked: argparse.Namespace) -> None:
    """One measurement after another; what an optional package is missing for is left out, and said."""
    steps = QUICK if asked.quick else FULL
    print(f"Measuring {'a little: some five minutes' if asked.quick else 'all: about an hour, four million records'}.")
    if asked.data is None:
        print("No data folder (--data): LoCoMo, LongMemEval and BEAM are left out.")
    for step in steps:
        print(f"\n== python -m bench {step}", flush=True)
        data = ["--data", str(asked.data)] if asked.data and step.startswith(("recall", "librarian")) else []
        try:
            main([*step.split(), *data])
        except (ModuleNotFoundError, EmbedderUnavailable, daemons.WrkMissing, consoles.BrowserMissing) as missing:
            print(f"Left out: {missing}")


def _command(given: Sequence[str]) -> str:
    """As it would be typed elsewhere: where this machine has its data is nobody's business."""
    told = list(given)
    for option in ("--data", "--python"):
        if option in told:
            told[told.index(option) + 1] = option[2:].upper()
    return " ".join(["python -m bench", *told])


def _keep(asked: argparse.Namespace, name: str, result: dict[str, Any]) -> None:
    if not asked.dry:
        print(f"Kept: {keep(name, {**asked.made, **result}).relative_to(ROOT)}\n")


def _of_runs_and_agents(named: Any) -> None:
    _of_runs(named)
    _of_the_agent(named)
    _of_channels(named)
    _of_sessions(named)
    _of_the_librarian(named)


def _of_the_agent(named: Any) -> None:
    one = _named(named, "agent", agent, "our own time in a turn with the librarian, in this process and over HTTP")
    one.add_argument("--records", type=int, default=agents.RECORDS)
    one.add_argument("--turns", type=int, default=agents.TURNS)
    one.add_argument("--events", type=int, default=journals.EVENTS, help="of the run that is replayed")


def _of_sessions(named: Any) -> None:
    one = _named(
        named, "sessions", sessions, "sessions that stream at once over HTTP, and how soon an agent greets an editor"
    )
    one.add_argument("--sessions", type=int, default=conversations.SESSIONS)
    one.add_argument("--chunks", type=int, default=conversations.CHUNKS, help="that each session streams, 20 a second")
    one.add_argument("--prompts", type=int, default=conversations.PROMPTS, help="whose first event is timed")
    one.add_argument("--greetings", type=int, default=conversations.GREETINGS)


def _of_channels(named: Any) -> None:
    one = _named(
        named,
        "channels",
        channels,
        "rooms at work, schedules due in them while a daemon is killed, and lost connections",
    )
    one.add_argument("--only", choices=chat_rooms.PARTS, action="append", help="this part; may be named several times")
    one.add_argument("--messages", type=int, default=chat_rooms.MESSAGES, help="start: one after the other in a room")
    one.add_argument("--rooms", type=int, default=chat_rooms.ROOMS)
    one.add_argument("--per-second", type=float, default=chat_rooms.PER_SECOND, help="rooms: messages, in all together")
    one.add_argument("--seconds", type=float, default=chat_rooms.SECONDS, help="rooms: for how long")
    one.add_argument("--schedules", type=int, default=room_schedules.SCHEDULES)
    one.add_argument("--a-room", type=int, default=room_schedules.A_ROOM, help="schedules: of one room, at most 10")
    one.add_argument(
        "--over", type=float, default=room_schedules.OVER, help="schedules: seconds in which they come due"
    )
    one.add_argument("--losses", type=int, default=lost_connections.LOSSES, help="connections: on each platform")
    one.add_argument("--short", action="store_true", help="a little of each part, in two minutes")


def _of_runs(named: Any) -> None:
    one = _named(
        named, "runs", runs, "an event kept, early and late in a run, beside one fsync; and its journal replayed"
    )
    one.add_argument("--events", type=int, default=journals.EVENTS)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m bench", description="Measure recall, speed and size.")
    parser.add_argument("--quick", action="store_true", help="minutes instead of an hour")
    _data(parser)
    parser.set_defaults(work=everything)
    named = parser.add_subparsers(title="one measurement alone")

    one = _named(named, "recall", recall, "evidence recall on LoCoMo, LongMemEval, BEAM and our own set")
    _data(one)
    one.add_argument("--set", choices=("locomo", "longmemeval", "beam", "own"), help="only this one")
    one.add_argument("--store", choices=("sqlite", "postgres"), default="sqlite")
    one.add_argument("--embedder", default="static", help=f"static, gte-small, none, or {_SEVERAL}")
    one.add_argument("--mode", choices=get_args(Mode), help="only this one")

    _named(named, "embedding", embedding, "short texts a second, by embedder")

    _of_relevance(named)

    one = _named(named, "scale", scale, "ingest, search, memory and file by the number of records")
    one.add_argument("--sizes", type=_numbers, default=[1_000, 10_000, 100_000, 1_000_000])
    one.add_argument("--queries", type=int, default=QUERIES)
    one.add_argument("--scope-in-store", action="store_true", help="a small scope alone, and in the largest of --sizes")
    one.add_argument(
        "--many-scopes", action="store_true", help="a long question against a short one, over --scopes, cold"
    )
    one.add_argument("--scopes", type=int, default=749)
    one.add_argument("--each", type=int, default=20, help="records in each of --scopes")

    one = _named(named, "shell", shell, "import and `commonplace search` from a cold shell")
    one.add_argument("--records", type=int, default=10_000)
    one.add_argument("--times", type=int, default=11)

    _named(named, "install", install, "megabytes of our wheel in a fresh environment, by package")

    one = _named(
        named, "versions", against, "import, cold search, search and put, beside another version, taking turns"
    )
    one.add_argument("--python", required=True, help="the Python of the environment that has the other version")
    one.add_argument("--records", type=int, default=versions.RECORDS)
    one.add_argument("--rounds", type=int, default=versions.ROUNDS)

    one = _named(named, "extraction", extraction, "how many facts the rules find in talk, and how many are right")
    one.add_argument("--halves", type=lambda told: told.split(","), default=talks.HALVES, help="development, held-back")
    _named(named, "poisoning", poisoning, "how many attacks the guard recognises, and how many look-alikes it holds")

    _of_contradictions(named)
    _of_runs_and_agents(named)
    _of_learning(named)
    _of_the_daemon(named)

    one = _named(named, "peers", compare, "the same records in chromadb, mem0, mcp-memory-service, FTS5, sqlite-vec")
    one.add_argument("--sizes", type=_numbers, default=[10_000, 100_000])
    one.add_argument("--peers", type=lambda told: told.split(","), default=list(peers.PEERS))
    one.add_argument("--queries", type=int, default=QUERIES + 5)
    one.add_argument("--ingest-cap", type=float, default=240.0, help="seconds a peer may put records in")
    one.add_argument("--search-cap", type=float, default=60.0)

    one = _named(named, "report", write_report, "docs/benchmarks.md from the results kept")
    one.add_argument("--results", type=Path, default=report.RESULTS)
    return parser


def _of_relevance(named: Any) -> None:
    one = _named(named, "relevance", relevance, "whether answers are told from questions that nothing answers")
    _data(one)
    one.add_argument("--embedder", default="static", help="static, gte-small, none, or sentence-transformers:MODEL")
    one.add_argument("--questions", type=int, default=answers.MOST, help="of each size of small memories")
    one.add_argument("--held-back", action="store_true", help="the half of the notebooks that is looked at once")
    one.add_argument("--small", action="store_true", help="small memories only")
    one.add_argument("--fit", action="store_true", help="print the curve that fits best")


def _of_the_librarian(named: Any) -> None:
    one = _named(named, "librarian", librarian, "what the librarian answers out of the memory, and what it understands")
    _data(one)
    one.add_argument("--embedder", default="static", help="static, gte-small, none, or sentence-transformers:MODEL")
    one.add_argument(
        "--halves", type=lambda told: told.split(","), default=librarians.HALVES[:1], help="development, heldback"
    )


def _of_learning(named: Any) -> None:
    one = _named(
        named, "learning", learning, "how long a fact takes to be filed, and what extraction adds to a request"
    )
    one.add_argument("--runs", type=int, default=lessons.RUNS, help="daemons that are started for facts")
    one.add_argument("--facts", type=int, default=lessons.FACTS, help="facts that each is told")
    one.add_argument("--pairs", type=int, default=lessons.PAIRS, help="requests with extraction, and without")
    one.add_argument("--idle", type=float, default=lessons.IDLE, help="seconds a daemon is left alone")


def _of_the_daemon(named: Any) -> None:
    one = _named(named, "daemon", daemon, "`commonplace serve` under load, idle, and with a thousand event streams")
    one.add_argument("--records", type=int, default=100_000)
    one.add_argument("--seconds", type=int, default=30, help="how long each is asked, after a warm-up")
    one.add_argument("--stores", type=lambda told: told.split(","), default=["sqlite", "postgres"])

    one = _named(named, "routing", routing, "what the number of routes costs a request")
    one.add_argument("--times", type=int, default=routes.TIMES, help="how often each request is sent")

    one = _named(named, "console", console, "the console in Chromium: first paint, interaction, bytes; and Datasette")
    one.add_argument("--records", type=int, default=consoles.RECORDS)
    one.add_argument("--visits", type=int, default=consoles.VISITS, help="how often the first page is opened")
    one.add_argument("--times", type=int, default=consoles.TIMES, help="how often each interaction is done")


def _of_contradictions(named: Any) -> None:
    one = _named(
        named, "contradictions", contradictions, "how many contradictions a search names, and how many by mistake"
    )
    one.add_argument(
        "--halves", type=lambda told: told.split(","), default=disagreements.HALVES, help="development, held-back"
    )


def _named(named: Any, name: str, work: Callable[[argparse.Namespace], None], told: str) -> argparse.ArgumentParser:
    one: argparse.ArgumentParser = named.add_parser(name, help=told, description=f"Measures {told}.")
    one.add_argument("--dry", action="store_true", help="print, keep nothing")
    one.set_defaults(work=work)
    return one


def _data(parser: argparse.ArgumentParser) -> None:
    there = SHARED if SHARED.is_dir() else None
    parser.add_argument("--data", type=Path, default=there, help="the folder with the public sets")


def _numbers(told: str) -> list[int]:
    return [int(one.replace("_", "")) for one in told.split(",")]


if __name__ == "__main__":
    try:
        main(sys.argv[1:])
    except (daemons.WrkMissing, consoles.BrowserMissing) as missing:
        sys.exit(str(missing))
