"""What a channel of a platform is given: checked before it begins, and secrets never kept."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any, cast

import pytest

from commonplace.channels.platforms import GUIDES, PLATFORMS, Platform, offered_kind
from commonplace.channels.secrets import read_secret
from commonplace.channels.sent import SentMessages
from commonplace.errors import InvalidInput
from commonplace.values.channel import CHANNEL_KINDS, ChannelKind, ChannelSettings, check_settings
from commonplace.values.platform import Bilingual, FieldChoice, PlatformField, PlatformGuide

WORDS = Bilingual(en="x", zh="x")
GUIDE = PlatformGuide(
    kind="test",
    title=WORDS,
    fields=(
        PlatformField(name="server", label=WORDS, help=WORDS),
        PlatformField(name="place", label=WORDS, help=WORDS, default="here"),
        PlatformField(name="token", label=WORDS, help=WORDS, secret=True),
        PlatformField(
            name="mode", label=WORDS, help=WORDS, required=False, choices=(FieldChoice(value="pull", label=WORDS),)
        ),
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
        {"options": {"server": "s", "mode": "push"}},
    ],
)
def test_what_is_missing_or_unknown_is_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(InvalidInput):
        PLATFORM.check(settings(**wrong))


@pytest.mark.parametrize("kind", ["telegraph", "", *sorted(GUIDES.keys() - PLATFORMS.keys())])
def test_a_kind_without_a_client_is_refused(kind: str) -> None:
    with pytest.raises(InvalidInput):
        offered_kind(kind)


@pytest.mark.parametrize("kind", CHANNEL_KINDS)
def test_every_kind_has_a_guide_in_both_languages(kind: ChannelKind) -> None:
    guide = GUIDES[kind]

    texts = list(sentences(asdict(guide)))
    assert guide.kind == kind
    assert len(texts) >= 4
    assert all(text["en"].strip() and text["zh"].strip() for text in texts)
    assert len({field.name for field in guide.fields}) == len(guide.fields)
    assert len({problem.sign.lower() for problem in guide.problems}) == len(guide.problems)


def test_an_error_means_what_its_sign_says() -> None:
    meaning = GUIDES["feishu"].meaning

    assert meaning("code 514: no auth") == problem("feishu", "514")
    assert meaning("HTTP 503, code 1000040350") == problem("feishu", "1000040350")
    assert meaning("port 15140 is closed") is None


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


def sentences(value: Any) -> Iterator[dict[str, str]]:
    """Every sentence of a guide, in both languages."""
    if isinstance(value, dict) and value.keys() == {"en", "zh"}:
        yield cast("dict[str, str]", value)
    else:
        children: Iterable[Any] = ()
        if isinstance(value, dict):
            children = cast("dict[str, Any]", value).values()
        elif isinstance(value, list | tuple):
            children = cast("list[Any]", value)
        for child in children:
            yield from sentences(child)


def problem(kind: ChannelKind, sign: str) -> Bilingual:
    return next(problem.meaning for problem in GUIDES[kind].problems if problem.sign == sign)
