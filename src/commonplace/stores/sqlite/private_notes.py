# pyright: reportUnknownMemberType=false
# (the stubs of apsw name a type that this Python may not have)

"""Private notes from before schema 7 go to whose they are."""

from __future__ import annotations

import json

import apsw

from commonplace.stores.private_notes import NamedKey, Persons, PrivateNote
from commonplace.stores.queries import load
from commonplace.stores.sqlite.rows import rows
from commonplace.stores.sqlite.writes import Writing

SQL = load("commonplace.stores.sqlite", "sql/private_notes.sql")


def bring_home(db: apsw.Connection) -> int:
    """Move them, inside the transaction of the caller. How many there were."""
    notes = [PrivateNote(*row) for row in rows(db, SQL["private_notes"])]
    persons = Persons([NamedKey(*row) for row in rows(db, SQL["keys"])], set(rows(db, SQL["users"])))
    moves = persons.moves(notes)
    if moves:
        writing = Writing(db)
        for move in moves:
            writing.move(move.number, move.tenant, move.target)
        writing.finish()
        db.execute(SQL["move_events"], {"numbers": json.dumps([move.number for move in moves])})
    return len(moves)
