"""Results as tables of Markdown, for the terminal and for the page."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any


def table(rows: Sequence[Mapping[str, Any]]) -> str:
    """Columns in the order in which they first appear; numbers to the right."""
    if not rows:
        return "(nothing was measured)"
    names = list(dict.fromkeys(name for row in rows for name in row))
    cells = [[told(row.get(name)) for name in names] for row in rows]
    widths = [max(len(line[n]) for line in [names, *cells]) for n in range(len(names))]
    right = [all(isinstance(row.get(name), int | float | None) for row in rows) for name in names]

    def line(values: Sequence[str]) -> str:
        aligned = [v.rjust(w) if r else v.ljust(w) for v, w, r in zip(values, widths, right, strict=True)]
        return f"| {' | '.join(aligned)} |"

    rule = [("-" * (w - 1) + ":") if r else "-" * w for w, r in zip(widths, right, strict=True)]
    return "\n".join([line(names), line(rule), *map(line, cells)])


def told(value: object) -> str:
    if value is None:
        return "–"
    if isinstance(value, float):
        return f"{value:.3f}" if abs(value) < 1 else f"{value:,.2f}" if abs(value) < 100 else f"{value:,.0f}"
    return f"{value:,}" if isinstance(value, int) else str(value)


def rows_of_recall(results: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    return [
        {"set": one["set"], "mode": one["mode"], "questions": one["questions"], **one["figures"]} for one in results
    ]


def rows_of_scale(results: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    return [
        {
            "records": one["records"],
            "ingest/s": one["ingest_per_s"],
            "p50 ms": one["p50_ms"],
            "p95 ms": one["p95_ms"],
            "first search ms": one["first_search_ms"],
            "second search ms": one["second_search_ms"],
            "slowest of the first ten ms": one.get("slowest_of_first_ten_ms"),
            "ingest peak MiB": one["ingest_peak_mib"],
            "after search MiB": one["after_search_mib"],
            "file MB": one["file_mb"],
            "file / (text + vectors)": one["file_over_text_and_vectors"],
        }
        for one in results
    ]


def rows_of_daemon(results: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    return [
        {
            "store": one["store"],
            "searches/s": one["searches_per_s"],
            "p50 ms": one["p50_ms"],
            "p90 ms": one["p90_ms"],
            "p99 ms": one["p99_ms"],
            "errors": one["errors"],
            "writes/s": one["writes_per_s"],
            "write p50 ms": one["write_p50_ms"],
            "write p99 ms": one["write_p99_ms"],
            "write errors": one["write_errors"],
            "MB a worker": " + ".join(f"{held:.0f}" for held in one["worker_mb"]),
            "cores the workers used": one["workers_cores"],
            "cores all else used": one["cores_busy_besides"],
            "cores busy before": one["busy_elsewhere_before"],
        }
        for one in results
    ]


def rows_of_console(result: Mapping[str, Any]) -> list[dict[str, Any]]:
    """How soon a page is painted: ours, and the peer's beside it."""
    peer = result.get("peer", {})
    theirs = {one["cache"]: one for one in peer.get("paint", [])}
    rows: list[dict[str, Any]] = []
    for one in result["paint"]:
        other = theirs.get(one["cache"])
        rows.append(
            {
                "cache": one["cache"],
                "first paint ms": one["first_ms"],
                "first content ms": one["content_ms"],
                "rows ms": one["rows_ms"],
                f"{peer.get('peer', 'peer')}: first paint ms": other and other["first_ms"],
                "our first paint / theirs": other and round(one["first_ms"] / other["first_ms"], 2),
                "note": peer.get("failed"),
            }
        )
    return rows


def is_past_add(run: Mapping[str, Any]) -> bool:
    """Records that went past a peer's own door say nothing of its rate."""
    return "past `add`" in run.get("note", "")


def rows_of_peers(results: Mapping[str, Any]) -> list[dict[str, Any]]:
    ratios = {(one["peer"], one["size"]): one for one in results["ratios"]}
    rows: list[dict[str, Any]] = []
    for run in results["runs"]:
        ratio = ratios.get((run["peer"], run["size"]), {})
        rows.append(
            {
                "size": run["size"],
                "peer": run["peer"],
                "stored": run.get("stored"),
                "ingest/s": None if is_past_add(run) else run.get("ingest_per_s"),
                "p50 ms": run.get("p50_ms"),
                "p95 ms": run.get("p95_ms"),
                "our ingest is faster by": ratio.get("ingest_times_faster_with_embedding"),
                "our p50 / theirs": ratio.get("our_p50_over_theirs_with_embedding"),
                "note": run.get("failed") or run.get("note"),
            }
        )
    return rows
