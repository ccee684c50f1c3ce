"""Commands that start quickly.

typer hands every option's value to pydantic, which takes as long to load as a whole search. But nothing given is
nothing, a text is a text, and a default is what it should be already: only other values take the long way.

`process_value` and `type_descriptor` are no documented parts of typer, and we need them: without them a `commonplace search` from a
cold shell, which `python -m bench shell` measures, loads pydantic for nothing.
"""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from typer.core import TyperCommand, TyperGroup


class QuickCommand(TyperCommand):
    def get_params(self, ctx: Any) -> list[Any]:
        return _shortened(super().get_params(ctx))


class QuickGroup(TyperGroup):
    def get_params(self, ctx: Any) -> list[Any]:
        return _shortened(super().get_params(ctx))


def _shortened(params: Sequence[Any]) -> list[Any]:
    """The parameters, each with the short way in front of its own."""
    for param in params:
        # A command is asked for its parameters more than once.
        if not isinstance(param.process_value, partial):
            param.process_value = partial(_value, param, param.process_value)
    return [*params]


def _value(param: Any, long_way: Callable[[Any, Any], Any], ctx: Any, value: Any) -> Any:
    if value is None and not param.required:
        value = () if param.multiple or param.nargs == -1 else None
    elif value is None or not _is_as_it_should_be(param, value):
        return long_way(ctx, value)
    return value if param.callback is None else param.callback(ctx, param, value)


def _is_as_it_should_be(param: Any, value: Any) -> bool:
    kind = getattr(getattr(param, "type_descriptor", None), "annotation", None)
    if kind is str:
        return isinstance(value, str)
    if kind == list[str]:
        return isinstance(value, Sequence) and len(value) > 0 and not isinstance(value, str)  # pyright: ignore[reportUnknownArgumentType]
    return value == param.default and not param.required
