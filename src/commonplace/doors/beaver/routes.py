"""
The gateway door: Beaver's users, their chats and their documents.

A user shows their id and their key with every request, in the body. Where there is none, in `X-User-Id` and `X-User-Key`:
never in the address, which is logged everywhere.
"""

from typing import Annotated, Final
from urllib.parse import unquote

from fastapi import APIRouter, BackgroundTasks, Depends, Header, Path, Query, Request
from pydantic import SecretStr, ValidationError

from commonplace.doors.beaver.shapes import (
    Add,
    Added,
    Credentials,
    Flush,
    FlushAnswer,
    Message,
    Named,
    NewResource,
    NewUser,
    Raw,
    Resource,
    ResourceKept,
    ResourceRemoved,
    Resources,
    Result,
    Results,
    Search,
    UserAnswer,
)
from commonplace.doors.beaver.use_cases import Gateway, PartHit
from commonplace.errors import InvalidText, Unauthenticated
from commonplace.server.auth import KeyedCaller, Pairing, Served, use_case
from commonplace.server.door import ApiDoor, only_conditions
from commonplace.service.resources import uri_of
from commonplace.service.services import Services
from commonplace.values.job import Job
from commonplace.values.moment import from_ms
from commonplace.values.principal import Principal
from commonplace.values.quarantine import Withheld, withheld
from commonplace.values.record import Json, Record, Turn
from commonplace.values.resource import UserResource

router = APIRouter(tags=["gateway"])


def _use_cases(services: Services) -> list[object]:
    return [Gateway(services.desk, services.identity, services.records, services.extraction)]


DOOR: Final = ApiDoor(routers=(router,), use_cases=_use_cases)
UseGateway = Annotated[Gateway, use_case(Gateway)]


async def shown_elsewhere(
    request: Request,
    pair: Pairing,
    user_id: Annotated[
        str | None, Header(alias="X-User-Id", max_length=1_000, description="Percent-encoded where it is not ASCII.")
    ] = None,
    user_key: Annotated[SecretStr | None, Header(alias="X-User-Key", max_length=255)] = None,
    app_id: Annotated[Named, Query()] = "default",
    project_id: Annotated[Named, Query()] = "default",
) -> Principal:
    """The user, by the headers or by a body that a request of this kind need not have."""
    try:
        if user_id is None or user_key is None:
            credentials = Credentials.model_validate_json(await request.body())
        else:
            credentials = Credentials(user_id=unquote(user_id), user_key=user_key, app_id=app_id, project_id=project_id)
    except ValidationError:
        raise Unauthenticated("Send the user's id and key in X-User-Id and X-User-Key.") from None
    return await _user(pair, credentials)


Elsewhere = Annotated[Principal, Depends(shown_elsewhere)]


@router.post("/users", status_code=201, summary="Register a user")
async def create_user(body: NewUser, who: KeyedCaller, gateway: UseGateway) -> UserAnswer:
    """The operator or an admin may. The key is shown this once; an id that is known already is a conflict (409)."""
    user, secret = await gateway.create_user(who, body.user_id, tenant=body.tenant)
    return UserAnswer(user_id=user.id, user_key=secret)


@router.post("/memories/search", summary="Search what is a user's")
async def search(body: Search, pair: Pairing, gateway: UseGateway) -> Results:
    """
    `current_chat` is the conversation named, `resources` the user's documents, `all_user_memory` everything that is theirs.
    The best `top_k` of all of them together, each once; none, if no memory answers the question.
    """
    who = await _user(pair, body)
    hits = await gateway.search(
        who,
        body.query,
        set(body.scope),
        conversation=body.conversation_id,
        limit=body.top_k,
        min_relevance=body.min_relevance,
    )
    return Results(results=[_result(hit) for hit in hits])


@router.post("/memories/add", summary="Remember messages")
async def add(body: Add, pair: Pairing, gateway: UseGateway) -> Added:
    """They can be searched at once. Sending the same again changes nothing."""
    who = await _user(pair, body)
    turns = [_turn(message) for message in body.messages if message.text.strip()]
    if not turns:
        raise InvalidText("messages: none of them says anything.")
    results = await gateway.add(who, body.session_id, turns)
    outcomes = [result.outcome for result in results]
    waiting = withheld(result.record for result in results)
    return Added(
        message_count=len(results) - outcomes.count("unchanged"),
        unchanged_count=outcomes.count("unchanged"),
        quarantined_count=len(waiting),
        quarantined=list(waiting),
    )


@router.post("/memories/flush", summary="Close an episode: learn from what was said since the last time")
async def flush(body: Flush, pair: Pairing, served: Served, gateway: UseGateway, after: BackgroundTasks) -> FlushAnswer:
    """
    Facts are kept under `auto:` keys, and what was said gets a summary. It is done in the background, right after the answer:
    the status is `queued`, and a key that reaches the user may look at `GET /v1/tasks/{job}`. With `wait` the answer comes when
    it is done, and tells what came of it.
    """
    who = await _user(pair, body)
    outcome = await gateway.flush(who, body.session_id, wait=bool(body.wait))
    if isinstance(outcome, Job) or outcome.turns:
        after.add_task(served.lanes.met, who, body.session_id)
    if isinstance(outcome, Job):
        method = "rules" if served.desk.model is None else "model"
        return FlushAnswer(status="queued", message_count=0, facts=[], episode=None, method=method, job=outcome.id)
    return FlushAnswer(
        status=outcome.status,
        message_count=outcome.turns,
        facts=[fact.id for fact in outcome.facts],
        episode=outcome.episode.id if outcome.episode else None,
        superseded=list(outcome.superseded),
        dropped=dict(outcome.dropped),
        method=outcome.method,
        quarantined=list(withheld(outcome.facts)),
    )


@router.post("/resources", status_code=201, summary="Keep a document")
async def put_resource(body: NewResource, pair: Pairing, served: Served) -> ResourceKept:
    """Only its user finds it. A known `uri` gets the new content."""
    who = await _user(pair, body)
    resource = await served.resources.put(who, body.content, uri=body.uri, title=body.title)
    note = resource.quarantine
    waiting = [Withheld.of(resource.id, None, note)] if note else []
    return ResourceKept(
        resource_uri=resource.uri, chunks=resource.chunks or 0, outcome=resource.outcome, quarantined=waiting
    )


@router.get(
    "/resources",
    summary="List a user's documents, newest first",
    dependencies=[only_conditions("limit", "cursor", "app_id", "project_id", after=shown_elsewhere)],
)
async def list_resources(
    who: Elsewhere,
    served: Served,
    limit: Annotated[int, Query(ge=1, le=1_000)] = 100,
    cursor: Annotated[str | None, Query(max_length=4_096)] = None,
) -> Resources:
    page = await served.resources.list(who, limit=limit, cursor=cursor)
    return Resources(resources=[_resource(resource) for resource in page.resources], cursor=page.cursor)


@router.delete("/resources/{uri:path}", summary="Remove a document")
async def remove_resource(
    uri: Annotated[str, Path(min_length=1, max_length=512)], who: Elsewhere, served: Served
) -> ResourceRemoved:
    await served.resources.remove(who, uri)
    return ResourceRemoved(resource_uri=uri)


# ---- shapes


async def _user(pair: Pairing, body: Credentials) -> Principal:
    return await pair(body.tenant, body.user_id, body.user_key.get_secret_value())


def _turn(message: Message) -> Turn:
    metadata: dict[str, Json] = {"role": message.role}
    if message.sender_name is not None:
        metadata["sender_name"] = message.sender_name
    return Turn(speaker=message.sender_id, text=message.text, at=from_ms(message.timestamp), metadata=metadata)


def _result(part_hit: PartHit) -> Result:
    hit, record = part_hit.hit, part_hit.hit.record
    return Result(
        id=record.id,
        session_id=record.session,
        text=hit.passage,
        score=round(hit.relevance, 4),
        source_scope=part_hit.part,
        resource_uri=uri_of(record),
        raw=Raw(
            kind=record.kind,
            role=_told(record, "role"),
            sender_id=record.speaker,
            at=record.at,
            trust=record.trust,
            title=_told(record, "title"),
            evidence=[*hit.evidence],
            contradicted_by=[*hit.contradicted_by],
        ),
    )


def _resource(resource: UserResource) -> Resource:
    return Resource(
        resource_uri=resource.uri,
        title=resource.title,
        characters=resource.characters,
        created_at=resource.created_at,
        updated_at=resource.updated_at,
    )


def _told(record: Record, name: str) -> str | None:
    value = record.metadata.get(name)
    return value if isinstance(value, str) else None
