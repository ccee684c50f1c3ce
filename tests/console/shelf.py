"""The managed Markdown of the daemon's own tenant, as its server has it, and the page that shows it."""

from uuid import uuid4

import httpx
from playwright.sync_api import Page, expect


def opened(page: Page, tab: str = "lanes", **query: str) -> Page:
    written = "&".join(f"{name}={value.replace('/', '%2F')}" for name, value in query.items())
    page.goto(f"/#/learning/{tab}{'?' if written else ''}{written}")
    expect(page.get_by_role("tab", name=tab.capitalize())).to_have_attribute("aria-selected", "true")
    return page


def entry(name: str, text: str = "", kind: str = "project") -> str:
    return f"---\nname: {name}\ndescription: {name} in short\ntype: {kind}\n---\n{text or name + '.'}\n"


def stored(operator: httpx.Client, root: str, path: str) -> str | None:
    answer = operator.get(f"/v1/managed/{root}/{path}")
    return None if answer.status_code == 404 else answer.raise_for_status().json()["text"]


def put(operator: httpx.Client, path: str, text: str, root: str = "project") -> None:
    held = operator.get(f"/v1/managed/{root}/{path}")
    seen = {"If-None-Match": "*"} if held.status_code == 404 else {"If-Match": held.json()["etag"]}
    operator.put(f"/v1/managed/{root}/{path}", json={"text": text}, headers=seen).raise_for_status()


def named(word: str) -> str:
    return f"{word} {uuid4().hex[:8]}"


def filed(operator: httpx.Client, text: str = "", word: str = "Note") -> tuple[str, str]:
    """The name and the path of a new file."""
    name = named(word)
    path = f"project/{name.lower().replace(' ', '-')}.md"
    put(operator, path, entry(name, text))
    return name, path


def paths(operator: httpx.Client) -> set[str]:
    roots = operator.get("/v1/managed").raise_for_status().json()["roots"]
    return {file["path"] for root in roots for file in root["files"]}
