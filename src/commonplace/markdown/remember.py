"""
A text filed by rules, without a model.

It is taken apart into facts (`facts`). A judge says of each whether it is about the person or the project: the person's goes to the
person, and so does one of which nobody can tell. If an entry says exactly this already, nothing changes. If the fact gives another
value of what an entry tells, it takes that statement's place (`updates`); if it carries a line further, that line's. Otherwise it
becomes an entry of its own: two facts about different things are never made one. In a chat room it is one more line of the room's
file.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Final, Literal

from commonplace.errors import FileChanged, ManagedMemoryUnavailable, PathNotFound, SecretRefused
from commonplace.markdown.changes import MAX_SUMMARY, ChangeSet, Outcome, joined_outcome, outcome
from commonplace.markdown.confine import LARGEST, FileSnapshot
from commonplace.markdown.cues import kind_of, same, says, text_and_type
from commonplace.markdown.entries import (
    EntryFile,
    EntryProblem,
    EntryType,
    MemoryEntry,
    SplitText,
    new_entry,
    split,
    type_at,
    with_trust,
    write,
)
from commonplace.markdown.facts import facts_of, file_name, first_sentence, is_fact, title_of, without_people
from commonplace.markdown.files import check_content
from commonplace.markdown.judge import FilingJudge, FilingOptions
from commonplace.markdown.memory_file import MOST_EXISTING
from commonplace.markdown.names import fold
from commonplace.markdown.roots import INDEX, Root
from commonplace.markdown.shelf import TYPES_OF, Shelf
from commonplace.markdown.updates import carried_further, replaced, updated
from commonplace.text.scrub import scrub
from commonplace.values.file_ref import RootKind
from commonplace.values.filing_errors import FactRefused, NotAFact, ScopeUnclear

ATTEMPTS: Final = 10
Whose = Literal["user", "project", "unsure"]


@dataclass(frozen=True, kw_only=True, slots=True)
class PlacedFact:
    """One fact on its way into a memory. `whose` says what the judge makes of it, `root` where it goes."""

    text: str
    kind: EntryType
    root: Root
    whose: Whose
    name: str | None = None
    description: str | None = None

    @property
    def is_unsure(self) -> bool:
        return self.whose == "unsure"


def remember(
    roots: Sequence[Root],
    content: str,
    *,
    now: datetime,
    judge: FilingJudge | None = None,
    options: FilingOptions | None = None,
) -> Outcome:
    """
    File `content` in `roots`, fact by fact. A text that no person handed over joins no entry that is trusted more.

    Raises:
        InvalidContent: there is nothing to remember (NotAFact), or it must not be remembered (FactRefused).
        SecretRefused: it is a private key.
        ScopeUnclear: it belongs to the person, whose memory is out of reach here.
        ManagedMemoryUnavailable: there is no root to file it in.
        FileChanged: others changed the same entry again and again.
    """
    judge, options = judge or FilingJudge(), options or FilingOptions()
    facts = facts_in(roots, content, now=now, judge=judge, options=options)
    return joined_outcome([_filed(roots, fact, now, judge, options) for fact in facts])


def facts_in(
    roots: Sequence[Root], content: str, *, now: datetime, judge: FilingJudge, options: FilingOptions
) -> tuple[PlacedFact, ...]:
    """The facts in `content`, each with the root it belongs in. Nothing is written. Raises what `remember` raises."""
    check_content(content)
    scrubbed = scrub(content)
    if scrubbed.report.status == "blocked":
        raise SecretRefused
    text, explicit_kind = text_and_type(scrubbed.text)
    if not is_fact(text):
        raise NotAFact
    if not roots:
        raise ManagedMemoryUnavailable
    head = split(text, "")
    fields = SplitText({}, (), text) if isinstance(head, EntryProblem) else head
    kind = _type_in(fields) or explicit_kind
    texts = facts_of(text) if not fields.fields else (fields.body or fields.fields.get("description", text),)
    facts: list[PlacedFact] = []
    for part in texts:
        statement, own_kind = text_and_type(part)
        fact = _placed(roots, judge.dated(statement, now), own_kind or kind, facts, judge, options)
        if reason := judge.refuse(fact.text, fact.root.kind):
            raise FactRefused(reason)
        facts.append(fact)
    if reason := judge.refuse(text, facts[0].root.kind):
        raise FactRefused(reason)
    if fields.fields:
        facts = [replace(facts[0], name=fields.fields.get("name"), description=fields.fields.get("description"))]
    return tuple(facts)


def _type_in(fields: SplitText) -> EntryType | None:
    return type_at(fields.fields.get("type", "").strip().lower())


def _placed(
    roots: Sequence[Root],
    text: str,
    kind: EntryType | None,
    before: Sequence[PlacedFact],
    judge: FilingJudge,
    options: FilingOptions,
) -> PlacedFact:
    """The fact with its root and type. `before` are those of the same text: "we" may be the family that one of them tells of."""
    whose = _whose(text, kind, before, judge)
    if options.is_named or any(root.kind == "channel" for root in roots):
        root = roots[0]
    else:
        kind_of_root: RootKind = "project" if whose == "project" else "user"
        root = next((root for root in roots if root.kind == kind_of_root), roots[0])
        if root.kind == "project" and kind_of_root == "user":
            raise ScopeUnclear
    among = TYPES_OF[root.kind]
    own_kind = kind if kind in among else kind_of(text, among, among[0])
    return PlacedFact(text=text, kind=own_kind, root=root, whose="user" if options.is_named else whose)


def _whose(text: str, kind: EntryType | None, before: Sequence[PlacedFact], judge: FilingJudge) -> Whose:
    if kind is not None:
        return "user" if kind in ("user", "feedback") else "project"
    chance = judge.personal(text)
    rest = without_people(text)
    if before and before[-1].whose == "user" and rest is not None and judge.is_family(before[-1].text):
        chance = judge.personal(rest) if judge.personal(rest) < judge.shared_below / 4 else judge.personal_from
    if chance >= judge.personal_from:
        return "user"
    return "project" if chance < judge.shared_below else "unsure"


def _filed(
    roots: Sequence[Root], fact: PlacedFact, now: datetime, judge: FilingJudge, options: FilingOptions
) -> Outcome:
    if fact.root.kind == "channel":
        return _lined(fact.root, fact.text)
    for _ in range(ATTEMPTS):
        # Somebody else wrote the same entry in the same moment: look again at what is there now.
        with suppress(FileChanged):
            return (None if options.clean else _merged(roots, fact, now, judge, options)) or _new(fact, now, options)
    raise FileChanged


# ---- what is there already


def _merged(
    roots: Sequence[Root], fact: PlacedFact, now: datetime, judge: FilingJudge, options: FilingOptions
) -> Outcome | None:
    """The fact in an entry that is there; None if it is none's. What is the person's for certain is not looked for in the project."""
    may_be_elsewhere = fact.whose != "user" and not options.is_named
    shelves = [root for root in roots if root == fact.root or (may_be_elsewhere and root.kind != "channel")]
    places = [(root, file) for root in shelves for file in Shelf(root).scan().entries]
    own = [(root, file) for root, file in places if file.entry.trust == options.trust]
    above = [(root, file) for root, file in places if file.entry.trust is None]
    if same_file := next((file for _, file in (*own, *above) if says(file.entry, fact.text)), None):
        return Outcome(summary=f"Known already: {same_file.entry.name}. Nothing was changed.", outcome="known")
    if (old := replaced(own, fact.text, judge)) is not None:
        entry = updated(old.file.entry, old.statement, fact.text, judge, now)
        return _changed(old.root, old.file, entry, fact, now, options)
    for root, file in own:
        if (entry := carried_further(file.entry, fact.text)) is not None:
            return _changed(root, file, entry, fact, now, options)
    return None


def _changed(
    root: Root, file: EntryFile, entry: MemoryEntry, fact: PlacedFact, now: datetime, options: FilingOptions
) -> Outcome | None:
    content = write(entry)
    if len(content.encode("utf-8")) > LARGEST:
        return None
    change = ChangeSet(root, "remember", now, options.by)
    change.write(file.parts, content, expected=file.snapshot)
    summary = f"Updated “{entry.name}” in {root.kind} memory: {first_sentence(fact.text)}"
    return replace(outcome(summary, [change]), outcome="updated")


# ---- what is new


def _new(fact: PlacedFact, now: datetime, options: FilingOptions) -> Outcome:
    root, kind = fact.root, fact.kind
    described = fact.description or first_sentence(fact.text)
    entry = with_trust(new_entry(fact.name or title_of(fact.text), described, kind, fact.text), options.trust)
    change = ChangeSet(root, "remember", now, options.by)
    name = file_name(entry.name, kind, now)
    taken = _taken(root, kind)
    free = (f"{name}{suffix}.md" for suffix in ("", *(f"-{n}" for n in range(2, 10_000))))
    file = next(candidate for candidate in free if fold(candidate) not in taken)
    change.write((kind, file), write(entry), expected=None)
    change_outcome = outcome(f"Saved to {root.kind} memory: {described}", [change])
    return replace(change_outcome, outcome="saved", unsure=change_outcome.files_touched if fact.is_unsure else ())


def _taken(root: Root, kind: EntryType) -> set[str]:
    try:
        return {fold(entry.name) for entry in root.folder.listing((kind,))}
    except PathNotFound:
        return set()


def _lined(root: Root, text: str) -> Outcome:
    """A line more in the file of a room. Raises MemoryFileTooLarge."""
    line = " ".join(text.split())
    changed = False

    def compose(snapshot: FileSnapshot | None) -> bytes | None:
        nonlocal changed
        before = snapshot.data.decode("utf-8", "surrogateescape") if snapshot else ""
        if any(same(line, other.strip().lstrip("-*•")) for other in before.split("\n")):
            return None
        changed = True
        joint = "" if not before or before.endswith("\n") else "\n"
        return f"{before}{joint}- {line}\n".encode("utf-8", "surrogateescape")

    root.folder.change((INDEX,), compose, MOST_EXISTING)
    if not changed:
        return Outcome(summary="Known already. Nothing was changed.", outcome="known")
    return Outcome(
        summary=f"Saved to channel memory: {first_sentence(text)}"[:MAX_SUMMARY],
        files_touched=(str(root.path / INDEX),),
        touched_scopes=("channel",),
        outcome="saved",
    )
