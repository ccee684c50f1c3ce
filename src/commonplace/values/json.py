"""
How values look as JSON. `wire` makes its TypeAdapters of the values themselves.

Nothing here imports pydantic at the top: it asks a class for its schema when it builds an adapter, and is loaded by then.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any, ClassVar, Final, TypeAlias, Union

from commonplace.errors import CommonplaceError


class _AnyJson:
    """Whatever JSON holds is taken as it is: the parser has looked at it already."""

    def __get_pydantic_core_schema__(self, source: Any, handler: Any) -> Any:
        del source, handler
        from pydantic_core import core_schema  # noqa: PLC0415 - loaded by whoever asks, see above

        return core_schema.any_schema()


_ANY: Final = _AnyJson()

# Evaluated here, so that every module that imports it can: only what names `Json` itself waits.
Json: TypeAlias = Annotated[Union[bool, int, float, str, "list[Json]", "dict[str, Json]", None], _ANY]


class _Natural:
    def __get_pydantic_core_schema__(self, source: Any, handler: Any) -> Any:
        del source, handler
        from pydantic_core import core_schema  # noqa: PLC0415 - loaded by whoever asks, see above

        return core_schema.int_schema(ge=0)


Natural: TypeAlias = Annotated[int, _Natural()]
"""A whole number that is not negative: a count, a size."""


class JsonObject:
    """The base of a value that is sent as it is. Every field is there, whatever its default; a span of time is in seconds."""

    __slots__ = ()
    __pydantic_config__: ClassVar[dict[str, Any]] = {
        "json_schema_serialization_defaults_required": True,
        "ser_json_timedelta": "float",
    }


class SparseObject:
    """As `JsonObject`, but a door may leave out what is null: not every field is always there."""

    __slots__ = ()
    __pydantic_config__: ClassVar[dict[str, Any]] = {"ser_json_timedelta": "float"}


def written_as_text(of: type, parse: Callable[[Any], object]) -> Any:
    """The schema of a value that is a text in JSON: `str` writes it, `parse` reads it."""
    from pydantic_core import core_schema  # noqa: PLC0415 - loaded by whoever asks, see above

    def read(text: object) -> object:
        try:
            return text if isinstance(text, of) else parse(text)
        except CommonplaceError as error:
            raise ValueError(error.message) from None

    return core_schema.no_info_plain_validator_function(
        read,
        json_schema_input_schema=core_schema.str_schema(),
        serialization=core_schema.to_string_ser_schema(),
    )
