"""The double that ships for tests of whatever asks a model."""

from collections.abc import Mapping

import pytest

from commonplace.errors import ModelMalformed, ModelUnavailable
from commonplace.ports.models import LanguageModel, Tool
from commonplace.testing.models import MovedFact, ScriptedModel, question, task

pytestmark = pytest.mark.anyio


async def test_a_scripted_model_says_its_lines_in_order() -> None:
    model: LanguageModel = ScriptedModel({"text": "a", "confidence": 1}, MovedFact(text="b", confidence=0.5), "Done.")

    first, second, last = await model.answer(question()), await model.answer(question()), await model.act(task(), [])

    assert (first.value, second.value.text, last.text) == (MovedFact(text="a", confidence=1), "b", "Done.")


async def test_a_scripted_model_uses_the_tools_it_is_given() -> None:
    kept: list[str] = []

    async def keep(text: str) -> str:
        kept.append(text)
        return "kept"

    async def working(tools: Mapping[str, Tool]) -> str:
        return await tools["keep"]("tea")

    done = await ScriptedModel(working).act(task(), [keep])

    assert (done.text, done.finished, kept) == ("kept", True, ["tea"])


async def test_a_scripted_model_fails_as_it_is_told_and_remembers_what_it_was_asked() -> None:
    model = ScriptedModel(ModelUnavailable(), {"text": "no confidence"})

    with pytest.raises(ModelUnavailable):
        await model.answer(question("First"))
    with pytest.raises(ModelMalformed):
        await model.answer(question("Second"))

    assert [asked.prompt for asked in model.tasks] == ["First", "Second"]
