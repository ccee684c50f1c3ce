"""
Every setting, described once.

What a caller gives wins over the environment (`COMMONPLACE_…`), the environment over the workspace's file
(`<workspace>/.commonplace/config.toml`), that over the home folder's (`~/.commonplace/config.toml`). `config.json` is
read where there is no `config.toml`; its names may be in camel case. The workspace is the git root around the current
folder, else the folder itself. A workspace's file comes with whatever was cloned there, so it may choose a file as the store
and an embedder, but neither keys, nor a server that texts are sent to, nor a model to be loaded from a folder, which can
run code.
"""

from __future__ import annotations

import json
import os
import re
import tomllib
from pathlib import Path
from typing import Final, cast

from pydantic import Field, SecretStr, ValidationError, field_validator
from pydantic_settings import (
    BaseSettings,
    InitSettingsSource,
    PydanticBaseSettingsSource,
    SettingsConfigDict,
)

from commonplace.errors import CommonplaceError, InvalidInput
from commonplace.values.scope import DEFAULT_TENANT, check_tenant

PREFIX: Final = "COMMONPLACE_"
FOLDER: Final = ".commonplace"
FILES: Final = ("config.toml", "config.json")
_NOT_IN_A_WORKSPACE: Final = frozenset({"home", "openai_api_key", "openai_base_url"})
_MODEL: Final = re.compile(r"sentence-transformers:(?!all-MiniLM-L6-v2$)")
_HUMP: Final = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")


class Settings(BaseSettings):
    """What can be set, in a file or in the environment."""

    model_config = SettingsConfigDict(env_prefix=PREFIX, env_ignore_empty=True, extra="forbid", frozen=True)

    home: Path = Field(
        default=Path("~/.commonplace"),
        description="The folder for what belongs to you: the default store, config.toml.",
    )
    store: str | None = Field(
        default=None,
        description="The store: a path, or a postgresql:// address. Unset: memory.db in the home folder. In a workspace's "
        "file only a path.",
    )
    tenant: str = Field(default=DEFAULT_TENANT, description="Whose memory it is, as org/project.")
    actor: str | None = Field(default=None, description="Who is named as the writer of a version.")
    embedder: str | None = Field(
        default=None,
        description="static, none, openai:MODEL@URL, sentence-transformers:MODEL, or several with commas between. "
        "Unset: what the store was made with, and static for a new one.",
    )
    openai_api_key: SecretStr | None = Field(
        default=None, description="The key for an OpenAI-compatible embedder. Not accepted in a workspace's file."
    )
    openai_base_url: str | None = Field(
        default=None,
        description="The address of an OpenAI-compatible embedder that names none itself. Not accepted in a workspace's "
        "file.",
    )
    cache_mb: int = Field(
        default=512, ge=0, description="How many MiB of searchable passages may be kept in memory between searches."
    )
    token_budget: int = Field(default=2000, ge=1, description="How many tokens a context block may have.")

    @field_validator("home")
    @classmethod
    def _expanded(cls, home: Path) -> Path:
        return home.expanduser()

    @field_validator("tenant")
    @classmethod
    def _tenant(cls, tenant: str) -> str:
        try:
            return check_tenant(tenant)
        except CommonplaceError as error:
            raise ValueError(error.message) from error

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,
        file_secret_settings: PydanticBaseSettingsSource,
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        del dotenv_settings, file_secret_settings
        given = cast(dict[str, object], init_settings()).get("home")
        home = Path(str(given)).expanduser() if given else home_folder()
        return (
            init_settings,
            env_settings,
            InitSettingsSource(settings_cls, _of_workspace(workspace_folder() / FOLDER)),
            InitSettingsSource(settings_cls, _of_folder(home)),
        )


def load_settings(**given: object) -> Settings:
    """
    The settings as they hold here and now; `given` are a caller's own, None where it has none.

    Raises:
        InvalidInput: a setting that is not one, or has a value it cannot have. The error says which.
    """
    try:
        return Settings(**{name: value for name, value in given.items() if value is not None})  # pyright: ignore[reportArgumentType]
    except ValidationError as error:
        told = "; ".join(f"{'.'.join(map(str, one['loc']))}: {one['msg']}" for one in error.errors())
        raise InvalidInput(f"The settings cannot be used. {told}.") from error


def home_folder() -> Path:
    return Path(os.environ.get(f"{PREFIX}HOME") or f"~/{FOLDER}").expanduser()


def workspace_folder() -> Path:
    """The git root around the current folder, else the folder."""
    here = Path.cwd()
    return next((folder for folder in (here, *here.parents) if (folder / ".git").exists()), here)


def _of_workspace(folder: Path) -> dict[str, object]:
    # Inside the home folder of a person the two are one file, which is theirs.
    if folder == home_folder():
        return {}
    found = _of_folder(folder)
    if refused := sorted(found.keys() & _NOT_IN_A_WORKSPACE):
        raise InvalidInput(
            f"{folder} sets {', '.join(refused)}, which a workspace's file may not. Use the environment or the home folder."
        )
    if "://" in str(found.get("store", "")):
        raise InvalidInput(
            f"{folder} names a server as the store, which a workspace's file may not. Set store in the environment or the "
            "home folder."
        )
    embedder = str(found.get("embedder", ""))
    if "@" in embedder:
        raise InvalidInput(
            f"{folder} names an address for the embedder, which a workspace's file may not. Set openai_base_url in the "
            "environment or the home folder."
        )
    if any(_MODEL.match(part.strip()) for part in embedder.split(",")):
        raise InvalidInput(
            f"{folder} names a model to load, which a workspace's file may not. Set embedder in the environment or the "
            "home folder."
        )
    return found


def _of_folder(folder: Path) -> dict[str, object]:
    for name in FILES:
        path = folder / name
        try:
            text = path.read_text(encoding="utf-8")
        except (FileNotFoundError, NotADirectoryError):
            continue
        except (OSError, UnicodeDecodeError) as error:
            raise InvalidInput(f"{path} cannot be read: {error}.") from error
        return _parsed(path, text)
    return {}


def _parsed(path: Path, text: str) -> dict[str, object]:
    try:
        found: object = tomllib.loads(text) if path.suffix == ".toml" else json.loads(text)
    except ValueError as error:
        raise InvalidInput(f"{path} cannot be read: {error}.") from error
    if not isinstance(found, dict):
        raise InvalidInput(f"{path} is not an object.")
    return {_HUMP.sub("_", name).lower(): value for name, value in cast(dict[str, object], found).items()}
