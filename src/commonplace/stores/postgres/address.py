"""Where a PostgreSQL store is. The address may hold a password, so nothing here repeats it."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

import psycopg
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from commonplace.errors import InvalidInput

DEFAULT_SCHEMA = "commonplace"
_IDENTIFIER = re.compile(r"[a-z_][a-z0-9_]{0,62}")
_SANE = {
    "application_name": "commonplace",
    "connect_timeout": "10",
    "keepalives_idle": "30",
    "keepalives_interval": "10",
    "keepalives_count": "3",
}


@dataclass(frozen=True, kw_only=True, slots=True)
class DatabaseAddress:
    """What to connect with, and the schema in which our tables live (`?schema=…`, `commonplace` unless said)."""

    conninfo: str = field(repr=False)
    schema: str


def parse_address(address: str) -> DatabaseAddress:
    """
    Read `postgresql://user:password@host:5432/database?schema=commonplace`.

    Raises:
        InvalidInput: it is not such an address.
    """
    head, _, query = address.partition("?")
    options = query.split("&") if query else []
    schemas = [option.removeprefix("schema=") for option in options if option.startswith("schema=")]
    rest = "&".join(option for option in options if not option.startswith("schema="))
    parameters = _read(f"{head}?{rest}") if head.startswith(("postgresql://", "postgres://")) else None
    if parameters is None:
        raise InvalidInput("The address is not one of PostgreSQL. Write it as postgresql://user@host:5432/database.")
    schema = schemas[-1] if schemas else DEFAULT_SCHEMA
    if not _IDENTIFIER.fullmatch(schema) or schema.startswith("pg_") or schema == "public":
        raise InvalidInput(
            "The schema in the address must be a name of its own: small letters, digits and underscores, not public."
        )
    return DatabaseAddress(conninfo=make_conninfo(**{**_SANE, **parameters}), schema=schema)


def _read(uri: str) -> dict[str, str] | None:
    try:
        return {name: str(value) for name, value in conninfo_to_dict(uri).items() if value is not None}
    except psycopg.ProgrammingError:
        # The driver's message quotes the address, so it must not travel with ours.
        return None
