"""
What a sentence is made of, as the classifier of intents counts it.

Concepts are words of both languages that mean the same to a librarian, such as all the ways to say "delete"; each counts alone and beside every other one.
Beside them stand the words and their neighbours, which the classifier learnt from examples.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import combinations
from typing import Final

_TOKEN: Final = re.compile(r"[a-z]+(?:'[a-z]+)?|\d+|[一-鿿]|[^\sa-z\d一-鿿]")
_MARKS: Final = str.maketrans({"，": ",", "？": "?", "：": ":", "！": "!", "。": ".", "；": ";", "’": "'", "‘": "'"})
_LONG: Final = 4
"""Letters of a word whose beginning and end count on their own: misspelt and inflected words share them."""
_LONGEST_RUN: Final = {False: 3, True: 4}
_STEP: Final = {False: 5, True: 8}
_MOST_STEPS: Final = 6

CONCEPTS: Final = {
    name: re.compile(pattern, re.IGNORECASE)
    for name, pattern in {
        "asks": r"[?？]\s*$",
        "asks within": r"[?？]\s*\S",
        "which": r"\b(?:what|which|who|whose|whom|where|when|why|how)(?:'?s|'re|'d)?\b|什么|啥|谁|哪|多少|几[点号天个次岁楼条时年月]|多[久大长高远重]|怎么|怎样|如何|为何|咋",
        "which first": r"^(?:(?:and|so|but|ok|hey|hi|please|sorry|um)\W{1,3}){0,4}(?:what|which|who|whose|whom|where|why|how)(?:'?s|'re|'d)?\b|^(?:谁|哪|什么|为什么|怎么|几点|多少)",
        "whether": r"^(?:(?:and|so|but|ok|hey|hi)\W{1,3}){0,4}(?:is|are|was|were|do|does|did|has|have|had|can|could|would|will|should|am)(?:n't)? (?:i|we|you|he|she|it|they|there|the|my|our|any|[a-z]+)\b|吗[?？。!]*$|(.)[不没]\1|是不是|有没有|是否|能否|[了过]没[有?？。]*$|对吧|还是",
        "reminder of a fact": r"\bremind me(?:,| again)?,? (?:what|which|who|where|when|how|why|of the)\b|\bwhat (?:was|were|is) .{1,40}\bagain\b|来着|提醒我一下[,，]",
        "not remembered": r"\b(?:i|i've|can't|cannot|don't) (?:forgot|forgotten|remember|recall)\b|\bslipped my mind\b|我忘了|记不清|想不起|不记得|给忘了|^忘了",
        "wants to know": r"\b(?:tell me|look up|find (?:me|out)|i(?:'m| am) wondering|want to know|need to know|wants to know|any idea|happen to know|do you know|give me the)\b|告诉我|查一下|查查|帮我查|我想知道|你知道|帮我看看|想问|请问",
        "keep": r"\b(?:remember|note|jot|keep|store|save|record|log|file|write (?:this|that|it)? ?down|memori[sz]e|hold on to|hang on to|add (?:to|this|a)|put (?:down|on)|bear in mind|mind)\b|记住|记一|记下|记着|记好|记录|备注|备忘|存一|存个|存下|存着|保存|留着|收着|写下|录入|登记|加一条|留个底|备个?案|记牢",
        "keep first": r"^(?:(?:please|pls|hey|hi|ok|and|also|could you|can you|i want you to)\W{1,3}){0,4}(?:remember|note|jot|keep|store|save|record|log|file|write|memori[sz]e|add|put|fyi|heads up|for the record|reminder to self)\b|^(?:请|麻烦|帮我|你){0,4}(?:记住|记一|记下|记着|记录|备注|备忘|存|保存|写下|登记|加一条)",
        "for your information": r"\b(?:fyi|for (?:the record|later|your (?:files|information|records))|heads[- ]up|just so you know|so you know|you should know|in case|worth (?:remembering|knowing|noting|having)|useful later|by the way|btw|for future reference|don't let me lose|i forgot to tell you|forgot to mention)\b|知会|供参考|以后用得|顺带一提|对了|跟你说一声|告诉你|忘了跟你说|省得我忘|以防",
        "do not forget that": r"\b(?:don't|do not|never|mustn't|not to) forget (?:that|my|i\b|we\b)|(?:别|不要)忘了?(?:我|他|她|我们)(?:对|是|不|的)",
        "do not forget to": r"\b(?:don't|do not|not to|don't let me|can't) forget (?:to|about|the)\b|\bmake sure i\b|(?:别|不要|别让我)(?:给)?忘了?(?:去|要|交|买|带|给|浇|把|打)|记得(?:要|去|给|买|带|让|叫|把|打|明|今|下)|一定让我|别让我忘",
        "drop": r"\b(?:forget|frget|delete|erase|erased|remove|removed|purge|wipe|discard|drop|scrap|clear|unlearn|unremember|trash|bin|throw|get rid|rid of|scrub|ditch|destroy|strike|lose|take (?:it|that|them|my \w+ \w+|my \w+|this)? ?(?:out|off)|deleted|gone|out with|clean out|forgotten|expunge|redact|nuke|can go)\b|删|忘掉|忘了吧|忘记|清[掉除空理]|抹[掉去除]|去掉|扔[了掉]|移除|划掉|销毁|撤[掉了]|作废|拿掉|丢掉|消除|被遗忘",
        "drop first": r"^(?:(?:please|pls|hey|hi|ok|and|also|could you|can you|would you|kindly|i want you to|you can|just)\W{1,3}){0,4}(?:forget|delete|erase|remove|purge|wipe|discard|drop|clear|unlearn|trash|bin|throw|get rid|scrub|ditch|destroy|strike)\b|^(?:请|麻烦|帮我|你|把|将){0,4}(?:删|忘掉|忘记|清除|清空|抹|移除|销毁)",
        "drop last": r"(?:删|忘掉|忘了吧|忘记吧?|清掉|清除|清空|抹掉|去掉|扔了|移除|划掉|撤了?|作废|拿掉|删了|删掉|不用留了?|别留|不要留|不要存|别存)[了吧掉。!！]*$|\b(?:delete|forget|drop|erase|remove|bin|scrap|lose) (?:it|that|them|all|this)(?: please| pls)?\W*$",
        "not to keep": r"\b(?:don't|do not|didn't|needn't|stop|no need to|shouldn't|should not|rather you didn't|never|no longer need(?:ed)?|no business)\b.{0,20}\b(?:keep|remember|remembering|hold|store|stored|record|save|saved|here|retain)|(?:不要|别|不用|不必|不想|不希望|不能|停止)(?:你|让你|再|继续){0,3}.{0,4}(?:记|留|存|保存|保留)|当我没说|当我没提",
        "never mind": r"\bnever ?mind\b|\bforget (?:about )?it\b\W*(?:$|,)|\bdoesn't matter\b|算了|没事了|当我没问|不用了",
        "entries": r"\b(?:notes?|entry|entries|records?|memory|memories|facts|items|files?|stored|saved|on file)\b|记录|笔记|条目|备忘|备注|档案|存档|记忆|资料|那条|这条|清单|列表|内容",
        "everything": r"\b(?:everything|all|every|whole|whatever|anything|complete|full|entire|overview|rundown|summary)\b|所有|全部|一切|全都|都给|统统|哪些|全给|汇总|总览|都[^，,。]{0,3}(?:发|看|列|说|念)",
        "show": r"\b(?:show|list|display|print|dump|pull up|browse|let me see|export|enumerate|read (?:me|back|out)|see|view|walk me through|go through|run through|let's have a look|look at)\b|列出|列一|列个|显示|展示|打印|导出|看看|看一[下眼]|调出来|过一遍|念一遍|翻出来|倒出来|摆出来|捋一遍",
        "you know": r"\byou (?:\w+ )?(?:know|have|hold|got|keep|remember|stored|saved)\b|\b(?:you've|have you) (?:got|stored|saved)\b|\byour (?:memory|records|files|notes)\b|你(?:都|还|现在|那里|那儿|这里|这儿|手上|手头|掌握|了解|保留|存|记|知道|一共)",
        "wrong": r"\b(?:wrong|mistake|mistaken|incorrect|not right|outdated|out of date|misspoke|error|off though|old|false|not true|misspelt|typo|fix|correct|correction|amend)\b|不对|错了|错啦|搞错|弄错|记错|写错|说错|有误|更正|纠正|过时|旧的|修正|订正|记成|写成|口误",
        "change": r"\b(?:change|update|replace|edit|amend|fix|set|make that|switch|changed|adjust|revise)\b|改成|改为|换成|改一下|改改|更新|替换|改到|调整|修改|改主意|变了|换了",
        "moved": r"\b(?:moved|pushed|postponed|delayed|slipped|brought forward|rescheduled|renamed|raised|quit|left|became|turned out|turns out|switched)\b|推迟|推到|延到|挪到|提前到|搬|涨价|换人|改名|戒|离职|走了|辞职|升[到三四五]|原来",
        "no longer": r"\b(?:no longer|not .{1,30} any ?more|any ?more|anymore|used to|since (?:last|the)|as of|from now on|these days|now)\b|不再|早就?不|已经不|不.{1,8}了|现在|如今|从.{1,6}起|以前|改叫|了,现在",
        "instead": r"\b(?:instead of|rather than|not \w+(?: \w+)?[,.;]? (?:but|it's|it is)|, not |and not|isn't|wasn't|it was never)\b|不是.{1,16}(?:是|而是)|是.{1,20}不是|而不是|别再|不叫|应该是|应为|其实|实际",
        "no first": r"^(?:no|nope|nah|wait|hang on|hmm? no|actually|wrong|scratch|sorry|correction)\b|^(?:不对|不是|不[,，]|错|等[等下一]|其实|更正|改一下|抱歉)",
        "you said": r"\b(?:you (?:said|wrote|have|keep|put|got|told)|your note|you've got|what you have)\b.{0,40}|你(?:写|记|说|那|老|还|之前|上次|搞|弄)",
        "remind": r"\b(?:remind|ping|nudge|alert|warn|wake|notify|poke|prompt|buzz|heads-up|give me a shout|alarm|timer|reminder|calendar|bring up)\b|提醒|叫我|喊我|叫醒|催|通知|闹钟|计时|日历|跟我说|跟我讲|告诉我.{0,6}(?:该|要|订|买|去)|让我|ping|播报|喊|再问我|跟我提",
        "recurs": r"\b(?:every|each|daily|weekly|monthly|nightly|hourly|quarterly|once a|twice a)\b|每[天日周月年晚早个隔小两到季]|定期|自动|工作日",
        "later": r"\b(?:tomorrow|tonight|next (?:week|month|\w+day)|in (?:\d+|an?|two|three|ten|half) (?:minutes?|mins?|hours?|days?|weeks?|months?)|at (?:\d|noon|six|seven|eight|nine|half)|on (?:mon|tues|wednes|thurs|fri|satur|sun)day|before|when (?:i|we|she|he|they|it)|end of|by \d+)\b|明[天早晚]|后天|今晚|下[周个]|周[一二三四五六日末]|[分小天周月]钟?时?后|到期前|之?前|等.{1,8}(?:回来|到)|\d+点|[一二三四五六七八九十]+点|中午|睡前|到家|月底",
        "errand": r"\b(?:send|call|buy|pay|water|book|run|check|post|draft|back up|email|message|renew|take|pack|summari[sz]e|ask me|collect|prepare|charge)\b|打电话|买|交|浇|带|发我|发到|备份|起草|总结|检查|吃药|拿|订|续|充电|汇报|整理",
        "spoken": r"\b(?:said|say|told|tell|talk(?:ed|ing)?|discuss(?:ed|ing|ion)?|mention(?:ed)?|ask(?:ed|ing)?|spoke(?:n)?|wrote|chat(?:ted|s)?|conversations?|words|complained|recommend(?:ed)?|advi[sc]e[d]?|answer(?:ed)?|transcript|session|thread|conclude[d]?|suggest(?:ed)?)\b|说过|聊|谈|讨论|提过|提到|问过|讲过|原话|对话|会话|回答|回复|建议|抱怨|怎么说|怎么讲|咋回|说了|问你|说的|话题",
        "we spoke": r"\b(?:we|i|you|our|us)\b.{0,30}\b(?:said|say|told|talk(?:ed)?|discuss(?:ed|ion)?|mention(?:ed)?|ask(?:ed|ing)?|spoke(?:n)?|wrote|chats?|chatted|conversations?|words|complained|recommend|answer|session|conclude)\b|(?:我们|咱们|咱|我|你)[^,，。?？]{0,12}(?:说|聊|谈|讨论|提|问|讲|回答|建议|抱怨)(?:过|了|到|的|起|出)?",
        "past": r"\b(?:yesterday|last (?:time|week|month|night|\w+day)|earlier|before|previous|ever|ago|this morning|first|back then|on monday|on tuesday)\b|昨[天晚]|上次|上周|上个月|之前|那次|那天|刚才|前天|当时|以前|最近|今早|第一次|几周前|哪次|最后",
        "greets": r"^(?:hi|hey|hello|good (?:morning|afternoon|evening|night)|morning|bye|goodbye)\b|^(?:你好|您好|嗨|早|晚安|晚上好|拜拜|再见|在[吗不])",
        "thanks": r"\b(?:thanks?|thank you|thx|cheers|appreciate[d]?)\b|谢|辛苦",
        "praise": r"\b(?:great|brilliant|best|awesome|perfect|amazing|lovely|nice|funny|love|wow|haha|lol|cool|clever|helpful)\b|棒|厉害|哈哈|哇|真好|太好|聪明|爱你|贴心|有意思",
        "mood": r"\b(?:tired|bored|exhausted|happy|sad|ugh|weather|raining|what a (?:day|week)|long day|hungry|hot today|cold today)\b|累|困死|无聊|心情|天气|好热|好冷|下雨|烦|够呛|饿",
        "about you": r"\b(?:are you|do you|who (?:are|made) you|what can you|your (?:name|favou?rite)|can you (?:explain|help)|you're|how do i|how does (?:this|it) work|how can i use|what are you)\b|你(?:是谁|是真|是机|会|能做|能干|喜欢|多大|睡|觉得|叫)|怎么用|教教?我|怎么[删加记存查]",
        "play": r"\b(?:joke|poem|song|story|riddle|sing|test(?:ing)?|help)\b|笑话|诗|唱|故事|测试|帮助|陪我|聊聊",
        "is": r"\b(?:is|are|was|were|has|have|will be|lives?|works?|called|named|likes?|hates?|prefers?|needs?|takes?|moved|decided|agreed|bought|paid|born)\b|是|叫|住|姓|在|喜欢|讨厌|定了|决定|过敏|买了|付了",
        "mine": r"\b(?:my|our|mine|i'm|i am|we're|we are|i've|we've)\b|我的|我家|我妈|我爸|我们|咱|我(?:是|在|住|叫|对|不|喜欢|吃)",
        "me": r"\b(?:i|we|me|us)\b|我|咱",
        "you": r"\b(?:you|your|you're|you've)\b|你|您",
        "please": r"\b(?:please|pls|plz|kindly|could you|can you|would you|would it be possible|i'd like|i want you to|mind)\b|请|麻烦|劳驾|拜托|帮我|帮忙|能不能|能否|可否|可以",
        "number": r"\d|[一二三四五六七八九十百千万]{2}",
        "colon": r"[:：]",
        "name": r"(?<=[a-z,:] )[A-Z][a-z]+|[小老阿][一-鿿]",
    }.items()
}
"""By name; the name is what the classifier counts."""


def features(text: str, *, chinese: bool) -> tuple[str, ...]:
    """What stands in a sentence, each once and in order."""
    return tuple(sorted({*_concepts(text), *_words(text, chinese)}))


def is_concept(feature: str) -> bool:
    return feature.startswith("+") and len(feature) > 1


def _concepts(text: str) -> Iterator[str]:
    names = [name for name, pattern in CONCEPTS.items() if pattern.search(text)]
    yield from (f"+{name}" for name in names)
    yield from (f"+{first}+{second}" for first, second in combinations(names, 2))


def _words(text: str, chinese: bool) -> Iterator[str]:
    tokens = ["#" if token.isdigit() else token for token in _TOKEN.findall(text.casefold().translate(_MARKS))]
    yield "zh" if chinese else "en"
    yield f"long {min(_MOST_STEPS, len(tokens) // _STEP[chinese])}"
    yield from _runs(["^", *tokens, "$"], _LONGEST_RUN[chinese])
    if not chinese:
        for word in tokens:
            if len(word) > _LONG:
                yield f"{word[:_LONG]}*"
                yield f"*{word[1 - _LONG :]}"
        yield from (f"{first} _ {second}" for first, second in zip(tokens, tokens[2:], strict=False))


def _runs(tokens: Sequence[str], longest: int) -> Iterator[str]:
    for size in range(1, longest + 1):
        yield from (" ".join(tokens[place : place + size]) for place in range(len(tokens) - size + 1))
