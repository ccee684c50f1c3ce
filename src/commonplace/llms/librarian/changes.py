"""
What changes the memory: filing, correcting, forgetting, and what is to be done later.

What a person told to remember or to correct is done at once, since it can be undone. What they did not ask for, and what forgets, is shown first
and done after a yes. Whether something waits for a yes follows from the turn before: what the person wanted then, and that the reply asked.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias

from commonplace.llms.librarian.citation import listed, quoted
from commonplace.llms.librarian.cue import IntentKind
from commonplace.llms.librarian.dialogue import ChatTurn, Dialogue, ToolUse
from commonplace.llms.librarian.intents import Intent, recognise
from commonplace.llms.librarian.phrases import CHINESE, ENGLISH, Phrases, cannot, phrases
from commonplace.llms.librarian.quotes import covered
from commonplace.llms.librarian.revision import leans, revised, same_subject, with_value
from commonplace.llms.librarian.times import is_timed, timed_task
from commonplace.llms.librarian.tool_memory import ToolMemory
from commonplace.text.analyse import query_terms
from commonplace.text.conflict import conflict

Step: TypeAlias = str | Sequence[ToolUse]
"""The reply, or calls."""

MOST_FORGOTTEN: Final = 5
MOST_OF_ALL: Final = 20
LONGEST_QUERY: Final = 1_000
_CLOSE_BEHIND: Final = 0.5
_SAME: Final = 0.5
"""A memory that holds so much of a correction's words is the one that is meant."""
_FEW: Final = 2
"""So few words say nothing on their own."""

_OFFERS: Final = frozenset({"remember", "correct", "forget"})
"""What waits for a yes."""
_POINTS: Final = re.compile(r"^(?:(?:about )?(?:that|it|this|these|those|them)(?: (?:one|note|memory|too|all|again))?|那个|这个|它|这条|那条|这些|那些|刚才那条|那|这)?$", re.IGNORECASE)  # fmt: skip
_ALL: Final = re.compile(r"\b(?:everything|all|anything|every)\b|所有|全部|一切|统统|都|全", re.IGNORECASE)
_CHOICE: Final = re.compile(r"^(?:only|just|the|number|no\.?|first|second|third|last|one|and|please|forget|delete|[\s,\d#.]|第|一|二|三|四|五|个|条|只|删|和|、|，)+$", re.IGNORECASE)  # fmt: skip
_PLACES: Final = (("first", 1), ("second", 2), ("third", 3), ("一", 1), ("二", 2), ("三", 3), ("四", 4), ("五", 5))


def missing(tool: str, chinese: bool) -> str:
    return cannot(tool, chinese)


def problem(use: ToolUse, words: Phrases) -> str:
    """Why a tool did not do it, in its own words."""
    message = (use.document or {}).get("message") or (use.document or {}).get("reason") or use.text or use.tool
    return words.failed.format(reason=" ".join(str(message).split())[:500])


def is_pending(before: ChatTurn, kind: IntentKind | None = None) -> bool:
    """Whether the reply before waits for a yes, to something of this kind. What it only quotes does not count."""
    intent = recognise(before.prompt)
    if intent.kind not in _OFFERS or (intent.explicit and intent.kind != "forget") or kind not in (None, intent.kind):
        return False
    for words in (ENGLISH, CHINESE):
        if before.reply.replace(words.introduction, "").rstrip().endswith(words.confirm):
            return True
    return False


def confirmed(dialogue: Dialogue, before: ChatTurn, places: Sequence[int] = ()) -> Step:
    """Do what the reply before offered."""
    intent = recognise(before.prompt)
    if intent.kind == "forget":
        return _forget_shown(dialogue, before, intent, places)
    if intent.kind == "correct":
        return _correct_shown(dialogue, before, intent)
    return _file(dialogue, intent)


# ---- remember


def remember(dialogue: Dialogue, intent: Intent) -> Step:
    words = phrases(intent.chinese)
    if not intent.argument or _POINTS.match(intent.argument):
        before = recognise(dialogue.before.prompt) if dialogue.before is not None else None
        if before is None or before.kind not in ("remember", "correct") or not before.argument:
            return words.what_to_remember
        intent = before
    if dialogue.offers("memory_store") is None:
        return missing("memory_store", intent.chinese)
    if not intent.explicit and dialogue.before is not None and dialogue.now.prompt == dialogue.before.prompt:
        return _file(dialogue, intent)
    if not intent.explicit:
        return f"{words.offer.format(quote=quoted(_sentence(intent.argument), words))} {words.confirm}"
    return _file(dialogue, intent)


def _file(dialogue: Dialogue, intent: Intent) -> Step:
    words, content = phrases(intent.chinese), _sentence(intent.argument)
    if dialogue.offers("memory_store") is None:
        return missing("memory_store", intent.chinese)
    use = dialogue.used("memory_store")
    if use is None:
        return [dialogue.fitted("memory_store", content=content)]
    return problem(use, words) if use.failed else _filed(use, content, words, words.filed)


def _filed(use: ToolUse, content: str, words: Phrases, phrase: str, **values: str) -> str:
    document = use.document or {}
    scope, id = str(document.get("scope") or ""), str(document.get("id") or "")
    place = words.between.join(part for part in (scope, id[-8:]) if part)
    if document.get("outcome") == "unchanged":
        phrase = words.filed_before
    elif document.get("quarantined"):
        phrase = words.in_review
    redactions = document.get("redactions")
    # What was not kept is not repeated.
    reply = (
        words.redacted.format(count=redactions) if redactions else phrase.format(quote=quoted(content, words), **values)
    )
    lines = [reply + (f"\n— {place}" if place else "")]
    if document.get("quarantined") and (message := document.get("message")):
        lines.append(str(message))
    return "\n".join(lines)


def _sentence(text: str) -> str:
    """As it is filed: it begins like a sentence."""
    return text[:1].upper() + text[1:]


# ---- correct


def correct(dialogue: Dialogue, intent: Intent) -> Step:
    words, content = phrases(intent.chinese), _sentence(intent.argument)
    cited = dialogue.before.shown() if dialogue.before is not None else ()
    if not content or (not cited and len(query_terms(content)) < _FEW):
        return words.what_to_correct
    rows = _candidates(dialogue, dialogue.now.prompt, intent, cited)
    if not isinstance(rows, list):
        return rows
    correction = _corrected(content, rows, cited)
    if correction is None:
        return words.what_to_correct
    return _replace(dialogue, correction, words) if intent.explicit else _offer(correction, words)


def _correct_shown(dialogue: Dialogue, before: ChatTurn, intent: Intent) -> Step:
    """The correction that the reply before offered: of the memory that it showed, and of no other."""
    words, content = phrases(intent.chinese), _sentence(intent.argument)
    rows = _candidates(dialogue, before.prompt, intent, before.shown())
    if not isinstance(rows, list):
        return rows
    rows = [row for row in rows if row.short_id in before.reply]
    correction = _corrected(content, rows, rows)
    return words.what_to_correct if correction is None else _replace(dialogue, correction, words)


def _candidates(
    dialogue: Dialogue, prompt: str, intent: Intent, cited: Sequence[ToolMemory]
) -> list[ToolMemory] | str | tuple[ToolUse, ...]:
    """The memories that may be meant, or what is to be done to find them."""
    if dialogue.offers("memory_search") is None or dialogue.offers("memory_store", "memory_correct") is None:
        return missing("memory_correct", intent.chinese)
    use = dialogue.used("memory_search")
    if use is None:
        # Which memory it is about is judged here, not by how relevant it is: a correction is no question. The whole of it is
        # looked for, since what is wrong may say better what is meant than what is right.
        query = prompt[:LONGEST_QUERY]
        return (dialogue.fitted("memory_search", query=query, limit=MOST_FORGOTTEN, min_relevance=0.0),)
    return problem(use, phrases(intent.chinese)) if use.failed else [*cited, *use.rows]


def _corrected(content: str, rows: Sequence[ToolMemory], cited: Sequence[ToolMemory]) -> Correction | None:
    """None if it is not clear what is right: "it's on Tuesday" needs the answer that it is about."""
    if leans(content):
        for row in cited:
            if (text := with_value(row.content, content)) is not None:
                return Correction(content=text, row=row, text=text)
        return None
    row = _meant(content, rows)
    return Correction(content=content, row=row, text=content if row is None else revised(row.content, content))


@dataclass(frozen=True, kw_only=True, slots=True)
class Correction:
    """What is right; the memory that is wrong, if there is one; and how it reads then."""

    content: str
    row: ToolMemory | None
    text: str


def _offer(correction: Correction, words: Phrases) -> str:
    quote, row = quoted(correction.content, words), correction.row
    if row is None:
        return f"{words.offer.format(quote=quote)} {words.confirm}"
    mention = f"{quoted(' '.join(row.content.split()), words)} ({row.short_id})"
    quote = quoted(" ".join(correction.text.split()), words)
    return f"{words.offer_correction.format(before=mention, quote=quote)} {words.confirm}"


def _meant(content: str, rows: Sequence[ToolMemory]) -> ToolMemory | None:
    """Which memory a correction is about."""
    against = next((row for row in rows if conflict(content, row.content)), None)
    if against is not None:
        return against
    alike = [row for row in rows if same_subject(content, row.content) or covered(content, row.content) >= _SAME]
    return max(alike, key=lambda row: covered(content, row.content), default=None)


def _replace(dialogue: Dialogue, correction: Correction, words: Phrases) -> Step:
    content, row, text = correction.content, correction.row, correction.text
    before = "" if row is None else quoted(" ".join(row.content.split()), words)
    use = dialogue.used("memory_correct") or dialogue.used("memory_store")
    if use is not None:
        if use.failed:
            return problem(use, words)
        if row is None:
            return _filed(use, content, words, words.nothing_to_correct)
        is_beside = use.tool == "memory_store" and not use.arguments.get("key")
        phrase = words.kept_beside if is_beside else words.corrected
        return _filed(use, content if is_beside else text, words, phrase, before=before)
    if row is not None and not row.is_part and dialogue.offers("memory_correct"):
        return [dialogue.fitted("memory_correct", id=row.id, content=text, text=text)]
    if dialogue.offers("memory_store") is None:
        return missing("memory_store", words is CHINESE)
    if row is not None and row.key and not row.is_part:
        return [dialogue.fitted("memory_store", content=text, key=row.key, scope=row.scope or None)]
    return [dialogue.fitted("memory_store", content=content)]


# ---- forget


def forget(dialogue: Dialogue, intent: Intent) -> Step:
    words = phrases(intent.chinese)
    if dialogue.offers("memory_delete") is None:
        return missing("memory_delete", intent.chinese)
    if _POINTS.match(intent.argument):
        rows = dialogue.before.shown() if dialogue.before is not None else ()
        return _shall_forget(rows, words) if rows else words.what_to_forget
    if dialogue.offers("memory_search") is None:
        return missing("memory_search", intent.chinese)
    use = dialogue.used("memory_search")
    if use is None:
        return [dialogue.fitted("memory_search", query=intent.argument[:LONGEST_QUERY], limit=MOST_OF_ALL)]
    if use.failed:
        return problem(use, words)
    rows = _to_forget(use.rows, dialogue.now.prompt)
    return _shall_forget(rows, words) if rows else words.nothing_to_forget


def _shall_forget(rows: Sequence[ToolMemory], words: Phrases) -> str:
    return "\n".join([words.shall_forget, listed(rows, words), words.confirm])


def _to_forget(rows: Sequence[ToolMemory], prompt: str) -> Sequence[ToolMemory]:
    """Those that are meant: all that were found, if all are, else those that are about as relevant as the best."""
    if _ALL.search(prompt):
        return rows
    best = max((row.score or 0.0 for row in rows), default=0.0)
    return [row for row in rows if (row.score or 0.0) >= _CLOSE_BEHIND * best][:MOST_FORGOTTEN]


def _forget_shown(dialogue: Dialogue, before: ChatTurn, intent: Intent, places: Sequence[int]) -> Step:
    words = phrases(intent.chinese)
    if dialogue.offers("memory_delete") is None:
        return missing("memory_delete", intent.chinese)
    uses = [use for use in dialogue.now.uses if use.tool == "memory_delete"]
    if uses:
        bad = [use for use in uses if use.failed]
        lines = [problem(use, words) for use in bad]
        if count := len(uses) - len(bad):
            lines.insert(0, words.forgotten.format(count=count))
        return "\n".join(lines)
    rows = _shown_to_forget(dialogue, before, intent)
    if isinstance(rows, ToolUse):
        return [rows]
    selection = [row for place, row in enumerate(rows, 1) if not places or place in places]
    if not selection:
        return words.left_alone
    return [dialogue.fitted("memory_delete", id=row.id) for row in selection]


def _shown_to_forget(dialogue: Dialogue, before: ChatTurn, intent: Intent) -> Sequence[ToolMemory] | ToolUse:
    """What the reply before listed: nothing else may go."""
    rows = [row for use in before.uses if use.tool == "memory_search" for row in use.rows]
    if not rows and (earlier := [*dialogue.earlier][:-1]) and _POINTS.match(intent.argument):
        rows = [*earlier[-1].shown()]
    if not rows:
        # A history of texts alone does not have what was found: it is looked up once more.
        use = dialogue.used("memory_search")
        if use is None and dialogue.offers("memory_search") and not _POINTS.match(intent.argument):
            return dialogue.fitted("memory_search", query=intent.argument[:LONGEST_QUERY], limit=MOST_OF_ALL)
        rows = [*use.rows] if use is not None else []
    rows = rows if _POINTS.match(intent.argument) else _to_forget(rows, before.prompt)
    return [row for row in rows if row.short_id in before.reply]


def chosen_places(prompt: str) -> list[int]:
    """Which of a numbered list are meant: "only 2", "the first"."""
    if len(prompt) > 60 or not _CHOICE.match(prompt):
        return []
    numbers = [int(number) for number in re.findall(r"\d{1,3}", prompt)]
    return numbers or [place for name, place in _PLACES if name in prompt.casefold()]


# ---- schedule


def schedule(dialogue: Dialogue, intent: Intent) -> Step:
    words = phrases(intent.chinese)
    tool = dialogue.offers("schedule", "schedule_task")
    if tool is None:
        return missing("schedule", intent.chinese)
    if not intent.argument:
        return words.what_to_schedule
    use = dialogue.used(tool)
    if use is None:
        task = timed_task(dialogue.now.prompt)
        if task is None and not is_timed(dialogue.now.prompt):
            return words.when_to_schedule
        content = _sentence(task.prompt if task is not None and task.prompt else intent.argument)
        cron = task.cron if task is not None else None
        values = {"cron": cron, "when": dialogue.now.prompt, "prompt": content, "text": content, "content": content}
        return [dialogue.fitted(tool, **{name: value for name, value in values.items() if value is not None})]
    if use.failed:
        return problem(use, words)
    return words.scheduled.format(quote=quoted(_sentence(intent.argument), words))
