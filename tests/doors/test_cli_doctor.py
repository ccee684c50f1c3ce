"""`commonplace doctor` reports and never crashes."""

import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from commonplace.cli import plain
from commonplace.values.upkeep import LimitsInForce, Stats


def severities(ran: Any) -> dict[str, str]:
    return {finding["check"]: finding["severity"] for finding in ran.document["findings"]}


def test_a_sound_store_is_clean(cli: Any) -> None:
    cli.put("Sound")

    ran = cli("doctor", "--json")

    assert ran.code == 0
    assert ran.document["ok"] is True
    assert "error" not in severities(ran).values()
    assert {"path", "disk", "open"} <= severities(ran).keys()


def test_each_finding_that_is_not_well_comes_with_advice(cli: Any, tmp_path: Path) -> None:
    (tmp_path / "letter.txt").write_text("Dear Ana, " * 1000, encoding="utf-8")

    ran = cli("doctor", "--store", str(tmp_path / "letter.txt"), "--json")

    assert ran.code == 1
    assert ran.document["ok"] is False
    assert all(finding["advice"] for finding in ran.document["findings"] if finding["severity"] != "ok")


def test_a_store_that_is_not_there_yet_is_no_error_and_none_is_made(cli: Any) -> None:
    ran = cli("doctor", "--json")

    assert ran.code == 0
    assert severities(ran)["path"] == "warning"
    assert not Path(cli.store).exists()


def test_all_is_well_is_said_only_where_it_is(cli: Any) -> None:
    warned = cli("doctor")
    cli.put("Sound")

    sound = cli("doctor")

    assert "1 warning" in warned.err
    assert "warning" not in sound.err


def test_a_damaged_file_is_reported(cli: Any) -> None:
    for number in range(50):
        cli.put(f"Note {number} " * 50)
    path = Path(cli.store)
    for log in path.parent.glob("memory.db-*"):
        log.unlink()
    content = bytearray(path.read_bytes())
    content[4096:] = b"\xa5" * (len(content) - 4096)
    path.write_bytes(content)

    ran = cli("doctor", "--json")

    assert ran.code == 1
    assert "error" in severities(ran).values()


def test_a_folder_in_place_of_a_file_is_reported(cli: Any, tmp_path: Path) -> None:
    ran = cli("doctor", "--store", str(tmp_path), "--json")

    assert (ran.code, severities(ran)["path"]) == (1, "error")


@pytest.mark.skipif(os.geteuid() == 0, reason="nothing is read-only for root")
def test_a_read_only_folder_is_reported(cli: Any, tmp_path: Path) -> None:
    folder = tmp_path / "shut"
    folder.mkdir()
    cli.put("Inside", "--store", str(folder / "memory.db"))
    folder.chmod(0o500)

    ran = cli("doctor", "--store", str(folder / "memory.db"), "--json")
    folder.chmod(0o700)

    assert (ran.code, severities(ran)["folder"]) == (1, "error")


def test_a_postgresql_out_of_reach_is_reported_without_its_password(cli: Any) -> None:
    ran = cli("doctor", "--store", "postgresql://ana:hush@127.0.0.1:1/none?connect_timeout=1", "--json")

    assert (ran.code, severities(ran)["store_unavailable"]) == (1, "error")
    assert "hush" not in ran.out


def test_people_see_a_mark_the_finding_and_the_advice(cli: Any, tmp_path: Path, wide: None) -> None:
    shown = cli("doctor", "--store", str(tmp_path))

    assert "✗" in shown.out
    assert "--store" in shown.out


# ---- who else may open it


@pytest.mark.skipif(os.name == "nt", reason="there are no such modes here")
@pytest.mark.parametrize("mode", [0o644, 0o640, 0o606])
def test_the_doctor_names_a_store_that_others_may_open_and_how_to_close_it(cli: Any, mode: int) -> None:
    cli("put", "here before")
    Path(cli.store).chmod(mode)

    [finding] = [finding for finding in cli.json("doctor")["findings"] if finding["check"] == "privacy"]

    assert finding["severity"] == "warning"
    assert finding["advice"].startswith(f"Run `chmod 600 {cli.store}")


def test_a_file_that_was_there_before_us_keeps_its_mode(cli: Any) -> None:
    cli("put", "here before")
    Path(cli.store).chmod(0o640)

    cli("put", "and again")

    assert Path(cli.store).stat().st_mode & 0o777 == 0o640


def test_statistics_name_the_limits_of_a_daemon_and_none_of_a_memory_inside_a_program() -> None:
    limits = LimitsInForce(
        reads=60_000, connections=2_000, in_flight_bytes=1 << 20, body_bytes=1 << 20, anonymous_body_bytes=1024
    )
    stats = Stats(
        store="memory.db",
        tenant="default/default",
        schema=11,
        records=0,
        live=0,
        deleted=0,
        versions=0,
        passages=0,
        bytes=0,
    )

    rows = dict(plain.totals(replace(stats, limits=limits)))

    assert (rows["reads a minute"], rows["writes a minute"], rows["connections"]) == ("60,000", "unlimited", "2,000")
    assert "reads a minute" not in dict(plain.totals(stats))


def test_the_doctor_says_whether_the_hosted_agent_is_there(cli: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COMMONPLACE_AGENT_COMMAND", "no-such-agent --acp")
    monkeypatch.setenv("COMMONPLACE_AGENT_ENVIRONMENT", "A_KEY_THAT_IS_NOT_SET")

    missing = cli("doctor", "--json")
    monkeypatch.setenv("COMMONPLACE_AGENT_COMMAND", "sh -c true")
    there = cli("doctor", "--json")

    assert missing.code == 1
    assert [finding["severity"] for finding in missing.document["findings"] if finding["check"] == "agent"] == ["error"]
    assert [finding["severity"] for finding in there.document["findings"] if finding["check"] == "agent"] == [
        "ok",
        "warning",
    ]


def test_the_doctor_says_if_nobody_knows_what_the_language_model_costs(
    cli: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    without = cli("doctor", "--json")
    monkeypatch.setenv("COMMONPLACE_LLM_MODEL", "openai:mine")
    monkeypatch.setenv("COMMONPLACE_LLM_BASE_URL", "http://127.0.0.1:1/v1")
    unknown = cli("doctor", "--json")
    monkeypatch.setenv("COMMONPLACE_LLM_PRICES", "mine=0/0")
    known = cli("doctor", "--json")

    assert [severities(ran)["model"] for ran in (without, unknown, known)] == ["ok", "warning", "ok"]
