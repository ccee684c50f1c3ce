"""
Where a model works, and which scopes it means.

A model speaks of tiers: `session`, `project` and `global`. They are scopes: `session:<session id>`, `workspace:<project id>`
and `global`. Most of the time it names none, and its place says what is meant.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Final, Literal, get_args

from commonplace.errors import Forbidden, InvalidInput, RecordNotFound
from commonplace.governance.access import exact_scopes
from commonplace.ports.memory_client import MemoryClient
from commonplace.values.principal import Principal
from commonplace.values.record import Record
from commonplace.values.scope import Scope, ScopeKind

Tier = Literal["session", "project", "global"]
TIERS: Final[tuple[Tier, ...]] = get_args(Tier)

GLOBAL: Final = Scope("global")
_TIER_OF: Final[dict[ScopeKind, Tier]] = {"session": "session", "workspace": "project", "global": "global"}


def refused(reason: str, message: str) -> InvalidInput:
    """What a model asked cannot be done as it was asked; `reason` is what its program compares."""
    return InvalidInput(message, reason=reason)


def tier_of(scope: Scope) -> Tier | None:
    """None for the scopes that a model has no tier for: those of users, agents and channels."""
    return _TIER_OF.get(scope.kind)


@dataclass(frozen=True, kw_only=True, slots=True)
class ScopeArguments:
    """What a model said about scopes; None where nothing."""

    tier: str | None = None
    session_id: str | None = None
    project_id: str | None = None
    scope: str | None = None
    allow_global: bool = True

    @property
    def narrows(self) -> bool:
        return any((self.tier, self.session_id, self.project_id, self.scope)) or not self.allow_global


NOTHING: Final = ScopeArguments()


def everything(scope: Scope) -> bool:
    del scope
    return True


@dataclass(frozen=True, kw_only=True, slots=True)
class ModelPlace:
    """
    `project` and `session` are meant where a model names none; `home` is where it writes then, if there is one. `only` are the scopes there are for it, where they can be
    counted, and `writes` those that it may change, if these are fewer. `reaches` tells of any scope whether it may be used here, `allows` whether it may be named: what a key does not
    reach may be named, so that the service refuses it and writes that down.
    """

    project: str | None = None
    session: str | None = None
    home: Scope | None = None
    only: tuple[Scope, ...] | None = None
    writes: tuple[Scope, ...] | None = None
    reaches: Callable[[Scope], bool] = everything
    allows: Callable[[Scope], bool] = everything

    def within(self, scopes: Sequence[Scope]) -> ModelPlace:
        """The same place, with these scopes only."""
        before, members = self.reaches, frozenset(scopes)

        def reaches(scope: Scope) -> bool:
            return scope in members and before(scope)

        return replace(self, only=tuple(scopes), reaches=reaches, allows=members.__contains__)

    def of(self, who: Principal) -> ModelPlace:
        """The same place, as far as the caller's key reaches."""
        if who.scopes is None:
            return self
        before, exact = self.reaches, exact_scopes(who)
        only = exact if self.only is None else tuple(scope for scope in self.only if who.reaches(scope))

        def reaches(scope: Scope) -> bool:
            return before(scope) and who.reaches(scope)

        return replace(self, only=only, reaches=reaches)

    def reading(self, arguments: ScopeArguments = NOTHING) -> tuple[Scope, ...] | None:
        """
        The scopes to read; None: every one in reach.

        Raises:
            InvalidInput: the tier is none, or its id is missing; `details["reason"]` says which.
            Forbidden: what was named is out of reach.
        """
        if arguments.scope is not None or arguments.tier is not None:
            return (self._named(arguments),)
        ids = {Scope("session", id) for id in (arguments.session_id,) if id}
        ids |= {Scope("workspace", id) for id in (arguments.project_id,) if id}
        for scope in ids:
            self._require(scope)
        if self.home is not None and not ids and arguments.allow_global:
            return self.only
        if self.only is not None and not ids:
            scopes = [scope for scope in self.only if arguments.allow_global or scope != GLOBAL]
        else:
            scopes = self._around(arguments)
            if not scopes and arguments.allow_global:
                return None
            if arguments.allow_global and self.reaches(GLOBAL):
                scopes.append(GLOBAL)
        if not scopes:
            raise refused("missing_scope", "Nothing is left to read. Name a project_id, a session_id or a scope.")
        return tuple(scopes)

    def writing(self, arguments: ScopeArguments = NOTHING) -> Scope:
        """
        The scope to write to: what was named, else the home, the project, the session, the global one, whichever there is first.

        Raises:
            InvalidInput, Forbidden: as above.
        """
        return self.writable(self._writing(arguments))

    def writable(self, scope: Scope) -> Scope:
        """Raises Forbidden: it may be read here, and not changed."""
        if self.writes is not None and scope not in self.writes:
            names = ", ".join(map(str, self.writes))
            raise Forbidden(f"{scope} cannot be changed from here. Write to {names}.", scope=str(scope))
        return scope

    def _writing(self, arguments: ScopeArguments) -> Scope:
        if arguments.scope is not None or arguments.tier is not None:
            return self._named(arguments)
        if arguments.project_id:
            return self._require(Scope("workspace", arguments.project_id))
        if self.home and not arguments.session_id and self.reaches(self.home):
            return self.home
        if self.project and self.reaches(scope := Scope("workspace", self.project)):
            return scope
        if (session := arguments.session_id or self.session) and self.reaches(scope := Scope("session", session)):
            return scope
        if arguments.allow_global and self.reaches(GLOBAL):
            return GLOBAL
        others = [scope for scope in self.only or () if scope != GLOBAL]
        if len(others) == 1:
            return others[0]
        raise refused("missing_scope", "It is not clear where to keep it. Name a project_id, a session_id or a scope.")

    def _around(self, arguments: ScopeArguments) -> list[Scope]:
        """The session and the project that are meant."""
        session, project = arguments.session_id or self.session, arguments.project_id or self.project
        scopes = [Scope("session", session)] if session else []
        scopes += [Scope("workspace", project)] if project else []
        meant = {arguments.session_id, arguments.project_id}
        return [scope for scope in scopes if scope.id in meant or self.reaches(scope)]

    def _named(self, arguments: ScopeArguments) -> Scope:
        if arguments.scope is not None:
            return self._require(Scope.parse(arguments.scope))
        if arguments.tier == "session":
            if not (session := arguments.session_id or self.session):
                raise refused("missing_session_scope", "The tier session needs a session_id.")
            return self._require(Scope("session", session))
        if arguments.tier == "project":
            if not (project := arguments.project_id or self.project):
                raise refused("missing_project_scope", "The tier project needs a project_id.")
            return self._require(Scope("workspace", project))
        if arguments.tier == "global":
            if not arguments.allow_global or not self.reaches(GLOBAL):
                raise refused("global_scope_disabled", "The global tier is not open here. Use project or session.")
            return GLOBAL
        raise refused("invalid_tier", f"{arguments.tier!r:.40} is no tier. Use one of {', '.join(TIERS)}.")

    def _require(self, scope: Scope) -> Scope:
        if not self.allows(scope):
            raise Forbidden(f"{scope} is out of reach here. Name a scope that is not, or none.", scope=str(scope))
        return scope


@dataclass(frozen=True, slots=True)
class Asker:
    """
    A model at work: the memory as it may use it, and its place. `quotes`: what it stores are a person's own words, since it has none of
    its own (the librarian).
    """

    memory: MemoryClient
    place: ModelPlace
    quotes: bool = False

    async def record(self, id: str, arguments: ScopeArguments = NOTHING) -> Record:
        """
        A record that is in reach and, where the model narrowed it down, in the scopes it named.

        Raises:
            RecordNotFound: it is not, or there is none.
        """
        record = await self.memory.get(id)
        scopes = self.place.reading(arguments) if arguments.narrows else None
        if not self.place.reaches(record.scope) or (scopes is not None and record.scope not in scopes):
            raise RecordNotFound(ids=[record.id])
        return record
