"""Sets up each peer's environment, lays out the same records for all, and lets them work one after another."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from bench.machine import ROOT, SCRATCH
from bench.synthetic import Texts
from bench.tables import is_past_add
from commonplace.embedders.static import StaticEmbedder

HERE = Path(__file__).parent
# Beside our own, not below bench/: the house rules read every Python file there.
ENVIRONMENTS = ROOT / ".venv-peers"
PEERS = ("chromadb", "fts5", "sqlite_vec", "mcp_memory_service", "mem0")
OURS = "commonplace"

_INSTALL_S = 900
_GRACE_S = 300
_ONE_BY_ONE = 10_000
"""mem0 takes one record at a time: above this size its records go past `add`."""
_CAN_EXTEND = "import sqlite3, ensurepip; sqlite3.Connection.enable_load_extension"
_NEEDS_EXTENSIONS = frozenset({"mcp_memory_service"})


class PeerFailed(Exception):
    """A peer could not be installed or did not finish; it is reported, the others go on."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Caps:
    """How long a peer may put records in and search, in seconds."""

    ingest: float = 120.0
    search: float = 60.0


def prepare(peer: str) -> Path:
    """The Python of a peer's environment, made where it is missing or its requirements have changed."""
    if peer == OURS:
        return Path(sys.executable)
    folder = ENVIRONMENTS / peer
    python, stamp, wanted = folder / "bin" / "python", folder / ".stamp", (HERE / f"{peer}.txt").read_text()
    if stamp.is_file() and stamp.read_text() == wanted:
        return python
    _checked([_python_for(peer), "-m", "venv", "--clear", "--without-pip", str(folder)], "make an environment")
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--quiet", "--python", str(python)]
    _checked([*pip, "install", "--requirement", str(HERE / f"{peer}.txt")], "install")
    stamp.write_text(wanted)
    return python


def lay_out(size: int, queries: int, folder: Path) -> dict[str, float]:
    """Records, questions and their vectors as files; and what making the vectors took us, by itself."""
    texts = Texts()
    records, questions = texts.batch(0, size), texts.questions(queries)
    folder.mkdir(parents=True, exist_ok=True)
    told = json.dumps({"records": records, "questions": questions})
    (folder / "texts.json").write_text(told, encoding="utf-8")
    embedder = StaticEmbedder()
    embedder.embed_now(questions[:1])
    start = time.perf_counter()
    np.save(folder / "records.npy", embedder.embed_now(records))
    between = time.perf_counter()
    np.save(folder / "questions.npy", np.concatenate([embedder.embed_now([question]) for question in questions]))
    return {
        "embed_records_s": round(between - start, 3),
        "embed_question_ms": round((time.perf_counter() - between) / queries * 1e3, 4),
    }


def compare(sizes: Sequence[int], peers: Sequence[str], queries: int, caps: Caps) -> dict[str, Any]:
    """Every peer at every size. A peer that fails says why and spoils nothing."""
    results: dict[str, Any] = {"sizes": list(sizes), "runs": []}
    for size in sizes:
        given = SCRATCH / f"peers-{size}"
        embedding = lay_out(size, queries, given)
        for peer in (OURS, *peers):
            print(f"  {peer} at {size:,} …", flush=True)
            try:
                seen = _measured(peer, size, given, caps)
            except PeerFailed as failed:
                seen = {"failed": str(failed)}
            results["runs"].append({"peer": peer, "size": size, **seen} | (embedding if peer != OURS else {}))
        shutil.rmtree(given, ignore_errors=True)
    results["ratios"] = [ratio for size in sizes for ratio in ratios(results["runs"], size)]
    return results


def ratios(runs: Sequence[dict[str, Any]], size: int) -> list[dict[str, Any]]:
    """Ours against each peer of the same size: how many times faster in, and how its search compares to ours."""
    here = {run["peer"]: run for run in runs if run["size"] == size and "failed" not in run}
    ours = here.pop(OURS, None)
    if ours is None:
        return []
    return [{"peer": peer, "size": size, **_against(ours, run)} for peer, run in here.items()]


def _against(ours: dict[str, Any], theirs: dict[str, Any]) -> dict[str, Any]:
    # What making vectors would have cost the peer is added: our own figures include it.
    embedding = theirs["embed_records_s"] * theirs["stored"] / theirs["size"]
    their_rate = theirs["stored"] / (theirs["ingest_s"] + embedding)
    told: dict[str, Any] = {
        "our_p50_over_theirs": round(ours["p50_ms"] / theirs["p50_ms"], 3),
        "our_p50_over_theirs_with_embedding": round(
            ours["p50_ms"] / (theirs["p50_ms"] + theirs["embed_question_ms"]), 3
        ),
    }
    if not is_past_add(theirs):
        told["ingest_times_faster"] = round(ours["ingest_per_s"] / theirs["ingest_per_s"], 2)
        told["ingest_times_faster_with_embedding"] = round(ours["ingest_per_s"] / their_rate, 2)
    return told


def _measured(peer: str, size: int, given: Path, caps: Caps) -> dict[str, Any]:
    python = prepare(peer)
    store = SCRATCH / f"store-{peer}-{size}"
    shutil.rmtree(store, ignore_errors=True)
    store.mkdir(parents=True)
    out = given / f"{peer}.json"
    command = [str(python), "-m", f"bench.peers.with_{peer}", "--given", str(given), "--store", str(store)]
    command += ["--out", str(out), "--size", str(size)]
    command += ["--ingest-cap", str(caps.ingest), "--search-cap", str(caps.search)]
    if peer == "mem0" and size > _ONE_BY_ONE:
        command.append("--past-add")
    try:
        _checked(command, "run", caps.ingest + caps.search + _GRACE_S)
        return json.loads(out.read_text(encoding="utf-8"))
    finally:
        shutil.rmtree(store, ignore_errors=True)


def _python_for(peer: str) -> str:
    """A Python that can make the environment. Some peers need a sqlite3 that loads extensions; not every Python's does."""
    if peer not in _NEEDS_EXTENSIONS:
        return sys.executable
    found = [shutil.which(name) for name in ("python3", "python3.13", "python3.12", "python3.11")]
    for python in [sys.executable, *filter(None, found), "/usr/bin/python3"]:
        try:
            told = subprocess.run([python, "-c", _CAN_EXTEND], capture_output=True, check=False)
        except OSError:
            continue
        if told.returncode == 0:
            return python
    raise PeerFailed("no Python here has a sqlite3 that loads extensions")


def _checked(command: Sequence[str], what: str, seconds: float = _INSTALL_S) -> None:
    try:
        subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True, timeout=seconds)
    except subprocess.TimeoutExpired:
        raise PeerFailed(f"it did not {what} within {seconds:.0f} s") from None
    except subprocess.CalledProcessError as failed:
        last = (failed.stderr or "").strip().splitlines()[-1:] or ["no message"]
        raise PeerFailed(f"it did not {what}: {last[0][:200]}") from None
