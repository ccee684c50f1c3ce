"""What the shell completes: scopes, ids, kinds, sources and tags that the store holds. Never fails, never creates."""

import warnings
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

import typer

from commonplace.cli.door import half_typed
from commonplace.cli.lines import clipped
from commonplace.cli.opening import nearest
from commonplace.errors import CommonplaceError
from commonplace.values.record import Record
from commonplace.values.scope import SCOPE_KINDS

if TYPE_CHECKING:
    from commonplace import Client, Memory

Completions = list[tuple[str, str]]
_ENOUGH = 200


def scopes(ctx: typer.Context, incomplete: str) -> Completions:
    def ask(memory: "Memory | Client") -> Completions:
        return [(str(held.scope), f"{held.records} records") for held in memory.stats().scopes]

    kinds = [(kind if kind == "global" else f"{kind}:", "") for kind in SCOPE_KINDS]
    return _starting(incomplete, [*_asked(ctx, ask), *kinds])


def ids(ctx: typer.Context, incomplete: str) -> Completions:
    return _of_records(ctx, incomplete, lambda record: [(record.id, clipped(record.text, 60))])


def session_ids(ctx: typer.Context, incomplete: str) -> Completions:
    def ask(memory: "Memory | Client") -> Completions:
        page = memory.sessions(limit=_ENOUGH, archived="any")
        return [(session.id, clipped(session.title or "", 60)) for session in page.sessions]

    return _starting(incomplete, _asked(ctx, ask))


def channel_names(ctx: typer.Context, incomplete: str) -> Completions:
    return _of_daemon(
        ctx,
        incomplete,
        lambda daemon: [(status.channel.name, status.channel.kind) for status in daemon.channels.list()],
    )


def channel_kinds(ctx: typer.Context, incomplete: str) -> Completions:
    def ask(daemon: "Client") -> Completions:
        return [(kind.guide.kind, kind.guide.title.en) for kind in daemon.channels.kinds()]

    return _of_daemon(ctx, incomplete, ask)


def room_ids(ctx: typer.Context, incomplete: str) -> Completions:
    """Those of the channel that stands before."""
    channel = ctx.params.get("name")

    def ask(daemon: "Client") -> Completions:
        return [(room.chat, clipped(room.title, 60)) for room in daemon.rooms.list(channel or "web")]

    return _of_daemon(ctx, incomplete, ask)


def kinds(ctx: typer.Context, incomplete: str) -> Completions:
    return _of_records(ctx, incomplete, lambda record: [(record.kind, "")])


def sources(ctx: typer.Context, incomplete: str) -> Completions:
    return _of_records(ctx, incomplete, lambda record: [(record.source, "")])


def tags(ctx: typer.Context, incomplete: str) -> Completions:
    return _of_records(ctx, incomplete, lambda record: [(tag, "") for tag in record.tags])


def _of_records(ctx: typer.Context, incomplete: str, offer: Callable[[Record], Completions]) -> Completions:
    """What the newest records have to offer: enough to choose from, and quick in a store of any size."""

    def ask(memory: "Memory | Client") -> Completions:
        return [found for record in memory.list(limit=_ENOUGH).records for found in offer(record)]

    return _starting(incomplete, _asked(ctx, ask))


def _of_daemon(ctx: typer.Context, incomplete: str, ask: Callable[["Client"], Completions]) -> Completions:
    """What a daemon offers, if one answers."""
    try:
        door = half_typed(ctx)
        with door.client(door.url or nearest()) as daemon:
            return _starting(incomplete, ask(daemon))
    except (CommonplaceError, OSError):
        return []


def _starting(incomplete: str, offers: Iterable[tuple[str, str]]) -> Completions:
    return list({word: (word, about) for word, about in offers if word.startswith(incomplete)}.values())


def _asked(ctx: typer.Context, ask: Callable[["Memory | Client"], Completions]) -> Completions:
    try:
        # What is said here would stand in the middle of the line that is being typed.
        with warnings.catch_warnings(action="ignore"), half_typed(ctx).open() as memory:
            return ask(memory)
    except (CommonplaceError, OSError):
        return []
