"""Checks on the evaluation set itself: its counts, its references and its word overlap.

Nothing here runs the product. The overlap checks are simple on purpose: they compare surface
forms, so that a question marked ``"overlap": false`` cannot be answered by matching words.
"""

from __future__ import annotations

import json
import re
from collections import Counter, defaultdict
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

HERE = Path(__file__).parent
LANGUAGES = ("english", "chinese")
SCOPES = {
    "english": {"workspace:web", "user:mira"},
    "chinese": {"workspace:商城", "user:小林"},
}
MIN_RECORDS = 320
MIN_QUESTIONS = 105
MIN_WITHOUT_OVERLAP = 36

Line = dict[str, Any]

ENGLISH_STOP = frozenset(
    """
    a about above after again against all almost along already also although always am
    among an and another any anybody anyone anything anywhere are around as at away be because been
    before being below between both but by can cannot could did do does doing done down during each
    either else ever every everybody everyone everything few for from get gets getting given go goes
    going gone got had has have having he her here hers herself him himself his how i if in into is
    it its itself just let like ll made make makes making many may me might mine more most much must
    my myself near need needs never no nobody none nor not nothing now of off often on once one ones
    only onto or other others our ours out over own per please rather re s same shall she should
    since so some somebody someone something such t than that the their theirs them themselves then
    there these they thing things this those though through till to too under until up upon us
    ve very was we were what when where whether which while who whoever whom whose why will with
    within without would yes yet you your yours
    """.split()
)
ENGLISH_SUFFIXES = (
    "ations", "ation", "ments", "ment", "ings", "ing", "ness", "ers", "er",
    "ied", "ies", "ed", "es", "ly", "s", "y", "e",
)  # fmt: skip

# Function words of Chinese: pronouns, question words, conjunctions, adverbs and modal verbs. Words
# of several characters are cut out of a text before its bigrams are taken; of the single characters
# only a bigram made of two of them is left out, so that 会议 and 用户 still count.
CHINESE_FUNCTION_WORDS = (
    "为什么", "什么时候", "是不是", "有没有", "能不能", "要不要", "什么", "怎么样", "怎么办",
    "怎么", "怎样", "哪里", "哪儿", "哪个", "哪些", "哪位", "哪一", "哪天", "哪种", "多少", "多久",
    "几个", "我们", "你们", "他们", "她们", "它们", "咱们", "大家", "自己", "这个", "那个", "这些",
    "那些", "这里", "那里", "这样", "那样", "这次", "那次", "一个", "一下", "一些", "可以", "应该",
    "需要", "必须", "不能", "不要", "不会", "不是", "没有", "因为", "所以", "如果", "但是", "而且",
    "还是", "或者", "以及", "已经", "之前", "之后", "以前", "以后", "时候", "的话", "就是", "都是",
    "也是", "只有", "只能", "最多", "最少",
)  # fmt: skip
CHINESE_FUNCTION = re.compile("|".join(sorted(CHINESE_FUNCTION_WORDS, key=len, reverse=True)))
CHINESE_FUNCTION_CHARACTERS = frozenset(
    "谁的了吗呢吧是在和与把被给对让就都也还又很太要会能得着过这那我你他她它您哪几从到跟用有没不再才只最个"
)
HAN_RUN = re.compile(r"[\u3400-\u4dbf\u4e00-\u9fff]+")
LATIN_WORD = re.compile(r"[a-z0-9]+")


def read(language: str) -> list[Line]:
    text = (HERE / f"{language}.jsonl").read_text(encoding="utf-8")
    return [json.loads(line) for line in text.splitlines()]


def records(language: str) -> list[Line]:
    return [line for line in read(language) if line["type"] == "record"]


def questions(language: str) -> list[Line]:
    return [line for line in read(language) if line["type"] == "question"]


def stem(word: str) -> str:
    """A crude stem: suffixes are stripped while at least three letters remain."""
    if not word.isalpha():
        return word
    stripped = True
    while stripped:
        stripped = False
        for suffix in ENGLISH_SUFFIXES:
            if word.endswith(suffix) and len(word) - len(suffix) >= 3:
                word = word[: -len(suffix)]
                stripped = True
                break
    if len(word) > 3 and word[-1] == word[-2]:
        word = word[:-1]
    return word


def english_words(text: str) -> set[str]:
    """The stems of the content words, names and numbers of an English text."""
    words = LATIN_WORD.findall(text.lower())
    return {stem(word) for word in words if word not in ENGLISH_STOP}


def chinese_words(text: str) -> set[str]:
    """The bigrams of Han characters, and the Latin words and numbers, of a Chinese text."""
    found = set(LATIN_WORD.findall(text.lower()))
    for run in HAN_RUN.findall(text):
        for piece in CHINESE_FUNCTION.split(run):
            bigrams = {piece[i : i + 2] for i in range(len(piece) - 1)}
            found.update(b for b in bigrams if not CHINESE_FUNCTION_CHARACTERS.issuperset(b))
    return found


def content_words(language: str, text: str) -> set[str]:
    return english_words(text) if language == "english" else chinese_words(text)


def test_the_word_checks_find_forms_of_a_word() -> None:
    assert stem("deploys") == stem("deployed") == stem("deploying") == stem("deployment")
    assert stem("stopped") == stem("stop")
    assert stem("parties") == stem("party")
    assert english_words("Where is it?") == set()
    assert chinese_words("我们的会议 db-1") == {"会议", "db", "1"}


@pytest.mark.parametrize("language", LANGUAGES)
def test_records_come_before_questions_and_nothing_else_is_there(language: str) -> None:
    types = [line["type"] for line in read(language)]
    assert types == ["record"] * types.count("record") + ["question"] * types.count("question")


@pytest.mark.parametrize("language", LANGUAGES)
def test_there_are_enough_records_and_questions(language: str) -> None:
    asked = questions(language)
    without = [question for question in asked if not question["overlap"]]
    assert len(records(language)) >= MIN_RECORDS
    assert len(asked) >= MIN_QUESTIONS
    assert len(without) >= MIN_WITHOUT_OVERLAP
    assert 3 * len(without) >= len(asked)


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_third_of_the_records_are_turns(language: str) -> None:
    kinds = Counter(record["kind"] for record in records(language))
    assert set(kinds) == {"fact", "note", "turn"}
    assert 3 * kinds["turn"] >= kinds.total()


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_line_has_the_expected_keys(language: str) -> None:
    plain = {"type", "id", "scope", "kind", "text"}
    for record in records(language):
        turn = record["kind"] == "turn"
        wanted = plain | {"session", "position", "speaker", "at"} if turn else plain
        assert set(record) == wanted, record["id"]
    for question in questions(language):
        assert set(question) == {"type", "id", "text", "answers", "overlap"}, question["id"]
        assert isinstance(question["overlap"], bool), question["id"]


@pytest.mark.parametrize("language", LANGUAGES)
def test_both_scopes_are_used_and_no_other(language: str) -> None:
    assert {record["scope"] for record in records(language)} == SCOPES[language]


@pytest.mark.parametrize("language", LANGUAGES)
def test_texts_are_not_empty_and_not_repeated(language: str) -> None:
    texts = [line["text"] for line in read(language)]
    assert all(text and text == text.strip() for text in texts)
    assert [text for text, count in Counter(texts).items() if count > 1] == []


def test_ids_are_unique() -> None:
    for language in LANGUAGES:
        ids = [line["id"] for line in read(language)]
        assert len(ids) == len(set(ids))
    english = {record["id"] for record in records("english")}
    assert english.isdisjoint(record["id"] for record in records("chinese"))


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_answer_is_a_record(language: str) -> None:
    known = {record["id"] for record in records(language)}
    for question in questions(language):
        answers = question["answers"]
        assert 1 <= len(answers) <= 2, question["id"]
        assert len(answers) == len(set(answers)), question["id"]
        assert known.issuperset(answers), question["id"]


@pytest.mark.parametrize("language", LANGUAGES)
def test_turns_of_a_session_are_in_order(language: str) -> None:
    sessions: dict[str, list[Line]] = defaultdict(list)
    for record in records(language):
        if record["kind"] == "turn":
            sessions[record["session"]].append(record)
    for name, turns in sessions.items():
        assert 4 <= len(turns) <= 12, name
        assert [turn["position"] for turn in turns] == list(range(1, len(turns) + 1)), name
        assert len({turn["scope"] for turn in turns}) == 1, name
        assert all(turn["speaker"] for turn in turns), name
        times = [datetime.fromisoformat(turn["at"]) for turn in turns]
        assert all(time.tzinfo is not None for time in times), name
        assert times == sorted(set(times)), name


@pytest.mark.parametrize("language", LANGUAGES)
def test_questions_without_overlap_share_no_content_word_with_their_answers(language: str) -> None:
    texts = {record["id"]: record["text"] for record in records(language)}
    shared = {}
    for question in questions(language):
        if question["overlap"]:
            continue
        asked = content_words(language, question["text"])
        for answer in question["answers"]:
            common = asked & content_words(language, texts[answer])
            if common:
                shared[question["id"], answer] = (sorted(common), question["text"], texts[answer])
    assert shared == {}


@pytest.mark.parametrize("language", LANGUAGES)
def test_questions_with_overlap_share_a_content_word_with_each_answer(language: str) -> None:
    texts = {record["id"]: record["text"] for record in records(language)}
    apart = [
        (question["id"], answer, question["text"], texts[answer])
        for question in questions(language)
        if question["overlap"]
        for answer in question["answers"]
        if not content_words(language, question["text"]) & content_words(language, texts[answer])
    ]
    assert apart == []


@pytest.mark.parametrize("language", LANGUAGES)
def test_scopes_and_kinds_all_hold_answers(language: str) -> None:
    """The answers are spread: no scope and no kind of record is there only to distract."""
    by_id = {record["id"]: record for record in records(language)}
    answers = [by_id[answer] for question in questions(language) for answer in question["answers"]]
    assert {answer["scope"] for answer in answers} == SCOPES[language]
    assert {answer["kind"] for answer in answers} == {"fact", "note", "turn"}
    assert len({answer["id"] for answer in answers}) < len(by_id), "some records only distract"
