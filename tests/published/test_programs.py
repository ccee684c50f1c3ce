"""What is installed is what the lock names: npm takes older versions for an older Node without a word."""

import json
import subprocess
from pathlib import Path

from tests.published.programs import Published

WANTED: dict[str, str] = json.loads(Path(__file__).with_name("package.json").read_text(encoding="utf-8"))[
    "dependencies"
]


def test_every_program_is_the_version_that_is_locked(published: Published) -> None:
    versions = {
        name: json.loads((published.modules / name / "package.json").read_text(encoding="utf-8"))["version"]
        for name in WANTED
    }

    assert versions == WANTED


def test_the_programs_run_on_the_node_that_came_with_them(published: Published) -> None:
    answer = subprocess.run([published.node, "--version"], capture_output=True, text=True, check=True, timeout=30)

    assert answer.stdout.startswith("v22.")
