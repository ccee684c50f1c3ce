"""
What a job is queued with: a frozen dataclass for each kind, written to the store and read from it by pydantic alone.

The names of the fields are those in the store. Jobs that an earlier release queued are read, too: a field that is new has a default,
and one that is gone is ignored. What somebody said stands under `private`, which the store forgets when the job is done.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from functools import cached_property
from typing import Annotated, Any, Final, Generic, Literal, TypeAlias, TypeVar

from pydantic import JsonValue, PlainSerializer, PlainValidator, TypeAdapter, ValidationError

from commonplace.errors import InvalidInput
from commonplace.values.principal import LOCAL, Principal, Role, ScopePattern
from commonplace.values.record import Json, Turn
from commonplace.values.scope import Scope
from commonplace.values.task import ContextMode, TargetScope
from commonplace.values.transfer import FileKind, ImportOptions, Layout, SentFile

P = TypeVar("P")

ScopeText: TypeAlias = Annotated[Scope, PlainValidator(Scope.parse), PlainSerializer(str)]
PatternText: TypeAlias = Annotated[ScopePattern, PlainValidator(ScopePattern), PlainSerializer(str)]


class PayloadFormat(Generic[P]):
    """Writes and reads the payloads of a kind. pydantic prepares it at first use, which takes milliseconds."""

    def __init__(self, form: Any) -> None:
        self._form = form

    def write(self, payload: P) -> dict[str, Json]:
        """As the store keeps it."""
        return self._adapter.dump_python(payload, mode="json")

    def read(self, stored: Mapping[str, Json]) -> P:
        """Raises InvalidInput: it is no payload of this kind."""
        try:
            return self._adapter.validate_python(stored)
        except ValidationError as error:
            raise InvalidInput(
                "This release cannot read what the job was queued with. Queue the work again."
            ) from error

    @cached_property
    def _adapter(self) -> TypeAdapter[P]:
        return TypeAdapter(self._form)


@dataclass(frozen=True, kw_only=True, slots=True)
class Nothing:
    """No fields."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Requester:
    """Who queued a job. It runs in their name, in the tenant of the job."""

    subject: str
    role: Role
    name: str | None = None
    agent: bool = False
    scopes: tuple[PatternText, ...] | None = None
    operator: bool = False
    key: str | None = None
    client: str | None = None
    address: str | None = None
    door: str = "native"
    request: str | None = None

    @classmethod
    def of(cls, who: Principal) -> Requester:
        return cls(
            subject=who.subject,
            role=who.role,
            name=who.name,
            agent=who.agent,
            scopes=who.scopes,
            operator=who.operator,
            key=who.key,
            client=who.client,
            address=who.address,
            door=who.door,
            request=who.request,
        )

    def principal(self, tenant: str) -> Principal:
        return Principal(
            # The operator had another name before persons were kept apart.
            subject=LOCAL if self.operator else self.subject,
            tenant=tenant,
            role=self.role,
            name=self.name,
            agent=self.agent,
            scopes=self.scopes,
            operator=self.operator,
            key=self.key,
            client=self.client,
            address=self.address,
            door=self.door,
            request=self.request,
        )


# ---- embedders


@dataclass(frozen=True, kw_only=True, slots=True)
class EmbedPayload:
    """The names of the embedders that a store changes to."""

    embedders: tuple[str, ...]


# ---- import


@dataclass(frozen=True, kw_only=True, slots=True)
class ImportFolderPayload:
    """A folder or a file of the server."""

    who: Requester
    scope: ScopeText
    layout: Layout
    path: str
    sync_deletes: bool = False
    force: bool = False
    kinds: tuple[FileKind, ...] = ()

    @property
    def options(self) -> ImportOptions:
        return ImportOptions(layout=self.layout, sync_deletes=self.sync_deletes, force=self.force, kinds=self.kinds)


@dataclass(frozen=True, kw_only=True, slots=True)
class PrivateFiles:
    """`problems` are the files that were sent and cannot be imported, each with its reason."""

    files: tuple[SentFile, ...] = ()
    problems: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, kw_only=True, slots=True)
class ImportFilesPayload:
    """Files that came with the request."""

    who: Requester
    scope: ScopeText
    layout: Layout
    private: PrivateFiles
    force: bool = False
    kinds: tuple[FileKind, ...] = ()

    @property
    def options(self) -> ImportOptions:
        return ImportOptions(layout=self.layout, force=self.force, kinds=self.kinds)


# ---- extract


@dataclass(frozen=True, kw_only=True, slots=True)
class PrivateTurn:
    """A turn of a conversation, with what extraction reads of its metadata."""

    speaker: str
    text: str
    at: datetime | None = None
    message: str | None = None
    role: JsonValue = None
    sender_name: JsonValue = None

    @classmethod
    def of(cls, turn: Turn) -> PrivateTurn:
        return cls(
            speaker=turn.speaker,
            text=turn.text,
            at=turn.at,
            message=turn.message,
            role=turn.metadata.get("role"),
            sender_name=turn.metadata.get("sender_name"),
        )

    def turn(self) -> Turn:
        fields: dict[str, Json] = {"role": self.role, "sender_name": self.sender_name}
        metadata = {name: value for name, value in fields.items() if value is not None}
        return Turn(speaker=self.speaker, text=self.text, at=self.at, message=self.message, metadata=metadata)


@dataclass(frozen=True, kw_only=True, slots=True)
class PrivateTurns:
    turns: tuple[PrivateTurn, ...] = ()


@dataclass(frozen=True, kw_only=True, slots=True)
class ExtractPayload:
    """A conversation to be read. `scope` is the first that facts may go to, `target` the one that was named for them."""

    who: Requester
    scope: ScopeText
    agents: tuple[str, ...]
    session: str | None = None
    workspace: str | None = None
    target: ScopeText | None = None
    run: str | None = None
    recalled: tuple[str, ...] = ()
    at: datetime | None = None
    private: PrivateTurns = field(default_factory=PrivateTurns)


@dataclass(frozen=True, kw_only=True, slots=True)
class FlushPayload:
    """An episode to be closed: that of the session `flush`."""

    who: Requester
    scope: ScopeText
    flush: str


# ---- remember, forget, dream


@dataclass(frozen=True, kw_only=True, slots=True)
class WorkspacePayload:
    """
    A job on the Markdown of a workspace. `roots`: the memories it may touch; `target`: the one that was named; `scope`: that
    memory's, if it is one. `person`: whose the memory `user` is. `local`: the workspace keeps its memory in its own folder.
    """

    who: Requester
    workspace: str
    person: str = LOCAL
    roots: tuple[Literal["user", "project", "channel"], ...]
    local: bool = False
    target: TargetScope | None = None
    scope: ScopeText | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class PrivateText:
    text: str = ""


@dataclass(frozen=True, kw_only=True, slots=True)
class RememberOptions:
    """`redactions`: how many secrets of each kind the text held."""

    context_mode: ContextMode = "workspace"
    redactions: Mapping[str, int] = field(default_factory=dict[str, int])


@dataclass(frozen=True, kw_only=True, slots=True)
class RememberPayload(WorkspacePayload):
    shown: RememberOptions
    private: PrivateText = field(default_factory=PrivateText)


@dataclass(frozen=True, kw_only=True, slots=True)
class ForgetPayload(WorkspacePayload):
    shown: Nothing = field(default_factory=Nothing)
    private: PrivateText = field(default_factory=PrivateText)


@dataclass(frozen=True, kw_only=True, slots=True)
class DreamOptions:
    """`session` is the one that asked for it."""

    session: str | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class DreamPayload(WorkspacePayload):
    shown: DreamOptions
    private: Nothing = field(default_factory=Nothing)


@dataclass(frozen=True, kw_only=True, slots=True)
class FirePayload:
    """A turn of a schedule."""

    schedule: str


ImportPayload: TypeAlias = ImportFolderPayload | ImportFilesPayload
TalkPayload: TypeAlias = ExtractPayload | FlushPayload
TaskPayload: TypeAlias = RememberPayload | ForgetPayload | DreamPayload

IMPORT_PAYLOAD: Final = PayloadFormat[ImportPayload](ImportPayload)
TALK_PAYLOAD: Final = PayloadFormat[TalkPayload](TalkPayload)
REMEMBER_PAYLOAD: Final = PayloadFormat[RememberPayload](RememberPayload)
FORGET_PAYLOAD: Final = PayloadFormat[ForgetPayload](ForgetPayload)
DREAM_PAYLOAD: Final = PayloadFormat[DreamPayload](DreamPayload)
EMBED_PAYLOAD: Final = PayloadFormat[EmbedPayload](EmbedPayload)
FIRE_PAYLOAD: Final = PayloadFormat[FirePayload](FirePayload)
NO_PAYLOAD: Final = PayloadFormat[Nothing](Nothing)
