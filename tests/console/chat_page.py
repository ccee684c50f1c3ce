"""The chat in the browser, and the model that plays in it."""

import json
from pathlib import Path
from typing import Any

from playwright.sync_api import Locator, Page, expect
from tests.console.conftest import MODEL, Memory

from commonplace.testing.vendor import Reply, Vendor

RELEASE = "When do the releases go out?"


def opened(page: Page, session: str = "", *, model: bool = False) -> Page:
    page.goto(f"/#/chat/{session}")
    expect(page.locator(".page-chat[data-ready]")).to_be_visible()
    if model:
        page.get_by_label("Model").select_option(MODEL)
    return page


def say(page: Page, text: str) -> None:
    page.get_by_label("What you say").fill(text)
    page.get_by_label("What you say").press("Enter")


def turns(page: Page) -> Locator:
    return page.locator("li.turn")


def played(vendor: Vendor, *replies: Reply) -> None:
    """What the model answers, request by request."""
    vendor.replies = [*replies]
    vendor.requests.clear()


def begun(memory: Memory, **fields: Any) -> str:
    """The id of a new session."""
    return memory.client.post("/v1/sessions", json=fields).raise_for_status().json()["id"]


def folder_of(tmp_path: Path, **files: str) -> str:
    """A folder for an agent to work in."""
    folder = tmp_path / "work"
    folder.mkdir()
    for name, text in files.items():
        (folder / name.replace("_", ".")).write_text(text, encoding="utf-8")
    return str(folder)


def call(tool: str, **arguments: Any) -> tuple[str, str]:
    return tool, json.dumps(arguments)
