"""
Reads a Chinese sentence by the cues in `chinese.toml`.

Clauses end at commas and leave out a subject that the one before them named: "我住在杭州，平时用 Vim" tells two things about
the same person. Traditional characters are folded for comparing only; a statement keeps those it was made in.
"""

from __future__ import annotations

import re
from typing import Final

from commonplace.learning.rules import Cue, load
from commonplace.learning.rules.statement import EXPLICIT, ScopeHint, Statement, Voice
from commonplace.learning.sentences import bare, in_quotes, is_cut

_CUES: Final = load("chinese")
_OF_SENTENCES: Final = (*_CUES["outcomes"], *_CUES["lessons"])
_OF_CLAUSES: Final = (*_CUES["orders"], *_CUES["personal"], *_CUES["project"], *_CUES["outcomes"], *_CUES["general"])
_STRONG: Final = tuple(cue for cue in _OF_SENTENCES if cue.strong)

# One character for one, so that a place in the folded text is the same place in the text.
_FOLD: Final = str.maketrans(
    "們歡請記這個為決來說應該對過總從務發現問題項採團隊將讓嗎麼誰幾設會實證結導復於約規範統負責習慣愛討厭稱號職業學師聽據給幫煩剛暫時點無視"
    "還沒開關裏裡臺後處專養貓貓維護遷換級樣倉庫數據環境連壞錯誤敗經驗講寫測試運線網頁檔認覺議氣確寧溝須禁許嚴簡體語單電腦車書讀醫護員資訊備註"
    "隻條歲話請並與內間當預設別類較傾鐘鍾喜獨執動構組織標準滿誌啟禮歸檔產",
    "们欢请记这个为决来说应该对过总从务发现问题项采团队将让吗么谁几设会实证结导复于约规范统负责习惯爱讨厌称号职业学师听据给帮烦刚暂时点无视"
    "还没开关里里台后处专养猫猫维护迁换级样仓库数据环境连坏错误败经验讲写测试运线网页档认觉议气确宁沟须禁许严简体语单电脑车书读医护员资讯备注"
    "只条岁话请并与内间当预设别类较倾钟钟喜独执动构组织标准满志启礼归档产",
)
_OPENERS: Final = re.compile(
    r"(?:你好|您好|大家好|嗨|哈喽|好的?|嗯+|对了|对|另外|还有(?:一点)?|顺便(?:说|提)?(?:一下|一句)?|补充(?:一下|一点)?|其实|首先|其次|总之|是的|没错|谢谢你?|多谢"
    r"|好吧|哦+|啊|不是|不|那|然后|所以|而且|并且|同时|但是?|不过|因为|另外说一下|先说明一下|简单说|自我介绍一下|介绍一下|先介绍一下|说一下|背景是?|说明一下|辛苦了|明白|收到|没问题"
    r"|太好了|可以|行|查到了|找到了|搞定了|解决了|早上好|下午好|晚上好|说到这个|说起来|再说一点|最后一点|第[一二三]|更正一下|纠正一下)(?:[，,！!。：:、~～]\s*|\s+)"
)
_JOINERS: Final = re.compile(
    r"(?:另外|还有|而且|并且|同时|但是|不过|因为|所以|其实|然后|那么|此外|但|那|顺便说一下)(?=\S)"
)
_LEADS: Final = re.compile(
    r"(?:以后|今后|平时|平常|一般来说|一般|通常|目前|工作上|生活中|生活上|周末|从现在开始|从现在起|从今以后|(?:在)?这个项目(?:里|中)?|项目里|我们这边|公司里|团队里|(?:每次|以后|今后).{1,16}(?:前|后|时)|已?经?(?:定了|敲定了|确定了|选好了|定下来了)|最后|最终"
    r"|经过讨论|讨论后|开会讨论后|.{1,12}的时候)"
)
_COMMA: Final = re.compile(r"(?:(?<!\s)\s++)?(?:，|,(?!\d))\s*+")
_KIN: Final = re.compile(
    r"我们?家?的?(?:老妈|老爸|爸妈|婆婆|岳母|岳父|公公|妈妈?|爸爸?|妻子|老婆|太太|爱人|媳妇|丈夫|老公|对象|[女男]朋友|[女男]友|女儿|闺女|儿子|孩子|小孩|宝宝|娃|哥哥?|姐姐?|弟弟?|妹妹?|母亲|父亲|父母|爷爷|奶奶|外公|外婆|姥姥|姥爷|狗|猫|领导|老板|经理|主管|导师|室友|房东|同桌)"
)
_SUBJECT: Final = re.compile(r"我是(?=[\u4e00-\u9fff]{2,3}$)|我们(?!的)|咱们(?!的)|我(?!的)")
_TAG: Final = re.compile(r"(?:对吗|是吗|对吧|是吧|对不对|是不是|没错吧|好吗|可以吗)[？?]?$")
_GOES_ON: Final = re.compile(r"只能|不是|必须|不能|不得|不准|需要|一律|默认|但不能|并且|禁止")
_MORE_OF_IT: Final = re.compile(r"(?:名字|小名)?叫(?!我)|[一二两三另]\S?(?:叫|是|在|个)")
_HABIT: Final = re.compile(r"(?:平时|平常|一般|通常|周末|偶尔|经常|每天|每晚|每周|从小|一直|工作日)(?!我|你)")
_NO_MORE: Final = re.compile(
    r"写(?!周|日)|做|给|画|生成|看|改|加|搞|弄|推荐|讲|说|翻译|来|整|出个|换|再|想|试|查|谢|好|行|嗯|辛苦|哈|能|可以|有推荐|求|总结|分析"
)
_SPECIFIC: Final = re.compile(
    r"[\dA-Za-z“「『《]|[一二两三四五六七八九十百千万半](?:个|天|周|月|年|点|次|人|位|名|小时|分钟|秒|元|块|岁|号|条|份|台|套|级|层|楼|日|期|倍|成|折|公里|米|斤|轮|遍|段|页|字|家|块|张|种)"
    r"|必须|只能|一律|统一|不许|不准|不得|禁止|都要|都得|至少|最多|最晚|最迟|每|优先|负责|截止|默认|先|不能|为准|签字|审|批|提前|由.{2,4}|[一二三四五六七八九十][点楼]|.{2,3}管.{2}|发给|抄送|交给|报给|不允许|周[一二三四五六日末]|归.+管|月底|年底|季度|不接受|只"
)
_OWN_SUBJECT: Final = re.compile(r"我|你|您|他|她|它|咱|这|那|请|大家|如果|因为")

_ASKS: Final = re.compile(
    r"[？?]|(?:吗|呢|么)\s*[。！!]?$|什么(?!都)|怎么|怎样|为什么|为何|是不是|能不能|可不可以|要不要|有没有|会不会|好不好|行不行|哪[个些里种儿位]|多少|是否|啥|咋|能否|可否|对吧|谁(?:来|在|能|负责)|如何"
)
_TASKS: Final = re.compile(
    r"(?:请|麻烦|能|可以)?(?:你|您)?(?:帮|替|给)(?:我|忙|我们)|(?:你|您)(?:能|可以|会|来)|我想(?!念)|我要|我需要|我打算|我准备|我正|我们?(?:需要|得|要|想)|让我们?|看看|试试|我先|我再"
)
_SUPPOSES: Final = re.compile(
    r"如果|假如|要是|假设|的话|万一|倘若|比如|例如|举个例子|譬如|设想|假使|若是|除非|就算|即使"
)
_DOUBTS: Final = re.compile(
    r"可能|也许|或许|大概(?!\s*[\dA-Z一二两三四五六七八九十])|好像|似乎|应该(?:是|会|在|就)|说不定|不确定|不太确定|估计|我觉得|我猜|我认为|貌似|不知道|不清楚|记不清|没想好|没决定|还没(?:定|想)|考虑|犹豫|(?<!不)打算|计划(?:要|去|在)|想试"
    r"|开玩笑|哈哈|看起来|看样子|听起来|怀疑|不一定|未必|恐怕|差点|希望能|想要"
)
_REPORTS: Final = re.compile(
    r"(?:他们?|她们?|有人|别人|人家|老板|同事|朋友|客户|用户们|网上|文章|书|新闻|领导|经理|妈妈?|爸爸?|老师|[王李张刘陈杨赵黄周吴小老阿]\S|\S[总哥姐工]|专家|医生|博主|对方|主角|角色)"
    r"(?:们|里|中|上)?(?:都|也|还|又|总|昨天|刚才|曾经?|一直|老)?(?:说(?!明)|讲|告诉|提到|认为|觉得|表示|建议|写道|问)"
    r"|听说|据说|翻译|翻譯|润色|改写|据.{1,10}称|传闻|所谓|^[“\"「『‘]"
)
_MOMENT: Final = re.compile(
    r"刚才|刚刚|这会儿|暂时|临时|待会|等会|等下|一会儿|正在|此刻|马上|立刻|这次|本次|这一次|眼下|先这样|到时候|稍后|现在(?:正|有点|很|好|想|要|没|就|在(?!.{1,16}(?:工作|上班|读|任职|做)))|还在|的话题"
)
_DAY: Final = re.compile(
    r"今天|今晚|今早|今日|明天|明早|昨天|昨晚|后天|前天|这周|本周|下周[一二三四五六日末]?|上周[一二三四五六日末]?|这个月|下个?月|上个?月|刚刚?(?!好)"
)
_STATE: Final = re.compile(
    r"发烧|咳嗽|拉肚子|挂了|挂掉|坏了|崩了|崩溃|报错|出错|失败|卡住|卡死|有(?:点)?问题|出问题|很慢|太慢|好慢|超时了|没反应|红了|不行|打不开|连不上|很?忙|累|困|生病|感冒|在开会|在路上|好的$|对的$|错的$|空的?$|满了|不见了|丢了"
    r"|用不了|没了|炸了|正常$|不对|不错|一样$|时$|的时候$|怪怪的|乱|正常的$|有点|在(?:写|改|重启|升级|加载|编译|构建|修)|写了$|顺手|起来|不多|一下$|很远|紧$|需要[一二两三四五六七八九十几\d]+个?(?:天|小时|分钟|周|月)"
)

_REMEMBER: Final = re.compile(
    r"(?:请|麻烦|帮我|帮忙|务必|一定要|你|您|要|千万|也|再|先|希望|还请)*+(?:记住|记下来?|记一下|记录一下|牢记|切记|谨记|铭记|记好|别忘了|不要忘了|别忘记|不要忘记|备忘|记到(?:你的)?记忆(?:里|中)?|存到记忆(?:里|中)?)"
    r"(?:一下|一点|这点|这一点|这件事|这个|下来|了|哦|啊)*(?:\s*[：:，,]\s*|\s+|(?=\S))"
)
_VAGUE: Final = re.compile(r"(?:这|那|它|他|她|吧|没|要|去|来|给|带|买|的|我说|怎)")

# Plans for a life, not for an afternoon.
_PLANS: Final = re.compile(
    r"我?(?:打算|计划|准备)(?:明年|今年|年底|毕业后|以后|年后|.{1,3}月份?)?(?:去|就)?(?:考|搬|转行|换工作|结婚|移民|买房|退休|留学|读|创业|辞职|生|备孕|装修|跑.{0,4}马)"
)
SHORT_DOUBT: Final = 5
SURE: Final = 0.7
"""What is less sure than that and has no subject of its own goes on with the clause before it."""

_SHIELDED: Final = re.compile(r"`[^`]*`|“[^”]*”|「[^」]*」|\"[^\"]*\"|(?<![A-Za-z])[A-Za-z]++://\S++")
_PRONOUN: Final = re.compile(
    r"(?P<own>我[们們]的?(?=家|公司|学校|學校|班|小区|单位|医院|店))|(?P<team>我[们們]|咱[们們]?|我司)"
    r"|(?P<self>(?<![自忘])我(?![国國行])|本人)|(?P<you>(?<!用)[你您][们們]?)"
)
_EDGES: Final = re.compile(r"(?:哦|啊|呀|哈|啦|喔|噢|呢|嘛|谢谢|謝謝|了哦|就好)++$")
_MEANT: Final = re.compile(r"(?P<before>^|[，,]\s*)[他她](?![们們说說讲講问問]|告|提|认|認|觉|覺|表示|建|的)")


def named(sentence: str, about: str) -> tuple[str, str]:
    """The sentence with 她 and 他 as who was spoken of last, and who that is now."""
    start = 0
    for someone in _KIN.finditer(sentence.translate(_FOLD)):
        about, start = sentence[someone.start() : someone.end()], someone.end()
    if not about:
        return sentence, about
    return sentence[:start] + _MEANT.sub(rf"\g<before>{about}", sentence[start:]), about


def reserves(sentence: str) -> tuple[bool, ...]:
    """Whether a sentence is doubted, reported, supposed, wished, of the moment, a state, or a wish for now."""
    return (
        _DOUBTS.search(sentence) is not None,
        _REPORTS.search(sentence) is not None,
        _SUPPOSES.search(sentence) is not None,
        _ASKS.search(sentence) is not None,
        _MOMENT.search(sentence) is not None,
        _STATE.search(sentence) is not None,
        _TASKS.match(sentence) is not None,
        _DAY.search(sentence) is not None,
        _SPECIFIC.search(sentence) is not None,
    )


def read(sentence: str, voice: Voice) -> list[Statement]:
    """The facts one Chinese sentence tells."""
    if is_cut(sentence):
        return []
    text = _opened(sentence)
    folded = text.translate(_FOLD)
    if voice.role == "person" and (asked_to := _REMEMBER.match(folded)):
        return _remembered(text[asked_to.end() :], voice)
    if _has(folded, _REPORTS, _TAG):
        return []
    cues = _STRONG if voice.role == "assistant" else _OF_SENTENCES
    statement = None if _has(folded, _ASKS, _MOMENT, _SUPPOSES, _DOUBTS) else _stated(cues, text, voice)
    if statement:
        return [statement]
    return [] if voice.role == "assistant" else _clauses(text, voice)


def unasked(sentence: str) -> str:
    """Without 请记住: what a person asks to be remembered, or the sentence itself."""
    text = _opened(sentence)
    request = _REMEMBER.match(text.translate(_FOLD))
    return text[request.end() :] if request else sentence


def _has(folded: str, *patterns: re.Pattern[str]) -> bool:
    return any(pattern.search(folded) for pattern in patterns)


def _opened(sentence: str) -> str:
    while match := _OPENERS.match(sentence.translate(_FOLD)):
        sentence = sentence[match.end() :]
    if match := _JOINERS.match(sentence.translate(_FOLD)):
        sentence = sentence[match.end() :].lstrip("，, ")
    return sentence


def _remembered(text: str, voice: Voice) -> list[Statement]:
    """What a person asks to be remembered: by the rules where one fits, else as it was said."""
    folded = text.translate(_FOLD)
    if len(bare(text)) < 4 or _has(folded, _MOMENT, _ASKS):
        return []
    dated = bool(_DAY.search(folded))
    statements = [] if dated else [item._replace(confidence=EXPLICIT) for item in _clauses(text, voice)]
    if statements:
        return statements
    if _VAGUE.match(folded) or _STATE.search(folded) or _SUPPOSES.search(folded):
        return []
    scope: ScopeHint = "user" if re.search("我(?!们)", folded) else "workspace"
    return [Statement(_third(_EDGES.sub("", bare(text)), voice), "learning", scope, EXPLICIT, dated=dated)]


def _parts(text: str) -> list[str]:
    """The clauses; "以后，" and the like belong to the one after them."""
    parts: list[str] = []
    lead = ""
    for piece in _COMMA.split(text):
        if not piece:
            continue
        if _LEADS.fullmatch(piece.translate(_FOLD)):
            lead += piece
            continue
        parts.append(lead + piece)
        lead = ""
    return parts


def _clauses(text: str, voice: Voice) -> list[Statement]:
    """What the clauses tell. A doubt reaches to the end of the sentence, and one in a few words ("应该吧") all of it."""
    reading = _Reading(voice)
    for place, part in enumerate(_parts(text)):
        clause = _opened(part)
        folded = clause.translate(_FOLD)
        planned = _PLANS.match(folded)
        if _has(folded, _SUPPOSES, _DOUBTS) and not planned:
            return reading.statements if len(folded) > SHORT_DOUBT else []
        if _has(folded, _ASKS, _MOMENT) or (_TASKS.match(folded) and not planned) or in_quotes(clause):
            reading.breaks_off()
            continue
        if not place and _HABIT.match(folded):
            reading.subject = "我"
        if reading.is_told_more(part, folded):
            reading.join(part)
        else:
            reading.read(part, clause, folded)
    return reading.statements


class _Reading:
    """What a sentence told so far, of whom, and whether the next clause may go on with it."""

    def __init__(self, voice: Voice) -> None:
        self.statements: list[Statement] = []
        self.subject = ""
        self._voice = voice
        self._goes_on = False

    def breaks_off(self) -> None:
        self.subject, self._goes_on = "", False

    def is_told_more(self, part: str, folded: str) -> bool:
        """ "…，叫豆豆", "…，只能走堡垒机": plainly about what the clause before told."""
        if not self._goes_on:
            return False
        return bool(_MORE_OF_IT.match(folded) or (self.statements[-1].scope == "workspace" and _GOES_ON.match(part)))

    def read(self, part: str, clause: str, folded: str) -> None:
        kin = _KIN.match(folded)
        own = None if kin else _SUBJECT.match(folded)
        new = _stated(_OF_CLAUSES, clause, self._voice)
        if self.subject and not _is_sure(new) and not _OWN_SUBJECT.match(folded):
            new = _stated(_OF_CLAUSES, self.subject + clause, self._voice) or new
        elif kin:
            self.subject = ""
        elif own:
            self.subject = own[0] if new or own[0] == "我是" else ""
        if self._goes_on and _continues(folded) and not self._is_apart(new, bool(kin or own)):
            self.join(part)
            return
        self._goes_on = new is not None
        if new:
            self.statements.append(new)

    def join(self, part: str) -> None:
        """A clause that tells nothing sure by itself goes on with the one before it."""
        last = self.statements[-1]
        self.statements[-1] = last._replace(text=f"{last.text}，{_third(_EDGES.sub('', bare(part)), self._voice)}")

    def _is_apart(self, new: Statement | None, has_subject: bool) -> bool:
        return _is_sure(new) or (new is not None and (has_subject or bool(self.statements[-1].topic)))


def _is_sure(statement: Statement | None) -> bool:
    return statement is not None and statement.confidence >= SURE


def _continues(folded: str) -> bool:
    return not _OWN_SUBJECT.match(folded) and not _NO_MORE.match(folded) and not _has(folded, _DAY, _STATE)


def _stated(cues: tuple[Cue, ...], clause: str, voice: Voice) -> Statement | None:
    """What the first cue that fits makes of a clause."""
    plain = bare(_EDGES.sub("", bare(clause)))
    folded = plain.translate(_FOLD)
    for cue in cues:
        match = cue.pattern.fullmatch(folded)
        if not match or not _lasts(cue, folded):
            continue
        words = {name: _third(plain[slice(*match.span(name))], voice) for name in match.groupdict()}
        text = cue.says.format_map({**words, "who": subject(voice, plain), "all": _third(plain, voice)})
        day = _DAY.search(text.translate(_FOLD)) if cue.dated else None
        if cue.dated:
            text = _undated(text)
        told_day = day[0] if day else ""
        return Statement(text.strip(" ，,"), cue.category, cue.scope, cue.confidence, cue.topic, cue.strong, told_day)
    return None


def _lasts(cue: Cue, folded: str) -> bool:
    """Whether a clause tells more than how things are just then."""
    if (cue.states and _STATE.search(folded)) or (cue.specific and not _SPECIFIC.search(folded)):
        return False
    return cue.dated or not _DAY.search(folded)


def _undated(text: str) -> str:
    place = 0
    parts: list[str] = []
    for day in _DAY.finditer(text.translate(_FOLD)):
        parts.append(text[place : day.start()])
        place = day.end()
    return "".join([*parts, text[place:]])


def subject(voice: Voice, text: str) -> str:
    """Who speaks, as a sentence about them begins."""
    if voice.name:
        return f"{voice.name} " if voice.name.isascii() else voice.name
    return "用户" if text.translate(_FOLD) == text else "用戶"


def _third(text: str, voice: Voice) -> str:
    """First and second person as third, except in code, addresses and quotations."""
    who = subject(voice, text)
    team = "团队" if text.translate(_FOLD) == text else "團隊"

    names = {"own": who, "self": who, "team": team, "you": "助手"}

    def named(match: re.Match[str]) -> str:
        return names[match.lastgroup or "self"]

    parts: list[str] = []
    place = 0
    for shielded in _SHIELDED.finditer(text):
        parts += [_PRONOUN.sub(named, text[place : shielded.start()]), shielded[0]]
        place = shielded.end()
    return "".join([*parts, _PRONOUN.sub(named, text[place:])]).replace("团队团队", "团队").replace("團隊團隊", "團隊")
