"""Why a text was not remembered, and what a model did wrong when it was to file one."""

from __future__ import annotations

from commonplace.errors import InvalidContent, InvalidScope, ModelError


class NotAFact(InvalidContent):
    """There is nothing to remember in it. Give a statement, for instance: The release is on Fridays."""

    code = "not_a_fact"


class FactRefused(InvalidContent):
    """It reads like an order to an agent, not like something to remember. Say what is so, or what you prefer."""

    code = "remember_refused"
    status = 422


class ScopeUnclear(InvalidScope):
    """It may be about a person, whose memory this key does not reach. If it belongs to the project, name that: scope `project`."""

    code = "scope_unclear"


class ModelWroteNothing(ModelError):
    """The model was asked twice and wrote no file. Rules filed the text instead."""

    code = "model_wrote_nothing"


class ModelLostFact(ModelError):
    """What the model wrote says nothing of the text. It was taken back; rules filed the text instead."""

    code = "model_lost_fact"


class ModelMisplacedFact(ModelError):
    """The model wrote what is about a person into the project's memory. It was taken back; rules filed the text instead."""

    code = "model_misplaced_fact"
