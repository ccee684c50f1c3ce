"""
What comes next in a turn: calls of tools, or the reply.

Each function looks at what was called in this turn already. A tool is called once a turn, so that no answer of it can keep the librarian going.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, Final, cast

from commonplace.llms.librarian import changes
from commonplace.llms.librarian.changes import Step, missing, problem
from commonplace.llms.librarian.citation import citation, cited, listed, quoted, sourced
from commonplace.llms.librarian.cue import FollowUp
from commonplace.llms.librarian.dialogue import ChatTurn, Dialogue
from commonplace.llms.librarian.intents import Intent, follow_up, instead, is_chinese, recognise
from commonplace.llms.librarian.phrases import phrases
from commonplace.llms.librarian.quotes import covered, quote
from commonplace.llms.librarian.tool_memory import ToolMemory

MOST_FOUND: Final = 10
MOST_LISTED: Final = 20
MOST_SAID: Final = 5
LONGEST_QUERY: Final = 1_000
_COVERED: Final = 0.5
"""A recalled memory that holds so much of the question is taken for an answer, where no search says how relevant it is."""

_NAME: Final = re.compile(r"(?<=\s)[A-Z][\w'’-]*")
_GREETING: Final = re.compile(r"^(?:hi|hey|hello|yo|hiya|howdy|greetings|good (?:morning|afternoon|evening|day)|morning)\b|^(?:你好|您好|嗨|嘿|哈喽|喂|早|上午好|中午好|下午好|晚上好)", re.IGNORECASE)  # fmt: skip
_THANKS: Final = re.compile(r"\b(?:thanks?|thank you|thx|cheers)\b|谢|辛苦", re.IGNORECASE)
_HELP: Final = re.compile(r"\bhelp\b|what can you do|what do you do|how do (?:you|i)|how does this|who are you|what are you|你是谁|能做什么|能干|会做什么|会什么|帮助|怎么用|功能|说明|会干", re.IGNORECASE)  # fmt: skip
_OWN: Final = re.compile(r"^(?:me|us|my|mine|myself|my (?:notes|memories)|我|我们|我的|咱们)$", re.IGNORECASE)
"""What everything in the memory is about."""
_ASKER: Final = re.compile(r"\b(?:i|my|me)\b|我", re.IGNORECASE)
_CLOSE: Final = 0.6
_ME: Final = re.compile(r"^(?:me|us|myself|我|我们|咱们)$", re.IGNORECASE)
_SMALL: Final = re.compile(r"^(?:ok(?:ay)?|yes|no|sure|fine|never ?mind|forget it|lol|haha|好|行|嗯|哦|没事|算了|不用|可以|知道了|明白|收到|哈)", re.IGNORECASE)  # fmt: skip
_TALK_WORDS: Final = frozenset(
    "i you we us me my your our what which who where when why how did do does have had has was were is are say said tell told talk talked talking "
    "discuss discussed discussing mention mentioned ask asked asking chat chatted chats conversation conversations discussion exact words word find "
    "search show quote back last week yesterday today month year ever times many often time remember recall history about the a an in on at of to that "
    "this it and or with for from something anything write wrote answer answered earlier previous past please could can would pull up bring look "
    "exactly any point some".split()
)
_TALK_HAN: Final = re.compile(
    "咱们|咱俩|我们|我跟你|我和你|你跟我|昨天|前天|上周|上次|上个月|之前|刚才|那次|那天|最后|一句话|有没有|是不是|原话|怎么|什么|聊天|对话|记录|讨论|过程|"
    "回顾|一下|给我|找|翻|出来|记得|来着|说到|哪儿|哪里|几次|多少次|告诉|提过|说过|聊过|问过|讲过|聊了|说了|跟你|对你|[我你说聊谈问讲提过吗呢啥的了把吧咱]|[？?，,。！!]"
)


def next_step(dialogue: Dialogue) -> Step:
    prompt = dialogue.now.prompt
    if not prompt:
        return phrases(False).empty
    if dialogue.before is not None:
        if (follow := follow_up(prompt)) and (step := _followed(dialogue, follow, dialogue.before)) is not None:
            return step
        if (places := changes.chosen_places(prompt)) and changes.is_pending(dialogue.before, "forget"):
            return changes.confirmed(dialogue, dialogue.before, places)
        if (other := instead(prompt)) and (question := _topic(dialogue.earlier)):
            return _answer(dialogue, _about(question, other), is_chinese(prompt))
    intent = recognise(prompt)
    return _STEPS[intent.kind](dialogue, intent)


# ---- questions


def _ask(dialogue: Dialogue, intent: Intent) -> Step:
    return _answer(dialogue, dialogue.now.prompt, intent.chinese)


def _answer(dialogue: Dialogue, question: str, chinese: bool) -> Step:
    words = phrases(chinese)
    if dialogue.offers("memory_search") is None:
        rows = [row for row in dialogue.reference if covered(question, row.content) >= _COVERED]
        return cited(question, _by_cover(question, rows), words) if rows else words.unknown_here
    use = dialogue.used("memory_search")
    if use is None:
        return [dialogue.fitted("memory_search", query=question[:LONGEST_QUERY], limit=MOST_FOUND)]
    if use.failed:
        return problem(use, words)
    return cited(question, _own_first(question, use.rows), words) if use.rows else words.unknown


def _own_first(question: str, rows: Sequence[ToolMemory]) -> Sequence[ToolMemory]:
    """What a person asks of themselves stands in their own scope, if something there is about as relevant."""
    if not _ASKER.search(question):
        return rows
    best = max(row.score or 0.0 for row in rows)
    own = [row for row in rows if row.scope.startswith("user:") and (row.score or 0.0) >= _CLOSE * best]
    return [*own, *(row for row in rows if row not in own)]


def _by_cover(question: str, rows: Sequence[ToolMemory]) -> list[ToolMemory]:
    return sorted(rows, key=lambda row: -covered(question, row.content))


def _about(question: str, other: str) -> str:
    """The question, about somebody else."""
    names = list(_NAME.finditer(question))
    if not names:
        return other
    return question[: names[-1].start()] + other + question[names[-1].end() :]


def _topic(earlier: Sequence[ChatTurn]) -> str | None:
    """The last question that was answered."""
    for exchange in reversed(earlier):
        for use in exchange.uses:
            if use.tool == "memory_search" and isinstance(query := use.arguments.get("query"), str):
                return query
        if follow_up(exchange.prompt) is None and recognise(exchange.prompt).kind in ("ask", "list"):
            return exchange.prompt
    return None


# ---- what follows an answer


def _followed(dialogue: Dialogue, follow: FollowUp, before: ChatTurn) -> Step | None:
    """None if it follows nothing, and stands for itself."""
    chinese = is_chinese(dialogue.now.prompt)
    words = phrases(chinese)
    if follow in ("yes", "no"):
        if not changes.is_pending(before):
            return None
        return words.left_alone if follow == "no" else changes.confirmed(dialogue, before)
    question = _topic(dialogue.earlier)
    if question is None:
        return words.nothing_cited if follow == "source" else None
    if follow == "nearest":
        return _nearest(dialogue, question, chinese)
    cited_rows = {row.id: row for exchange in dialogue.earlier for row in exchange.shown()}
    if follow == "source" and (rows := _last_shown(dialogue.earlier)):
        return sourced(rows, words)
    candidates = _last_found(dialogue.earlier)
    if not candidates and dialogue.offers("memory_search"):
        # A history of texts alone does not have what was found.
        use = dialogue.used("memory_search")
        if use is None:
            return [dialogue.fitted("memory_search", query=question[:LONGEST_QUERY], limit=MOST_FOUND)]
        replies = "".join(exchange.reply for exchange in dialogue.earlier)
        candidates = use.rows
        cited_rows = {row.id: row for row in candidates if row.short_id in replies}
    if follow == "source":
        return sourced(list(cited_rows.values()), words) if cited_rows else words.nothing_cited
    rest = [row for row in candidates if row.id not in cited_rows][:MOST_SAID]
    return "\n\n".join(citation(question, row, words) for row in rest) if rest else words.no_more


def _last_shown(earlier: Sequence[ChatTurn]) -> tuple[ToolMemory, ...]:
    return next((rows for exchange in reversed(earlier) if (rows := exchange.shown())), ())


def _last_found(earlier: Sequence[ChatTurn]) -> tuple[ToolMemory, ...]:
    for exchange in reversed(earlier):
        for use in exchange.uses:
            if use.tool == "memory_search":
                return use.rows
    return ()


def _nearest(dialogue: Dialogue, question: str, chinese: bool) -> Step:
    words = phrases(chinese)
    if dialogue.offers("memory_search") is None:
        return missing("memory_search", chinese)
    use = dialogue.used("memory_search")
    if use is None:
        return [dialogue.fitted("memory_search", query=question[:LONGEST_QUERY], limit=3, min_relevance=0.0)]
    if use.failed:
        return problem(use, words)
    if not use.rows:
        return words.unknown
    return "\n\n".join([words.nearest, *(citation(question, row, words) for row in use.rows)])


# ---- lists


def _list(dialogue: Dialogue, intent: Intent) -> Step:
    words, topic = phrases(intent.chinese), "" if _OWN.match(intent.argument) else intent.argument
    tool = "memory_search" if topic and dialogue.offers("memory_search") else "memory_list"
    if dialogue.offers(tool) is None:
        if dialogue.reference:
            return "\n".join([words.listed, listed(dialogue.reference[:MOST_LISTED], words)])
        return missing(tool, intent.chinese)
    use = dialogue.used(tool)
    if use is None:
        values = {"query": topic[:LONGEST_QUERY]} if tool == "memory_search" else {}
        return [dialogue.fitted(tool, limit=MOST_LISTED, **values)]
    if use.failed:
        return problem(use, words)
    if not use.rows:
        return words.nothing_about.format(topic=quoted(topic, words)) if topic else words.nothing
    head = words.about.format(topic=quoted(topic, words)) if topic else words.listed
    rows = [row for row in use.rows if row.scope.startswith("user:")] if _ME.match(intent.argument) else []
    is_part = rows and len(rows) < len(use.rows)
    more = [words.more_there] if is_part or (use.document and use.document.get("cursor")) else []
    return "\n".join([head, listed((rows or use.rows)[:MOST_LISTED], words), *more])


# ---- earlier conversations


def _history(dialogue: Dialogue, intent: Intent) -> Step:
    words = phrases(intent.chinese)
    if dialogue.offers("session_search") is None:
        return missing("session_search", intent.chinese)
    use = dialogue.used("session_search")
    if use is None:
        query = _spoken_of(intent)
        form = "discover" if query else "browse"
        values = {"query": query[:LONGEST_QUERY]} if query else {}
        return [dialogue.fitted("session_search", form=form, limit=MOST_SAID, **values)]
    if use.failed:
        return problem(use, words)
    entries = [entry for item in _items(use.document or {}) if (entry := _message(item, dialogue.now.prompt))]
    return "\n".join([words.history, *entries[:MOST_SAID]]) if entries else words.no_history


def _spoken_of(intent: Intent) -> str:
    """What was spoken of, without the words that any question about a talk has."""
    if intent.chinese:
        return " ".join(_TALK_HAN.sub(" ", intent.argument).split())
    tokens = re.findall(r"[\w'’-]+", intent.argument)
    return " ".join(token for token in tokens if token.casefold().removesuffix("'s") not in _TALK_WORDS)


def _items(document: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    for name in ("results", "hits", "messages", "sessions"):
        entries = document.get(name)
        if entries and isinstance(entries, Sequence) and not isinstance(entries, str):
            items = cast(Sequence[Any], entries)
            return [cast(Mapping[str, Any], item) for item in items if isinstance(item, Mapping)]
    return []


def _message(item: Mapping[str, Any], question: str) -> str | None:
    """One thing that was said: when, by whom, in which session."""
    message = _part(item, "message") or item
    session = _part(item, "session")
    text = _first((message, "text"), (message, "content"), (item, "snippet"), (item, "title"))
    if not text:
        return None
    at = _first((message, "at"), (message, "created_at"), (item, "updated_at"))[:10]
    speaker = _first((message, "speaker"), (message, "role"))
    name = _first((session or {}, "title"), (item, "session_id"), (message, "session"), (session or {}, "id"))
    head = ", ".join(part for part in (at, speaker, name) if part)
    return f"- {head}: {quote(question, text)}" if head else f"- {quote(question, text)}"


def _part(item: Mapping[str, Any], name: str) -> Mapping[str, Any] | None:
    part = item.get(name)
    return cast(Mapping[str, Any], part) if isinstance(part, Mapping) else None


def _first(*places: tuple[Mapping[str, Any], str]) -> str:
    values = (place.get(name) for place, name in places)
    return next((value for value in values if isinstance(value, str) and value), "")


# ---- small talk


def _chat(dialogue: Dialogue, intent: Intent) -> Step:
    words, prompt = phrases(intent.chinese), dialogue.now.prompt
    if _HELP.search(prompt):
        return words.capabilities
    if _THANKS.search(prompt):
        return words.welcome
    if _GREETING.search(prompt):
        return words.hello
    return words.fine if _SMALL.search(prompt) else words.no_chat


_STEPS: Final = {
    "ask": _ask,
    "list": _list,
    "history": _history,
    "chat": _chat,
    "remember": changes.remember,
    "correct": changes.correct,
    "forget": changes.forget,
    "schedule": changes.schedule,
}
