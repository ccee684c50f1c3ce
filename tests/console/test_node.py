"""What the console does without a browser: `node/*.test.mjs`, by Node's own test runner, a file a test."""

import subprocess
from pathlib import Path

import pytest

FILES = sorted((Path(__file__).parent / "node").glob("*.test.mjs"))
TIME_LIMIT = 100.0
"""Seconds a file may take on a busy machine. A loop that grows with the square of a text does not end within them."""


def run(path: Path) -> tuple[bool, str]:
    """Whether all tests of a file passed within the time limit, and what the runner printed."""
    try:
        ended = subprocess.run(
            ["node", "--test", path], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False, timeout=TIME_LIMIT
        )
    except subprocess.TimeoutExpired as late:
        return False, f"{(late.output or b'').decode()}\nStopped after {TIME_LIMIT} seconds."
    return ended.returncode == 0, ended.stdout.decode()


@pytest.mark.timeout(TIME_LIMIT + 20)
@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_the_modules_keep_their_promises(path: Path) -> None:
    passed, output = run(path)

    if not passed:
        pytest.fail(output, pytrace=False)


def test_a_promise_that_is_broken_fails_and_is_named(tmp_path: Path) -> None:
    script = tmp_path / "broken.test.mjs"
    script.write_text(
        "import assert from 'node:assert/strict';\n"
        "import { test } from 'node:test';\n"
        "test('two and two are five', () => assert.equal(2 + 2, 5));\n",
        encoding="utf-8",
    )

    passed, output = run(script)

    assert not passed
    assert "two and two are five" in output
