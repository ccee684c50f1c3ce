import asyncio
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from commonplace.embedders import static
from commonplace.embedders.static import TOKENIZER, StaticEmbedder
from commonplace.embedders.vocabulary import Vocabulary
from commonplace.errors import EmbedderUnavailable

pytestmark = pytest.mark.anyio


@pytest.fixture(scope="module")
def embedder() -> StaticEmbedder:
    return StaticEmbedder()


@pytest.fixture(scope="module")
def vocabulary() -> Vocabulary:
    return Vocabulary.read(TOKENIZER)


@pytest.fixture(scope="module")
def tokenizer() -> Any:
    return pytest.importorskip("tokenizers").Tokenizer.from_file(str(TOKENIZER))


async def test_each_text_is_a_row_of_length_one_and_an_empty_one_is_zero(embedder: StaticEmbedder) -> None:
    rows = await embedder.embed(["How do we deploy?", "", "我们每周五发布", "😀"])

    assert rows.shape == (4, embedder.dimension) == (4, 256)
    assert rows.dtype == np.float32
    assert np.allclose(np.linalg.norm(rows, axis=1), [1, 0, 1, 1], atol=1e-5)


async def test_no_texts_are_no_rows(embedder: StaticEmbedder) -> None:
    assert (await embedder.embed([])).shape == (0, 256)


async def test_what_means_the_same_is_nearer_than_what_does_not(embedder: StaticEmbedder) -> None:
    question, same, other = await embedder.embed(
        ["car repair shop", "automobile mechanic garage", "chocolate cake recipe"]
    )

    assert question @ same > question @ other + 0.2


async def test_case_and_width_do_not_matter(embedder: StaticEmbedder) -> None:
    rows = await embedder.embed(["Deploy ABC", "deploy abc", "ｄｅｐｌｏｙ ＡＢＣ"])

    assert np.array_equal(rows[0], rows[1])
    assert np.array_equal(rows[0], rows[2])


async def test_a_text_has_the_same_vector_alone_and_among_many_and_whichever_table_it_comes_from() -> None:
    texts = [f"note {n}: we ship on Fridays and Ann reviews change {n * 7}" for n in range(12_000)]
    alone, many = StaticEmbedder(), StaticEmbedder()
    first = await alone.embed(texts[:5])

    rows = await many.embed(texts)
    later = await many.embed(texts[:5])

    assert np.array_equal(first, rows[:5])
    assert np.array_equal(first, later)


async def test_many_ask_at_once_before_it_is_loaded() -> None:
    fresh = StaticEmbedder()

    answers = await asyncio.gather(*(fresh.embed([f"text {n}"]) for n in range(20)))

    assert np.array_equal(np.concatenate(answers), await fresh.embed([f"text {n}" for n in range(20)]))


async def test_the_name_says_size_and_recipe(embedder: StaticEmbedder) -> None:
    assert embedder.name == "static-256.2"


async def test_in_a_tree_that_was_never_built_it_is_unavailable_and_says_what_is_missing(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(static, "TABLE", tmp_path / "table.safetensors")

    with pytest.raises(EmbedderUnavailable) as refused:
        StaticEmbedder()

    assert refused.value.details == {"file": "table.safetensors"}


def test_tokens_are_counted_by_the_same_vocabulary(embedder: StaticEmbedder) -> None:
    assert embedder.count_tokens("") == 0
    assert embedder.count_tokens("hello world") == 2
    assert embedder.count_tokens("我们") == 3


def test_no_entry_has_a_space_after_its_first_letter(vocabulary: Vocabulary) -> None:
    assert not [entry for entry in vocabulary.entries if "▁" in entry.lstrip("▁")]


def test_characters_of_unspaced_scripts_stand_alone(vocabulary: Vocabulary) -> None:
    alone = [
        entry
        for entry in vocabulary.entries
        if len(entry) > 1 and any("\u2e80" <= c <= "\ud7ff" or "\uf900" <= c <= "\ufaff" or c > "\uffff" for c in entry)
    ]

    assert not alone
    assert not [entry for entry in vocabulary.entries if "\n" in entry]


@st.composite
def spelled(draw: st.DrawFn, entries: list[str]) -> str:
    """Text of the vocabulary's own entries, runs of one letter, and anything else."""
    part = st.one_of(
        st.integers(0, len(entries) - 1).map(entries.__getitem__),
        st.tuples(st.sampled_from(" \n\ta1我=-é"), st.integers(1, 20)).map(lambda run: run[0] * run[1]),
        st.text(alphabet=st.characters(exclude_categories=["Cs"]), max_size=5),
    )
    return "".join(draw(st.lists(part, max_size=12))).replace("▁", " ")


@settings(max_examples=300)
@given(data=st.data())
def test_it_cuts_every_text_as_the_general_tokenizer_does(
    data: st.DataObject, vocabulary: Vocabulary, tokenizer: Any
) -> None:
    text = data.draw(spelled(list(vocabulary.entries)[259:]))
    for special in ("<s>", "</s>", "<unk>"):
        text = text.replace(special, "")

    expected = tokenizer.encode(text, add_special_tokens=False).ids

    assert vocabulary.numbers(text) == expected
    assert vocabulary.numbers(text) == expected


@given(text=st.text(alphabet=st.characters()))
def test_any_text_has_a_vector(text: str, embedder: StaticEmbedder) -> None:
    rows = embedder.embed_now([text])

    assert np.isfinite(rows).all()
