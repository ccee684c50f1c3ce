"""
Facts from talk, by rules and without a model.

A conversation is read sentence by sentence. A learned judge (`judge/`) says of each what it is worth and whose it is, a cue rule (`rules/`) what kind of
statement it is; a sentence that is worth keeping becomes a fact in the words it was said in (`utterances`), with the turn it came from. Questions,
secrets and orders to agents (`caution`) are left out, and so is what a later sentence of the talk corrects. An assistant is believed only if it states an outcome or a lesson in plain words: what was
recalled into its prompt must not come back as news (`shown_memories` handles the rest of that). Days become dates if the turn has a
time. The same conversation always gives the same facts; with those as `existing` it gives none.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from hashlib import sha256
from itertools import islice
from types import ModuleType
from typing import Final, Literal, TypeAlias

from commonplace.guard.caution import is_attack, is_secret, is_suspect
from commonplace.learning.judge.features import Remark
from commonplace.learning.judge.sentences import SentenceWorth, judge
from commonplace.learning.rules import chinese, english
from commonplace.learning.rules.statement import EXPLICIT, Category, Role, ScopeHint, Statement, Voice
from commonplace.learning.sentences import bare, is_cut, sentences, whole_sentences
from commonplace.learning.times import marked, meant, resolved
from commonplace.learning.utterances import are_certain, is_well_formed, unattributed, worded
from commonplace.text.analyse import terms
from commonplace.text.scrub import scrub
from commonplace.text.similarity import NEAR, overlap, words
from commonplace.text.slug import MAX_SLUG, slug
from commonplace.text.unicode import normal_form
from commonplace.values.record import Turn

LEAST: Final = 200
READ: Final = 12_000
MOST: Final = 5
CONFIDENCE: Final = 0.6
SHORTEST: Final = 3
LONGEST: Final = 300
CANDIDATES: Final = 100
SENTENCES: Final = 600
"""What is read of a talk of very short ones: each costs a look at what it means."""
PREFIX: Final = "auto:"
_KEPT: Final = 0.87
"""How sure the judge has to be of a sentence: rather nothing than a wrong fact."""
_PLAIN: Final = 0.12
"""The same for a whole sentence that a rule reads. One that states an outcome or a lesson is kept."""
_HEARSAY: Final = 0.05
"""The same for an assistant's outcome or lesson."""
_CORRECTED: Final = 0.5
"""The same for one that takes the place of another."""
_ASIDE: Final = re.compile(
    r"\b(?:sry|sorry|my bad|oops)\W*+$|(?:抱歉|不好意思|我的锅|怪我|视角)\W*+(?:[哈啊]\W*+)?$", re.IGNORECASE
)
"""An apology for what has just happened, or a word about the telling."""
_FICTION: Final = re.compile(
    r"\brole[- ]?play|\bfan ?fic|\b(?:stay|be|get) in character\b|\bwrite (?:me )?(?:a|the next) (?:story|scene|chapter|monologue|dialogue)|\byou(?:['’]re| are) (?:the |my )?(?:dm|gm|game master|narrator)\b"
    r"|\b(?:i|you|u) play (?:a|the) |续写|角色扮演|扮演|跑团|写(?:一?[个篇段])?(?:小说|故事|剧本|独白)|人设|入戏",
    re.IGNORECASE,
)
"""From here on a talk is a story, and "I" somebody in it."""
_PERSONAL: Final = -1.0
"""The odds from which a fact is the person's: what is unsure is never the project's."""
_SHARE: Final = 0.5
_VETOES: Final = 3
"""Of what the rules have against a whole sentence, what nothing outweighs: it is doubted, reported or supposed."""
_PRIVATE: Final = re.compile(
    r"\bmy (?:own |late |ex[- ]|elder |older |younger |little |big |twin |step)?(?:wife|husband|partner|girlfriend|boyfriend|fianc[ée]e?|son|daughter|kids?|child(?:ren)?|baby|toddler|dog|cat|mum|mom|mother|dad|father|parents?"
    r"|brother|sister|grand\w+|nan|gran|uncle|aunt|niece|nephew|cousin|in-laws|family|flat(?:mate)?|apartment|house|home|landlord|rent|mortgage|salary|wages|doctor|gp|dentist|therapist|surgery|operation|meds|medication"
    r"|allerg\w+|asthma|diabetes|blood \w+|back|knee|pregnancy|birthday|passport|health)\b"
    r"|\b(?:i|i'm|im|i’m|i've|ive)\b[^.!?\n]{0,50}?\b(?:allergic|allergy|asthma\w*|pregnant|diabet\w+|vegan|vegetarian|coeliac|celiac|diagnosed|depress\w+|adhd|colou?r-?blind|dyslexi\w+|parental leave|maternity|paternity|married|divorced|engaged|born)\b"
    r"|我(?!们|們).{0,16}(?:过敏|過敏|怀孕|懷孕|预产期|產假|产假|陪产|确诊|手术|吃药|房租|房贷|工资|月薪|住在|租|色弱|色盲|抑郁|糖尿病|高血压|离婚|结婚|生日)"
    r"|(?:我|俺)(?:家|的)?(?:老婆|老公|媳妇|妻子|丈夫|太太|爱人|对象|女朋友|男朋友|女友|男友|儿子|女儿|闺女|孩子|娃|宝宝|爸|妈|父|母|爷爷|奶奶|外公|外婆|姥|哥|姐|弟|妹|岳|婆婆|公公|家人|狗|猫)",
    re.IGNORECASE,
)
_MOST_ODDS: Final = 3.0
_CORRECTS: Final = re.compile(
    r"\b(?:correction|oops|scratch that|make that|oh wait|wait|sorry|i meant?|not any ?more)\b|不对|更正|纠正|说错|搞错|记错|写错",
    re.IGNORECASE,
)
_LATEST: Final = 6
"""Turns after which a correction means something else."""
_LIKING: Final = re.compile(
    r"\b(?:prefer|like|love|hate|can't stand|favou?rite|rather)\b|喜欢|讨厌|偏好|习惯|爱(?:吃|喝|看|听)", re.IGNORECASE
)

Method = Literal["rules", "model"]
Words: TypeAlias = tuple[frozenset[str], frozenset[str]]

_HAN: Final = re.compile("[\u3400-\u4dbf\u4e00-\u9fff]")
_VAGUE: Final = re.compile(
    r"\b(?:this|that|these|those)\b (?!is\b|are\b|the\b|we\b)|这个|那个|這個|那個", re.IGNORECASE
)
_LETTER: Final = re.compile(r"\s*(?:Dear\s+(?-i:[A-Z])|To whom it may concern|尊敬的|亲爱的|親愛的)", re.IGNORECASE)
_MARKS: Final = re.compile(r"[^\w\s]+")
_ASSISTANTS: Final = frozenset(
    "assistant ai bot chatbot agent model llm beaver commonplace claude chatgpt gpt gemini copilot 助手 机器人 助理 機器人".split()
)
_NO_ONES: Final = frozenset("system tool function developer environment event log 系统 系統 工具".split())
_NO_NAMES: Final = frozenset(
    "user human me you person speaker anonymous guest customer client admin member someone default unknown owner operator"
    " caller participant sender i 用户 用戶 客户 匿名 访客 我".split()
)
_NAME: Final = re.compile(r"[A-Z\u00c0-\u024f][^\W\d_]*(?:[ '’-][^\W\d_]+){0,3}|[\u4e00-\u9fff]{2,4}")


@dataclass(frozen=True, kw_only=True, slots=True)
class Fact:
    """
    `turn` is the index of the turn that said it; `at` the day that it is about, if it names one. `replaces` is the id of a record
    that it says is no longer true, and `voice` who said it.
    """

    text: str
    key: str
    category: Category
    scope: ScopeHint
    confidence: float
    turn: int
    at: datetime | None = None
    method: Method = "rules"
    replaces: str | None = None
    voice: Role = "person"


@dataclass(frozen=True, kw_only=True, slots=True)
class Extraction:
    """`short`: the conversation was too short to be read. `dropped`: facts beyond the limit."""

    facts: tuple[Fact, ...] = ()
    short: bool = False
    dropped: int = 0


@dataclass(frozen=True, slots=True)
class _Sentence:
    """`clear`: with who was spoken of in place of "she". `follows`: what came before it is of the same turn."""

    text: str
    clear: str
    before: str
    follows: bool
    turn: int
    voice: Voice
    at: datetime | None
    statements: tuple[Statement, ...]

    @property
    def remark(self) -> Remark:
        return remark(self.text, self.before, self.voice, self.statements)


@dataclass(frozen=True, slots=True)
class _Candidate:
    statement: Statement
    turn: int
    voice: Voice
    at: datetime | None
    words: Words
    quote: str
    explicit: bool = False

    @property
    def who(self) -> str:
        return self.voice.name


def extract_facts(
    turns: Sequence[Turn],
    *,
    existing: Sequence[str] = (),
    least: int = LEAST,
    most: int = MOST,
    characters: int = READ,
    assistants: Collection[str] = (),
) -> Extraction:
    """
    The facts in `turns`, in their order, without those that `existing` holds already.

    A conversation under `least` characters is skipped; only the first `characters` are read, and at most `most` facts are taken: the
    surest. They are chosen before they are compared with `existing`, so that a second call never brings up the next best.
    `assistants` are speakers that are no people; a turn's metadata may say so itself (`role`).
    """
    if sum(len(turn.speaker) + len(turn.text) + 3 for turn in turns) - 1 < least:
        return Extraction(short=True)
    distinct = _distinct(_candidates(turns, characters, assistants))
    candidates = _surest(distinct, most)
    existing_words = [word_sets(text) for text in existing]
    fresh = [
        candidate for candidate in candidates if not any(is_near(candidate.words, other) for other in existing_words)
    ]
    return Extraction(facts=tuple(_fact(candidate) for candidate in fresh), dropped=len(distinct) - len(candidates))


def voice_of(turn: Turn, assistants: Collection[str] = ()) -> Voice:
    """Who speaks in a turn, and their name if the speaker is not just an id."""
    role = turn.metadata.get("role")
    speaker = turn.speaker.strip()
    if role in ("tool", "system", "developer", "function") or (role != "user" and speaker.lower() in _NO_ONES):
        return Voice("other")
    if role == "assistant" or speaker in assistants or (role != "user" and speaker.lower() in _ASSISTANTS):
        return Voice("assistant")
    sender = turn.metadata.get("sender_name")
    name = sender.strip() if isinstance(sender, str) and sender.strip() else speaker
    is_name = len(name) <= 40 and _NAME.fullmatch(name) and name.lower() not in _NO_NAMES
    return Voice("person", name if is_name else "")


def read_turns(turns: Sequence[Turn], characters: int) -> Iterator[tuple[int, Turn, list[str]]]:
    """Each turn within the first `characters` with its own sentences, secrets marked; a turn that looks like an attack is left out."""
    remaining = characters
    for place, turn in enumerate(turns):
        remaining -= len(turn.speaker) + 2
        if remaining <= 0:
            return
        text = turn.text[:remaining]
        cut = len(text) < len(turn.text)
        remaining -= len(text) + 1
        clean = scrub(text).text
        if not is_attack(clean):
            yield place, turn, list(whole_sentences(clean) if cut else sentences(clean))


def _candidates(turns: Sequence[Turn], characters: int, assistants: Collection[str]) -> list[_Candidate]:
    utterances = list(islice(_sentences(turns, characters, assistants), SENTENCES))
    judgements = judge([sentence.remark for sentence in utterances])
    pairs = list(zip(utterances, judgements, strict=True))
    leaning = _leaning([judgement for sentence, judgement in pairs if sentence.voice.role == "person"])
    candidates: list[_Candidate] = []
    for sentence, judgement in pairs:
        if sentence.voice.role == "assistant":
            candidates += _of_assistant(sentence) if judgement.keep >= _HEARSAY else ()
            continue
        rest = _uncorrected(candidates, sentence)
        candidates = [*rest, *_of_person(sentence, judgement, leaning, corrects=len(rest) < len(candidates))]
    return candidates


def _uncorrected(candidates: list[_Candidate], sentence: _Sentence) -> list[_Candidate]:
    """Those that a sentence such as "sorry, Thursday" does not take back, be it worth keeping or not."""
    if not _CORRECTS.search(sentence.text):
        return candidates
    words = set(terms(sentence.text))
    return [
        old
        for old in candidates
        if sentence.turn - old.turn > _LATEST or words.isdisjoint(terms(old.quote)) or old.quote in sentence.text
    ]


def _sentences(turns: Sequence[Turn], characters: int, assistants: Collection[str]) -> Iterator[_Sentence]:
    about: dict[str, str] = {}
    before = ""
    story = False
    for place, turn, own_sentences in read_turns(turns, characters):
        voice = voice_of(turn, assistants)
        story = story or (voice.role == "person" and _FICTION.search(turn.text) is not None)
        if voice.role == "other":
            continue
        follows = False
        for text in own_sentences if not (story or _LETTER.match(turn.text)) else ():
            clear, about[turn.speaker] = _language(text).named(text, about.get(turn.speaker, ""))
            statements = tuple(statements_in(clear, voice))
            yield _Sentence(text, clear, before, follows, place, voice, turn.at, statements)
            before, follows = text, True
        before = turn.text


def remark(text: str, before: str, voice: Voice, statements: Sequence[Statement]) -> Remark:
    """A sentence as the judge sees it."""
    certain = is_well_formed(text) and are_certain(text, statements, voice, personal=False)
    return Remark(text, before, bool(statements), certain, _language(text).reserves(text))


def _leaning(judgements: Sequence[SentenceWorth]) -> float:
    """Whose the talk is, by all that people say in it: "we" of a family is no team."""
    odds = [max(min(judgement.personal, _MOST_ODDS), -_MOST_ODDS) for judgement in judgements]
    return sum(odds) / max(len(odds), 1)


def _of_assistant(sentence: _Sentence) -> Iterator[_Candidate]:
    if not are_certain(sentence.text, sentence.statements, sentence.voice, personal=False):
        return
    for statement in sentence.statements:
        points = _VAGUE.search(statement.text) is not None
        if not points and (dated := _dated(statement, sentence.at)) is not None:
            yield _candidate(sentence, *dated)


def _of_person(
    sentence: _Sentence, judgement: SentenceWorth, leaning: float, *, corrects: bool
) -> Iterator[_Candidate]:
    rules = sentence.statements
    text = _language(sentence.text).unasked(sentence.text)
    explicit = bool(rules) and text != sentence.text
    if not explicit and not _is_kept(sentence, judgement, corrects=corrects):
        return
    personal = judgement.personal + _SHARE * leaning > _PERSONAL or is_private(text)
    sure = EXPLICIT if explicit else max(round(judgement.keep, 2), CONFIDENCE)
    clear = _language(sentence.text).unasked(sentence.clear)
    dated = [_dated(_whose(statement, personal), sentence.at) for statement in rules]
    if explicit and not any(dated):
        return
    if are_certain(clear, rules, sentence.voice, personal=personal):
        for statement, at in filter(None, dated):
            surer = statement._replace(confidence=max(sure, statement.confidence))
            yield _candidate(sentence, surer, at, explicit=explicit)
        return
    scope: ScopeHint = "user" if personal else "workspace"
    category = rules[0].category if rules else "user_preference" if _LIKING.search(text) else "fact"
    verbatim = Statement(
        worded(text, sentence.voice, "" if explicit else sentence.before, follows=sentence.follows),
        category,
        rules[0].scope if rules and rules[0].scope == "agent" else scope,
        sure,
        topic=rules[0].topic if rules else "",
    )
    yield _candidate(sentence, *(_dated(verbatim, sentence.at) or (verbatim, None)), explicit=explicit)


def _is_kept(sentence: _Sentence, judgement: SentenceWorth, *, corrects: bool) -> bool:
    """`corrects`: it takes the place of one that was kept."""
    text, remark = sentence.text, sentence.remark
    plain = is_well_formed(text)
    strong = any(statement.strong for statement in sentence.statements)
    least = (0 if strong else _PLAIN) if plain and remark.proposed else _CORRECTED if corrects else _KEPT
    if judgement.keep < least or not SHORTEST <= len(text) <= 2 * LONGEST:
        return False
    if (plain and any(remark.reserves[:_VETOES])) or _ASIDE.search(text):
        return False
    is_question = text.rstrip("\"'”’) ").endswith(("?", "？"))
    if is_question or is_cut(text):
        return False
    # What has statements was found safe when they were read.
    return bool(sentence.statements) or not (is_suspect(text) or is_secret(text))


def is_private(text: str) -> bool:
    """Whether a sentence speaks of its speaker's family, home, health or money, whatever the judge thinks."""
    return _PRIVATE.search(text) is not None


def _whose(statement: Statement, personal: bool) -> Statement:
    return statement if statement.scope == "agent" else statement._replace(scope="user" if personal else "workspace")


def _candidate(sentence: _Sentence, statement: Statement, at: datetime | None, *, explicit: bool = False) -> _Candidate:
    return _Candidate(
        statement, sentence.turn, sentence.voice, at, word_sets(statement.text), bare(sentence.text), explicit
    )


def _dated(statement: Statement, said_at: datetime | None) -> tuple[Statement, datetime | None] | None:
    """With the date in place of "yesterday"; None if a statement needs its date and has none."""
    if said_at is None:
        return None if statement.dated else (statement, None)
    text, at = resolved(statement.text, said_at)
    if statement.dated and at is None:
        return None
    if statement.day and (day := meant(statement.day, said_at)) is not None:
        text, at = text + marked(day, chinese=bool(_HAN.search(text))), day.at
    return statement._replace(text=text), at


def statements_in(sentence: str, voice: Voice) -> list[Statement]:
    """The statements in one sentence that are sure enough and safe to keep."""
    if not SHORTEST <= len(sentence) <= 2 * LONGEST:
        return []
    candidates = [_weighed(statement, voice) for statement in _language(sentence).read(sentence, voice)]
    statements = [statement for statement in candidates if _is_worth(statement, voice)]
    # Few sentences have a statement: only these need the slower check of what must not be learned.
    return [] if not statements or is_suspect(sentence) or is_secret(sentence) else statements


def _weighed(statement: Statement, voice: Voice) -> Statement:
    """A tenth less for an assistant's word, and for "this" and "that", which point at something else."""
    doubts = (voice.role == "assistant") + bool(_VAGUE.search(statement.text))
    return statement._replace(confidence=round(statement.confidence - 0.1 * doubts, 2))


def _is_worth(statement: Statement, voice: Voice) -> bool:
    if statement.confidence < CONFIDENCE or len(statement.text) > LONGEST or _says_nothing(statement, voice):
        return False
    return (statement.strong or voice.role != "assistant") and not is_suspect(statement.text)


def _language(sentence: str) -> ModuleType:
    return chinese if _is_chinese(sentence) else english


def _is_chinese(sentence: str) -> bool:
    han = len(_HAN.findall(sentence))
    return han >= 3 or (han > 0 and _HAN.match(sentence.lstrip()) is not None)


def _says_nothing(statement: Statement, voice: Voice) -> bool:
    """A sentence that is hardly one, "Ana is Ana", or a name that is known already."""
    if len(_HAN.findall(statement.text)) + len(statement.text.split()) < 3:
        return True
    name = voice.name.lower()
    text = statement.text.lower()
    return bool(name) and (
        text in (f"{name} is {name}", f"{name}的名字是{name}", f"{name}是{name}") or text.endswith(f"name is {name}")
    )


def _distinct(candidates: Sequence[_Candidate]) -> list[_Candidate]:
    """Without repeats, and without what a later sentence says again, or gives another value of a topic that has one only."""
    distinct: list[_Candidate] = []
    for new in candidates:
        distinct = [old for old in distinct if not _is_over(old, new)]
        if not any(is_near(new.words, old.words) for old in distinct):
            distinct.append(new)
        # Each is compared with all before it: a flood of statements must not make that slow.
        if len(distinct) == CANDIDATES:
            break
    return distinct


def _is_over(old: _Candidate, new: _Candidate) -> bool:
    topic = new.statement.topic
    is_same = bool(topic) and old.statement.topic == topic
    return old.who == new.who and (is_same or old.quote in new.statement.text)


def _surest(candidates: list[_Candidate], most: int) -> list[_Candidate]:
    """What was to be remembered, then the facts of the highest confidence, the earlier of equals: `most` of them, in their order."""
    ranked = sorted(
        range(len(candidates)),
        key=lambda place: (not candidates[place].explicit, -candidates[place].statement.confidence, place),
    )
    return [candidates[place] for place in sorted(ranked[: max(most, 0)])]


def word_sets(text: str) -> Words:
    """As the limit is meant, and without marks: a full stop must not make a fact new, nor the name of who said it."""
    text = unattributed(text)
    return words(text), words(_MARKS.sub(" ", text))


def is_near(a: Words, b: Words) -> bool:
    return overlap(a[0], b[0]) > NEAR or overlap(a[1], b[1]) > NEAR


def _fact(candidate: _Candidate) -> Fact:
    statement = candidate.statement
    identity = f"{candidate.who or 'user'} {statement.topic}" if statement.topic else statement.text
    return Fact(
        text=statement.text,
        key=key_of(identity),
        category=statement.category,
        scope=statement.scope,
        confidence=statement.confidence,
        turn=candidate.turn,
        at=candidate.at,
        voice=candidate.voice.role,
    )


def key_of(text: str) -> str:
    """
    `auto:` and a slug of the text.

    A slug that left something out, letters other than Latin or what is beyond 60 characters, ends in eight digits of the text's hash: two
    facts never share a key.
    """
    name = slug(text)
    plain = normal_form(text, "NFKD")
    lossy = any(character.isalnum() and not character.isascii() for character in plain)
    if (lossy and not name.startswith("fact-")) or len(name) >= MAX_SLUG:
        digest = sha256(text.lower().encode("utf-8", "surrogatepass")).hexdigest()[:8]
        name = f"{name[: MAX_SLUG - 9].rstrip('-')}-{digest}"
    return f"{PREFIX}{name}"
