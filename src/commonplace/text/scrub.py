"""
Secrets never rest in memory: every text is scrubbed on its way in.

What looks like a key, a token or a password is replaced by a marker that says what it was (`[redacted:bearer]`). A
private key or a cloud secret blocks the whole text. The strict form, for what is promoted to more readers, also blocks
on credentials of people. A text that was scrubbed once is left as it is.

Recognition is by form: the fixed prefixes of well-known keys, headers, addresses with a password in them, and a name
such as `api_key` with a value after it, as an assignment or in a sentence (`the password is …`). Prose (`the token: see vault`), references (`$TOKEN`, `<password>`,
`os.environ[…]`) and hashes stay. A key in full-width letters, or with characters in it that nobody sees, is the same key: such a text
is looked at as it is meant, and what is found is replaced where it stands. Each pattern begins at a place it cannot begin at twice and gives nothing back, so the
time grows with the text and no faster; and none is tried unless a short literal of it occurs.
"""

from __future__ import annotations

import base64
import binascii
import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Literal, NamedTuple

ScrubStatus = Literal["passed", "redacted", "blocked"]


@dataclass(frozen=True, kw_only=True, slots=True)
class ScrubReport:
    """`kinds` are those found, sorted, and `counts` how many of each. `block_reason` is the kind that blocked."""

    status: ScrubStatus = "passed"
    redactions: int = 0
    block_reason: str | None = None
    kinds: tuple[str, ...] = ()
    counts: Mapping[str, int] = field(default_factory=dict[str, int], compare=False)


class Scrubbed(NamedTuple):
    """The text without its secrets, also where it was blocked."""

    text: str
    report: ScrubReport


_PASSED = ScrubReport()
_BLOCKING = frozenset({"private_key", "age_secret_key", "aws_secret_access_key"})
_BLOCKING_WHEN_STRICT = _BLOCKING | {"anthropic_key", "github_token"}
_MARKER = "[redacted:"


class _Rule(NamedTuple):
    kind: str
    hint: str
    """Lower-case; a text without it, whatever its case, has nothing for this rule."""
    pattern: re.Pattern[str]
    """Its group `secret` is replaced."""
    is_secret: Callable[[re.Match[str]], bool]


# Where a secret is kept or how it is made, instead of the secret.
_REFERENCE = re.compile(
    r"""
      \[redacted: | \$\{ | \$\( | \$[A-Z_][A-Z0-9_]*\b(?!\$) | \$[a-z_]+\W*\Z | \{\{ | \{[A-Za-z_][\w.]*(?:\}|\Z)
    | %[A-Za-z_]+%\W*\Z | <[^>]*> | (.)\1*+[.,;)]*+\Z | \.\.\. | https?:// | (?:vault|op|env|file|secret|ssm|keychain)://?
    | (?:self|this|cls|os|sys|process|env|environ|config|cfg|settings|args|options|opts|request|req|ctx|context|secrets
        |credentials|params|module|local|var|vars|data|data_source|module)[.\[(]
    | [A-Za-z_.]+[(\[]
    | (?:[A-Za-z]+[_-])+(?:key|token|secret|password|hash|here|KEY|TOKEN|SECRET|PASSWORD|HERE)[.,;:)]*\Z
    """,
    re.VERBOSE,
)


def _any(match: re.Match[str]) -> bool:
    return not match["secret"].startswith(_MARKER)


_HYPHENATED_WORDS = re.compile(r"[a-z]+(?:[-_][a-z]+)*")


def _not_words(match: re.Match[str]) -> bool:
    """Not a name like `sk-learn-contrib`, which is made of lower-case words; a long run of letters is no word."""
    tail = match["tail"]
    return not _HYPHENATED_WORDS.fullmatch(tail) or max(map(len, re.split("[-_]", tail))) >= 16


def _has_digit(match: re.Match[str]) -> bool:
    return any(character.isdigit() for character in match["tail"])


def _mixed(match: re.Match[str]) -> bool:
    """Letters of both cases and a digit: no name of a module, and no word."""
    tail = match["tail"]
    return any(c.isdigit() for c in tail) and any(c.isupper() for c in tail) and any(c.islower() for c in tail)


def _is_discord_id(match: re.Match[str]) -> bool:
    """The first part of a bot's token is its number, encoded."""
    first = match["tail"]
    try:
        return base64.urlsafe_b64decode(first + "=" * (-len(first) % 4)).isdigit()
    except (binascii.Error, ValueError):
        return False


_LOWER_WORD = re.compile(r"[a-z]{1,15}[.,;:)]*")


def _not_a_word(match: re.Match[str]) -> bool:
    """`Bearer authentication` is a subject, not a header."""
    return _any(match) and not _LOWER_WORD.fullmatch(match["secret"])


def _prefixed(
    kind: str, prefix: str, least: int, letters: str = r"\w-", check: Callable[[re.Match[str]], bool] = _any
) -> _Rule:
    """A key known by how it begins. The word before the prefix must have ended."""
    hint = re.sub(r"\(.*|\[.*|\\", "", prefix).lower()
    pattern = re.compile(rf"(?<![A-Za-z0-9_-])(?P<secret>{prefix}(?P<tail>[{letters}]{{{least},}}+))", re.ASCII)
    return _Rule(kind, hint, pattern, check)


def _header(kind: str, scheme: str) -> _Rule:
    pattern = rf"authorization{_SPACED}[:=]\s{{0,4}}[\"']?(?:{scheme})\s{{1,4}}(?P<secret>[^\s\"'`<>$]{{8,}}+)"
    return _Rule(kind, "authorization", re.compile(pattern, re.IGNORECASE), _not_a_reference)


def _not_a_reference(match: re.Match[str]) -> bool:
    return not _REFERENCE.match(match["secret"])


# How a secret is kept or made, or a measure of it, instead of the secret.
_MADE_OF = re.compile(
    r"(?:sha|md5|aes|rsa|base(?:32|58|64|85)|utf|bcrypt|scrypt|argon2|pbkdf2|v\d|http|\W*\d+(?:[-–]\d+)?[-_]?(?:chars?|characters?|digits?|letters?"
    r"|bits?|bytes?|days?|hours?|min\w*|sec\w*|weeks?|months?|years?|symbols?|words?|times?|st|nd|rd|th|x|k|kb|mb|am|pm)\b)",
    re.IGNORECASE,
)
_DATED = re.compile(r"\W*\d{1,4}(?:[-/.:]\d{1,4})*\W*")


def _looks_like_secret(match: re.Match[str]) -> bool:
    """Whether the value after `the password is` looks like no word: it has a digit among letters or marks."""
    value = match["secret"]
    if not any(character.isdigit() for character in value) or _DATED.fullmatch(value):
        return False
    return not (_MADE_OF.match(value) or _REFERENCE.match(value) or "://" in value)


def _in_words(kind: str, hint: str, name: str, *, least: int = 6) -> _Rule:
    """A name of a secret with its value in the same sentence."""
    # Neither the mark that ends the sentence nor the quotes around it are part of the value.
    value = rf"[\"'`“”‘’「(]?(?P<secret>[!-~]{{{least - 1},1023}}[A-Za-z0-9@#$%^&*+=_~-])"
    if hint.isascii():
        of = r"(?:\s{1,3}(?:for|of|to|on|at)(?:\s{1,3}[^\s.!?:=]{1,30}){1,4}?)?"
        verb = rf"{of}\s{{1,3}}(?:is|was|are|will be|remains|stays)(?:\s{{1,3}}(?:now|still|just|currently|simply))?\s{{0,2}}:?\s{{1,3}}"
        pattern = rf"(?<![A-Za-z0-9_-])(?:{name}){verb}{value}"
    else:
        pattern = rf"(?:{name})(?:现在|現在|已经|已經|目前|就)?(?:是|为|為|改成了?|改为|换成了?|設為|设为|设成|叫)\s{{0,3}}{value}"
    return _Rule(kind, hint, re.compile(pattern, re.IGNORECASE), _looks_like_secret)


_SPACED = r"[\"'`\]\\]{0,3}[ \t]{0,4}"
_RULES = (
    _prefixed("anthropic_key", "sk-ant-", 8),
    _prefixed("stripe_key", "sk_(?:live|test)_", 12),
    _prefixed("stripe_key", "rk_(?:live|test)_", 12),
    _prefixed("api_key", "sk-", 8, check=_not_words),
    _prefixed("github_token", "gh[pousr]_", 8),
    _prefixed("github_token", "github_pat_", 8),
    _prefixed("gitlab_token", "glpat-", 8),
    _prefixed("slack_token", "xox[abceoprs]-", 8),
    _prefixed("slack_token", "xapp-", 8, check=_has_digit),
    _prefixed("aws_access_key_id", "AKIA", 16, "A-Z0-9"),
    _prefixed("aws_access_key_id", "ASIA", 16, "A-Z0-9"),
    _prefixed("google_key", "AIza", 30),
    _prefixed("google_token", r"ya29\.", 16, r"\w.-"),
    _prefixed("alibaba_key_id", "LTAI", 12, "A-Za-z0-9"),
    _prefixed("huggingface_token", "hf_", 20, "A-Za-z0-9"),
    _prefixed("npm_token", "npm_", 30, "A-Za-z0-9"),
    _prefixed("groq_key", "gsk_", 20, "A-Za-z0-9"),
    _prefixed("sendgrid_key", r"SG\.", 20, r"\w.-"),
    _prefixed("digitalocean_token", "dop_v1_", 20, "a-f0-9"),
    _prefixed("commonplace_key", "cp_", 16, check=_has_digit),
    _prefixed("commonplace_key", "uk_", 16, check=_has_digit),
    _prefixed("pypi_token", "pypi-Ag", 16),
    _prefixed("vault_token", r"hv[sbr]\.", 20),
    _prefixed("shopify_token", "shp(?:at|ca|pa|ss|tka)_", 16, "A-Za-z0-9"),
    _prefixed("notion_token", "ntn_", 20, "A-Za-z0-9", check=_has_digit),
    _prefixed("notion_token", "secret_", 40, "A-Za-z0-9", check=_mixed),
    _prefixed("linear_key", "lin_(?:api|oauth)_", 16, "A-Za-z0-9"),
    _prefixed("figma_token", "fig[dour]_", 20, check=_has_digit),
    _prefixed("databricks_token", "dapi", 32, "a-f0-9-"),
    _prefixed("twilio_key", "SK", 32, "a-f0-9"),
    _prefixed("twilio_key", "AC", 32, "a-f0-9"),
    _prefixed("sentry_token", "sntry[su]_", 20, r"\w+/=-"),
    _prefixed("age_secret_key", "AGE-SECRET-KEY-1", 20, "A-Z0-9"),
    _Rule(
        "vault_token",
        "s.",
        re.compile(r"(?<![A-Za-z0-9_.-])(?P<secret>s\.(?P<tail>[A-Za-z0-9]{24}))(?![\w.-])", re.ASCII),
        _mixed,
    ),
    _Rule(
        "slack_webhook",
        "hooks.slack",
        re.compile(
            r"hooks\.slack(?:-gov)?\.com/(?P<secret>(?:services|workflows|triggers)/[\w/-]{16,}+)",
            re.ASCII | re.IGNORECASE,
        ),
        _any,
    ),
    _Rule(
        "discord_webhook",
        "/webhooks/",
        re.compile(
            r"discord(?:app)?\.com/api(?:/v\d{1,2})?/webhooks/(?P<secret>\d{10,24}/[\w-]{16,}+)",
            re.ASCII | re.IGNORECASE,
        ),
        _any,
    ),
    _Rule(
        "discord_token",
        ".",
        re.compile(
            r"(?<![A-Za-z0-9_.-])(?P<secret>(?P<tail>[MNO][\w-]{22,28}+)\.[\w-]{6,7}+\.[\w-]{26,45}+)", re.ASCII
        ),
        _is_discord_id,
    ),
    _Rule(
        "telegram_token",
        ":a",
        re.compile(r"(?<![A-Za-z0-9_.:-])(?P<secret>(?:bot)?\d{6,12}+:(?P<tail>A[\w-]{32,36}+))(?![\w-])", re.ASCII),
        _mixed,
    ),
    _Rule(
        "sentry_dsn",
        "@",
        re.compile(r"://(?P<secret>[a-f0-9]{32}+(?::[a-f0-9]{32}+)?+)@[\w.-]{1,253}+/", re.ASCII),
        _any,
    ),
    _Rule(
        "jwt",
        "eyj",
        re.compile(r"(?<![A-Za-z0-9_.-])(?P<secret>eyJ[\w-]{8,}+\.[\w-]{4,}+(?:\.[\w-]*+){1,3}+)", re.ASCII),
        _any,
    ),
    _Rule(
        "url_password",
        "://",
        re.compile(r"://[^\s/:@\"'<>\[]*+:(?P<secret>[^\s/@\"'<>]++)@"),
        _not_a_reference,
    ),
    _Rule(
        "aws_secret_access_key",
        "access",
        re.compile(rf"secret_?access_?key{_SPACED}={{1,2}}[ \t]{{0,4}}[\"']?(?P<secret>[^\s\"'`<>]++)", re.IGNORECASE),
        _not_a_reference,
    ),
    _header("bearer", "bearer"),
    _header("authorization", "basic|token|apikey|digest"),
    _Rule(
        "bearer",
        "bearer",
        re.compile(r"(?<![a-z])bearer\s{1,4}(?P<secret>[a-z0-9._~+/=-]{8,}+)", re.IGNORECASE | re.ASCII),
        _not_a_word,
    ),
    _in_words("password", "pass", r"pass(?:word|wd|phrase|code)"),
    _in_words("password", "密", "密码|密碼"),
    _in_words("password", "口令", "口令"),
    _in_words("api_key", "key", r"(?:api|access|secret|private|license)[ _-]?key", least=12),
    _in_words("secret", "密", "密钥|密鑰", least=12),
    _in_words("token", "token", "token", least=16),
    _in_words("token", "令牌", "令牌", least=16),
)

_PRIVATE_KEY = re.compile(r"-----BEGIN (?:[A-Z0-9]{1,20} ){0,4}PRIVATE KEY(?: BLOCK)?-----|PuTTY-User-Key-File-\d")
_PRIVATE_KEY_END = re.compile(r"-----END [A-Z0-9 ]{0,80}PRIVATE KEY(?: BLOCK)?-----")

_NAMES = (
    ("aws_secret_access_key", r"(?:aws_?)?secret_?access_?key"),
    ("api_key", r"api[_-]?(?:key|token|secret)|access[_-]?key(?:[_-]?secret)?|account[_-]?key|subscription[_-]?key"),
    ("password", r"pass(?:word|wd|phrase|code)|pwd|密码|密碼|口令|パスワード|비밀번호"),
    ("secret", r"secret(?:[_-]?key)?(?:[_-]?base)?|private[_-]?key|密钥|密鑰"),
    ("token", r"token|令牌|トークン"),
)
_ASSIGNED = re.compile(
    "(?:"
    + "|".join(f"(?P<{kind}>{names})" for kind, names in _NAMES)
    + rf"){_SPACED}(?::=|=>|={{1,2}}|[:：＝])\s{{0,4}}\\{{0,2}}"
    + r"(?:\"(?P<double>[^\"\n\\]{8,1024})\\{0,2}\"|'(?P<single>[^'\n\\]{8,1024})\\{0,2}'|`?(?P<bare>[^\s\"'`<>]{8,512}+))",
    re.IGNORECASE,
)
_ASSIGNED_HINTS = ("key", "token", "secret", "pass", "pwd", "密", "令", "パスワード", "トークン", "비밀번호")
_REST_OF_WORD = re.compile(r"[^\s\"'`<>]*+")
_CLOSING = ".,;:!?)]}>。，；！？）】、"

_PROSE = re.compile(r"[A-Za-z]?[a-z]+(?:[-/][a-z]+)*")
_MORE_PROSE = re.compile(r"[ \t]+[A-Za-z(]")
_A_TYPE = re.compile(r"[ \t]+[|=]")
_STATES = frozenset(
    "authentication authorization required optional disabled enabled unchanged encrypted redacted generated provided"
    " incorrect forgotten undefined unlimited placeholder protected rejected accepted rotating bigserial varchar"
    " confidential everyone anything something nothing whatever deprecated unavailable".split()
)


def scrub(text: str, strict: bool = False) -> Scrubbed:
    """Replace the secrets in `text`; with `strict`, credentials of people block it as private keys always do."""
    redactions: list[str] = []
    cleaned = text
    if not text.isascii() and _DISGUISED.search(text):
        cleaned = _thoroughly(_meant(text), redactions).written
    cleaned = _thoroughly(_Spelled(cleaned), redactions).written
    if not redactions:
        return Scrubbed(text, _PASSED)
    kinds = tuple(sorted(set(redactions)))
    blocking = _BLOCKING_WHEN_STRICT if strict else _BLOCKING
    reason = next((kind for kind in kinds if kind in blocking), None)
    status: ScrubStatus = "blocked" if reason else "redacted"
    return Scrubbed(
        cleaned,
        ScrubReport(
            status=status,
            redactions=len(redactions),
            block_reason=reason,
            kinds=kinds,
            counts=dict(sorted(Counter(redactions).items())),
        ),
    )


# ---- as it is written, and as it is meant


class _Spelled(NamedTuple):
    """A text as it is looked at, and for each of its characters how it is written. Without `spelling` that is the same."""

    text: str
    spelling: list[str] | None = None

    @property
    def written(self) -> str:
        return self.text if self.spelling is None else "".join(self.spelling)

    def cut(self, spans: list[tuple[int, int, str]]) -> _Spelled:
        """The same with a marker in the place of each span, which follow one another."""
        parts: list[str] = []
        spelling: list[str] = []
        end = 0
        for start, stop, kind in spans:
            parts += [self.text[end:start], _marker(kind)]
            if self.spelling is not None:
                spelling += [*self.spelling[end:start], *_marker(kind)]
            end = stop
        text = "".join([*parts, self.text[end:]])
        return _Spelled(text, None if self.spelling is None else [*spelling, *self.spelling[end:]])


# Letters and digits that are drawn another way, and what takes no room between them.
_UNSEEN = "\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180e\u200b-\u200f\u202a-\u202e\u2060-\u206f\u3164\ufe00-\ufe0f\ufeff\uffa0\U000e0000-\U000e01ef"
_DISGUISED = re.compile(f"[{_UNSEEN}\uff01-\uff5e\u2460-\u24ff\U0001d400-\U0001d7ff\u2010-\u2015\u2212]")
_CHARACTERS = re.compile(f"[^{_UNSEEN}][{_UNSEEN}]*+|[{_UNSEEN}]++")
"""Each with what nobody sees after it."""
_DASHES = "\u2010\u2011\u2012\u2013\u2014\u2015\u2212"


@cache
def _plain_letters() -> dict[int, str]:
    """What a disguised character stands for."""
    ranges = ((0xFF01, 0xFF5E), (0x2460, 0x24FF), (0x1D400, 0x1D7FF))
    forms = {
        code: unicodedata.normalize("NFKC", chr(code)) for first, last in ranges for code in range(first, last + 1)
    }
    letters = {code: form for code, form in forms.items() if len(form) == 1 and form.isascii()}
    return letters | dict.fromkeys(map(ord, _DASHES), "-")


def _meant(text: str) -> _Spelled:
    """`ｇｈｐ＿…` as `ghp_…`. What nobody sees belongs to the character before it, and goes with it."""
    spelling = _CHARACTERS.findall(text)
    visible = "".join(character[0] for character in spelling)
    return _Spelled(visible.translate(_plain_letters()), spelling)


def _thoroughly(source: _Spelled, redactions: list[str]) -> _Spelled:
    count = len(redactions)
    cleaned = _once(source, redactions)
    # Text beside a secret may match once the secret is gone; a second pass finds only that.
    while len(redactions) > count and (again := _once(cleaned, redactions)).text != cleaned.text:
        cleaned = again
    return cleaned


def _once(source: _Spelled, redactions: list[str]) -> _Spelled:
    lowered = source.text.lower()
    if "private key" in lowered or "putty-user-key" in lowered:
        source = _without(_private_keys(source.text), source, redactions)
    for rule in _RULES:
        if rule.hint in lowered:
            source = _without(_matches(rule, source.text), source, redactions)
    if any(hint in lowered for hint in _ASSIGNED_HINTS):
        source = _without(_assigned(source.text), source, redactions)
    return source


def _marker(kind: str) -> str:
    return f"{_MARKER}{kind}]"


def _without(spans: Iterator[tuple[int, int, str]], source: _Spelled, redactions: list[str]) -> _Spelled:
    places = list(spans)
    redactions += [kind for _, _, kind in places]
    return source.cut(places) if places else source


def _private_keys(text: str) -> Iterator[tuple[int, int, str]]:
    place = 0
    while begin := _PRIVATE_KEY.search(text, place):
        end = _PRIVATE_KEY_END.search(text, begin.end())
        # A key that was cut off has no end: nothing after its beginning can be trusted to be something else.
        place = end.end() if end else len(text)
        yield begin.start(), place, "private_key"


def _matches(rule: _Rule, text: str) -> Iterator[tuple[int, int, str]]:
    for match in rule.pattern.finditer(text):
        if rule.is_secret(match):
            yield *match.span("secret"), rule.kind


def _assigned(text: str) -> Iterator[tuple[int, int, str]]:
    """Names with a value after them. If the value is no secret, the search goes on at the value, not after it."""
    place = 0
    while match := _ASSIGNED.search(text, place):
        kind = next(name for name, _ in _NAMES if match[name] is not None)
        group = next(name for name in ("double", "single", "bare") if match[name] is not None)
        start, stop = match.span(group)
        if not _is_value(text, kind, group, start, stop):
            place = start
            continue
        if group == "bare":
            stop = _end_of_bare(text, start, stop)
        yield start, stop, kind
        place = stop


def _end_of_bare(text: str, start: int, stop: int) -> int:
    """The end without the marks that close the sentence or bracket around it; a value of 512 characters may go on."""
    if stop - start < 512:
        return start + len(text[start:stop].rstrip(_CLOSING))
    rest = _REST_OF_WORD.match(text, stop)
    return rest.end() if rest else stop


def _is_value(text: str, kind: str, group: str, start: int, stop: int) -> bool:
    value = text[start:stop]
    if group == "bare":
        value = value.rstrip(_CLOSING)
    if len(value) < 8 or _REFERENCE.match(value):
        return False
    if kind == "token" and value.isdigit() and len(value) < 12:
        return False
    if group != "bare":
        return kind == "password" or not any(character.isspace() for character in value)
    return value.lower() not in _STATES and not _reads_on(text, value, stop)


def _reads_on(text: str, value: str, stop: int) -> bool:
    """A word with more words after it is prose, and a name with `=` after it is the type of a variable."""
    if len(value) >= 24 or not value.replace("-", "").replace("/", "").isalpha():
        return False
    return bool(_A_TYPE.match(text, stop) or (_PROSE.fullmatch(value) and _MORE_PROSE.match(text, stop)))
