"""
What a sentence is about, without what it says to the librarian: "might be useful later: the museum is free on Sunday" is about the museum.

The cues know where their arguments stand. This is for sentences that only the classifier understood, and for commands that stand behind something else.
"""

from __future__ import annotations

import re
from typing import Final

from commonplace.llms.librarian.cue import IntentKind
from commonplace.llms.librarian.features import CONCEPTS
from commonplace.llms.librarian.revision import with_value

_FLAGS: Final = re.IGNORECASE
_EDGES: Final = " \t,.;:!?，。；：！？、—–-"

COMMANDS: Final[tuple[tuple[IntentKind, re.Pattern[str]], ...]] = (
    (
        "correct",
        re.compile(
            r"(?:please )?(?:correct(?:ion)?|corrected|erratum|small fix|fix)(?: (?:that|this|please|pls))?\s?[:：\u2014-]\s*+(?=\S)"
            r"|(?:请|麻烦|帮我)?(?:更正|纠正|订正|修正|勘误)(?:一下|下|个)?\s?[:：,，\s]\s*+(?=\S)",
            _FLAGS,
        ),
    ),
    (
        "remember",
        re.compile(
            r"(?:please |pls |and |also |so |now |ok,? ){0,3}+(?:(?:remember|note|memori[sz]e|(?:jot|write|note|put) (?:this |it )?down|(?:keep|bear) in mind|never forget|don't forget)(?: (?:this|that|please)){0,3}+\s?(?:[:：]|(?<=that))|(?:note|memo|nb|n\.b\.|fyi|note to self|for the record|save this|store this|log this)\s?[:：])\s*+(?=\S)"
            r"|(?:请|麻烦你?|帮我|你|替我|给我){0,3}+(?:记住|记一下|记下来?|记录一?下?|记个|记好|备注一?下?|备忘|存一下|note一下)(?:了|这个|这条|这点|一条)?[:：,，\s]*+(?=[^\s吗呢?？])(?![^。！!]{0,40}(?:吗|什么|哪|谁|多少)[?？]?$)",
            _FLAGS,
        ),
    ),
    (
        "forget",
        re.compile(
            r"(?:please |pls |and |also |so |now |ok,? ){0,3}+(?:forget|delete|erase|wipe) (?:(?:everything|all|anything|what(?:ever)? (?:you (?:know|have)|i (?:said|told you)))\s(?:about |on )?|about (?!it\b)|(?=(?:my|the|our|his|her|their) ))"
            r"|(?:请|麻烦你?|帮我|你|把){0,3}+(?:忘掉|删掉|删除|清除|抹掉)(?=[^\s。！!吧了,，])",
            _FLAGS,
        ),
    ),
)
"""A sentence that begins so wants this, whatever stands before it."""

_HEAD: Final = re.compile(r"[^:：\n]{2,90}?[:：]\s*+(?=\S)")
_TOLD: Final = (
    "keep",
    "for your information",
    "wrong",
    "change",
    "no first",
    "not remembered",
    "you said",
    "not to keep",
)
"""What a person says to the librarian before the colon."""
_BEFORE: Final = {
    "remember": re.compile(
        r"^(?:(?:i forgot to (?:tell|mention to) you|it would be good if you knew|you might need this(?: some day| later)?|you should know|let it be known|for your information|in case (?:i|anyone|anybody) \w+(?: \w+)?|just so you know|so you know|by the way|btw)(?: that\b)?[,:\s]++"
        r"|(?:could|can|would|will) you (?:please )?(?:keep in mind|remember|note|store|save|hang on to|hold on to|make a note)(?: that\b)?[,:\s]++"
        r"|(?:put|add|write)(?: it)? (?:in|into|to|on) (?:the|my|your) (?:notes?|file|files|records?|list)(?: that\b)?[,:\s]++"
        r"|(?:我忘了跟你说|忘了跟你说|顺便说一声|知会一声|以后可能用得上|日后要是有人问起|以后请留意|劳烦你心里有个数|我老是忘,?你(?:替我)?(?:记着|收着)吧?|可以请你记着吗|加一条|note一下|笔记里加一条|给你备个案|省得我忘)[,，:：\s]++)",
        _FLAGS,
    ),
    "correct": re.compile(
        r"^(?:(?:thanks?|thank you|sorry|hang on|wait|no|nope|hmm?|actually|that's wrong|you're wrong|turns out|i was mistaken|i misspoke|scratch that|update|change of plan)[^,.;:?!]{0,30}[,.;:!]\s*+(?=\S)"
        r"|(?:不过|谢谢|抱歉|等一下|错啦|错了|不对|你记错了|其实|有更新|我刚说错了)[^,，。;；:：?？!！]{0,12}[,，。;；:：!！]\s*+(?=\S))",
        _FLAGS,
    ),
}
_BEHIND: Final = re.compile(
    r"[,.;，。；!！\u2014-]\s?(?:(?:please |pls |so |and ){0,3}(?:worth (?:keeping|remembering|knowing|having|noting)[^,.]{0,20}|hang on to (?:that|it|this)|add (?:that|it|this)|keep (?:that|it|this)(?: in mind)?|(?:remember|save|store|note|file) (?:that|it|this)|noted?|just so you know|so you know|in case (?:anyone|i|anybody) \w+|fyi|thanks?|please|pls|update (?:that|it))(?: please| pls| thanks)?"
    r"|(?:帮忙|帮我|麻烦|请|你|先|给我){0,3}(?:你知道就行|知会一声|存起来|归档|记一?下|记牢|记好|记着|记住|先?留个底|这点要记牢|千万记牢|先存着|更新一?下|改一?下|改过来|这是新规定,?|知道就好)吧?|谢谢)[.!。！]{0,3}\s{0,3}$",
    _FLAGS,
)
_ABOUT: Final = re.compile(
    r"\b(?:everything|anything|all|whatever|what|every (?:entry|note|record)|notes?|entries|entry|records?|data|info(?:rmation)?|stuff|facts?|memor(?:y|ies)|overview|list|file|tip|topic|conversation|chats?|discussion|thing)\b[^,.;?!]{0,40}?\b(?:about|on|regarding|concerning|re:?|of|for|under|mentioning|around)\b:? (?P<what>[^,.;?!]{2,80})",
    _FLAGS,
)
_ABOUT_HAN: Final = re.compile(
    r"(?:关于|有关|凡是|跟|和|与)(?P<what>[^,，。?？]{1,24}?)(?:有关|相关|方面)?的?(?:一切|所有|全部|那些|清单|记录|内容|资料|东西|信息|条目|都|全|$|[,，。?？])"
)
_FRAME: Final = re.compile(
    r"\b(?:please|pls|kindly|could|can|may|would|will|you|i|i'd|i want|we|me|us|like|to|it|be possible|show|list|display|print|dump|pull up|browse|see|view|give|get|have|tell|read|export|before|let|let's|out|a|the complete|full|"
    r"forget|frget|delete|erase|erased|remove|removed|purge|wipe|discard|drop|scrap|clear|unlearn|unremember|trash|bin|throw away|get rid of|destroy|take|lose|gone|go|away|from|your|memory|everything|all|whatever|any|more|anymore|any ?more|no need|hold on|keep|remember|stored?|saved|on file|notes?|entry|entries|records?|stuff|thing|things|whole|every|said|abt|about|no longer|needed|don't|want|is|so|that)\b"
    r"|请|麻烦|帮我|帮忙|劳驾|能不能|能否|可以|可否|给我|一下|一份|看看|看一眼|列出来?|列一下|显示|展示|打印|导出|调出来|过一遍|捋一遍|所有的?|全部的?|一切|统统|都|全给我|全|把|将|我想|想看|想|你所知道的?|你(?:那里|那儿|这里|这儿|手上|手头)?|有哪些|有啥|有什么|存[了过]?(?:什么|哪些|啥)?|记录|笔记|条目|资料|内容|清单|方面|相关|有关|那一类|这一类|的东西|那条|这条|那个|这个|"
    r"删干净|删[了掉除]?|忘了吧|忘[掉记]|清[掉除空理]|抹[掉去除]|去掉|扔[了掉]|移除|划掉|销毁|撤[掉了]?|作废|拿掉|不用|不要|没必要|不想|不希望|别|再|留着?|保存|记着?|了|吧|就|从记忆里|还是|[,，。!！?？]",
    _FLAGS,
)


_TO: Final = re.compile(r"^(?P<what>(?:the|my|our|his|her|their|your|that|this) [^,;]{1,120}?)(?: from [^,;]{1,80}?)? (?:to|into|with) (?P<new>.{1,400})$", re.IGNORECASE | re.DOTALL)  # fmt: skip
_PUT: Final = re.compile(r"^(?:请)?(?:把|将)?(?P<what>[^，,。:：]{1,40}?)(?:那条|这条|那个)?(?:从[^，,。]{1,40}?)?(?:请)?(?:改成|改为|更新为|更新成|换成|修改为|改到|更正为|纠正为)(?:[^，,。:：]{1,20}[:：])?(?P<new>[^，,]{1,400})$", re.DOTALL)  # fmt: skip
_SAID: Final = re.compile(
    r"^(?:remember )?(?:when )?i (?:said|told you|wrote)(?: that)? (?P<old>[^.?;]{3,120}?)(?:[.?;]|,| but)\s(?P<new>.{3,200})$"
    r"|^(?:还记得)?我?(?:之前|刚才|刚|上次|以前)?说(?:的是)?(?P<han>[^,，。?？]{3,40}?)(?:吗)?[,，。?？]\s?(?P<value>.{2,60})$",
    _FLAGS,
)
"""What was said, and what is right."""
_OLD: Final = re.compile(
    r"^(?:scratch|forget|ignore|strike|(?:that|the|your) (?:note|entry|record|answer)(?: you gave)?|what you have|you've got the wrong|the wrong)(?: what i said)?(?: number| address| name| date)? (?:about|on|for) (?P<what>[^,.;]{2,60}?)(?: (?:is|was) (?:wrong|old|outdated|out of date|not right|incorrect))?[,.;] ?(?:since \w+ )?(?:it's|it is|it should be|should be|that's) (?P<new>[^,;]{1,200})$"
    r"|^(?:那条)?(?:关于)?(?P<han>[^,，。]{1,24}?)(?:那条|的那条)?(?:是旧的|过时了|错了|换了|变了|涨价了|改了|不对)[,，。\s]\s?(?:现在|新的|应该|新规)?(?:的)?是?(?P<value>[^,，]{1,60})$",
    _FLAGS,
)
_NOT: Final = re.compile(
    r",? (?:and )?(?:not|instead of|rather than) [^,.;]{1,40}(?=[.!]?$)|[,，](?:而?不是|别再|不再|不叫|不在)[^,，。]{1,20}(?=[。！!]?$)",
    _FLAGS,
)
_REST: Final = re.compile(
    r"\b(?:from|in|out of|off) (?:your|the) (?:memory|notes|records?|files?|head)\b.*$|\b(?:in|from) (?:here|there)\b.*$|\b(?:any longer|any ?more|be (?:erased|removed|deleted)|removed|erased|deleted|shouldn't|should not|must not|has no business|can go|can be)\b.*$|^.{0,30}\b(?:wipe|delete|erase|remove|forget|rid of|drop) (?=\w)|^(?:之前|上次|刚才)?(?:我)?(?:让你记的|跟你说的|说的)(?:那个|那些)?|(?:能不能|可以)?当我没[说提]过?",
    _FLAGS,
)
_LEANING: Final = re.compile(r"\b(?:it|he|she|they) (?P<verb>[a-z]{2,20}) (?P<rest>[^,;]{1,200})$", _FLAGS)
_PRONOUN: Final = re.compile(r"^(?:it|that|this|them|those|these|它|它们|那个|这个)?(?: all| can go)*$", _FLAGS)
_CLAUSE: Final = re.compile(r"[^,.;?!，。；？！]{2,200}")


def topic(text: str, chinese: bool) -> str:
    """What is to be listed or forgotten: what stands behind "about", else what is left without the wish."""
    match = (_ABOUT_HAN if chinese else _ABOUT).search(text)
    rest = _without_wish(_REST.sub("", match["what"]) if match else text)
    if not _PRONOUN.match(rest):
        return rest
    # "We sold the Volvo. Everything about it can go."
    clauses = (_without_wish(clause) for clause in _CLAUSE.findall(text))
    return next((clause for clause in clauses if not _PRONOUN.match(clause)), "")


def _without_wish(text: str) -> str:
    return " ".join(_FRAME.sub(" ", _REST.sub("", text.strip(_EDGES))).split()).strip(_EDGES)


def to_forget(text: str, chinese: bool) -> str:
    """What a cue has found, without the wish that still stands around it."""
    short = _REST.sub("", text).strip(_EDGES)
    return short if short and not _PRONOUN.match(short) else topic(text, chinese) or text


def fact(text: str, kind: IntentKind) -> str:
    """What is to be remembered, or what is right, without what is said to the librarian around it."""
    if kind == "correct" and (right := stated(text)) is not None:
        return right
    head = _HEAD.match(text)
    if (
        head
        and not text[: head.end()].rstrip(" :：")[-1:].isdigit()
        and any(CONCEPTS[name].search(head[0]) for name in _TOLD)
    ):
        text = text[head.end() :]
    if pattern := _BEFORE.get(kind):
        for _ in range(2):
            if match := pattern.match(text):
                text = text[match.end() :]
    if match := _BEHIND.search(text):
        text = text[: match.start()] + ("." if match[0].rstrip().endswith(".") else "")
    return _NOT.sub("", text) if kind == "correct" else text


def stated(text: str) -> str | None:
    """What is right, where the sentence says what was wrong, too: "my address to 12 Mill Lane" becomes "my address is 12 Mill Lane"."""
    if match := _SAID.match(text):
        old, new = match["old"] or match["han"], match["new"] or match["value"]
        return with_value(old, new) or _same_verb(old, new)
    if match := _OLD.match(text):
        return f"{match['what']} is {match['new']}" if match["what"] else f"{match['han']}是{match['value']}"
    if (match := _TO.match(text)) and " is " not in match["what"]:
        return f"{match['what']} is {match['new']}"
    match = _PUT.match(text)
    return f"{match['what']}是{match['new']}" if match else None


def _same_verb(old: str, new: str) -> str | None:
    """ "the ferry leaves at 7" and "I was wrong, it leaves at 6:40": what is right, of the ferry."""
    match = _LEANING.search(new)
    if match is None or f" {match['verb']} " not in old:
        return None
    return old[: old.index(f" {match['verb']} ")] + f" {match['verb']} {match['rest']}"
