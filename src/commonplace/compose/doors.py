"""The doors that a daemon has."""

from __future__ import annotations

from typing import Final

from commonplace.doors.beaver import routes as beaver
from commonplace.doors.mcp import http as mcp
from commonplace.doors.native import routes as native
from commonplace.doors.qwen import routes as qwen
from commonplace.doors.rondoflow import routes as rondoflow
from commonplace.doors.tandem import routes as tandem
from commonplace.server.door import ApiDoor

DOORS: Final[tuple[ApiDoor, ...]] = (native.DOOR, rondoflow.DOOR, tandem.DOOR, beaver.DOOR, qwen.DOOR, mcp.DOOR)
