"""The notebooks are what their README says: whole, labelled, in two halves."""

from __future__ import annotations

from collections import Counter

from bench.small import notebook, strangers

KINDS = {"plain": 3, "paraphrase": 2, "unanswerable-near": 2, "unrelated": 1}


def test_each_half_has_its_notebooks_and_each_notebook_its_questions() -> None:
    for language, count in (("en", 20), ("zh", 10)):
        for half in ("development", "held-back"):
            rows = strangers(language, half)
            assert len(rows) == count
            for row in rows:
                assert Counter(question["kind"] for question in row["questions"]) == KINDS


def test_an_answer_is_a_note_and_only_answerable_questions_have_one() -> None:
    for language in ("en", "zh"):
        for row in strangers(language, "development"):
            world, kinds = notebook(row)
            names = {name for name, _ in world.notes}
            for kind, questions in kinds.items():
                assert all(question.evidence <= names for question in questions)
                assert all(bool(question.evidence) == (kind in ("plain", "paraphrase")) for question in questions)
