"""
How a text is judged before it is filed: by cue words, the learned judge and the rules of contradiction.

`personal` weighs what a sentence speaks of, by cue words and by what the judge has learned (`judge/`). The first person, a family, health and how somebody wants to be answered are the person's;
"we", "the repo", a path and the words of software are the project's; "we" of a family is the person's. What has neither is unsure.
"""

from __future__ import annotations

import math
import re
from datetime import datetime
from typing import Final

from commonplace.guard.wishes import is_refused
from commonplace.learning.contradiction import contradicts
from commonplace.learning.judge.features import Remark
from commonplace.learning.judge.sentences import judge
from commonplace.learning.times import resolved
from commonplace.markdown.judge import FilingJudge
from commonplace.text.conflict import conflict
from commonplace.values.file_ref import RootKind
from commonplace.values.record import Trust

_REFUSED: Final = (
    "It reads like an order to an agent, not like something to remember. Say what is so, or what you prefer."
)
_OTHERS_READ: Final = (
    "It tells an agent how to behave, and others read the memory of the project. Keep it in your own: scope `user`."
)

_FAMILY: Final = re.compile(
    r"\b(?:wife|husband|spouse|fianc[eé]e?|girlfriend|boyfriend|daughter|son|kids?|children|child|baby|toddler|twins|mother|father|mom|mum|mummy"
    r"|dad|daddy|parents?|sisters?|brothers?|siblings?|grand(?:ma|pa|mother|father|parents?|son|daughter|children|kids?)|aunt|uncle|cousin"
    r"|nephew|niece|in-laws?|family|stepson|stepdaughter|dog|cat|puppy|kitten|landlord|landlady|flatmate|roommate|neighbou?rs?|kindergarten|nursery|babysitter|wedding|honeymoon)\b"
    r"|妻子|老婆|太太|丈夫|老公|爱人|女朋友|男朋友|未婚[妻夫]|女儿|儿子|孩子|小孩|宝宝|双胞胎|母亲|父亲|妈妈|爸爸|爸妈|父母|姐姐|妹妹|哥哥|弟弟"
    r"|爷爷|奶奶|外公|外婆|姥姥|姥爷|家人|全家|我家|家里|表[哥弟姐妹]|侄|婆婆|岳[父母]|房东|室友|邻居|小区|幼儿园|狗狗|猫咪|小狗|小猫|婚礼|蜜月",
    re.IGNORECASE,
)
_CUES: Final = tuple(
    (weight, re.compile(pattern, re.IGNORECASE))
    for weight, pattern in (
        (4, r"(?<![\w'/.])(?:I|I'm|I’m|I've|I’ve|I'd|I’d|I'll|I’ll|me|my|mine|myself)(?![\w/])|我(?!们|們|方|司|国|國)|本人|个人|俺"),
        (3, (r"\b(?:allerg\w+|vegetarian|vegan|gluten|lactose|diabet\w+|asthma|pregnan\w+|diagnos\w+|therap(?:y|ist)|dentist|doctor(?:'s)?|surgery|blood type"
            r"|medication|birthday|anniversary|passport|salary|mortgage|rent|hobb(?:y|ies)|gym|locker|marathon|shoe size|commut\w+|holiday|vacation)\b"
            r"|过敏|素食|吃素|糖尿病|哮喘|怀孕|医生|牙医|体检|手术|血型|吃药|生日|纪念日|护照|工资|房贷|房租|爱好|健身|马拉松|通勤|度假|旅行")),
        (3, r"\b(?:the )?user(?:'s)? (?:is|was|has|prefers?|likes?|loves?|hates?|wants?|works?|lives?|uses|speaks?|dislikes?|enjoys?|name|birthday|favou?rite)\b|(?:该|本|这位)?用户(?:是|有|喜欢|偏好|住|叫|想|希望|习惯|的名字|的生日)"),
        (3, r"^(?:prefers?|likes?|loves?|hates?|dislikes?|enjoys?|speaks|lives|works|allergic|named|born|married|single|vegetarian|left-handed)\b|^(?:喜欢|偏好|讨厌|不喜欢|住在|会说)"),
        (3, (r"\b(?:answers?|reply|replies|respond|responses?|explain|apologi[sz]\w*|emojis?|small talk|jargon|concise(?:ly)?|briefly|bullet points|step by step|summari[sz]e)\b"
            r"(?! (?:status|codes?|times?|body|bodies|headers?|from|on|at|with \d)\b)|\bcall (?:me|him|her)\b|\bspeak (?:to|with) me\b"
            r"|\bfrom now on\b|你叫|你就?是我|(?:回答|回复|答复|解释|称呼|叫我|道歉|表情符号|简短|简洁|说话)")),
        (1, r"\b(?:he|she|him|her|his|hers)\b|[他她](?!们)"),
        (-3, r"(?<![\w])(?:we|we're|we've|we'll|we’re|we’ve|our|ours|us)(?![\w])|我们|我們|咱们|我方|我司"),
        (-3, r"\b(?:this|the|our|each|every) (?:repo|repository|project|codebase|workspace|monorepo|team|company|office|product|app|service)\b|(?:本|这个|该)?(?:项目|仓库|代码库|团队|公司|产品|工程)"),
        (-2, r"`[^`\n]{1,80}+`|(?<![\w.-])(?!and/|he/|she/)[\w.-]{1,64}+/(?=[\w\s.-])|\b\w[\w-]{0,40}+\.(?:json|js|ts|tsx|py|md|ya?ml|toml|go|rs|java|sql|sh|cfg|ini|lock|css|html)\b|\b[A-Z]{1,40}+_[A-Z_]"),
        (-2, (r"\b(?:main branch|branch|commits?|pull requests?|PRs?|merge[sd]?|push|deploy\w*|releas\w+|rollback|changelog|versions?|package|dependenc\w+|lint\w*|linter|builds?"
             r"|pipeline|CI|CD|API|endpoints?|microservices?|services?|modules?|servers?|databases?|schema|migrations?|staging|production|prod|docker|kubernetes|k8s|cluster"
             r"|tests?|test suite|integration|unit tests|code review|lint|ports?|queue|cron|cache|redis|postgres\w*|mysql|kafka|nginx|terraform|aws|s3|frontend|backend"
             r"|sprint|retro|stand-?up|backlog|roadmap|milestones?|deadline|customers?|clients?|invoices?|stakeholders?|vendor|contract|SLA|on-?call|incident|feature flags?"
             r"|config\w*|env(?:ironment)? variables?|logs?|logging|metrics|dashboard|runbook|docs|wiki|tickets?|jira|requests?|responses?|timeouts?|retries|tokens?|users)\b"
             r"|部署|发布|上线|分支|提交|合并|主分支|版本|依赖|构建|流水线|接口|端口|模块|服务|服务器|数据库|迁移|测试|生产环境|预发|代码|评审|缓存|队列|配置|日志|监控|文档|前端|后端"
             r"|迭代|站会|例会|里程碑|截止|客户|合同|发票|需求|工单|值班|故障|灰度|脚本|组件|架构")),
        (-2, r"\b[A-Z][a-z]+ (?:owns|maintains|leads|manages|handles|reviews|approves|is responsible for)\b|由[^，。]{1,6}负责|[^，。我]{1,6}负责"),
    )
)  # fmt: skip
_WE: Final = -3
_MOST: Final = 6
"""What all cues weigh together: none alone outweighs what the judge is sure of."""
_EVEN: Final = -1.0
"""The odds at which a text is the person's rather than nobody knows whose."""


def personal(text: str) -> float:
    """The chance that a sentence is about the person's own or private life rather than the team's or the project's."""
    weights = [weight for weight, cue in _CUES if cue.search(text)]
    if is_family(text):
        # "We" are then the family, and a kindergarten has an office, too.
        weights = [max(weight, 0) if weight == _WE else weight for weight in weights] + [4]
    cues = max(min(sum(weights), _MOST), -_MOST)
    odds = judge([Remark(text)])[0].personal + cues / 2
    if cues > 0:
        odds = max(odds, 0.0)
    elif not weights:
        # Nothing in it says whose it is: the judge alone may say that it is the project's, and never that it is surely the person's.
        odds = min(odds, _EVEN - 0.1)
    return 1 / (1 + math.exp(-(odds - _EVEN)))


def is_family(text: str) -> bool:
    return _FAMILY.search(text) is not None


def replaces(old: str, new: str) -> float:
    """The chance that `new` gives another value of the same property of the same thing as `old`."""
    return 1.0 if contradicts(_in_third_person(new), _in_third_person(old)) or conflict(old, new) else 0.0


def _in_third_person(text: str) -> str:
    """As the rules of contradiction read a fact."""
    text = re.sub(r"^I(?:'m|’m| am)\b", "The user is", text)
    text = re.sub(
        r"^I (live|work|prefer|use|like|love|hate|drive|play|drink|eat|need|run|own)\b", r"The user \1s", text
    )
    return re.sub(r"^My\b", "The user's", re.sub(r"^I\b", "The user", text))


def dated(text: str, now: datetime) -> str:
    """The text with the dates that "yesterday" and its like mean."""
    return resolved(text, now).text


def judge_for(trust: Trust | None) -> FilingJudge:
    """`trust` is the untrusted label of whoever handed the text over; None: a person did, in their own words."""

    def refuse(text: str, kind: RootKind) -> str | None:
        if not is_refused(text, kind, own=trust is None):
            return None
        is_kept_elsewhere = trust is None and kind != "user" and not is_refused(text, "user", own=True)
        return _OTHERS_READ if is_kept_elsewhere else _REFUSED

    return FilingJudge(refuse=refuse, personal=personal, is_family=is_family, replaces=replaces, dated=dated)
