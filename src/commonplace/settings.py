"""
Every setting, described once.

What a caller gives wins over the environment (`COMMONPLACE_…`), the environment over the workspace's file
(`<workspace>/.commonplace/config.toml`), that over the home folder's (`~/.commonplace/config.toml`). `config.json` is
read where there is no `config.toml`; its names may be in camel case. The workspace is the git root around the current
folder, else the folder itself. A workspace's file comes with whatever was cloned there: `commonplace.workspace` says what it may set.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import warnings
from collections.abc import Iterable, Mapping
from ipaddress import ip_address
from pathlib import Path
from typing import Annotated, Final, Literal, Self, cast

from pydantic import Field, PrivateAttr, SecretStr, ValidationError, field_validator
from pydantic_settings import (
    BaseSettings,
    InitSettingsSource,
    NoDecode,
    PydanticBaseSettingsSource,
    SettingsConfigDict,
)

from commonplace.errors import CommonplaceError, InvalidInput
from commonplace.values.flood import FloodLimits
from commonplace.values.paths import expand_path
from commonplace.values.scope import DEFAULT_TENANT, check_tenant
from commonplace.workspace.file import FILES, FOLDER, parse_settings
from commonplace.workspace.report import PassedOver, report_workspace

PREFIX: Final = "COMMONPLACE_"
FROM_WORKSPACE: Final = f"{PREFIX}FROM_WORKSPACE"
"""Which settings of the environment a workspace's file had set. Where it is there, that file is not read again."""


_VARIABLE: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,127}")
WORDS: Final = frozenset({"agent_command"})
"""Settings that are a command: a list whose words may have commas in them."""
GATEWAY_SCOPES: Final = frozenset({"current_chat", "resources", "all_user_memory"})

# Lists are written with commas between, not as JSON.
Names = Annotated[tuple[str, ...], NoDecode]
Paths = Annotated[tuple[Path, ...], NoDecode]
# A command, as it would be typed.
Words = Annotated[tuple[str, ...], NoDecode]


class Settings(BaseSettings):
    """
    What can be set, in the environment or in a file: `config.toml`, or `config.json`, in the home folder (`~/.commonplace`) or in the
    folder `.commonplace` of a workspace. Options of a command win over the environment, the environment over the workspace's file, and
    that over the home folder's.

    A workspace's file comes with whatever was cloned. Some settings count in it always, some after `commonplace trust` in that folder,
    and most never. What does not count is passed over with a warning.
    """

    model_config = SettingsConfigDict(
        env_prefix=PREFIX, env_ignore_empty=True, extra="forbid", frozen=True, hide_input_in_errors=True
    )

    home: Path = Field(
        default=Path("~/.commonplace"),
        description="The folder for what belongs to you: the default store, config.toml.",
    )
    store: str | None = Field(
        default=None,
        description="The store: a path, or a postgresql:// address. Unset: memory.db in the home folder. In a workspace's "
        "file only the path of a file in that workspace, from its root.",
    )
    tenant: str = Field(default=DEFAULT_TENANT, description="Whose memory it is, as org/project.")
    actor: str | None = Field(default=None, description="Who is named as the writer of a version.")
    embedder: str | None = Field(
        default=None,
        description="static, none, openai:MODEL@URL, sentence-transformers:MODEL, or several with commas between. "
        "Unset: what the store was made with, and static for a new one.",
    )
    openai_api_key: SecretStr | None = Field(default=None, description="The key for an OpenAI-compatible embedder.")
    openai_base_url: str | None = Field(
        default=None,
        description="The address of an OpenAI-compatible embedder that names none itself.",
    )
    cache_mb: int = Field(
        default=512, ge=0, description="How many MiB of searchable passages may be kept in memory between searches."
    )
    token_budget: int = Field(default=2000, ge=1, description="How many tokens a context block may have.")

    llm_model: str | None = Field(
        default=None,
        description="The language model: anthropic:MODEL, google:MODEL, or openai:MODEL, of OpenAI or of the server at "
        "llm_base_url. Unset, or none: everything is done by rules. Like every setting that begins with llm it can be "
        "written into a table [llm].",
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
    llm_models: Names = Field(
        default=(),
        description="Other language models that a session, a request or an agent may name beside llm_model, each written like it. "
        "llm_api_key and llm_base_url are used for those of the same vendor; others take their vendor's own variable.",
    )
    llm_chat_budget_usd: float = Field(
        default=5.0,
        ge=0,
        le=1_000_000,
        description="How many US dollars each tenant may spend on chat in a day (UTC), apart from llm_daily_budget_usd. 0 leaves "
        "chat to the librarian, which needs no model.",
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
        "Like every setting that begins with learning it can be written into a table [learning].",
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
        description="Whether there is memory in Markdown: your own in the home folder, and one for each workspace.",
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

    memory_mode: Literal["curated", "memory_gateway"] = Field(
        default="curated",
        description="The memory that an agent has of its own: curated, two small files that it keeps itself, or memory_gateway, a "
        "service that searches before a turn and is told the turn afterwards. A change counts after a restart. Like every "
        "setting that begins with memory it can be written into a table [memory], and into [memory.gateway].",
    )
    memory_gateway_base_url: str | None = Field(
        default=None,
        description="Where the memory gateway is, for instance http://127.0.0.1:8010. The mode memory_gateway needs it.",
    )
    memory_gateway_user_id: str | None = Field(
        default=None, description="Whose memory there is used. The mode memory_gateway needs it."
    )
    memory_gateway_user_key: SecretStr | None = Field(
        default=None,
        description="That user's key, which is a secret: keep it out of files that others can read. The mode memory_gateway needs it.",
    )
    memory_gateway_app_id: str = Field(default="default", min_length=1, description="The app that the user belongs to.")
    memory_gateway_project_id: str = Field(default="default", min_length=1, description="The project of that app.")
    memory_gateway_scope: Names = Field(
        default=("current_chat", "resources"),
        description="Where the gateway searches: one or more of current_chat, resources and all_user_memory.",
    )
    memory_gateway_top_k: int = Field(
        default=8, ge=1, le=100, description="How many results of the gateway a turn gets at most."
    )
    memory_gateway_timeout_seconds: float = Field(
        default=10.0,
        gt=0,
        allow_inf_nan=False,
        description="After how many seconds a request to the gateway is given up.",
    )

    agent_sessions: int = Field(default=64, ge=1, description="How many sessions of agents a daemon has open at once.")
    agent_lease_seconds: float = Field(
        default=15.0,
        ge=1,
        description="For how many seconds a process leads a session of an agent without renewing its lease. If it stops on another machine, others take the session over after so long; on the same machine, at once.",
    )
    agent_requests: int = Field(
        default=50, ge=1, description="How often the model may be asked in one turn of an agent."
    )
    agent_seconds: float = Field(default=900.0, gt=0, description="How many seconds a turn of an agent may take.")
    agent_window: int = Field(
        default=32_000,
        ge=1_000,
        description="How many tokens of a session's history a prompt may have; what is older is told in short.",
    )
    agent_output_tokens: int = Field(
        default=8_192, ge=100, description="How many tokens each answer of the model may have in a turn of an agent."
    )
    agent_turn_budget_usd: float = Field(
        default=1.0,
        ge=0,
        description="How many US dollars one turn of an agent may cost. 0: as much as the day has left.",
    )
    agent_command: Words = Field(
        default=(),
        description="The command of another agent that does the work of every session in the place of our own, for instance "
        '["qwen", "--acp", "--approval-mode", "default"]: any program that speaks the Agent Client Protocol over its stdin and stdout, '
        "started so that it asks before it acts. In the environment, one text as a shell reads it. Empty: our own agent.",
    )
    agent_environment: Names = Field(
        default=(),
        description="Names of variables of the daemon's environment that the hosted agent is given, such as that of its model's key. "
        "Beside them it has only what any program needs to find its way (PATH, HOME, the language).",
    )
    agent_command_users: Literal["operator", "writers"] = Field(
        default="operator",
        description="Who may talk to the hosted agent: the operator, or everybody who may write. It has the rights of the daemon on its machine, "
        "so that whoever talks to it can have it read what the daemon can.",
    )
    agent_start_seconds: float = Field(
        default=60.0, gt=0, description="How many seconds the hosted agent may take to start and to greet us."
    )
    agent_price: str | None = Field(
        default=None,
        description="What the tokens of the hosted agent cost, as INPUT/OUTPUT in US dollars for a million, for instance 0.2/0.6. Unset: what the "
        "agent itself reports, and nothing if it reports none.",
    )
    agent_fetch: bool = Field(
        default=False, description="Whether agents may fetch pages of the public web, with permission."
    )
    agent_roots: Paths = Field(
        default=(),
        description="Folders of the server below which the agent of anybody who may write may work with files. The agent of the "
        "operator works anywhere, and only that one runs commands; nobody's works in the home folder.",
    )
    agent_shell_sandbox: Literal["none", "bwrap"] = Field(
        default="none",
        description="Inside of what the commands of an agent run: none, or bwrap, which has to be installed (the package bubblewrap).",
    )
    agent_tool_seconds: float = Field(
        default=120.0, gt=0, description="How many seconds a tool call of an agent may take."
    )
    agent_permission_seconds: float = Field(
        default=300.0,
        ge=0,
        description="How many seconds an agent waits for a permission; then the call is refused. 0: for ever.",
    )
    agent_permission_policy: Literal["first-responder", "designated", "consensus", "local-only"] = Field(
        default="designated",
        description="Who permits the tool calls of an agent in a session that several use: designated, the person whose turn it is; "
        "first-responder, whoever answers first; consensus, most of those who are present; local-only, whoever answers from this machine "
        "first. Whoever may write in the session can cancel a request.",
    )
    agent_permission_quorum: int | None = Field(
        default=None,
        ge=1,
        description="With the policy consensus, how many have to agree, at most all who are present. Unset: more than half of them.",
    )
    agent_shared_sessions: bool = Field(
        default=False,
        description="Whether sessions begun by a client of qwen-code's daemon are shared: whoever reaches the workspace then gets the "
        "same session, hears it and speaks in it. Unset: everybody has their own.",
    )
    agent_allow_all: bool = Field(
        default=False,
        description="Whether people may let an agent use every tool without a question (the approval mode yolo).",
    )
    agent_recall: bool | None = Field(
        default=None,
        description="Whether an agent's turn begins with what the workspace's memory knows about it. Unset: in the memory mode "
        "curated. Like every setting that begins with agent it can be written into a table [agent].",
    )
    agent_learn: bool | None = Field(
        default=None,
        description="Whether the workspace's memory learns from an agent's turns. Unset: in the memory mode curated.",
    )
    agent_capture: Literal["off", "summary", "full"] = Field(
        default="summary",
        description="What is kept for a while of what happened in a turn, in the memory of its session: nothing, a line for each event, "
        "or also what tools were given and answered.",
    )

    schedule_zone: str = Field(
        default="UTC",
        description="The time zone of schedules that name none, for instance Europe/Berlin.",
    )
    schedule_quiet: str | None = Field(
        default=None,
        description="Hours in which agents say nothing by themselves, for instance 22:00-07:00, in the zone of each schedule unless another "
        "stands behind them. What comes due then is said at their end. A schedule may have others, or none.",
    )

    url: str | None = Field(
        default=None,
        description="The address of a daemon, for instance http://127.0.0.1:4170. Set, the command and the SDK use that "
        "daemon; unset, the command opens the store itself.",
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
    public_url: str | None = Field(
        default=None,
        description="The address at which clients reach this daemon, for instance https://memory.example.com. Other daemons on the same store name it to whoever asks them for a session that this one leads. Unset: the address that it listens on.",
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
    max_anonymous_body_kb: int = Field(
        default=1024,
        ge=1,
        description="How many KiB the body of a request may have that shows no key in its header, as users of the gateway send "
        "it. Signing in takes at most 16.",
    )
    max_connections: int = Field(
        default=2000,
        ge=0,
        description="How many connections a worker of the daemon may have open, event streams among them; what comes on top gets "
        "503. 0: unlimited.",
    )
    max_in_flight_mb: int = Field(
        default=256,
        ge=1,
        description="How many MiB of request bodies a worker of the daemon may hold at once; what comes on top gets 503.",
    )
    rate_limit_read: int = Field(
        default=60_000, ge=0, description="Read requests allowed per key per minute. 0: unlimited."
    )
    rate_limit_mutation: int = Field(
        default=30_000, ge=0, description="Write requests allowed per key per minute. 0: unlimited."
    )
    rate_limit_prompt: int = Field(
        default=3_000, ge=0, description="Requests that may call a language model, per key per minute. 0: unlimited."
    )
    rate_limit_query_cost: int = Field(
        default=20_000_000,
        ge=0,
        description="How much searching a key may ask for per minute: the words of each question times the scopes that it is "
        "asked of, added up. 0: unlimited.",
    )
    events_kept: int = Field(default=100_000, ge=0, description="How many events are kept for late readers.")
    events_kept_days: int = Field(default=7, ge=1, description="For how many days events are kept.")
    session_days: int = Field(
        default=30,
        ge=0,
        description="After how many days without a write the memory of a session ends: what is not pinned is deleted, which can be "
        "undone. A rule with an age, of the session or of all sessions, counts instead. 0: never.",
    )
    history_days: int = Field(
        default=0,
        ge=0,
        description="After how many days without use a session of an agent is removed, with all that was said in it, for good. 0: never.",
    )
    room_days: int = Field(
        default=365,
        ge=0,
        description="For how many days what was said in a room is kept for its members to read. What the room remembers stays, and so does the "
        "history of the agent's session (`history_days`). 0: for good.",
    )
    runs_days: int = Field(
        default=30,
        ge=0,
        description="For how many days after its last event a run is kept, with its journal and its blackboard. 0: until somebody "
        "deletes it.",
    )
    artifacts_days: int = Field(
        default=90,
        ge=0,
        description="For how many days an artifact is kept, unless it was said when it was made. 0: until somebody deletes it.",
    )
    max_artifact_mb: int = Field(
        default=8,
        ge=1,
        description="How many MiB an artifact may have. Over HTTP it also has to fit into a body (`max_body_mb`).",
    )
    audit_kept_days: int = Field(
        default=0,
        ge=0,
        description="For how many days rows of the audit are kept. Their seals stay, so that the rest can still be verified. 0: for ever.",
    )
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

    _from_workspace: frozenset[str] = PrivateAttr(default=frozenset())

    @property
    def from_workspace(self) -> frozenset[str]:
        """The names of those that a workspace's file has set."""
        return self._from_workspace

    def with_origin(self, from_workspace: Iterable[str]) -> Self:
        """These settings, which know what a workspace's file has set of them."""
        self._from_workspace = frozenset(from_workspace)
        return self

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
        try:
            return expand_path(home)
        except CommonplaceError as error:
            raise ValueError(error.message) from error

    @field_validator(
        "allowed_hosts",
        "allowed_origins",
        "trusted_proxies",
        "import_roots",
        "agent_roots",
        "agent_environment",
        "llm_models",
        "llm_prices",
        "memory_gateway_scope",
        mode="before",
    )
    @classmethod
    def _listed(cls, value: object) -> object:
        """One text with commas, as the environment has it, or a list."""
        return [part.strip() for part in value.split(",") if part.strip()] if isinstance(value, str) else value

    @field_validator(*WORDS, mode="before")
    @classmethod
    def _command(cls, value: object) -> object:
        """One text, as the environment has it, or a list. A list as JSON is what the workers of a daemon are given."""
        if not isinstance(value, str):
            return value
        return json.loads(value) if value.lstrip().startswith("[") else shlex.split(value)

    @field_validator("agent_environment")
    @classmethod
    def _variables(cls, names: tuple[str, ...]) -> tuple[str, ...]:
        for name in names:
            if not _VARIABLE.fullmatch(name) or name.upper().startswith(PREFIX):
                raise ValueError(f"{name!r:.60} is no variable that another program may be given")
        return names

    @field_validator("memory_gateway_scope")
    @classmethod
    def _gateway_scope(cls, scope: tuple[str, ...]) -> tuple[str, ...]:
        if not scope or not GATEWAY_SCOPES.issuperset(scope):
            raise ValueError("name at least one of current_chat, resources and all_user_memory, and nothing else")
        return tuple(dict.fromkeys(scope))

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
        home = _home_of(cast(dict[str, object], init_settings()))
        return init_settings, env_settings, InitSettingsSource(settings_cls, _of_home(home))


def _is_address(host: str) -> bool:
    try:
        ip_address(host)
    except ValueError:
        return False
    return True


def load_settings(**given: object) -> Settings:
    """
    The settings as they hold here and now; `given` are a caller's own, None where it has none. What a workspace's file may not set is
    passed over with a warning.

    Raises:
        InvalidInput: a setting that is not one, or has a value it cannot have. The error says which.
        InvalidFile: what this home trusts cannot be read.
    """
    own = {name: value for name, value in given.items() if value is not None}
    values, names = _of_workspace(own)
    try:
        return Settings(**{**values, **own}).with_origin(names)  # pyright: ignore[reportArgumentType]
    except ValidationError as error:
        details = "; ".join(_problem(detail["loc"], detail["msg"], values) for detail in error.errors())
        raise InvalidInput(f"The settings cannot be used. {details}.") from error


def _problem(place: tuple[int | str, ...], message: str, of_workspace: Mapping[str, object]) -> str:
    where = f" of {workspace_folder() / FOLDER}" if place and place[0] in of_workspace else ""
    return f"{'.'.join(map(str, place))}{where}: {message}"


def _of_workspace(own: Mapping[str, object]) -> tuple[dict[str, object], frozenset[str]]:
    """What counts of the workspace's file, which neither the caller nor the environment has set; and the names of it."""
    variables = {name.lower() for name, value in os.environ.items() if value}
    if FROM_WORKSPACE in os.environ:
        names = frozenset(os.environ[FROM_WORKSPACE].split(",")) - own.keys()
        return {}, names & Settings.model_fields.keys()
    report = report_workspace(workspace_folder(), _home_of(own))
    if report.notice:
        # Python shows the same warning of the same line once.
        warnings.warn(report.notice, PassedOver, stacklevel=1)
    values = {
        name: value
        for name, value in report.values.items()
        if name not in own and f"{PREFIX}{name}".lower() not in variables
    }
    return values, frozenset(values)


def _home_of(own: Mapping[str, object]) -> Path:
    return expand_path(str(own["home"])) if own.get("home") else home_folder()


def home_folder() -> Path:
    return expand_path(os.environ.get(f"{PREFIX}HOME") or f"~/{FOLDER}")


def workspace_folder() -> Path:
    """The git root around the current folder, else the folder."""
    here = Path.cwd()
    return next((folder for folder in (here, *here.parents) if (folder / ".git").exists()), here)


def _of_home(folder: Path) -> dict[str, object]:
    for name in FILES:
        path = folder / name
        try:
            return parse_settings(name, path.read_text(encoding="utf-8"))
        except (FileNotFoundError, NotADirectoryError):
            continue
        except (OSError, ValueError) as error:
            raise InvalidInput(f"{path} cannot be read: {error}.") from error
    return {}
