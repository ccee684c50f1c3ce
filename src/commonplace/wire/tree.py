"""The context tree on the wire."""

from __future__ import annotations

from typing import Literal

from pydantic import ConfigDict

from commonplace.wire.governed import Metadata, Sent
from commonplace.wire.shapes import Answer, Line, Moment, RecordId


class ResolveBody(Sent):
    model_config = ConfigDict(json_schema_extra={"examples": [{"uri": "commonplace://resources/default"}]})

    uri: Line


class NodeAnswer(Answer):
    id: str
    uri: str
    parent_uri: str | None = None
    node_type: Literal["directory", "file"]
    created_at: Moment
    updated_at: Moment
    metadata: Metadata


class ResolveAnswer(Answer):
    node: NodeAnswer


class LayerSummaryAnswer(Answer):
    l0_preview: str | None = None
    l1_preview: str | None = None
    has_l2: bool


class TreeNodeAnswer(Answer):
    """`more` children are not shown."""

    node: NodeAnswer
    children: list[TreeNodeAnswer]
    layer_summary: LayerSummaryAnswer
    more: int


class TreeAnswer(Answer):
    tree: list[TreeNodeAnswer]


class LayersBody(Sent):
    node_id: RecordId


class LayerAnswer(Answer):
    layer_type: Literal["L0", "L1"]
    token_count: int
    method: Literal["rules", "model"]


class LayersAnswer(Answer):
    ok: bool
    node_id: str
    layers: list[LayerAnswer]
