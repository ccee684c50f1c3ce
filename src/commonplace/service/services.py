"""All use cases of a daemon, put together by its composition root."""

from __future__ import annotations

from dataclasses import dataclass

from commonplace.jobs.waiter import Endings
from commonplace.service.budgets import Budgets
from commonplace.service.census import Counting
from commonplace.service.desk import Desk
from commonplace.service.director import Directing
from commonplace.service.events import Listening
from commonplace.service.extraction import Extracting
from commonplace.service.identity import Identity
from commonplace.service.jobs import Tasks
from commonplace.service.keeping import Keeping
from commonplace.service.knowledge import Registry
from commonplace.service.lanes import Lanes
from commonplace.service.managed import Managed
from commonplace.service.moving import Moving
from commonplace.service.recall import Recalling
from commonplace.service.records import Records
from commonplace.service.review import Reviewing
from commonplace.service.shelves import Shelves


@dataclass(frozen=True, kw_only=True, slots=True)
class Services:
    desk: Desk
    identity: Identity
    records: Records
    review: Reviewing
    recall: Recalling
    moving: Moving
    keeping: Keeping
    census: Counting
    budgets: Budgets
    extraction: Extracting
    director: Directing
    knowledge: Registry
    managed: Managed
    shelves: Shelves
    lanes: Lanes
    tasks: Tasks
    endings: Endings
    events: Listening
