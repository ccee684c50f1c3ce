"""
Every setting, described once.

What a caller gives wins over the environment (`COMMONPLACE_…`), the environment over the workspace's file
(`<workspace>/.commonplace/config.toml`), that over the home folder's (`~/.commonplace/config.toml`). `config.json` is
read where there is no `config.toml`; its names may be in camel case. The workspace is the git root around the current
folder, else the folder itself. A workspace's file comes with whatever was cloned there, so it may choose a file as the store
and an embedder, but neither keys, nor a server that texts are sent to, nor a model to be loaded from a folder, which can
run code, nor a language model, nor anything about a daemon: who may reach it and what it lets in.
"""

from __future__ import annotations

import json
import os
import re
import tomllib
from collections.abc import Mapping
from ipaddress import ip_address
from pathlib import Path
from typing import Annotated, Final, Literal, cast

from pydantic import Field, SecretStr, ValidationError, field_validator
from pydantic_settings import (
    BaseSettings,
    InitSettingsSource,
    NoDecode,
    PydanticBaseSettingsSource,
    SettingsConfigDict,
)

from commonplace.errors import CommonplaceError, InvalidInput
from commonplace.values.flood import FloodLimits
from commonplace.values.scope import DEFAULT_TENANT, check_tenant

PREFIX: Final = "COMMONPLACE_"
FOLDER: Final = ".commonplace"
FILES: Final = ("config.toml", "config.json")
_OF_THE_DAEMON: Final = frozenset(
    "allowed_hosts allowed_origins host import_roots log_format managed_dream managed_local managed_memory max_body_mb mcp_allow_delete "
    "no_auth otlp_endpoint port "
    "rate_limit_mutation rate_limit_prompt rate_limit_read request_timeout token trusted_proxies url workers workspace".split()
)
# Whom texts are sent to, and what is paid for it.
_OF_MODELS: Final = frozenset(
    "llm_api_key llm_base_url llm_daily_budget_usd llm_dream_budget_usd llm_model llm_price llm_prices llm_timeout".split()
)
# How much a stranger may bring is not for the stranger to say.
_OF_LEARNING: Final = frozenset("learning_alike learning_files learning_files_alike learning_notes".split())
_NOT_IN_A_WORKSPACE: Final = (
    frozenset({"home", "openai_api_key", "openai_base_url"}) | _OF_MODELS | _OF_LEARNING | _OF_THE_DAEMON
)
_MODEL: Final = re.compile(r"sentence-transformers:(?!all-MiniLM-L6-v2$)")
_HUMP: Final = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")


# Lists are written with commas between, not as JSON.
Names = Annotated[tuple[str, ...], NoDecode]
Paths = Annotated[tuple[Path, ...], NoDecode]


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

    llm_model: str | None = Field(
        default=None,
        description="The language model: anthropic:MODEL, google:MODEL, or openai:MODEL, of OpenAI or of the server at "
        "llm_base_url. Unset, or none: everything is done by rules. Like every setting that begins with llm it can be "
        "written into a table [llm], and is not accepted in a workspace's file.",
    )
    llm_base_url: str | None = Field(
        default=None,
        description="The address of the server that the language model is at, for instance http://127.0.0.1:11434/v1. "
        "Unset: the vendor's own.",
    )
    llm_api_key: SecretStr | None = Field(
        default=None,
        description="The key for the language model. Unset: the vendor's own variable, ANTHROPIC_API_KEY, GOOGLE_API_KEY "
        "or OPENAI_API_KEY, but none for openai:MODEL at llm_base_url.",
    )
    llm_timeout: float = Field(
        default=60.0, gt=0, description="After how many seconds one call of the language model is given up."
    )
    llm_daily_budget_usd: float = Field(
        default=1.0,
        ge=0,
        le=1_000_000,
        description="How many US dollars each tenant may spend on the language model in a day (UTC), unless it has a "
        "budget of its own at /v1/budgets. 0 turns models off for every tenant.",
    )
    llm_dream_budget_usd: float = Field(
        default=0.5,
        ge=0,
        le=1_000_000,
        description="How many US dollars of that one dream may cost, all its attempts together; what might be dearer is tidied by "
        "rules. 0 leaves dreams to rules, unless the model is free.",
    )
    llm_prices: Names = Field(
        default=(),
        description="Prices of your own, MODEL=INPUT/OUTPUT in US dollars for a million tokens, for instance "
        "qwen3=0.2/0.6. They win over the published ones.",
    )
    llm_price: str = Field(
        default="5/25",
        description="The price of a model that no other price is known of, INPUT/OUTPUT in US dollars for a million tokens.",
    )

    learning_alike: int = Field(
        default=8,
        ge=1,
        description="How often one source from outside may say nearly the same in an hour; what is more waits for a reviewer. "
        "Like every setting that begins with learning it can be written into a table [learning], and is not accepted in a "
        "workspace's file.",
    )
    learning_notes: int = Field(
        default=1_000,
        ge=1,
        description="How many notes one source from outside may bring in an hour; what is more waits for a reviewer. What is said "
        "in a conversation is not counted.",
    )
    learning_files_alike: int = Field(
        default=0,
        ge=0,
        description="How many new files from outside, imported or in a workspace, may say nearly the same in an hour; what is more "
        "waits for a reviewer. 0: as many as there are, since whoever imports a folder chose it.",
    )
    learning_files: int = Field(
        default=0,
        ge=0,
        description="How many new files from outside may become memories in an hour. 0: as many as there are.",
    )

    managed_memory: bool = Field(
        default=True,
        description="Whether there is memory in Markdown: your own in the home folder, and one for each workspace. Not "
        "accepted in a workspace's file, nor are the next two.",
    )
    managed_dream: bool = Field(
        default=True,
        description="Whether that memory is also tidied by itself: when a session ends, and a day and five sessions have passed "
        "since the last time.",
    )
    managed_local: bool = Field(
        default=False,
        description="Whether the Markdown of a workspace lies in the workspace itself, in .commonplace/memory, and not in the "
        "home folder.",
    )

    url: str | None = Field(
        default=None,
        description="The address of a daemon, for instance http://127.0.0.1:4170. Set, the command and the SDK use that "
        "daemon; unset, the command opens the store itself. Not accepted in a workspace's file, nor is any setting below.",
    )
    token: SecretStr | None = Field(
        default=None,
        description="The operator's token of the daemon, or the key that a client shows it. Unset, a daemon makes one at "
        "its first start and keeps it in the home folder, in the file token.",
    )
    host: str = Field(default="127.0.0.1", description="The address the daemon listens on, without a port.")
    port: int = Field(default=4170, ge=0, le=65535, description="The port the daemon listens on; 0 takes a free one.")
    workers: int = Field(default=1, ge=1, le=64, description="How many processes answer requests.")
    workspace: Path | None = Field(
        default=None,
        description="The folder of the daemon's own workspace. Unset: the git root around the current folder, else the "
        "folder.",
    )
    no_auth: bool = Field(
        default=False,
        description="Whoever is on this machine may read and write without a key. Only on a loopback address, and never "
        "for what needs an admin.",
    )
    allowed_hosts: Names = Field(
        default=(), description="Host names by which the daemon may be called, beside this machine's own."
    )
    allowed_origins: Names = Field(
        default=(), description="Origins of web pages that may call the daemon, for instance https://app.example.com."
    )
    trusted_proxies: Names = Field(
        default=(), description="Addresses of reverse proxies whose X-Forwarded-For is believed."
    )
    import_roots: Paths = Field(
        default=(),
        description="Folders of the server below which any key that may write may import, except from the home folder. Let "
        "only the operator write into the folders above them. The operator may import from anywhere.",
    )
    max_body_mb: int = Field(default=10, ge=1, description="How many MiB the body of a request may have.")
    request_timeout: float = Field(
        default=60.0, gt=0, description="After how many seconds a request is given up. Streams and imports are not."
    )
    rate_limit_read: int | None = Field(default=None, ge=1, description="Reads a minute and key. Unset: no limit.")
    rate_limit_mutation: int | None = Field(default=None, ge=1, description="Writes a minute and key. Unset: no limit.")
    rate_limit_prompt: int | None = Field(
        default=None, ge=1, description="Requests that set a model to work, a minute and key. Unset: no limit."
    )
    events_kept: int = Field(default=100_000, ge=0, description="How many events are kept for late readers.")
    events_kept_days: int = Field(default=7, ge=1, description="For how many days events are kept.")
    job_lease_seconds: int = Field(
        default=60, ge=1, description="After how many silent seconds a job is given to another worker."
    )
    mcp_allow_delete: bool = Field(
        default=False, description="Whether models are offered the tool that deletes, over MCP."
    )
    otlp_endpoint: str | None = Field(
        default=None,
        description="The address of an OpenTelemetry collector, for instance http://127.0.0.1:4318. Unset: no traces.",
    )
    log_format: Literal["auto", "json", "plain"] = Field(
        default="auto", description="How the daemon logs. auto: plain at a terminal, else a JSON document a line."
    )

    @property
    def flood_limits(self) -> FloodLimits:
        return FloodLimits(
            alike=self.learning_alike,
            notes=self.learning_notes,
            files_alike=self.learning_files_alike,
            files=self.learning_files,
        )

    @field_validator("home")
    @classmethod
    def _expanded(cls, home: Path) -> Path:
        return home.expanduser()

    @field_validator("allowed_hosts", "allowed_origins", "trusted_proxies", "import_roots", "llm_prices", mode="before")
    @classmethod
    def _listed(cls, value: object) -> object:
        """One text with commas, as the environment has it, or a list."""
        return [part.strip() for part in value.split(",") if part.strip()] if isinstance(value, str) else value

    @field_validator("host")
    @classmethod
    def _host(cls, host: str) -> str:
        bare = host.strip().removeprefix("[").removesuffix("]")
        if not bare or (":" in bare and not _is_address(bare)):
            raise ValueError(f"{host!r:.60} is no host. Give the port apart, with --port or COMMONPLACE_PORT")
        return bare

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


def _is_address(host: str) -> bool:
    try:
        ip_address(host)
    except ValueError:
        return False
    return True


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
    return _flat(cast(dict[str, object], found))


def _flat(found: Mapping[str, object], prefix: str = "") -> dict[str, object]:
    """`roots` in a table `[import]` is the setting `import_roots`."""
    flat: dict[str, object] = {}
    for name, value in found.items():
        own = prefix + _HUMP.sub("_", name).lower()
        flat |= _flat(cast(Mapping[str, object], value), f"{own}_") if isinstance(value, dict) else {own: value}
    return flat
