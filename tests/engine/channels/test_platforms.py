"""What a channel of a platform is given: checked before it begins, and secrets never kept."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from commonplace.channels.platforms import PLATFORMS, Platform
from commonplace.channels.secrets import read_secret
from commonplace.channels.sent import SentMessages
from commonplace.errors import InvalidInput
from commonplace.values.channel import ChannelSettings, check_settings
from commonplace.values.platform import Bilingual, PlatformField, PlatformGuide

WORDS = Bilingual(en="x", zh="x")
GUIDE = PlatformGuide(
    kind="test",
    title=WORDS,
    fields=(
        PlatformField(name="server", label=WORDS, help=WORDS),
        PlatformField(name="place", label=WORDS, help=WORDS, default="here"),
        PlatformField(name="token", label=WORDS, help=WORDS, secret=True),
    ),
)
PLATFORM = Platform(guide=GUIDE, make=PLATFORMS["web"].make)


def settings(**more: Any) -> ChannelSettings:
    fields: dict[str, Any] = {"options": {"server": "s"}, "secrets": {"token": "TEAM_TOKEN"}, **more}
    return ChannelSettings(**fields)


def test_what_is_complete_is_taken() -> None:
    PLATFORM.check(settings())


@pytest.mark.parametrize(
    "wrong",
    [
        {"options": {}},
        {"secrets": {}},
        {"options": {"server": ""}},
        {"options": {"server": "s", "other": "x"}},
        {"secrets": {"token": "A", "other": "B"}},
        {"options": {"server": "s", "token": "the secret itself"}},
    ],
)
def test_what_is_missing_or_unknown_is_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(InvalidInput):
        PLATFORM.check(settings(**wrong))


@pytest.mark.parametrize("options", [{"a b": "x"}, {"a": "x\ny"}, {"a": "x" * 1_001}, {"a" * 41: "x"}])
def test_options_have_names_and_one_line(options: dict[str, str]) -> None:
    with pytest.raises(InvalidInput):
        check_settings(ChannelSettings(options=options))


def test_a_secret_comes_from_the_environment_or_a_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "token"
    file.write_text("in a file\n", encoding="utf-8")
    monkeypatch.setenv("TEAM_TOKEN", "in the environment")

    assert read_secret(settings(), "token") == "in the environment"
    assert read_secret(settings(secrets={"token": f"file:{file}"}), "token") == "in a file"


@pytest.mark.parametrize("place", ["NOT_SET_ANYWHERE", "file:/nowhere/at/all", "file:~nosuchuser/x", "file:\0"])
def test_a_secret_that_is_not_there_says_where_it_should_be(place: str) -> None:
    with pytest.raises(InvalidInput):
        read_secret(settings(secrets={"token": place}), "token")


def test_settings_of_a_channel_survive_the_store() -> None:
    assert ChannelSettings.from_text(settings().to_text()) == settings()


def test_the_last_messages_are_known_by_both_names() -> None:
    sent = SentMessages(most=2)
    for number in range(3):
        sent.put("7", f"key-{number}", f"$id-{number}")

    assert [sent.id("7", f"key-{number}") for number in range(3)] == [None, "$id-1", "$id-2"]
    assert [sent.key("7", f"$id-{number}") for number in range(3)] == [None, "key-1", "key-2"]
    assert sent.key("8", "$id-2") is None
