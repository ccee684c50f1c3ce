"""What each worker of a daemon does besides answering: it follows the log of events, and works on jobs."""

from __future__ import annotations

import asyncio
import logging
from datetime import timedelta
from functools import partial
from typing import Any

import anyio

from commonplace.agent.live_sessions import LiveSessions
from commonplace.agent.session_target import SessionTarget
from commonplace.channels.room_target import RoomTarget
from commonplace.channels.rooms import Rooms
from commonplace.errors import NotFound
from commonplace.jobs.payloads import EMBED_PAYLOAD, FIRE_PAYLOAD, IMPORT_PAYLOAD, NO_PAYLOAD, TALK_PAYLOAD
from commonplace.jobs.queue import Queue
from commonplace.jobs.worker import Worker
from commonplace.server.auth import AppState
from commonplace.server.logs import log
from commonplace.service.embedders import EMBED
from commonplace.service.extraction import AT_ONCE, EXTRACT
from commonplace.service.lanes import memory_queues
from commonplace.service.schedule_runner import AT_ONCE as AT_ONCE_SCHEDULED
from commonplace.service.schedule_runner import ScheduleRunner
from commonplace.service.schedules import FIRE, SESSION
from commonplace.service.seals import EVERY as SEAL_EVERY
from commonplace.service.seals import SEAL, Sealing
from commonplace.service.services import Services
from commonplace.service.transfer import IMPORT
from commonplace.service.upkeep import EVERY, UPKEEP, Housekeeping, tidy_files
from commonplace.settings import Settings
from commonplace.values.event import Event
from commonplace.values.schedule import ROOM


async def follow_events(app_state: AppState, settings: Settings) -> None:
    """One follower for all who listen to this process."""
    del settings
    with app_state.services.job_waiter.followed():
        await app_state.services.events.hub.run()


async def end_streams(stopping: asyncio.Event, app_state: AppState, settings: Settings) -> None:
    """A stream has no last answer to wait for: when the process is told to stop, its listeners are let go, and all who wait."""
    del settings
    await stopping.wait()
    app_state.services.events.hub.close()
    app_state.services.job_waiter.close()
    app_state.services.run_streams.close()


async def follow_sessions(app_state: AppState, settings: Settings) -> None:
    """A session that is led here may be changed or deleted anywhere: at another worker, by another daemon, by a command."""
    del settings
    sessions: LiveSessions = app_state.use_cases[LiveSessions]
    history, heard = app_state.services.desk.store.history, asyncio.Queue[tuple[str, str]]()

    def hear(event: Event) -> None:
        news = event.news
        if news.type in ("session.changed", "session.deleted"):
            heard.put_nowait((news.tenant, str(news.data.get("id"))))

    with app_state.services.events.hub.watched(hear):
        while True:
            tenant, id = await heard.get()
            try:
                session = await history.session(tenant, id)
            except NotFound:
                session = None
            await sessions.changed(tenant, id, session)


def queues_of(services: Services, settings: Settings) -> dict[str, Queue[Any]]:
    """All kinds of jobs that a daemon runs."""
    housekeeping = Housekeeping(
        store=services.desk.store,
        clock=services.desk.clock,
        events_kept=timedelta(days=settings.events_kept_days),
        most_events=settings.events_kept,
        end_sessions=services.keeping.end_sessions,
        expire_history=services.history.expire,
        room_messages_kept=timedelta(days=settings.room_days) if settings.room_days else None,
        tidy_files=partial(tidy_files, services),
    )
    retention = timedelta(days=settings.audit_kept_days) if settings.audit_kept_days else None
    sealing = Sealing(desk=services.desk, retention=retention)
    return {
        IMPORT: Queue(handler=services.moving.run_import, payload=IMPORT_PAYLOAD, wakes=(IMPORT,)),
        UPKEEP: Queue(handler=housekeeping.run, payload=NO_PAYLOAD, every=EVERY),
        SEAL: Queue(handler=sealing.run, payload=NO_PAYLOAD, every=SEAL_EVERY),
        EMBED: Queue(handler=services.embedders.run, payload=EMBED_PAYLOAD, wakes=(EMBED,)),
        EXTRACT: Queue(handler=services.extraction.work, payload=TALK_PAYLOAD, concurrency=AT_ONCE, wakes=(EXTRACT,)),
        **memory_queues(services.lanes),
    }


async def work_on_jobs(app_state: AppState, settings: Settings) -> None:
    services, desk = app_state.services, app_state.services.desk
    if not desk.works_on_jobs:
        return
    runner = schedule_runner(services, app_state.use_cases[LiveSessions], app_state.use_cases[Rooms])
    fires = Queue(handler=runner.run, payload=FIRE_PAYLOAD, concurrency=AT_ONCE_SCHEDULED, wakes=(FIRE,))
    worker = Worker(
        desk.store,
        desk.clock,
        {**queues_of(services, settings), FIRE: fires},
        lease=timedelta(seconds=settings.job_lease_seconds),
        counted=lambda kind, state: app_state.metrics.jobs.labels(kind, state).inc(),
        ended=services.job_waiter.wake,
    )
    services.lanes.on_queued(worker.wake)
    services.extraction.on_queued(worker.wake)
    services.embedders.on_queued(lambda: worker.wake(EMBED))
    with services.events.hub.watched(worker.hear), services.events.hub.watched(runner.hear):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(runner.follow)
            await worker.run()
            tasks.cancel_scope.cancel()


def schedule_runner(services: Services, sessions: LiveSessions, rooms: Rooms) -> ScheduleRunner:
    """What plays the schedules of a daemon, in the targets that it has."""
    in_sessions = SessionTarget(sessions, services.history)
    in_rooms = RoomTarget(services.desk, rooms.host.residence, in_sessions)
    return ScheduleRunner(services.desk, services.schedules, {SESSION: in_sessions, ROOM: in_rooms})


async def warm_up(app_state: AppState, settings: Settings) -> None:
    """The first who asks does not wait for what only the first would wait for."""
    del settings
    await asyncio.to_thread(app_state.services.extraction.rehearse)


async def look_for_damage(app_state: AppState, settings: Settings) -> None:
    """Read every page of the store once, so that `/ready` tells of damage that nobody has met yet."""
    del settings
    store = app_state.services.desk.store
    if not await store.maintenance.is_sound():
        log(logging.ERROR, "damaged", advice="`commonplace check` names what cannot be read.")


async def follow_embedders(app_state: AppState, settings: Settings) -> None:
    """Another process may change the embedders of the store."""
    del settings
    await app_state.services.embedders.follow()


async def follow_files(app_state: AppState, settings: Settings) -> None:
    """What people edit in their Markdown is noticed."""
    del settings
    await app_state.services.managed.watch()
