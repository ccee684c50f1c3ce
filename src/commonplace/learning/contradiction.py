"""
Which statement a newer one makes false: by rules, in English and Chinese.

Statements are compared as claims: of whom or what, which property, which value. Two values of a property that has one only
(where somebody lives, which branch is the main one, who owns a service) contradict each other. So do a liking and its negation.
Words of change name what has gone ("switched from X to Y", "no longer uses X", 从 X 换成 Y): a claim with that for its value is
over. What merely says more ("lives in Lisbon", "lives in Lisbon near the river") contradicts nothing. The rules are for short facts
in the third person, as `extract` writes them; if they do not see a contradiction, both statements stay.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final, NamedTuple

from commonplace.text.analyse import terms

# Not from the middle of white space: a long run of it is read once.
_DATE: Final = re.compile(
    r"(?<!\s)\s*+[(（\[](?:week of |[A-Z][a-z]{2,8} |周[一二三四五六日] )?\d{4}(?:-\d{2}){0,2}[)）\]]"
)
_FILLER: Final = re.compile(
    r"\b(?:now|actually|currently|already|still|just|really|also|as of (?:today|now))\b|(?:现在|現在|目前|已经|已經|其实|其實)",
    re.IGNORECASE,
)
_FRAMES: Final = tuple(
    (kind, re.compile(pattern, re.IGNORECASE | re.DOTALL))
    for kind, pattern in (
        ("name", r"(?P<s>.+?)'s name is (?P<v>.+)"),
        ("called", r"(?P<s>.+?) wants to be called (?P<v>.+)"),
        ("lives", r"(?P<s>.+?) (?:lives (?:in|near|at|on)|resides in|(?:moved|relocated)(?: back| over)? to|is based in) (?P<v>.+)"),
        ("works", r"(?P<s>.+?) works (?:at|for) (?P<v>.+)"),
        ("age", r"(?P<s>.+?) is (?P<v>\d+) years old.*"),
        ("owns", r"(?P<v>[A-Z][\w'’.-]*(?: [A-Z][\w'’.-]*)?) (?P<p>owns|maintains|leads|manages|approves|handles|is responsible for) (?P<s>.+)"),
        ("is", r"(?P<s>(?:the(?! (?:user|team) (?:is|are)\b)|our|.+?'s) (?P<p>[^,]{2,60}?)) (?:is|are) (?:at |on |in |called |named )?(?P<v>(?!not\b).+)"),
        ("place", (r"(?P<s>[^,]{2,60}?) (?P<p>listens? on|points? to|lives? in|runs? on|runs? at|defaults? to|expires? after"
         r"|(?:is|are) (?:stored|kept|hosted|deployed|located|defined|managed|owned)(?: in| on| at| by)?"
         r"|happens?(?: on| at| every)?|goes? out(?: on| at| every)?|starts? (?:in|at|on|with)|closes? at|opens? at) (?P<v>.+)")),
        ("prefers", r"(?>(?P<s>.+?) prefers )(?P<v>.+?) (?:over|to|rather than|instead of) (?P<o>.+)"),
        ("名字", "(?P<s>.*?)的名字(?:是|叫)(?P<v>.+)"),
        ("称呼", "(?P<s>.*?)希望被(?:称|稱)(?:为|為)(?P<v>.+)"),
        ("lives", "(?P<s>[^，]*?)(?:住在|住|定居在|定居于|家在|搬到了?|搬去了?|搬来了?)(?P<v>.+)"),
        ("works", "(?P<s>[^，]*?)在(?P<v>[^，]{1,30}?)(?:工作|上班|任职|就职|实习).*"),
        ("由", "(?P<s>[^，]{1,20}?)由(?P<v>[^，]{1,12}?)(?P<p>负责|維護|维护|管理|审批|处理|值班).*"),
        ("is", ("(?P<s>[^，]*?(?P<p>服务器|数据库|仓库|分支|端口|地址|域名|框架|版本|版本号|时区|编码|包管理器|负责人|经理|生日|邮箱|手机|编辑器|预算|截止日期"
         "|默认值|上限|超时时间|保留期|目录|路径|语言|主色|代号|时间))(?:都|统一|默认|固定|改)*(?:是|为|在|叫|用|放在|成)(?P<v>.+)")),
        ("place", "(?P<s>[^，]{1,20}?)(?:都|统一|默认)*(?P<p>放在|存放在|位于|部署在|跑在|托管在|存在|监听|指向|保存在)(?P<v>.+)"),
    )
)  # fmt: skip
# A liking or a habit, and what it is about.
_HABIT: Final = re.compile(
    r"(?P<s>.+?) (?P<no>does not |no longer |never |cannot |stopped |quit |gave up )?(?:always |usually |only )?"
    r"(?P<verb>use|like|love|enjoy|prefer|hate|dislike|eat|drink|support|run|drive|smok|play|work|liv|need)(?:s|es|e|ing|ed|d)?"
    r"(?P<to> (?:at|for|in|on))? (?P<v>.+)"
    r"|(?P<s2>[^，]*?)(?P<no2>不再|不|从不|從不|戒了)?(?P<verb2>使用|用|喜欢|喜歡|爱吃|爱喝|吃|喝|支持|抽)(?P<v2>.+)",
    re.IGNORECASE | re.DOTALL,
)
_AGAINST: Final = {
    "hate": "like",
    "dislike": "like",
    "love": "like",
    "enjoy": "like",
    "prefer": "like",
    "喜歡": "喜欢",
    "使用": "用",
}
_NEGATIVE: Final = frozenset({"hate", "dislike"})
# What has gone has a name, and names are short: nothing is looked for beyond 300 characters.
_GONE: Final = tuple(
    re.compile(pattern, re.IGNORECASE)
    for pattern in (
        r"\b(?:switched|moved|migrated|changed|upgraded|converted|transitioned)(?: \S++){0,4}? from (?P<old>\S.{0,299}?) (?:over )?to \S",
        (r"\b(?:no longer|never again) (?:uses?|runs?|supports?|prefers?|likes?|works? (?:at|for)|lives? in|deploys? (?:on|to)|has|have|owns?"
        r"|needs?|hosts?|is|are|eats?|drinks?) (?P<old>\S.*)"),
        r"\b(?:stopped|quit|gave up|given up) (?:using|eating|drinking|smoking|running|working (?:at|for)|supporting) (?P<old>\S.*)",
        r"\breplaced (?P<old>\S.{0,299}?) (?:with|by) \S",
        r"\brenamed (?P<old>\S.{0,299}?) to \S",
        r"\b(?:deprecated|dropped|retired|got rid of|left) (?P<old>\S.*)",
        r"\b(?:instead of|rather than|and not|not) (?P<old>\S[^,.;]{0,299}+)$",
        "从\\s*+(?P<old>[^，。从]{1,24}?)\\s*+(?:换|迁移|切换|升级|改|搬|转|迁|切)(?:成|到|为|用|至|去)",
        "(?:不再|停止|停)(?:使用|用|支持|吃|喝|抽|住在?|负责|喜欢|维护)\\s*(?P<old>[^，。]+)",
        "(?:把|将)\\s*+(?P<old>[^，。]{1,24}?)\\s*+(?:换|改|替换)(?:成|为|用)",
        "而不是\\s*(?P<old>[^，。]+)",
    )
)  # fmt: skip
_USES: Final = re.compile(
    r"\b(?:uses?|using|runs?|running on|prefers?|likes?|loves?|works? (?:at|for)|lives? (?:in|near)|hosts?|deploys?|owns?|supports?|eats?"
    r"|drinks?|switched to|moved to|migrated to|went with|is|are|stores?|writes?|builds?|plays?|drives?|smokes?) (?P<v>.+)"
    r"|(?:使用|采用|基于|部署在|部署|喜欢|住在|用的是|用|吃|喝|抽|是|换成了?|改用|迁移到了?|负责|选了|选的是)\s*(?P<v2>.+)",
    re.IGNORECASE | re.DOTALL,
)
_MORE_THAN_HEAD: Final = 4


class Claim(NamedTuple):
    """`value` as the words that count in it."""

    subject: frozenset[str]
    property: str
    value: frozenset[str]


# What a scope holds is compared with every new fact, again and again.
@lru_cache(maxsize=1024)
def claim(text: str) -> Claim | None:
    """What `text` says of a property that has one value only; None if it says nothing of the kind."""
    plain = _plain(text)
    for kind, frame in _FRAMES:
        match = frame.fullmatch(plain)
        if match is None:
            continue
        groups = match.groupdict()
        verb = groups.get("p")
        property_name = kind if verb is None or kind == "is" else f"{kind} {' '.join(sorted(_words(verb)))}"
        if other := groups.get("o"):
            property_name = f"{kind} {' '.join(sorted(_words(other) | _words(groups['v'])))}"
        return Claim(_words(groups["s"]), property_name, _words(groups["v"]))
    return None


def contradicts(new: str, old: str) -> bool:
    """Whether `old` is no longer true if `new` is."""
    before, now = claim(old), claim(new)
    if before and now and before[:2] == now[:2]:
        return _differ(before.value, now.value)
    return _is_gone(new, old) or _is_negated(new, old)


def says_change(text: str) -> bool:
    """Whether the text itself says that something is no longer true."""
    return any(pattern.search(text) for pattern in _GONE)


def _differ(a: frozenset[str], b: frozenset[str]) -> bool:
    """Two values, neither of which only says more than the other."""
    return bool(a and b) and not (a <= b or b <= a)


def _is_gone(new: str, old: str) -> bool:
    gone = [_words(match["old"]) for pattern in _GONE if (match := pattern.search(_plain(new)))]
    used = _USES.search(_plain(old))
    if not gone or used is None or says_change(old):
        return False
    value = _words(used["v"] or used["v2"])
    head = frozenset(list(_in_order(used["v"] or used["v2"]))[:_MORE_THAN_HEAD])
    # What has gone is what the old statement is about, not something it mentions by the way.
    return any(lost and lost <= value and (bool(lost & head)) for lost in gone)


def _is_negated(new: str, old: str) -> bool:
    now, before = _habit(new), _habit(old)
    if now is None or before is None:
        return False
    return (
        now[:2] == before[:2] and now[2] != before[2] and bool(now[3]) and (now[3] <= before[3] or before[3] <= now[3])
    )


@lru_cache(maxsize=1024)
def _habit(text: str) -> tuple[frozenset[str], str, bool, frozenset[str]] | None:
    match = _HABIT.fullmatch(_plain(text))
    if match is None:
        return None
    verb = (match["verb"] or match["verb2"]).lower()
    negative = bool(match["no"] or match["no2"]) != (verb in _NEGATIVE)
    words = _words(match["v"] or match["v2"] or "")
    return _words(match["s"] or match["s2"] or ""), _AGAINST.get(verb, verb), negative, words


@lru_cache(maxsize=1024)
def _plain(text: str) -> str:
    # 用 alone is a verb.
    text = text.replace("用户", "某人").replace("用戶", "某人")
    return " ".join(_FILLER.sub(" ", _DATE.sub("", text)).split()).rstrip(" .。!！了")


def _words(text: str) -> frozenset[str]:
    return frozenset(_in_order(text))


def _in_order(text: str) -> list[str]:
    return [term for term in terms(text) if "_" not in term]
