"""The context tree at the native door: folders, layers, the caller's own documents, and talk distilled."""

from typing import Annotated

from fastapi import APIRouter, BackgroundTasks, Path, Query, Response

from commonplace.doors.native.conditions import answer, problems
from commonplace.server.auth import Caller, Served
from commonplace.server.door import only_conditions
from commonplace.service.distill import conversation_of
from commonplace.service.tree import MAX_DEPTH, TreeQuery, layer_texts
from commonplace.values.distillation import DistillReport
from commonplace.values.layer import LayerName, LayerText
from commonplace.values.record import Record
from commonplace.values.resource import ResourcePage, UserResource
from commonplace.values.scope import Scope
from commonplace.values.tree import SCHEME, Node, TreeNode
from commonplace.wire.shapes import Line
from commonplace.wire.tree import DistillationBody, NodeLayersAnswer, NodeLayersBody, ResourceBody

router = APIRouter(prefix="/v1", tags=["native"])

Uri = Annotated[Line, Query(description="An address in the tree.", examples=["commonplace://resources/web"])]
ResourceUri = Annotated[str, Path(min_length=1, max_length=512, description="The document's address.")]


@router.get(
    "/tree",
    summary="Memory as folders",
    responses=problems(404),
    dependencies=[only_conditions("uri", "depth", "everyone", "after")],
)
async def tree(
    who: Caller,
    served: Served,
    uri: Uri = SCHEME,
    depth: Annotated[int, Query(ge=0, le=MAX_DEPTH, description="How many levels.")] = 1,
    everyone: Annotated[bool, Query(description="Other people's folders, too. For admins.")] = False,
    after: Annotated[Line | None, Query(description="The `cursor` of the page before, of one level.")] = None,
) -> TreeNode:
    """
    What is in a folder: other folders, and records as files. A slash in a key or in a file's path makes a folder. Without
    `everyone` only shared scopes and the caller's own are listed.
    """
    return await served.tree.tree(who, TreeQuery(uri=uri, depth=depth, everyone=everyone, after=after))


@router.get(
    "/tree/node", summary="What an address names", responses=problems(404), dependencies=[only_conditions("uri")]
)
async def resolve(uri: Uri, who: Caller, served: Served) -> Node:
    """`tandem://` is read as well. An address that ends in a record's key or id leads to its name of today."""
    return await served.tree.resolve(who, uri)


@router.get("/layers", summary="Read a layer of a record or a folder", responses=problems(404))
async def layer(
    node: Annotated[Line, Query(description="A record's id, or an address in the tree.")],
    who: Caller,
    served: Served,
    name: Annotated[LayerName, Query(description="L0: an abstract. L1: an overview. L2: the text itself.")] = "L0",
) -> LayerText:
    """The layer that was made, else sentences of the text. A folder's L0 and L1 tell what is in it."""
    return await served.tree.layer(who, node, name)


@router.post("/layers", summary="Make the layers of a record", responses=problems(404))
async def make_layers(body: NodeLayersBody, who: Caller, served: Served) -> NodeLayersAnswer:
    """L0 has at most 100 tokens, L1 at most 2,000; by the model if there is one. Those that are there stay."""
    return NodeLayersAnswer(layer_texts(await served.tree.generate(who, body.node)))


# ---- documents


@router.post("/resources", status_code=201, summary="Keep a document", responses=problems(413, 422))
async def put_resource(body: ResourceBody, who: Caller, served: Served) -> UserResource:
    """It is the caller's own: nobody else finds it. A known `uri` gets the new content."""
    return await served.resources.put(who, body.content, uri=body.uri, title=body.title)


@router.get(
    "/resources",
    summary="List the caller's documents, newest first",
    responses=problems(),
    dependencies=[only_conditions("limit", "cursor")],
)
async def resources(
    who: Caller,
    served: Served,
    limit: Annotated[int, Query(ge=1, le=1_000)] = 100,
    cursor: Annotated[Line | None, Query()] = None,
) -> ResourcePage:
    return await served.resources.list(who, limit=limit, cursor=cursor)


@router.get("/resources/{uri:path}", summary="Read a document", response_model=Record, responses=problems(404))
async def resource(uri: ResourceUri, who: Caller, served: Served) -> Response:
    record = await served.resources.get(who, uri)
    return answer(served, record, version_of=record)


@router.delete("/resources/{uri:path}", status_code=204, summary="Remove a document", responses=problems(404))
async def remove_resource(uri: ResourceUri, who: Caller, served: Served) -> None:
    """Its record is deleted; `undo` brings it back."""
    await served.resources.remove(who, uri)


# ---- talk


@router.post("/distill", summary="Keep what a conversation taught", responses=problems())
async def distill(body: DistillationBody, who: Caller, served: Served, after: BackgroundTasks) -> DistillReport:
    """
    Preferences, facts, outcomes and lessons become facts of the session, or of `scope`. The same conversation again adds nothing.
    """
    after.add_task(served.lanes.met, who, body.session)
    conversation = conversation_of(
        body.session,
        body.conversation,
        scope=None if body.scope is None else Scope.parse(body.scope),
        run=body.run,
        workflow=body.workflow,
        artifact_refs=tuple(body.artifact_refs),
        threshold=body.threshold,
    )
    return await served.distilling.distill(who, conversation)
