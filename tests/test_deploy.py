"""What we hand to those who deploy: it names settings there are, and says what it should."""

import re
from pathlib import Path
from typing import Any, cast

import pytest
import yaml

from commonplace.settings import Settings

ROOT = Path(__file__).parent.parent
FILES = sorted((ROOT / "deploy").iterdir())
_SETTING = re.compile(r"\bCOMMONPLACE_([A-Z_]+)\b")


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_every_setting_that_is_named_is_one(path: Path) -> None:
    named = {name.lower() for name in _SETTING.findall(path.read_text(encoding="utf-8"))}

    assert named <= Settings.model_fields.keys()


def test_the_daemon_of_the_compose_file_waits_for_its_database_and_has_no_secret_in_it() -> None:
    compose = cast(dict[str, Any], yaml.safe_load((ROOT / "deploy" / "compose.yaml").read_text(encoding="utf-8")))
    daemon, db = compose["services"]["daemon"], compose["services"]["db"]

    assert daemon["depends_on"] == {"db": {"condition": "service_healthy"}}
    assert "healthcheck" in db
    for secret in (daemon["environment"]["COMMONPLACE_TOKEN"], db["environment"]["POSTGRES_PASSWORD"]):
        assert secret.startswith("${")
    assert all(port.startswith("127.0.0.1:") for port in daemon["ports"])
    assert (ROOT / "deploy" / daemon["build"]["context"] / daemon["build"]["dockerfile"]).is_file()


def test_the_image_runs_as_nobody_in_particular_and_says_whether_it_is_well() -> None:
    lines = (ROOT / "deploy" / "Dockerfile").read_text(encoding="utf-8").splitlines()

    assert "USER commonplace" in lines
    assert any("/health" in line for line in lines)
    copied = [word for line in lines if line.startswith("COPY") and "--from" not in line for word in line.split()[1:-1]]
    assert [name for name in copied if not (ROOT / name).exists()] == []
