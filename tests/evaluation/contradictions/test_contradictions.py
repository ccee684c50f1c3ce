"""What a search says of contradicting notes, on the half that the rules were tuned on. The held-back half is not for tests."""

from bench.contradictions import measure_all


def test_contradictions_are_named_and_other_notes_on_the_subject_are_not() -> None:
    both = measure_all(["development"])[-1]

    assert both["language"] == "both"
    assert both["contradiction named"] >= 0.8
    assert both["named by mistake"] <= 0.1
    assert both["person before web"] >= 0.9
