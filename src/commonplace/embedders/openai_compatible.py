"""Any service that speaks the OpenAI embeddings protocol: OpenAI itself, Azure, vLLM, Ollama, LM Studio, LiteLLM …"""

from __future__ import annotations

import asyncio
import base64
from collections.abc import Awaitable, Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import count

import httpx
import numpy as np
from pydantic import BaseModel

from commonplace.errors import EmbedderUnavailable, InvalidInput, WrongDimension
from commonplace.ports.embedder import Floats
from commonplace.text.scrub import scrub
from commonplace.values.retry import Backoff
from commonplace.values.retry_after import parse_retry_after
from commonplace.values.vector import to_unit

DEFAULT_URL = "https://api.openai.com/v1"
_TIMEOUT = 30.0
_BACKOFF = Backoff(first=0.5, longest=30.0, jitter=(0.5, 1.0))
_LONGEST_RETRY_AFTER = 60.0
_PASSING = frozenset({408, 409, 425, 429})
_PROBE = "dimension"


class OpenAICompatibleEmbedder:
    """
    `dimensions`, when given, is asked of the service and checked; else the size is that of the first answer. A blank
    text is a row of zeros and is not sent. `retries` is how often a failed request is tried again.
    """

    def __init__(
        self,
        model: str,
        base_url: str = DEFAULT_URL,
        *,
        api_key: str | None = None,
        dimensions: int | None = None,
        retries: int = 4,
        timeout: float = _TIMEOUT,
        pause: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        """
        Raises:
            InvalidInput: a setting cannot be right, whatever the service.
        """
        self._model = model
        self._url = _checked_url(base_url)
        self._api_key = _checked_key(api_key)
        self._asked = dimensions
        self._dimension = dimensions
        self._retries = retries
        self._timeout = timeout
        self._pause = pause
        self._client: httpx.AsyncClient | None = None
        if not model or retries < 0 or (dimensions is not None and dimensions < 1):
            raise InvalidInput(
                "An embedder over HTTP needs a model, no negative number of retries and a positive size."
            )

    def __repr__(self) -> str:
        return f"OpenAICompatibleEmbedder({self._model!r}, {self._url.host!r})"

    @property
    def name(self) -> str:
        """Without the address: the same model behind another one is the same embedder."""
        return f"openai:{self._model}" + (f"#{self._asked}" if self._asked else "")

    @property
    def dimension(self) -> int:
        if self._dimension is None:
            # A property cannot wait in the caller's event loop; the one question is asked in a loop of its own.
            with ThreadPoolExecutor(max_workers=1) as thread:
                self._dimension = thread.submit(asyncio.run, self._probe()).result()
        return self._dimension

    async def embed(self, texts: Sequence[str]) -> Floats:
        places = [place for place, text in enumerate(texts) if text and not text.isspace()]
        if not places:
            self._dimension = self._dimension or await self._probe()
            return np.zeros((len(texts), self._dimension), dtype=np.float32)
        if self._client is None:
            self._client = self._new_client()
        vectors = await self._ask(self._client, [texts[place] for place in places])
        self._dimension = vectors.shape[1]
        if len(places) == len(texts):
            return vectors
        rows = np.zeros((len(texts), self._dimension), dtype=np.float32)
        rows[places] = vectors
        return rows

    async def aclose(self) -> None:
        if self._client is not None:
            await self._client.aclose()
            self._client = None

    def _new_client(self) -> httpx.AsyncClient:
        headers = {"Authorization": f"Bearer {self._api_key}"} if self._api_key else {}
        # A redirect would carry the key to an address that nobody chose.
        return httpx.AsyncClient(headers=headers, timeout=self._timeout, follow_redirects=False)

    async def _probe(self) -> int:
        async with self._new_client() as client:
            return (await self._ask(client, [_PROBE])).shape[1]

    async def _ask(self, client: httpx.AsyncClient, texts: list[str]) -> Floats:
        body: dict[str, object] = {"model": self._model, "input": texts, "encoding_format": "float"}
        if self._asked:
            body["dimensions"] = self._asked
        answer = await self._post(client, body)
        try:
            rows = _rows(answer.content, len(texts))
        except ValueError as error:
            raise self._unavailable("answered with something that is not a list of embeddings") from error
        sizes = {row.size for row in rows}
        expected = self._dimension or rows[0].size
        if sizes != {expected}:
            raise WrongDimension(
                f"The embedder {self.name} answered with vectors of another size than {expected}. Nothing was stored.",
                expected=expected,
                received=sorted(sizes),
            )
        return to_unit(np.stack(rows))

    async def _post(self, client: httpx.AsyncClient, body: dict[str, object]) -> httpx.Response:
        for attempt in count(1):
            wait: float | None = None
            try:
                answer = await client.post(self._url, json=body)
            except httpx.TransportError as error:
                failure = self._unavailable(f"cannot be reached ({type(error).__name__})")
            else:
                if answer.is_success:
                    return answer
                failure = self._refusal(answer)
                if answer.status_code < 500 and answer.status_code not in _PASSING:
                    raise failure
                wait = parse_retry_after(answer.headers.get("retry-after", ""))
            if attempt > self._retries:
                raise failure
            await self._pause(_BACKOFF.after(attempt) if wait is None else min(wait, _LONGEST_RETRY_AFTER))
        raise AssertionError  # The last attempt returned or raised.

    def _refusal(self, answer: httpx.Response) -> EmbedderUnavailable:
        meaning = {401: "refused the API key", 403: "does not allow this", 404: "has no such model or address"}
        what = meaning.get(answer.status_code, f"answered {answer.status_code}")
        return self._unavailable(what, status=answer.status_code, detail=self._said(answer))

    def _said(self, answer: httpx.Response) -> str:
        """What the service says about it, without our key: some services repeat it."""
        text = answer.text
        if self._api_key:
            text = text.replace(self._api_key, "[redacted:api_key]")
        return scrub(text[:2000]).text[:300]

    def _unavailable(self, what: str, *, status: int | None = None, detail: str = "") -> EmbedderUnavailable:
        message = f"The embedder {self.name} at {self._url.host} {what}. Check its address, model and key."
        return EmbedderUnavailable(f"{message} It said: {detail}" if detail else message, status=status)


def _checked_url(base_url: str) -> httpx.URL:
    try:
        url = httpx.URL(base_url.rstrip("/") + "/embeddings")
    except httpx.InvalidURL as error:
        raise InvalidInput("The embedder's address is not a URL.") from error
    if url.scheme not in ("http", "https") or not url.host:
        raise InvalidInput("The embedder's address must begin with http:// or https:// and name a host.")
    return url


def _checked_key(api_key: str | None) -> str | None:
    key = (api_key or "").strip()
    if not key.isascii() or not key.isprintable():
        raise InvalidInput("The embedder's API key has characters that no key has.")
    return key or None


class _Item(BaseModel):
    embedding: list[float] | str
    index: int | None = None


class _Answer(BaseModel):
    data: list[_Item]


def _rows(answer: bytes, count: int) -> list[Floats]:
    """The vectors in the order of the texts, whatever order they came in."""
    items = _Answer.model_validate_json(answer).data
    ordered = {place if item.index is None else item.index: item.embedding for place, item in enumerate(items)}
    if len(items) != count or set(ordered) != set(range(count)):
        raise ValueError("not one embedding a text")
    rows = [_row(ordered[place]) for place in range(count)]
    if not all(row.size and np.isfinite(row).all() for row in rows):
        raise ValueError("not a vector of numbers")
    return rows


def _row(embedding: str | list[float]) -> Floats:
    if isinstance(embedding, str):
        return np.frombuffer(base64.b64decode(embedding, validate=True), dtype="<f4").astype(np.float32)
    return np.array(embedding, dtype=np.float32)
