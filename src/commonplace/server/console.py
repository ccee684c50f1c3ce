"""
The console's page and files, as they lie in the package: read once, compressed once, answered from memory.

The files' address has a hash of all of them in it, so a browser keeps them for good and never mixes two versions. A path is
looked up in what was read, never on the disk. Comments are for whoever reads the source, and are not sent.
"""

from __future__ import annotations

import gzip
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from hashlib import sha256
from importlib.resources import files
from importlib.resources.abc import Traversable
from typing import Final

from fastapi import APIRouter, Request
from fastapi.responses import Response

from commonplace.errors import RouteNotFound

PAGE: Final = "index.html"
HEADERS: Final = {
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
        "font-src 'self'; manifest-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
    ),
    "Cross-Origin-Opener-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Vary": "Accept-Encoding",
}
FOR_GOOD: Final = "public, max-age=31536000, immutable"

_BASE: Final = b"{{base}}"
_COMMENT: Final = re.compile(rb"^[ ]*(?://[^\n]*|/\*\*(?:(?!\*/).)*\*/)$", re.MULTILINE | re.DOTALL)
"""A comment of a script on lines of its own. Empty lines take its place, so that an error names the line of the source."""
_KINDS: Final = {
    ".css": "text/css; charset=utf-8",
    ".html": "text/html; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".json": "application/json",
    ".png": "image/png",
    ".svg": "image/svg+xml",
    ".webmanifest": "application/manifest+json",
    ".woff2": "font/woff2",
}

router = APIRouter(include_in_schema=False)


@dataclass(frozen=True, kw_only=True, slots=True)
class Asset:
    """A file as it is sent. `small` is None where compressing gains nothing."""

    kind: str
    whole: bytes
    small: bytes | None
    tag: str

    @classmethod
    def of(cls, kind: str, whole: bytes) -> Asset:
        small = gzip.compress(whole, compresslevel=9, mtime=0)
        tag = sha256(whole).hexdigest()[:16]
        return cls(kind=kind, whole=whole, small=small if len(small) < len(whole) else None, tag=tag)


@dataclass(frozen=True, kw_only=True, slots=True)
class Site:
    """The console of this version. `build` is the hash in its files' addresses."""

    build: str
    page: Asset
    assets: Mapping[str, Asset]

    @classmethod
    def read(cls, folder: Traversable) -> Site:
        contents = dict(sorted(_read(folder)))
        hashed = sha256()
        for name, (_, whole) in contents.items():
            for part in (name.encode(), whole):
                hashed.update(len(part).to_bytes(8, "big") + part)
        build = hashed.hexdigest()[:12]
        kind, page = contents.pop(PAGE)
        page = page.replace(_BASE, f"/console/{build}".encode())
        assets = {name: Asset.of(kind, whole) for name, (kind, whole) in contents.items()}
        return cls(build=build, page=Asset.of(kind, page), assets=assets)


@cache
def site() -> Site:
    """The one that came with this package."""
    return Site.read(files("commonplace") / "console")


@router.get("/")
async def page(request: Request) -> Response:
    return _answer(request, site().page, "no-cache")


@router.get("/console/{build}/{path:path}")
async def file(request: Request, build: str, path: str) -> Response:
    ours = site()
    asset = ours.assets.get(path) if build == ours.build else None
    if asset is None:
        raise RouteNotFound
    return _answer(request, asset, FOR_GOOD)


def _read(folder: Traversable, above: str = "") -> Iterator[tuple[str, tuple[str, bytes]]]:
    for entry in folder.iterdir():
        if entry.is_dir():
            yield from _read(entry, f"{above}{entry.name}/")
        elif kind := _KINDS.get("." + entry.name.rpartition(".")[2]):
            whole = entry.read_bytes()
            yield above + entry.name, (kind, _without_comments(whole) if entry.name.endswith(".js") else whole)


def _without_comments(script: bytes) -> bytes:
    return _COMMENT.sub(lambda match: b"\n" * match[0].count(b"\n"), script)


def _answer(request: Request, asset: Asset, keep: str) -> Response:
    small = asset.small if _takes_gzip(request.headers.get("accept-encoding", "")) else None
    tag = f'"{asset.tag}{"-gzip" if small else ""}"'
    headers = {**HEADERS, "Cache-Control": keep, "ETag": tag}
    etags = [value.strip().removeprefix("W/") for value in request.headers.get("if-none-match", "").split(",")]
    if tag in etags or "*" in etags:
        return Response(status_code=304, headers=headers)
    if small is not None:
        headers["Content-Encoding"] = "gzip"
    return Response(small or asset.whole, media_type=asset.kind, headers=headers)


def _takes_gzip(accepted: str) -> bool:
    for encoding in accepted.lower().split(","):
        name, *options = [part.strip() for part in encoding.split(";")]
        if name == "gzip":
            return not any(part.replace(" ", "").rstrip("0.") in ("q=", "q") for part in options)
    return False
