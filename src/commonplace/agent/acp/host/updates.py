"""
What a hosted agent tells, read leniently: agents send fields that nobody defined, leave out what they should send, and mean the same
thing in several ways. Whatever is not as it should be counts as not said.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeAlias, cast

from commonplace.agent.tools.tool import one_line
from commonplace.values.session_state import SessionMode

Fields: TypeAlias = Mapping[str, Any]
NONE: Final[Fields] = {}
_MOST_OPTIONS: Final = 200
_NAME: Final = 200
_MOST_TOKENS: Final = 10**12
_OUTPUTS: Final = ("output", "stdout", "aggregated_output", "formatted_output", "text", "content", "error", "stderr")


def fields(value: Any) -> Fields:
    """An object; empty if it is none."""
    return cast(Fields, value) if isinstance(value, dict) else NONE


def entries(value: Any) -> Sequence[Fields]:
    """The objects of a list; none if it is no list."""
    return (
        [fields(entry) for entry in cast(list[Any], value) if isinstance(entry, dict)]
        if isinstance(value, list)
        else ()
    )


def text(value: Any) -> str:
    return value if isinstance(value, str) else ""


def count(value: Any) -> int:
    """A number of tokens; 0 for whatever is none."""
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= _MOST_TOKENS else 0


def block_text(block: Any) -> str:
    """A piece of content as a person reads it; what cannot be read is named."""
    content = fields(block)
    match content.get("type"):
        case "text":
            return text(content.get("text"))
        case "resource_link":
            return f"[{one_line(text(content.get('name')) or 'file')}]({one_line(text(content.get('uri')), 1_000)})"
        case "resource":
            resource = fields(content.get("resource"))
            return text(resource.get("text")) or f"[{one_line(text(resource.get('uri')))}, not shown]"
        case str() as kind:
            return f"[{one_line(kind, 40)}, not shown]"
        case _:
            return ""


def output_text(output: Any) -> str:
    """The raw output of a tool, whose shape every agent has its own of."""
    if isinstance(output, str):
        return output
    values = fields(output)
    parts = [part for name in _OUTPUTS if isinstance(part := values.get(name), str) and part.strip()]
    if parts:
        return "\n".join(dict.fromkeys(part.rstrip() for part in parts))
    return "" if output in (None, {}, []) or values else json.dumps(output, ensure_ascii=False, default=str)


@dataclass(frozen=True, kw_only=True, slots=True)
class HostedOptions:
    """
    What the session of an agent is set to, and may be set to. `mode_option` and `model_option` are the ids of the options that say so, None
    where the protocol has a method of its own for it.
    """

    mode: str | None = None
    modes: tuple[SessionMode, ...] = ()
    model: str | None = None
    models: tuple[str, ...] = ()
    mode_option: str | None = None
    model_option: str | None = None


def read_options(answer: Fields, before: HostedOptions | None = None) -> HostedOptions:
    """From the answer to `session/new` and its like, or from a `config_option_update`; what it leaves out is as `before`."""
    before = before or HostedOptions()
    modes, models = fields(answer.get("modes")), fields(answer.get("models"))
    by_category = {text(option.get("category")): option for option in entries(answer.get("configOptions"))}
    mode_choice, model_choice = by_category.get("mode"), by_category.get("model")
    mode, mode_list, mode_option = before.mode, before.modes, before.mode_option
    model, model_list, model_option = before.model, before.models, before.model_option
    if modes:
        available = entries(modes.get("availableModes"))
        mode, mode_list, mode_option = _current(modes, "currentModeId"), _modes(available, "id"), None
    elif mode_choice is not None:
        mode, mode_list = _current(mode_choice, "currentValue"), _modes([*_values(mode_choice)], "value")
        mode_option = text(mode_choice.get("id"))
    if model_choice is not None:
        model, model_list = _current(model_choice, "currentValue"), _ids([*_values(model_choice)], "value")
        model_option = text(model_choice.get("id"))
    elif models:
        model, model_list = _current(models, "currentModelId"), _ids(entries(models.get("availableModels")), "modelId")
        model_option = None
    return HostedOptions(
        mode=mode, modes=mode_list, model=model, models=model_list, mode_option=mode_option, model_option=model_option
    )


def _values(option: Fields) -> Iterator[Fields]:
    """Those of a choice; some agents put them into groups."""
    for value in entries(option.get("options")):
        if "value" in value:
            yield value
        else:
            yield from entries(value.get("options"))


def _current(values: Fields, name: str) -> str | None:
    return text(values.get(name))[:_NAME] or None


def _ids(values: Sequence[Fields], name: str) -> tuple[str, ...]:
    ids = (text(value.get(name)) for value in values[:_MOST_OPTIONS])
    return tuple(dict.fromkeys(id_ for id_ in ids if id_ and len(id_) <= _NAME and id_.isprintable()))


def _modes(values: Sequence[Fields], name: str) -> tuple[SessionMode, ...]:
    by_id = {text(value.get(name)): value for value in reversed(values)}
    return tuple(
        SessionMode(
            id=id_,
            name=one_line(text(by_id[id_].get("name")) or id_, 80),
            description=one_line(text(by_id[id_].get("description"))),
        )
        for id_ in _ids(values, name)
    )
