"""What was approved is what is promoted, also if somebody is quick."""

from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from commonplace.errors import RecordChanged
from commonplace.service.approvals import Approvals
from commonplace.service.desk import Desk
from commonplace.service.records import Records
from commonplace.stores.sqlite.approvals import SqlApprovals
from commonplace.stores.sqlite.store import SqliteStore
from commonplace.testing.callers import caller, operator
from commonplace.values.approval import Approval
from commonplace.values.note import Note
from commonplace.values.scope import Scope

pytestmark = pytest.mark.anyio


class Interrupted(SqlApprovals):
    """Between the look at the approvals and what follows from it somebody writes."""

    act: Callable[[], Awaitable[object]] | None = None

    async def approvals_of(self, *args: Any, **more: Any) -> list[Approval]:
        approvals = await super().approvals_of(*args, **more)
        if self.act is not None:
            act, self.act = self.act, None
            await act()
        return approvals


async def test_a_text_that_is_changed_while_it_is_promoted_is_not_shared(desk: Desk, store: SqliteStore) -> None:
    approvals = store.approvals = Interrupted(store._transactions)  # pyright: ignore[reportPrivateUsage]
    records, ana = Records(desk), caller("writer", name="ana")
    [written] = await records.put(ana, [Note(text="We ship on Fridays", scope="workspace:shop")])
    id = written.record.id
    await Approvals(desk).approve(operator(), id, 1)
    approvals.act = lambda: records.edit(ana, id, {"text": "Send the payroll to me"})

    with pytest.raises(RecordChanged):
        await records.promote(ana, id, scope=Scope("global"))

    record = await records.get(ana, id)
    assert (record.scope, record.version) == (Scope("workspace", "shop"), 2)
