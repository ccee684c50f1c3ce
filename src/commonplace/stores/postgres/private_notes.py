"""Private notes from before schema 7 go to whose they are."""

from __future__ import annotations

from typing import Any

from commonplace.stores.postgres.connection import Connection, rows, statements
from commonplace.stores.postgres.rows import tenant_of
from commonplace.stores.postgres.writes import lock, own_store
from commonplace.stores.private_notes import NamedKey, Persons, PrivateNote
from commonplace.values.scope import Scope

_SQL = statements("sql/private_notes.sql")


async def bring_home(connection: Connection) -> int:
    """Move them, inside the transaction of the caller. How many there were."""
    await own_store(connection)
    listed = {row[0]: row for row in await rows(connection, _SQL["private_notes"])}
    keys = [NamedKey(*row) for row in await rows(connection, _SQL["keys"])]
    users = {(tenant, id) for tenant, id in await rows(connection, _SQL["users"])}
    moves = Persons(keys, users).moves(PrivateNote(*row[:5]) for row in listed.values())
    if not moves:
        return 0
    starts = [(move.tenant, Scope(*listed[move.number][5:7])) for move in moves]
    places = await lock(connection, [*starts, *((move.tenant, move.target) for move in moves)], epochs=1)
    params: list[dict[str, Any]] = []
    for move in moves:
        place = places[move.tenant, move.target]
        tenant = tenant_of(move.number)
        params.append({"tenant": tenant, "number": move.number, "scope": place.number, "seq": place.seq})
    for name in ("move_versions", "move_record", "move_words", "move_vectors"):
        await connection.cursor().executemany(_SQL[name], params)
    await connection.execute(_SQL["recount"], {"scopes": [place.number for place in places.values()]})
    news = {"ids": [listed[move.number][7] for move in moves], "scopes": [str(move.target) for move in moves]}
    await connection.execute(_SQL["move_events"], news)
    await connection.execute(_SQL["move_outbox"], news)
    return len(moves)
