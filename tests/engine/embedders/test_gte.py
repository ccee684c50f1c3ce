"""gte-small: the published model where npm has put it, else a tiny one of its shape."""

import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from commonplace.embedders.choose import make_embedders
from commonplace.embedders.gte import TOKENIZER, WEIGHTS, GteEmbedder
from commonplace.embedders.models import add_model
from commonplace.errors import EmbedderUnavailable
from commonplace.testing.gte import published_model, write_tiny_model

pytestmark = pytest.mark.anyio

PUBLISHED = published_model(Path(__file__).parents[3])
needs_the_model = pytest.mark.skipif(PUBLISHED is None, reason="`make test` fetches the model; it is not here")


@pytest.fixture
def tiny(tmp_path: Path) -> GteEmbedder:
    return GteEmbedder(write_tiny_model(tmp_path / "models" / "gte-small"))


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of models with the published one."""
    folder = tmp_path_factory.mktemp("models")
    add_model("gte-small", folder, PUBLISHED)
    return folder


async def test_a_text_has_the_same_vector_alone_and_among_others(tiny: GteEmbedder) -> None:
    texts = ["the cat", "deploy the key to the safe " * 20, "Ann", "nuts"]

    together = await tiny.embed(texts)
    alone = np.concatenate([await tiny.embed([text]) for text in texts])

    assert np.array_equal(together, alone)
    assert np.allclose(np.linalg.norm(together, axis=1), 1)


async def test_what_it_cannot_read_has_no_vector(tiny: GteEmbedder) -> None:
    rows = await tiny.embed(["", "  ", "花生过敏的人是谁?", "ピーナッツアレルギー", "the cat"])

    assert [bool(row.any()) for row in rows] == [False, False, False, False, True]


async def test_a_text_longer_than_the_model_reads_is_cut(tiny: GteEmbedder) -> None:
    rows = await tiny.embed(["cat " * 512 + "dog " * 5_000, "cat"])

    assert rows[0] @ rows[1] > 0.999


async def test_nothing_to_embed_gives_no_rows(tiny: GteEmbedder) -> None:
    assert (await tiny.embed([])).shape == (0, 384)


async def test_it_works_again_after_it_was_closed(tiny: GteEmbedder) -> None:
    before = await tiny.embed(["the cat"])
    await tiny.aclose()
    await tiny.aclose()

    assert np.array_equal(await tiny.embed(["the cat"]), before)


def test_a_model_that_was_not_added_is_named_with_the_command_that_adds_it(tmp_path: Path) -> None:
    with pytest.raises(EmbedderUnavailable) as refused:
        GteEmbedder(tmp_path / "gte-small")

    assert refused.value.details == {"model": "gte-small"}


async def test_damaged_weights_are_unavailable(tmp_path: Path) -> None:
    folder = write_tiny_model(tmp_path / "gte-small")
    (folder / WEIGHTS).write_bytes(b"no model")

    with pytest.raises(EmbedderUnavailable):
        await GteEmbedder(folder).embed(["the cat"])


def test_the_static_embedder_stands_beside_it(tmp_path: Path) -> None:
    write_tiny_model(tmp_path / "gte-small")

    names = [embedder.name for embedder in make_embedders("gte-small", models=tmp_path)]

    assert names == ["static-256.2", "gte-small-int8-1"]


def test_no_client_of_a_hub_is_imported(tmp_path: Path) -> None:
    folder = write_tiny_model(tmp_path / "gte-small")
    script = (
        "import sys; from pathlib import Path; from commonplace.embedders.gte import GteEmbedder\n"
        f"GteEmbedder(Path({str(folder)!r})).embed_now(['the cat'])\n"
        "print(sorted(sys.modules.keys() & {'huggingface_hub', 'requests', 'torch', 'transformers', 'onnx'}))"
    )

    ended = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=30, check=True)

    assert ended.stdout.strip() == "[]"


# ---- the published model


@needs_the_model
async def test_a_question_is_nearest_to_the_answer_it_shares_no_word_with(models: Path) -> None:
    embedder = GteEmbedder(models / "gte-small")
    texts = ["Which food must she avoid?", "Ann is allergic to nuts.", "The deploy key is in the safe."]

    asked, answer, other = await embedder.embed(texts)

    assert asked @ answer > asked @ other + 0.03
    await embedder.aclose()


@needs_the_model
async def test_eight_bits_say_what_the_published_weights_say(models: Path, tmp_path: Path) -> None:
    assert PUBLISHED is not None
    whole = tmp_path / "gte-small"
    whole.mkdir()
    shutil.copy(PUBLISHED / "onnx" / "model.onnx", whole / WEIGHTS)
    shutil.copy(PUBLISHED / TOKENIZER, whole / TOKENIZER)
    texts = ["We moved the standup to nine.", "Rolling back takes four minutes.", "Bo prefers tea. " * 30]

    small = await GteEmbedder(models / "gte-small").embed(texts)
    large = await GteEmbedder(whole).embed(texts)

    assert np.einsum("ij,ij->i", small, large).min() > 0.99
