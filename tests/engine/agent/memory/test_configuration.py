"""Which memory an agent has is said in the settings, once, and a gateway's key is never said back."""

import json
import traceback
from pathlib import Path
from typing import Any

import pytest

from commonplace.agent.memory.curated_pair import CuratedMemoryBackend
from commonplace.agent.memory.gateway import MemoryGatewayBackend
from commonplace.agent.memory.gateway_client import GatewayOptions
from commonplace.compose.agent_memory import agent_memory, gateway_options
from commonplace.compose.daemon import check_settings
from commonplace.errors import InvalidInput
from commonplace.settings import load_settings
from commonplace.workspace.report import PassedOver

pytestmark = pytest.mark.anyio

KEY = "uk_the-key-that-nobody-may-see"
GATEWAY: dict[str, Any] = {
    "baseUrl": "http://127.0.0.1:8010",
    "userId": "gateway_test_user",
    "userKey": KEY,
    "appId": "app",
    "projectId": "project",
    "scope": ["current_chat", "resources"],
    "topK": 12,
    "timeoutSeconds": 2.5,
}
FAULTS: list[tuple[dict[str, Any], dict[str, Any], str]] = [
    ({"mode": "both"}, {}, "memory_mode"),
    ({"mode": ""}, {}, "memory_mode"),
    ({}, {"baseUrl": ""}, "base_url"),
    ({}, {"baseUrl": "  "}, "base_url"),
    ({}, {"baseUrl": "ftp://there"}, "base_url"),
    ({}, {"baseUrl": "http://"}, "base_url"),
    ({}, {"baseUrl": f"http://ana:{KEY}@there"}, "base_url"),
    ({}, {"userId": ""}, "user_id"),
    ({}, {"userKey": ""}, "user_key"),
    ({}, {"userKey": [KEY]}, "user_key"),
    ({}, {"appId": ""}, "app_id"),
    ({}, {"projectId": ""}, "project_id"),
    ({}, {"scope": []}, "scope"),
    ({}, {"scope": ["current_chat", "everything"]}, "scope"),
    ({}, {"scope": [KEY]}, "scope"),
    ({}, {"topK": 0}, "top_k"),
    ({}, {"topK": 101}, "top_k"),
    ({}, {"topK": "many"}, "top_k"),
    ({}, {"timeoutSeconds": 0}, "timeout_seconds"),
    ({}, {"timeoutSeconds": -1}, "timeout_seconds"),
]


def write(home: Path, document: object) -> None:
    home.mkdir(exist_ok=True)
    (home / "config.json").write_text(json.dumps(document))


def configured(home: Path, memory: dict[str, Any], gateway: dict[str, Any]) -> None:
    write(home, {"memory": {"mode": "memory_gateway", **memory, "gateway": {**GATEWAY, **gateway}}})


async def test_missing_memory_configuration_defaults_to_curated_mode() -> None:
    settings = load_settings()
    memory = agent_memory(settings)

    assert settings.memory_mode == "curated"
    assert gateway_options(settings) is None
    assert isinstance(memory.backend, CuratedMemoryBackend)
    assert memory.curated is not None
    assert memory.workspace is not None


async def test_complete_gateway_configuration_parses_camel_case_and_exposes_normalized_typed_values(home: Path) -> None:
    configured(home, {}, {})
    settings = load_settings()
    memory = agent_memory(settings)

    assert gateway_options(settings) == GatewayOptions(
        base_url="http://127.0.0.1:8010",
        user_id="gateway_test_user",
        user_key=KEY,
        app_id="app",
        project_id="project",
        scope=("current_chat", "resources"),
        top_k=12,
        timeout_seconds=2.5,
    )
    assert isinstance(memory.backend, MemoryGatewayBackend)
    assert (memory.curated, memory.workspace) == (None, None)
    await memory.aclose()


@pytest.mark.parametrize(("memory", "gateway", "named"), FAULTS)
def test_invalid_mode_empty_credentials_empty_or_unknown_scopes_invalid_top_k_and_non_positive_timeout_fail_with_explicit_configuration_errors(
    home: Path, memory: dict[str, Any], gateway: dict[str, Any], named: str
) -> None:
    configured(home, memory, gateway)

    with pytest.raises(InvalidInput, match=named):
        agent_memory(load_settings())


@pytest.mark.parametrize(("memory", "gateway", "named"), FAULTS)
def test_error_text_does_not_include_user_key(
    home: Path, memory: dict[str, Any], gateway: dict[str, Any], named: str
) -> None:
    configured(home, memory, gateway)

    with pytest.raises(InvalidInput) as error:
        agent_memory(load_settings())

    assert named in error.value.message
    # With all that led to it, as a log would have it.
    assert KEY not in "".join(traceback.format_exception(error.value))
    assert KEY not in repr(error.value.details)


def test_a_gateway_that_only_names_what_it_must_has_the_defaults_of_the_rest(home: Path) -> None:
    write(
        home, {"memory": {"mode": "memory_gateway", "gateway": {"baseUrl": "http://g", "userId": "a", "userKey": KEY}}}
    )

    options = gateway_options(load_settings())

    assert options is not None
    assert (options.app_id, options.project_id, options.top_k, options.timeout_seconds) == (
        "default",
        "default",
        8,
        10.0,
    )
    assert options.scope == ("current_chat", "resources")


def test_the_same_can_be_written_in_toml_in_either_spelling_and_in_the_environment(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home.mkdir()
    (home / "config.toml").write_text(
        '[memory]\nmode = "memory_gateway"\n[memory.gateway]\nbase_url = "http://g"\nuserId = "ana"\ntop_k = 3\n'
    )
    monkeypatch.setenv("COMMONPLACE_MEMORY_GATEWAY_USER_KEY", KEY)
    monkeypatch.setenv("COMMONPLACE_MEMORY_GATEWAY_SCOPE", "resources, all_user_memory")

    options = gateway_options(load_settings())

    assert options is not None
    assert (options.base_url, options.user_id, options.user_key, options.top_k) == ("http://g", "ana", KEY, 3)
    assert options.scope == ("resources", "all_user_memory")


def test_neither_settings_nor_options_show_the_key(home: Path) -> None:
    configured(home, {}, {})
    settings = load_settings()

    assert KEY not in repr(settings) + str(settings) + settings.model_dump_json()
    assert KEY not in repr(gateway_options(settings))


def test_a_gateway_of_which_something_is_missing_is_told_when_a_daemon_starts_and_not_at_the_first_turn(
    home: Path,
) -> None:
    configured(home, {}, {"userKey": ""})

    with pytest.raises(InvalidInput, match="user_key"):
        check_settings(load_settings())


def test_a_workspace_may_choose_the_mode_and_never_the_gateway(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    configured(home, {"mode": "curated"}, {})
    workspace = tmp_path / "cloned"
    (workspace / ".git").mkdir(parents=True)
    (workspace / ".commonplace").mkdir()
    theirs = {"baseUrl": "http://elsewhere.example", "userKey": "uk_theirs"}
    document = {"memory": {"mode": "memory_gateway", "gateway": theirs}}
    (workspace / ".commonplace" / "config.json").write_text(json.dumps(document))
    monkeypatch.chdir(workspace)

    with pytest.warns(PassedOver, match="memory_gateway_base_url"):
        options = gateway_options(load_settings())

    assert options is not None
    assert (options.base_url, options.user_key) == ("http://127.0.0.1:8010", KEY)


@pytest.mark.parametrize(
    ("mode", "agent", "recalls", "learns"),
    [
        ("curated", {}, True, True),
        ("curated", {"recall": False}, False, True),
        ("curated", {"recall": False, "learn": False}, None, None),
        ("memory_gateway", {}, None, None),
        ("memory_gateway", {"recall": True}, True, False),
    ],
)
async def test_the_workspaces_memory_is_on_in_curated_mode_and_off_in_gateway_mode_unless_the_settings_say_otherwise(
    home: Path, mode: str, agent: dict[str, bool], recalls: bool | None, learns: bool | None
) -> None:
    write(home, {"memory": {"mode": mode, "gateway": GATEWAY}, "agent": agent})
    memory = agent_memory(load_settings())

    options = memory.workspace and memory.workspace.options
    assert (options and options.recall, options and options.learn) == (recalls, learns)
    assert memory.backends[0].name == mode
    await memory.aclose()
