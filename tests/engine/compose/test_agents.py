"""Agents from the settings: what is only a warning at the start."""

from __future__ import annotations

from pathlib import Path

import pytest

from commonplace.compose.agents import live_sessions
from commonplace.compose.services import ComposeOptions, composed
from commonplace.settings import Settings

pytestmark = pytest.mark.anyio


async def test_a_quorum_without_a_consensus_is_a_warning_and_no_error(tmp_path: Path) -> None:
    settings = Settings(home=tmp_path / "home", embedder="none", agent_permission_quorum=2)

    async with composed(settings, ComposeOptions()) as services:
        with pytest.warns(UserWarning, match="agent_permission_quorum"):
            async with live_sessions(settings, services) as sessions:
                assert sessions.in_use == ()
