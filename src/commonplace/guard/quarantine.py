"""
Quarantine: what came from outside or from a model and looks like an attack is kept, but not recalled until a reviewer has looked.

A record in quarantine is demoted from its first version on, tagged `quarantined`, and says in its metadata why. Whether a text
is looked at at all is decided by whose hand it comes by, its trust label and its source: what a person writes is that person's word and
not judged, whatever it says. `judge` decides by form alone, so it can be wrong both ways; the label and the fence
that untrusted text is recalled in hold without it.
"""

from __future__ import annotations

import re
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Final, Literal

from commonplace.guard.ciphers import deciphered
from commonplace.guard.model import score, worst
from commonplace.guard.orders import steers, unreported
from commonplace.guard.sentence import cause_of
from commonplace.guard.signs import Sign, commands, forms_in, hides, mixes, plain, smuggles, spaced, spelled_out
from commonplace.text.digest import text_hash
from commonplace.text.fence import neutral
from commonplace.text.scrub import scrub
from commonplace.values.moment import to_iso
from commonplace.values.quarantine import TAG, WHY, reasons_of
from commonplace.values.record import TRUSTED, Json, Record, Trust

Reason = Sign | Literal["repeated", "rate", "trusted_record"]

REVIEW: Final = "review"
"""The name under which it says who let it out."""

REVIEWED: Final[frozenset[Trust]] = frozenset({"verified", "human_approved"})
_FROM_PROGRAMS: Final = frozenset(
    "tool tools plugin connector channel dingtalk feishu lark slack telegram discord wechat webhook".split()
)
_FROM_OUTSIDE: Final = frozenset(
    "web webpage page website url http https browser crawl crawler scrape scraper fetch import imported"
    " email mail rss feed external untrusted".split()
)
_FROM_MODELS: Final = frozenset({"auto", "director"})
_MARKS: Final[frozenset[Sign]] = frozenset({"role_marker", "tool_syntax", "hidden", "homoglyph"})
"""Forms that give no order by themselves, and that pages about prompts have, too."""
_CHOSEN: Final = "file"
"""The source of a file that somebody chose to import."""
_FIRST_WORD: Final = re.compile(r"[^\W_]+")
_SPEAKERS: Final = re.compile(r"^(?:user|assistant)[:：]", re.IGNORECASE | re.MULTILINE)
DOUBTFUL: Final[frozenset[Sign]] = frozenset({"injection", "trigger", "role_marker", "exfiltration"})
"""Forms that are also quoted, warned of and used between people. Alone they count unless the model reads the text as no attack."""
DOUBT: Final = -1.8
"""The score below which it does."""
_QUOTED_IN: Final = 8_000
"""Characters of a text that the model is asked about for such a form: a longer one holds whole passages that are no attack, beside one that may be."""
THRESHOLD: Final = 1.9
"""The score from which a text steers: so high that of ordinary sentences three in 1,000 are held, and of look-alikes that nobody learned from one in 20."""
_MOST_ANSWERS: Final = 256
_answers: OrderedDict[bytes, tuple[Sign, ...]] = OrderedDict()


@dataclass(frozen=True, kw_only=True, slots=True)
class Verdict:
    """
    `untrusted`: whether it comes from outside. `reasons`: why it must not be recalled; without any it may be. `sentence`: the one
    that is the reason.
    """

    trust: Trust
    untrusted: bool
    reasons: tuple[Reason, ...] = ()
    sentence: str | None = None


def label_of(trust: Trust, source: str, *, by_model: bool = False) -> Trust:
    """
    The label that counts. What comes from a channel, a tool, a web page or an import is not ours, unless a reviewer
    approved it. What comes `by_model` is its word, whatever label it chose, and so is what was learned without being asked to.
    """
    if trust != "system_generated" and not (by_model and trust in TRUSTED):
        return trust
    match = _FIRST_WORD.search(source)
    origin = match[0].casefold() if match else ""
    if origin in _FROM_PROGRAMS:
        return "connector_sourced"
    if origin in _FROM_OUTSIDE:
        return "external_user_supplied"
    return "model_generated" if by_model or origin in _FROM_MODELS else trust


def judge(text: str, trust: Trust, source: str, *, by_model: bool = False) -> Verdict:
    """Judge a text that somebody wants remembered."""
    label = label_of(trust, source, by_model=by_model)
    untrusted = label not in TRUSTED
    return Verdict(trust=label, untrusted=untrusted, reasons=signs(text) if untrusted else ())


def signs(text: str) -> tuple[Sign, ...]:
    """
    What in a text looks like an attack, whoever wrote it. What is imported is looked at twice, to take it apart and on its way into the
    store, so the last answers are kept, by the hash of the text.
    """
    digest = text_hash(text)
    answer = _answers.get(digest)
    if answer is None:
        answer = _answers[digest] = _signs(text)
        if len(_answers) > _MOST_ANSWERS:
            _answers.popitem(last=False)
    return answer


def orders(text: str) -> tuple[Sign, ...]:
    """As `signs`, if the text gives an agent an order. Marks of a prompt, as a page about prompts has them, are none."""
    reasons = signs(text)
    is_order = not _MARKS.issuperset(reasons) or (bool(reasons) and (smuggles(text) or commands(plain(text))))
    return reasons if is_order else ()


def _signs(text: str) -> tuple[Sign, ...]:
    words = plain(text)
    forms = forms_of(words)
    hits = dict.fromkeys(forms)
    if not forms or (DOUBTFUL.issuperset(forms) and len(words) <= _QUOTED_IN):
        # Who speaks in a transcript is no word about an assistant.
        speech = plain(_SPEAKERS.sub("", text))
        likeness = max(score(reading) for reading in (speech, spelled_out(speech)) if reading is not None)
        if not hits and likeness > THRESHOLD:
            hits["steering"] = None
        elif max(likeness, score(worst(speech) or "")) < DOUBT:
            # The sentence by itself, too, so that innocent ones around it excuse no order.
            hits.clear()
    if any(steers(reading, hidden=True) or any(forms_in(reading)) for reading in deciphered(words)):
        hits["encoded"] = None
    if neutral(text) != text:
        hits["fence"] = None
    if hides(text):
        hits["hidden"] = None
    dressed = mixes(text)
    # One such word may be a typing error, but not in a text with other signs.
    if dressed > 1 or (dressed and hits):
        hits["homoglyph"] = None
    return tuple(hits)


def forms_of(words: str) -> tuple[Sign, ...]:
    """What the rules see in a text as an agent would read it, whatever the model says of them."""
    own_words = unreported(words)
    readings = (own_words, spelled_out(words), spaced(own_words))
    return tuple(dict.fromkeys(sign for reading in readings if reading is not None for sign in forms_in(reading)))


def judge_record(record: Record, *, by_model: bool = False) -> Verdict:
    """
    As `judge`, of all that a record says: its text, key, speaker, source, tags and metadata. Of a file that a person chose to import,
    only an order counts.
    """
    verdict = judge(record.text, record.trust, record.source, by_model=by_model)
    if not verdict.untrusted:
        return verdict
    signs_of = orders if record.source == _CHOSEN and not by_model else signs
    beside = "\n".join(_labels(record))
    in_text, in_labels = signs_of(record.text), signs_of(beside) if beside else ()
    sentence = _cause(record.text, in_text, signs_of) if in_text else _cause(beside, in_labels, signs_of)
    return replace(verdict, reasons=tuple(dict.fromkeys((*in_text, *in_labels))), sentence=sentence)


def judge_texts(*sources: Json | Mapping[str, Json]) -> tuple[tuple[Sign, ...], str | None]:
    """What looks like an attack in any of several texts or objects, and the sentence that does, without its secrets."""
    text = scrub("\n".join(text for source in sources for text in _texts(source))).text
    reasons = signs(text)
    return reasons, _cause(text, reasons, signs)


def _cause(text: str, reasons: tuple[Sign, ...], signs_of: Callable[[str], tuple[Sign, ...]]) -> str | None:
    """The sentence that is the reason; if only all sentences together are, the one that reads most like an attack."""
    if not reasons:
        return None
    sentence = cause_of(text, signs_of)
    return worst(text) if sentence is None and "steering" in reasons else sentence


def _labels(record: Record) -> Iterator[str]:
    yield from (label for label in (record.key, record.speaker, record.source, *record.tags) if label)
    yield from _texts(record.metadata)


def _texts(value: Json | Mapping[str, Json]) -> Iterator[str]:
    """All texts in it, names of fields included: an attacker would hide in what is left out."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for name, item in value.items():
            yield name
            yield from _texts(item)
    elif isinstance(value, list):
        for item in value:
            yield from _texts(item)


# ---- records in quarantine


def is_protected(record: Record) -> bool:
    """Whether nothing from outside may change it: somebody approved it, or wrote it by hand."""
    return record.trust in REVIEWED or (record.source == "manual" and record.trust in TRUSTED)


def quarantined(
    record: Record,
    reasons: tuple[Reason, ...],
    now: datetime,
    *,
    beside: Record | None = None,
    sentence: str | None = None,
) -> Record:
    """
    The record in quarantine, and the sentence for which it is there. One that would have changed another record is kept `beside`
    it, without its key.
    """
    why: dict[str, Json] = {"reasons": list[Json](reasons), "at": to_iso(now)}
    if sentence is not None:
        why["sentence"] = sentence
    if beside is not None:
        why |= {"beside": beside.id, "key": record.key}
    tags = tuple(dict.fromkeys((*record.tags, TAG)))
    return replace(
        record,
        demoted=True,
        key=None if beside is not None else record.key,
        tags=tags,
        metadata={**record.metadata, WHY: why},
    )


def still_quarantined(previous: Record, following: Record) -> Record:
    """The next version of a record that stays in quarantine: an edit cannot remove the reasons."""
    tags = tuple(dict.fromkeys((*following.tags, TAG)))
    return replace(following, tags=tags, metadata={**following.metadata, WHY: previous.metadata[WHY]})


def let_out(record: Record, by: str | None, now: datetime) -> Record:
    """The record out of quarantine, with who let it out and why it had been there."""
    why = reasons_of(record)
    review: dict[str, Json] = {"by": by, "at": to_iso(now), "reasons": list[Json](why)}
    metadata = {name: value for name, value in record.metadata.items() if name != WHY}
    return replace(record, tags=tuple(tag for tag in record.tags if tag != TAG), metadata={**metadata, REVIEW: review})
