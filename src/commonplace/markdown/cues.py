"""
What kind of memory a sentence is, by the words it uses, and when two sentences say the same.

English and Chinese. A cue counts once however often it occurs; the kind with the most wins, and on a draw the one named
first here. A sentence without a cue is about the project.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from functools import lru_cache
from typing import Final

from commonplace.markdown.entries import TYPES, EntryType, MemoryEntry
from commonplace.markdown.facts import sentences
from commonplace.text.similarity import overlap, words
from commonplace.text.unicode import normal_form

RELATED: Final = 0.5
"""How near an entry must be to what is to be forgotten."""

_ARTICLES: Final = frozenset({"the", "a", "an"})

_CUES: Final[dict[EntryType, tuple[str, ...]]] = {
    "feedback": (
        r"\b(?:always|never)\b",
        r"\b(?:don't|do not|stop|avoid|quit)\b",
        r"\b(?:from now on|next time|in (?:the )?future|instead of)\b",
        r"^(?:please\b|use\b|keep\b|write\b|run\b|ask\b|be\b|prefer\b|make sure\b)",
        r"\b(?:you should|you must|answers?|replies|responses?|commit messages?|feedback)\b",
        r"不要|别再|不许|禁止",
        r"总是|始终|每次|一律|务必|必须",
        r"以后|下次|从现在起|今后",
        r"^请|避免|反馈|回答时|回复时",
    ),
    "user": (
        r"\b(?:the user|user's|users?) (?:is|was|has|prefers?|likes?|wants?|works?|lives?|uses|speaks?|hates?|name)\b",
        r"\b(?:i am|i'm|i have|i've|i work|i live|i speak|i use|i need|my name|my role|call me)\b",
        r"\b(?:i|user|he|she|they) (?:really )?(?:prefers?|likes?|loves?|hates?|dislikes?|enjoys?)\b",
        r"\bmy (?:favou?rite|birthday|wife|husband|partner|manager|team|job|role|timezone|time zone|editor|dog|cat|hobby)\b",
        r"用户|我的名字|我叫|叫我",
        r"我(?:喜欢|不喜欢|讨厌|偏好|偏爱|习惯|爱|住在|在|是|会|有)",
        r"我的(?:生日|爱好|工作|职位|时区|编辑器|妻子|丈夫|经理)",
        r"偏好|喜欢|习惯用",
    ),
    "reference": (
        r"https?://",
        r"\b(?:docs?|documentation|wiki|runbook|dashboard|spreadsheet|handbook|manual|tracker|board)\b",
        r"\b(?:documented|located|found|tracked|described|listed|kept|stored) (?:at|in|on|under)\b",
        r"\b(?:jira|confluence|notion|linear|grafana|slack channel|ticket)\b|\b[A-Z][A-Z0-9]+-\d+\b",
        r"文档|手册|维基|看板|仪表盘|链接|网址",
        r"(?:记录|存放|保存|追踪|列)(?:在|于)|地址是|参考",
    ),
    "project": (
        r"\b(?:the )?(?:project|repo|repository|codebase|service|app|api|module|package|monorepo|database|schema)\b",
        r"\bwe (?:use|are|have|deploy|ship|chose|decided|agreed|will|need|run|moved|switched)\b|\b(?:our|the team)\b",
        r"\b(?:deploy\w*|release\w*|deadlines?|milestones?|sprint|branch|builds?|pipeline|ci|production|staging|merge freeze)\b",
        r"\b(?:uses?|depends on|requires|is written in|built with)\b",
        r"项目|仓库|代码库|服务|接口|模块|数据库",
        r"我们(?:用|使用|采用|决定|部署|发布|打算|需要|要|的)|团队",
        r"部署|发布|上线|截止|里程碑|分支|构建|流水线|生产环境|测试环境",
    ),
}
_COMPILED: Final[dict[EntryType, tuple[re.Pattern[str], ...]]] = {
    kind: tuple(re.compile(cue, re.IGNORECASE | re.MULTILINE) for cue in cues) for kind, cues in _CUES.items()
}
_REMEMBER_LEAD: Final = re.compile(
    r"\s*(?:(?:please\s+|can you\s+|could you\s+)?(?:remember|memori[sz]e|keep in mind|don't forget|do not forget|note(?=\s+that\b|:))"
    r"(?:\s+that)?[:,]?\s+|请?(?:帮我)?(?:记住|记一下|记下|记得|别忘了|不要忘记)[：:，,]?\s*)",
    re.IGNORECASE,
)
_FORGET_LEAD: Final = re.compile(
    r"\s*(?:(?:please\s+)?forget(?:\s+(?:about|that|everything about))?[:,]?\s+|请?(?:帮我)?(?:忘掉|忘记|忘了)(?:关于)?[：:，,]?\s*)",
    re.IGNORECASE,
)
_TYPE_PREFIX: Final = re.compile(r"\s*(user|feedback|project|reference)\s*[:：]\s+(?=\S)", re.IGNORECASE)


def kind_of(text: str, among: Collection[EntryType] = TYPES, default: EntryType = "project") -> EntryType:
    """The type of memory that `text` is, of those `among` which it may be."""
    best, most = default, 0
    for kind, cues in _COMPILED.items():
        if kind not in among:
            continue
        count = sum(bool(cue.search(text)) for cue in cues)
        if count > most:
            best, most = kind, count
    return best


def text_and_type(content: str) -> tuple[str, EntryType | None]:
    """What to remember, without `remember that`, and the type if the text names one: `feedback: use tabs`."""
    text = _after(_REMEMBER_LEAD.match(content), content)
    prefix = _TYPE_PREFIX.match(text)
    if prefix is None:
        return text, None
    for kind in TYPES:
        if kind == prefix[1].lower():
            return text[prefix.end() :].strip(), kind
    return text, None


def without_lead(content: str) -> str:
    """What to forget, without `forget about`."""
    text = _after(_REMEMBER_LEAD.match(content), content)
    return _after(_FORGET_LEAD.match(text), text)


def _after(match: re.Match[str] | None, content: str) -> str:
    rest = content[match.end() :].strip() if match else content.strip()
    return rest or content.strip()


def same(a: str, b: str) -> bool:
    """Whether two sentences differ in nothing but case, marks, spaces and articles."""
    return _bare(normal(a)) == _bare(normal(b)) != ""


def _bare(plain: str) -> str:
    words = plain.split(" ")
    return " ".join(word for word in words if word not in _ARTICLES) or plain


def normal(text: str) -> str:
    """The letters and digits of a text, words apart."""
    folded = normal_form(text).casefold()
    return " ".join("".join(c if c.isalnum() else " " for c in folded).split())


def claims(entry: MemoryEntry) -> Iterator[str]:
    """What an entry says, a line or a sentence at a time."""
    for line in (entry.description, *entry.body.split("\n")):
        bare = line.strip().lstrip("-*# ").strip()
        if bare:
            yield bare
            parts = [bare[start:stop].strip() for start, stop in sentences(bare)]
            if len(parts) > 1:
                yield from parts


def says(entry: MemoryEntry, text: str) -> bool:
    """Whether the entry says exactly this already."""
    plain_text = _bare(normal(text))
    return any(_bare(plain) == plain_text != "" for plain, _ in _plain(entry))


def nearness(entry: MemoryEntry, text: str) -> float:
    """How much the nearest claim of an entry has in common with `text`, by their words; a whole body counts too."""
    bag = words(normal(text))
    return max((overlap(claim, bag) for _, claim in _plain(entry)), default=0.0)


@lru_cache(maxsize=4096)
def _plain(entry: MemoryEntry) -> tuple[tuple[str, frozenset[str]], ...]:
    """The claims of an entry and its whole body, as they are compared. Cached: each entry is compared again and again."""
    texts = dict.fromkeys(normal(claim) for claim in (*claims(entry), entry.body))
    return tuple((plain, words(plain)) for plain in texts if plain)
