"""Our tables: made and brought up to date when a store is opened, under a lock; never touched if they are not ours."""

from __future__ import annotations

import re
from dataclasses import dataclass
from importlib.resources import files

import psycopg
from psycopg import AsyncConnection, errors, sql
from psycopg.types import TypeInfo

from commonplace.errors import NotAStore, StoreError, StoreTooNew, StoreUnavailable
from commonplace.stores.postgres.address import DatabaseAddress
from commonplace.stores.postgres.connection import PACKAGE, Connection, meaning, rows, statements
from commonplace.stores.postgres.private_notes import bring_home

_SQL = statements("sql/schema.sql")
NOTES_AT_HOME = 12
"""Before this schema, private notes may lie in scopes of several persons."""
_FILE = re.compile(r"(\d{4})_\w+\.sql")
_NO_EXTENSION = (
    "The database has no pgvector, and this user may not install it. Install the pgvector package on the server, then "
    "run CREATE EXTENSION vector as a superuser."
)


@dataclass(frozen=True, kw_only=True, slots=True)
class Ready:
    """What a connection needs to know of a schema that is up to date."""

    halfvec: TypeInfo
    path: str


def migrations() -> list[tuple[int, str]]:
    """Number and SQL of each, in order."""
    sources = [(_FILE.fullmatch(file.name), file) for file in files(PACKAGE).joinpath("migrations").iterdir()]
    return sorted((int(match[1]), file.read_text(encoding="utf-8")) for match, file in sources if match)


def newest() -> int:
    return migrations()[-1][0]


async def prepare(address: DatabaseAddress) -> Ready:
    """
    Make the schema, or bring it up to date.

    Raises:
        StoreUnavailable: the server does not answer, or refuses this user.
        NotAStore: tables of the same names are there, and not ours.
        StoreTooNew: a newer Commonplace made them.
    """
    try:
        connection = await AsyncConnection.connect(address.conninfo, autocommit=True)
    except psycopg.OperationalError as error:
        raise _refused(error) from None
    async with connection:
        try:
            return await _prepare(connection, address.schema)
        except psycopg.Error as error:
            raise meaning(error) from error


def _refused(error: psycopg.OperationalError) -> StoreUnavailable:
    if isinstance(error, errors.InvalidPassword | errors.InvalidAuthorizationSpecification):
        return StoreUnavailable("The database refused the user or the password of the address.")
    if isinstance(error, errors.InvalidCatalogName):
        return StoreUnavailable("The server has no such database. Create it first, for instance with createdb.")
    return StoreUnavailable("The database cannot be reached. Check that the server runs and that the address is right.")


async def _prepare(connection: Connection, schema: str) -> Ready:
    beside = await _extension(connection)
    path = f'"{schema}", "{beside}"'
    await connection.execute("SELECT set_config('search_path', %s, false)", (path,))
    if await _version(connection, schema) < newest():
        await _migrate(connection, schema)
    halfvec = await TypeInfo.fetch(connection, "halfvec")
    if halfvec is None:
        raise StoreError("The database's pgvector is too old: halfvec came with version 0.7. Update the extension.")
    return Ready(halfvec=halfvec, path=path)


async def _extension(connection: Connection) -> str:
    extension_rows = await rows(connection, _SQL["extension"])
    if not extension_rows:
        try:
            await connection.execute(_SQL["make_extension"])
        except errors.UniqueViolation:
            pass  # Another daemon, starting beside this one, was faster.
        except (errors.InsufficientPrivilege, errors.FeatureNotSupported, errors.UndefinedFile) as error:
            raise StoreError(_NO_EXTENSION) from error
        extension_rows = await rows(connection, _SQL["extension"])
    if not extension_rows:
        raise StoreError(_NO_EXTENSION)
    return str(extension_rows[0][0])


async def _version(connection: Connection, schema: str) -> int:
    """The version of the tables there, 0 where there are none of ours nor in our way."""
    tables = {name for (name,) in await rows(connection, _SQL["tables"], {"schema": schema})}
    if "schema_version" not in tables:
        if tables & _our_tables():
            raise NotAStore(f"The schema {schema} holds tables that are not ours. Add ?schema=another to the address.")
        return 0
    try:
        [(version, ours)] = await rows(connection, _SQL["version"])
    except (errors.UndefinedColumn, errors.DatatypeMismatch, errors.UndefinedFunction):
        ours, version = False, 0
    if not ours:
        raise NotAStore(f"The schema {schema} belongs to another program. Add ?schema=another to the address.")
    if version > newest():
        raise StoreTooNew
    return int(version)


def _our_tables() -> set[str]:
    return made_since(0)


def made_since(version: int) -> set[str]:
    """The tables and views that came with later versions of the schema."""
    text = "".join(migration for number, migration in migrations() if number > version)
    return set(re.findall(r"CREATE (?:TABLE|VIEW) (\w+)", text))


async def _migrate(connection: Connection, schema: str) -> None:
    async with connection.transaction():
        await connection.execute(_SQL["one_migrator"], {"schema": schema})
        make = sql.SQL(_SQL["make_schema"].decode()).format(schema=sql.Identifier(schema))  # pyright: ignore[reportArgumentType] -- read from our own file
        await connection.execute(make)
        version = await _version(connection, schema)
        await connection.execute(_SQL["make_schema_version"])
        await _step_up(connection, version, newest())
        if version < NOTES_AT_HOME:
            await bring_home(connection)


async def _step_up(connection: Connection, version: int, target: int) -> None:
    for number, text in migrations():
        if version < number <= target:
            await connection.execute(text.encode())
            await connection.execute(_SQL["set_version"], {"version": number})


async def remake(connection: Connection, version: int) -> None:
    """Make our tables anew, empty, as the schema `version` had them. For the transaction of a restore."""
    objects = re.findall(r"CREATE (TABLE|VIEW|SEQUENCE|FUNCTION) (\w+)", "".join(text for _, text in migrations()))
    for kind, name in objects:
        drop = f'DROP {kind} IF EXISTS "{name}" CASCADE'
        await connection.execute(drop.encode())
    await connection.execute(_SQL["forget_versions"])
    await _step_up(connection, 0, version)


async def bring_forward(connection: Connection, version: int, *, sequences: bytes) -> None:
    """Bring what was restored up to date. `sequences` lets the counters go on after the highest number restored."""
    await _step_up(connection, version, newest())
    await connection.execute(sequences)
    if version < NOTES_AT_HOME:
        await bring_home(connection)
