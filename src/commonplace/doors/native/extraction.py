"""Talk becomes memory, at the native door: extraction, and what a director learned."""

from typing import Annotated

from fastapi import APIRouter, BackgroundTasks, Query, Response

from commonplace.doors.native.conditions import answer, problems
from commonplace.errors import InvalidInput
from commonplace.learning.distill import turns_of
from commonplace.server.auth import Caller, Served
from commonplace.server.door import only_conditions
from commonplace.service.extraction import Talk
from commonplace.values.record import Record
from commonplace.values.scope import Scope
from commonplace.wire.extraction import ExtractAnswer, ExtractBody, LearningBody, LearningsAnswer
from commonplace.wire.shapes import Label
from commonplace.wire.tasks import TaskAnswer
from commonplace.wire.transfer import QueuedAnswer

router = APIRouter(prefix="/v1", tags=["native"])


@router.post(
    "/extract",
    status_code=202,
    summary="Learn from a finished conversation",
    response_model=QueuedAnswer,
    responses={200: {"model": ExtractAnswer, "description": "What came of it, with `wait`."}, **problems(409)},
)
async def extract(
    body: ExtractBody,
    who: Caller,
    served: Served,
    response: Response,
    after: BackgroundTasks,
    wait: Annotated[bool, Query(description="Answer when it is done, with the facts.")] = False,
) -> Response | QueuedAnswer:
    """
    At most five facts, by the model where there is one, else by rules. What is known already, was recalled into the run, or was
    deleted by somebody is not learned again; what contradicts an older fact takes its place. It is done in the background:
    `GET /v1/tasks/{id}` tells what came of it.
    """
    talk = _talk(body)
    if talk.session is not None:
        after.add_task(served.lanes.met, who, talk.session)
    if wait:
        return answer(served, ExtractAnswer.of(await served.extraction.extract(who, talk)))
    job = await served.extraction.queue(who, talk)
    response.headers["Location"] = f"/v1/tasks/{job.id}"
    return QueuedAnswer(job=TaskAnswer.of(job))


@router.post(
    "/agents/learnings",
    status_code=201,
    summary="Keep what a director learned",
    response_model=Record,
    responses=problems(422),
)
async def learn(body: LearningBody, who: Caller, served: Served) -> Response:
    """Under `director:learning:<time>` in the memory of the first agent, so that none takes another one's place."""
    record = await served.director.learn(who, body.agents, body.learning, run=body.run)
    return answer(served, record, status=201)


@router.get(
    "/agents/learnings",
    summary="What a director learned before",
    response_model=LearningsAnswer,
    responses=problems(),
    dependencies=[only_conditions("agent")],
)
async def learnings(
    who: Caller,
    served: Served,
    agent: Annotated[list[Label], Query(min_length=1, max_length=100, description="All agents of the chain.")],
) -> Response:
    """The newest 20, over all agents of the chain."""
    learnings = await served.director.learnings(who, agent)
    return answer(served, LearningsAnswer(count=len(learnings), learnings=tuple(learnings)))


def _talk(body: ExtractBody) -> Talk:
    if body.transcript is not None and body.turns:
        raise InvalidInput("Give a transcript or turns, not both.")
    turns = (
        turns_of(body.transcript.split("\n\n")) if body.transcript is not None else [turn.turn() for turn in body.turns]
    )
    return Talk(
        turns=tuple(turns),
        session=body.session,
        agents=tuple(body.agents),
        workspace=body.workspace,
        scope=None if body.scope is None else Scope.parse(body.scope),
        run=body.run,
        recalled=tuple(body.recalled),
        at=body.at,
    )
