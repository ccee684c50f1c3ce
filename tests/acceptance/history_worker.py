"""
A process that appends to a session until somebody kills it. Run as `history_worker.py STORE SEED`; STORE is a file or a PostgreSQL address.
Says each message in a line of JSON, after the call that kept it had returned.
"""

from __future__ import annotations

import asyncio
import json
import os
import random
import sys
from pathlib import Path

from commonplace.compose.stores import SystemClock, open_store
from commonplace.ports.journal import Entries
from commonplace.values.scope import DEFAULT_TENANT
from commonplace.values.session import MessageDraft, Session

SESSION = "talk"


async def main(where: str, seed: int) -> None:
    clock, chance = SystemClock(), random.Random(seed)
    place = where if "://" in where else Path(where)
    opened = await open_store(place, clock, home=Path.cwd(), from_workspace=False)
    now = clock.now()
    session = Session(id=SESSION, owner="ana", agent="coder", created_at=now, updated_at=now)
    await opened.store.history.load_session(DEFAULT_TENANT, session, Entries())
    tell(ready=True)
    number = 0
    while True:
        drafts = [
            MessageDraft(id=f"{seed}-{number + n}", role="user", kind="text", text=f"word{seed} number {number + n}")
            for n in range(chance.randint(1, 4))
        ]
        number += len(drafts)
        kept = await opened.store.history.append_messages(DEFAULT_TENANT, SESSION, drafts, clock.now())
        tell(kept=[[message.position, message.id, message.text] for message in kept])


def tell(**what: object) -> None:
    """One line in one write, so that a kill never cuts it."""
    os.write(1, json.dumps(what).encode() + b"\n")


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], int(sys.argv[2])))
