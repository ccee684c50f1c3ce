"""`commonplace embedder`: the same sentences over a store and over a daemon."""

from collections.abc import Generator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from commonplace import open_memory
from commonplace.testing.daemon import running_daemon
from commonplace.testing.gte import write_tiny_model

TINY = "gte-small-int8-1"
STATIC = "static-256.2"


@pytest.fixture(params=["store", "daemon"])
def switchable(request: pytest.FixtureRequest, cli: Any, home: Path) -> Generator[Any]:
    """A store that is nobody else's, with a model that was added. The daemon has two workers, each with embedders of its own."""
    write_tiny_model(home / "models" / "gte-small")
    if request.param == "store":
        yield cli
        return
    with running_daemon(home, "--workers", "2") as daemon:
        env = {"COMMONPLACE_URL": daemon.url, "COMMONPLACE_TOKEN": daemon.token}
        yield replace(cli, place=("--tenant", "default/default"), env=env)


def parts(cli: Any, question: str) -> set[str]:
    hits = cli.json("search", question, "--all")["hits"]
    return {
        name.removeprefix("meaning:") for hit in hits for name in hit["why"]["parts"] if name.startswith("meaning:")
    }


def test_a_store_is_changed_over_and_back(switchable: Any) -> None:
    cli = switchable
    cli.put("The cat is in the safe")
    cli.put("Ann must not eat nuts")

    there = cli.json("embedder", "use", "gte-small")
    after = [parts(cli, "cat safe") for _ in range(6)]
    cli.put("Deploy the key")
    back = cli.json("embedder", "use", "static")

    assert (set(there["active"]), there["coming"], there["state"]) == ({STATIC, TINY}, [], "settled")
    assert after == [{STATIC, TINY}] * 6
    assert (back["active"], back["leaving"]) == ([STATIC], [])
    assert parts(cli, "deploy key") == {STATIC}
    assert cli.json("embedder", "status")["active"] == [STATIC]


def test_a_model_that_was_not_added_changes_nothing(cli: Any) -> None:
    cli.put("The cat is in the safe")

    assert cli("embedder", "use", "gte-small", "--json").error == "embedder_unavailable"
    assert cli.json("embedder", "status")["active"] == [STATIC]


def test_the_list_says_what_is_ready_and_what_answers(cli: Any, home: Path) -> None:
    cli.put("The cat is in the safe")
    before = {row["name"]: row for row in cli.json("embedder", "list")["embedders"]}
    write_tiny_model(home / "models" / "gte-small")
    after = {row["name"]: row for row in cli.json("embedder", "list")["embedders"]}

    assert (before["static"]["active"], before["gte-small"]["ready"]) == (True, False)
    assert before["gte-small"]["advice"]
    assert (after["gte-small"]["ready"], after["gte-small"]["active"]) == (True, False)


def test_a_model_that_the_store_uses_is_not_removed(cli: Any, home: Path) -> None:
    write_tiny_model(home / "models" / "gte-small")
    cli.put("The cat is in the safe", "--embedder", "gte-small")

    refused = cli("embedder", "remove", "gte-small", "--json")
    cli.json("embedder", "use", "static")
    cli.json("embedder", "remove", "gte-small")

    assert refused.error == "conflict"
    assert list((home / "models").iterdir()) == []
    assert cli("embedder", "remove", "gte-small", "--json").error == "path_not_found"


def test_a_wrong_file_is_refused(cli: Any, tmp_path: Path) -> None:
    (tmp_path / "model.onnx").write_bytes(b"other weights")
    (tmp_path / "tokenizer.json").write_text("{}")

    ran = cli("embedder", "add", "gte-small", "--from", str(tmp_path / "model.onnx"), "--json")

    assert ran.error == "invalid_file"


def test_a_chinese_memory_is_found_as_before(home: Path, tmp_path: Path) -> None:
    write_tiny_model(home / "models" / "gte-small")
    texts, question = ["安娜对坚果过敏。", "部署密钥放在保险柜里。", "我们周五不发布。"], "谁不能吃花生?"

    hits = [_search(tmp_path / f"{embedder}.db", embedder, texts, question) for embedder in ("static", "gte-small")]

    assert hits[0] == hits[1]


def _search(path: Path, embedder: str, texts: list[str], question: str) -> list[tuple[str, float]]:
    with open_memory(path, embedder=embedder) as memory:
        for text in texts:
            memory.put(text)
        return [(hit.record.text, round(hit.score, 3)) for hit in memory.search(question)]


def test_a_program_that_has_the_store_open_notices_the_change(cli: Any, home: Path) -> None:
    write_tiny_model(home / "models" / "gte-small")
    cli.put("The cat is in the safe")

    with open_memory(cli.store) as memory:
        cli.json("embedder", "use", "gte-small")
        memory.put("Deploy the key")
        names = memory.embedders

    assert set(names) == {STATIC, TINY}
