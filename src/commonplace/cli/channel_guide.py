"""How a channel is set up, as text: the guide of a platform, and what is wrong with a channel."""

from collections.abc import Iterator
from dataclasses import asdict, fields
from typing import TYPE_CHECKING, Final, Literal

import typer

from commonplace.cli.lines import clean, clipped, oneline

if TYPE_CHECKING:
    from commonplace.values.channel import ChannelSettings, ChannelStatus, GroupSettings, RoomBudget
    from commonplace.values.platform import Bilingual, PlatformField, PlatformGuide
    from commonplace.wire.channels import ChannelKindAnswer

Language = Literal["en", "zh"]
_NAMED: Final = {"options": "option", "secrets": "secret in"}
_LONGEST: Final = 100
GUIDE_WORDS: dict[Language, dict[str, str]] = {
    "en": {
        "there": "On the platform",
        "permissions": "Permissions to ask for there",
        "optional": "optional",
        "check": "look whether it is called so",
        "here": "Here",
        "after": "Then",
        "problems": "What errors mean",
        "open": "What only the real platform shows",
        "secret": "where the secret is",
        "unavailable": "This version has no client for it yet.",
    },
    "zh": {
        "there": "在平台上",
        "permissions": "需要申请的权限",
        "optional": "可选",
        "check": "请核对名称",
        "here": "在这里",
        "after": "然后",
        "problems": "错误的含义",
        "open": "只有真实平台才能确认的",
        "secret": "密钥所在位置",
        "unavailable": "此版本尚无该平台的客户端。",
    },
}


def print_guide(answer: "ChannelKindAnswer", language: Language) -> None:
    """The whole of it, in the order in which it is done."""
    words, guide = GUIDE_WORDS[language], answer.guide
    typer.secho(_in(guide.title, language), bold=True)
    typer.echo(_in(guide.summary, language))
    if not answer.available:
        typer.secho(words["unavailable"], fg="yellow")
    _section(words["there"], _numbered(guide.steps, language))
    _section(words["permissions"], _permissions(guide, language))
    _section(words["here"], _fields(guide, language))
    _section(words["after"], _numbered(guide.after, language))
    _section(words["problems"], (f"{problem.sign}: {_in(problem.meaning, language)}" for problem in guide.problems))
    _section(words["open"], (f"- {_in(point, language)}" for point in guide.open_points))


def print_statuses(statuses: "list[ChannelStatus]") -> None:
    """A line each; and what is wrong with it, if something is."""
    for status in statuses:
        channel = status.channel
        typer.echo(f"{clean(channel.name)}\t{channel.kind}\t{state_of(status)}")
        if status.connection is not None and status.connection.error:
            typer.secho(f"  {oneline(status.connection.error)}", fg="red")
            if status.meaning is not None:
                typer.echo(f"  {status.meaning.en}")


def settings_lines(settings: "ChannelSettings") -> Iterator[tuple[str, str]]:
    """Who answers, and whatever is not as it is unless somebody says so."""
    plain = type(settings)()
    for field in fields(settings):
        name, value = field.name, getattr(settings, field.name)
        if name == "agent":
            yield name, clean(value)
        elif value == getattr(plain, name):
            continue
        elif name in _NAMED:
            yield from ((_NAMED[name], f"{clean(key)}={clean(text)}") for key, text in value.items())
        elif name == "budget":
            yield name, _budget(value)
        elif name == "groups":
            yield from (("group", _group(chat, group)) for chat, group in value.items())
        elif isinstance(value, tuple):
            yield name, ", ".join(map(clean, settings.allowed))
        elif isinstance(value, bool):
            yield name, "yes" if value else "no"
        else:
            yield name, clipped(str(value), _LONGEST)


def _budget(budget: "RoomBudget") -> str:
    amounts = {name: value for name, value in asdict(budget).items() if name != "hours" and value is not None}
    texts = (
        f"{value / 1_000_000:g} USD" if name == "micro_usd" else f"{value:,} {name}" for name, value in amounts.items()
    )
    return f"{' or '.join(texts)} in {budget.hours} hours"


def _group(chat: str, group: "GroupSettings") -> str:
    plain = type(group)()
    mention = "mention needed" if group.require_mention else "no mention needed"
    others = (field.name for field in fields(group) if field.name != "require_mention")
    more = (f"{name}={getattr(group, name)}" for name in others if getattr(group, name) != getattr(plain, name))
    return "\t".join((clean(chat), mention, *(clipped(text, _LONGEST) for text in more)))


def state_of(status: "ChannelStatus") -> str:
    if not status.channel.enabled:
        return "stopped"
    if status.leader is not None:
        return f"at work at {clean(status.leader)}"
    if status.running and status.connection is not None:
        return "at work" if status.connection.status == "connected" else status.connection.status
    return "not started" if status.connection is not None else "ready"


def _section(title: str, lines: Iterator[str]) -> None:
    text = list(lines)
    if text:
        typer.echo()
        typer.secho(title, bold=True)
        for line in text:
            typer.echo(line)


def _numbered(steps: "tuple[Bilingual, ...]", language: Language) -> Iterator[str]:
    return (f"{number}. {_in(step, language)}" for number, step in enumerate(steps, 1))


def _permissions(guide: "PlatformGuide", language: Language) -> Iterator[str]:
    words = GUIDE_WORDS[language]
    for permission in guide.permissions:
        remarks = [
            *([] if permission.required else [words["optional"]]),
            *([] if permission.certain else [words["check"]]),
        ]
        remark = f" ({', '.join(remarks)})" if remarks else ""
        yield f"- {permission.name}: {_in(permission.purpose, language)}{remark}"


def _fields(guide: "PlatformGuide", language: Language) -> Iterator[str]:
    if not guide.fields:
        return
    arguments = " ".join(_argument(field) for field in guide.fields if field.required)
    yield f"commonplace channel add NAME --kind {guide.kind} {arguments}"
    words = GUIDE_WORDS[language]
    for field in guide.fields:
        remark = "" if field.required else f" ({words['optional']}{f', {field.default}' if field.default else ''})"
        what = f" [{words['secret']}]" if field.secret else ""
        yield f"- {field.name}{remark}: {_in(field.label, language)}.{what} {_in(field.help, language)}"
        for choice in field.choices:
            yield f"    {choice.value}: {_in(choice.label, language)}"


def _argument(field: "PlatformField") -> str:
    return f"--{'secret' if field.secret else 'option'} {field.name}={field.example or '…'}"


def _in(text: "Bilingual", language: Language) -> str:
    return text.zh if language == "zh" else text.en
