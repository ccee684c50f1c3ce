import pytest

from commonplace.embedders.choose import make_embedder, make_embedders
from commonplace.embedders.sentence_transformers import available
from commonplace.errors import EmbedderUnavailable, InvalidInput

STATIC = "static-256.2"


def name_of(spec: str) -> str:
    embedder = make_embedder(spec, api_key="a-key")
    assert embedder is not None
    return embedder.name


@pytest.mark.parametrize(
    ("spec", "name"),
    [
        ("static", STATIC),
        (" static ", STATIC),
        ("openai:bge-m3@http://localhost:11434/v1", "openai:bge-m3"),
        ("openai:@cf/baai/bge-small@https://gateway.example/v1", "openai:@cf/baai/bge-small"),
        ("openai:text-embedding-3-small", "openai:text-embedding-3-small"),
        ("openai:text-embedding-3-large#1024@https://api.example/v1", "openai:text-embedding-3-large#1024"),
    ],
)
def test_an_embedder_is_made_of_a_few_words(spec: str, name: str) -> None:
    assert name_of(spec) == name


def test_none_is_no_embedder() -> None:
    assert make_embedder("none") is None
    assert make_embedders("none") == []


def test_several_are_made_in_order() -> None:
    made = make_embedders("static, openai:bge-m3@http://localhost:1/v1")

    assert [embedder.name for embedder in made] == [STATIC, "openai:bge-m3"]


@pytest.mark.parametrize("spec", ["", "statik", "openai:", "openai:m@ftp://x", "static-256", "sentence-transformers:"])
def test_an_unknown_form_is_refused(spec: str) -> None:
    with pytest.raises(InvalidInput) as refused:
        make_embedder(spec)

    assert refused.value.code == "invalid_input"


@pytest.mark.parametrize("spec", ["static,static", "static,none", "static,", ""])
def test_a_list_names_each_once_and_none_alone(spec: str) -> None:
    with pytest.raises(InvalidInput):
        make_embedders(spec)


@pytest.mark.skipif(available(), reason="the extra is installed")
def test_an_extra_that_is_missing_is_unavailable() -> None:
    with pytest.raises(EmbedderUnavailable):
        make_embedder("sentence-transformers:all-MiniLM-L6-v2")
