"""Whose a scope is: the subject it belongs to, and those with whom it is shared."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from commonplace.values.json import JsonObject
from commonplace.values.moment import Moment
from commonplace.values.scope import Scope

if TYPE_CHECKING:
    from commonplace.values.event import News


@dataclass(frozen=True, kw_only=True, slots=True)
class Member(JsonObject):
    """A subject that reaches a scope because it is theirs (`owner`), or was shared with them."""

    scope: Scope
    subject: str
    owner: bool
    since: Moment


@dataclass(frozen=True, kw_only=True, slots=True)
class SessionClaim:
    """
    A session that somebody writes to. If it has no member yet it is theirs from now on, and `news` tells of it; if it is one that somebody began with
    an agent, it is whoever's began it. If the subject is no member then, a `strict` claim undoes the write.
    """

    tenant: str
    scope: Scope
    subject: str
    since: Moment
    news: News
    strict: bool = True
