"""
The curated pair: two small files that an agent keeps itself, `MEMORY.md` of its own notes and `USER.md` about the person it talks to.

They are `<home>/agents/<agent>/MEMORY.md` and `<home>/agents/<agent>/users/<person>/USER.md`; of another tenant than the daemon's own they lie
below `<home>/tenants/<tenant>`. A file is entries with a line `§` between them, and the limits count all of it. They are small on purpose: what
does not fit is for the agent to shorten.

The model writes them, so what it writes is judged like text from outside: secrets are taken out, and what looks like an attack is
refused. A person may edit them, too. Then the next write is refused, a copy of the edited file is kept beside it, and the model is told the
entries as they are now; what it does after that is done to the edited file.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from hashlib import sha256
from pathlib import Path
from typing import Final, Literal

from commonplace.errors import (
    FileChanged,
    InvalidContent,
    InvalidFile,
    InvalidInput,
    PathNotFound,
    SecretRefused,
)
from commonplace.guard.quarantine import signs
from commonplace.markdown.confine import FileSnapshot, Folder, Parts
from commonplace.markdown.roots import own_folder_name
from commonplace.text.scrub import scrub
from commonplace.values.agent_errors import (
    CuratedEntryAmbiguous,
    CuratedEntryNotFound,
    CuratedEntryRefused,
    CuratedMemoryFull,
)
from commonplace.values.moment import utc
from commonplace.values.scope import DEFAULT_TENANT, Scope

CuratedTarget = Literal["memory", "user"]
CuratedAction = Literal["add", "replace", "remove"]

SEPARATOR: Final = "\n§\n"
LIMITS: Final[dict[CuratedTarget, int]] = {"memory": 2_200, "user": 1_375}
NAMES: Final[dict[CuratedTarget, str]] = {"memory": "MEMORY.md", "user": "USER.md"}
MOST_OPERATIONS: Final = 50
HELD_BACK: Final = "(held back: it looks like an attack; a person should look at the file)"
_STATE: Final = ".state"
_COPIES: Final = 100


class CuratedFileEdited(FileChanged):
    """Somebody edited the file since it was written last. Nothing was changed; look at its entries, then try again."""

    code = "curated_file_edited"


@dataclass(frozen=True, kw_only=True, slots=True)
class CuratedOperation:
    """`add` needs `content`, `remove` needs `old_text`, a part of the entry that is meant, and `replace` needs both."""

    action: CuratedAction
    content: str | None = None
    old_text: str | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class CuratedFile:
    """A file as it is: its entries, how many characters they take of how many. `redactions`: secrets that a write took out."""

    target: CuratedTarget
    entries: tuple[str, ...] = ()
    redactions: int = 0
    changed: bool = False

    @property
    def characters(self) -> int:
        return len(joined(self.entries))

    @property
    def visible(self) -> list[str]:
        """The entries as a model may see them."""
        return _fit_to_see(self.entries)

    @property
    def limit(self) -> int:
        return LIMITS[self.target]


@dataclass(frozen=True, kw_only=True, slots=True)
class CuratedSnapshot:
    """
    The pair as a prompt may show it, at one moment. `held_back` counts entries that look like an attack, `left_out` those for which a file that
    somebody made too long has no room.
    """

    memory: tuple[str, ...] = ()
    user: tuple[str, ...] = ()
    held_back: int = 0
    left_out: int = 0


class CuratedFiles:
    """
    The pairs of all agents in a home folder. `tenant` is the one whose agents have the folder itself. Every method blocks, and may raise FileError,
    PathEscape, MemoryFileTooLarge, ManagedMemoryUnavailable.
    """

    def __init__(self, home: Path, tenant: str = DEFAULT_TENANT) -> None:
        self._home = home
        self._tenant = tenant

    def snapshot(self, agent: str, person: str | None, *, tenant: str | None = None) -> CuratedSnapshot:
        """What a prompt may show of the pair. Without a person there is no `USER.md`."""
        folder = self._folder(agent, tenant)
        memory = _shown("memory", _read(folder, _place("memory", person)))
        user = _shown("user", _read(folder, _place("user", person)) if person is not None else ())
        return CuratedSnapshot(
            memory=memory.entries,
            user=user.entries,
            held_back=memory.held_back + user.held_back,
            left_out=memory.left_out + user.left_out,
        )

    def change(
        self,
        agent: str,
        person: str | None,
        target: CuratedTarget,
        operations: Sequence[CuratedOperation],
        *,
        now: datetime,
        tenant: str | None = None,
    ) -> CuratedFile:
        """
        Do all operations or none. Only the size at the end counts.

        Raises:
            CuratedMemoryFull, CuratedEntryAmbiguous, CuratedEntryNotFound: the details hold the `entries` there are.
            CuratedEntryRefused, SecretRefused, InvalidContent, InvalidInput: what is wrong with an operation.
            CuratedFileEdited: somebody else wrote the file. A copy of it is beside it, as `.bak.<time>`.
            InvalidFile: the file is no text.
            FileChanged, MemoryWriteTimeout: somebody writes it in this moment.
        """
        if not 1 <= len(operations) <= MOST_OPERATIONS:
            raise InvalidInput(f"Give 1 to {MOST_OPERATIONS} operations.")
        prepared, redactions = _prepared(operations)
        writer = _Writer(self._folder(agent, tenant), _place(target, person), target, prepared, now)
        after = writer.folder.change(writer.parts, writer.compose)
        entries = parse_entries(after.data.decode("utf-8")) if after else ()
        return CuratedFile(target=target, entries=entries, redactions=redactions, changed=writer.changed)

    def folders_of(self, scope: Scope, *, tenant: str | None = None) -> list[Path]:
        """The folders that hold what is a person's, with each agent, or an agent's."""
        agents = self._agents(tenant)
        if scope.kind == "agent":
            return [agents / own_folder_name(scope.id)]
        if scope.kind != "user" or not agents.is_dir():
            return []
        return [agent / "users" / own_folder_name(scope.id) for agent in sorted(agents.iterdir())]

    def _agents(self, tenant: str | None) -> Path:
        home = self._home
        if tenant is not None and tenant != self._tenant:
            home = home / "tenants" / own_folder_name(tenant)
        return home / "agents"

    def _folder(self, agent: str, tenant: str | None) -> Folder:
        return Folder(self._agents(tenant) / own_folder_name(agent))


def parse_entries(text: str) -> tuple[str, ...]:
    """The entries of a file, in order. `joined` of what this answers is read as the same again."""
    lines = text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n").split("\n")
    entries: list[list[str]] = [[]]
    for line in lines:
        if line.strip() == "§":
            entries.append([])
        else:
            entries[-1].append(line)
    return tuple(entry for parts in entries if (entry := "\n".join(parts).strip()))


def joined(entries: Sequence[str]) -> str:
    return SEPARATOR.join(entries)


def _place(target: CuratedTarget, person: str | None) -> Parts:
    if target == "memory":
        return (NAMES["memory"],)
    if person is None:
        raise InvalidInput(
            "Nobody in particular is being talked to, so that there is no USER.md. Use the target memory."
        )
    return "users", own_folder_name(person), NAMES["user"]


def _read(folder: Folder, parts: Parts) -> tuple[str, ...]:
    try:
        return parse_entries(folder.read(parts).data.decode("utf-8", "replace"))
    except PathNotFound:
        return ()


@dataclass(frozen=True, slots=True)
class _Shown:
    entries: tuple[str, ...]
    held_back: int
    left_out: int


def _shown(target: CuratedTarget, entries: Sequence[str]) -> _Shown:
    """A person may have written anything into the file, and as much as they liked."""
    clean = [scrub(entry).text for entry in entries if not signs(entry)]
    held_back = len(entries) - len(clean)
    while clean and len(joined(clean)) > LIMITS[target]:
        clean.pop()
    return _Shown(tuple(clean), held_back, len(entries) - held_back - len(clean))


# ---- writing


def _prepared(operations: Sequence[CuratedOperation]) -> tuple[list[CuratedOperation], int]:
    """The operations with the contents that may be kept, and how many secrets were taken out of them."""
    prepared: list[CuratedOperation] = []
    redactions = 0
    for operation in operations:
        content = None
        if operation.action in ("add", "replace"):
            content, secrets = _content(operation.content)
            redactions += secrets
        old_text = None
        if operation.action in ("replace", "remove"):
            old_text = (operation.old_text or "").replace("\r\n", "\n").strip()
            if not old_text:
                raise InvalidContent(f"{operation.action} needs old_text: a part of the entry that is meant.")
        prepared.append(CuratedOperation(action=operation.action, content=content, old_text=old_text))
    return prepared, redactions


def _content(content: str | None) -> tuple[str, int]:
    text, *others = parse_entries(content or "") or ("",)
    if not text:
        raise InvalidContent("Give content: what is to be remembered, in a sentence or two.")
    if others:
        raise InvalidContent("An entry has no line of its own with §. Give each entry apart.")
    if text.encode("utf-8", "replace").decode("utf-8") != text or "\0" in text:
        raise InvalidContent("The content holds characters that no file can.")
    clean = scrub(text)
    if clean.report.status == "blocked":
        raise SecretRefused
    if reasons := signs(clean.text):
        raise CuratedEntryRefused(reasons=list(reasons))
    return clean.text, clean.report.redactions


@dataclass(slots=True)
class _Writer:
    """One change of one file. `compose` runs under the file's lock."""

    folder: Folder
    parts: Parts
    target: CuratedTarget
    operations: Sequence[CuratedOperation]
    now: datetime
    changed: bool = False

    def compose(self, snapshot: FileSnapshot | None) -> bytes | None:
        text = self._text(snapshot)
        before = parse_entries(text)
        after = list(before)
        for operation in self.operations:
            _apply(after, operation)
        if tuple(after) == before:
            return None
        size, limit = len(joined(after)), LIMITS[self.target]
        # What a person made too long can be shortened step by step.
        if size > limit and size >= len(joined(before)):
            raise CuratedMemoryFull(
                f"{NAMES[self.target]} would have {size:,} characters, and {limit:,} fit. Remove or shorten entries first: "
                f"{_listed(before)}",
                entries=_fit_to_see(before),
                characters=size,
                limit=limit,
            )
        data = joined(after).encode("utf-8")
        # Before the file itself: a process that is killed in between leaves no file that looks like somebody else's.
        self._note(sha256(text.encode("utf-8")).hexdigest(), sha256(data).hexdigest())
        self.changed = True
        return data

    def _text(self, snapshot: FileSnapshot | None) -> str:
        if snapshot is None:
            return ""
        hashes = self._known()
        if hashes and snapshot.stamp.sha256 not in hashes:
            copy = self._copied(snapshot.data)
            self._note(snapshot.stamp.sha256)
            entries = parse_entries(snapshot.data.decode("utf-8", "replace"))
            raise CuratedFileEdited(
                f"Somebody edited {NAMES[self.target]} since it was written last, and nothing was changed. A copy is in {copy}. "
                f"Its entries are now: {_listed(entries)}",
                entries=_fit_to_see(entries),
                copy=copy,
            )
        try:
            return snapshot.data.decode("utf-8")
        except UnicodeDecodeError:
            raise InvalidFile(f"{NAMES[self.target]} is no text in UTF-8. A person has to repair it.") from None

    @property
    def _state(self) -> Parts:
        return *self.parts[:-1], _STATE, f"{self.parts[-1]}.sha256"

    def _known(self) -> frozenset[str]:
        """Hashes of what we wrote last. Without any we never wrote the file, and whatever is there is what a person began with."""
        try:
            return frozenset(self.folder.read(self._state).data.decode("ascii", "replace").split())
        except PathNotFound:
            return frozenset()

    def _note(self, *hashes: str) -> None:
        data = "\n".join(hashes).encode("ascii")
        self.folder.change(self._state, lambda _before: data)

    def _copied(self, data: bytes) -> str:
        """Keep the file beside itself, under a name that no earlier copy has. Its name."""
        stem = f"{self.parts[-1]}.bak.{utc(self.now):%Y%m%dT%H%M%S%f}Z"
        for number in range(_COPIES):
            name = f"{stem}-{number}" if number else stem
            try:
                self.folder.write((*self.parts[:-1], name), data, expected=None)
            except FileChanged:
                continue
            return name
        raise FileChanged


def _apply(entries: list[str], operation: CuratedOperation) -> None:
    content = operation.content
    if operation.action == "add":
        assert content is not None  # _prepared saw to it
        if content not in entries:
            entries.append(content)
        return
    place = _found(entries, operation.old_text or "")
    if operation.action == "remove" or content is None:
        del entries[place]
    elif content in entries and entries[place] != content:
        # It would say the same twice.
        del entries[place]
    else:
        entries[place] = content


def _found(entries: Sequence[str], old_text: str) -> int:
    matches = [place for place, entry in enumerate(entries) if old_text in entry]
    if not matches:
        raise CuratedEntryNotFound(
            f"No entry holds {old_text[:80]!r}. The entries are: {_listed(entries)}", entries=_fit_to_see(entries)
        )
    if len({entries[place] for place in matches}) > 1:
        several = [entries[place] for place in matches]
        raise CuratedEntryAmbiguous(
            f"Several entries hold {old_text[:80]!r}. Quote more of the one you mean: {_listed(several)}",
            entries=_fit_to_see(several),
        )
    return matches[0]


def _listed(entries: Sequence[str]) -> str:
    return "; ".join(f"“{entry}”" for entry in _fit_to_see(entries)) or "none"


def _fit_to_see(entries: Sequence[str]) -> list[str]:
    """For a model, which is not to read what somebody else wrote there against it."""
    return [HELD_BACK if signs(entry) else scrub(entry).text for entry in entries]
