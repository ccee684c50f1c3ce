from collections.abc import AsyncGenerator

import pytest

from commonplace.testing.clock import FakeClock
from commonplace.testing.dingtalk.bench import SECRET
from commonplace.testing.dingtalk.server import DingTalkServer, dingtalk_server


@pytest.fixture
async def server(clock: FakeClock, monkeypatch: pytest.MonkeyPatch) -> AsyncGenerator[DingTalkServer]:
    async with dingtalk_server(clock) as begun:
        monkeypatch.setenv(SECRET, begun.client_secret)
        yield begun
