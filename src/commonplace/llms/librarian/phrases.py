"""What the librarian says, in English and Chinese."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, kw_only=True, slots=True)
class Phrases:
    """One language. What stands in braces is filled in."""

    introduction: str
    hello: str
    welcome: str
    fine: str
    capabilities: str
    no_chat: str
    empty: str
    unknown: str
    unknown_here: str
    nearest: str
    also: str
    otherwise: str
    disputed: str
    agree: str
    outside: str
    learned: str
    no_more: str
    nothing_cited: str
    source_of: str
    filed: str
    filed_before: str
    in_review: str
    redacted: str
    offer: str
    what_to_remember: str
    nothing_about: str
    nothing: str
    listed: str
    about: str
    more_there: str
    corrected: str
    nothing_to_correct: str
    offer_correction: str
    kept_beside: str
    what_to_correct: str
    shall_forget: str
    nothing_to_forget: str
    forgotten: str
    left_alone: str
    what_to_forget: str
    scheduled: str
    what_to_schedule: str
    when_to_schedule: str
    history: str
    no_history: str
    cannot: str
    failed: str
    confirm: str
    open_quote: str
    close_quote: str
    said_by: str
    between: str


ENGLISH: Final = Phrases(
    introduction=(
        "(No language model is set: I answer in the words of the memory and write nothing of my own. To set one, put `llm_model` into "
        "config.toml or COMMONPLACE_LLM_MODEL into the environment.)"
    ),
    hello="Hello. Ask me what is in the memory, or tell me what to remember.",
    welcome="You are welcome.",
    fine="All right.",
    capabilities=(
        "I keep the memory. What you can say:\n"
        "- a question: I look it up and quote what answers, with its source\n"
        "- “remember that …”: I file it\n"
        "- “what do you know about …?”, “list my notes”\n"
        "- “no, it is …”: I correct what I have\n"
        "- “forget …”: I show what would go, and ask first\n"
        "- “what did we say about …?”: I look through earlier conversations\n"
        "- “remind me on Friday to …”, if there is a schedule\n"
        "- after an answer: “why?”, “what else?”, “what came nearest?”"
    ),
    no_chat="I only look things up and file them; for talk a language model is needed. Ask me what is in the memory.",
    empty="There is nothing to read in this message. Ask me what is in the memory, or tell me what to remember.",
    unknown="I don't know: no memory answers this.",
    unknown_here="I don't know: nothing that was recalled answers this, and there is no `memory_search` to look further.",
    nearest="None of it answers the question. What came nearest:",
    also="Also:",
    otherwise="Another memory says otherwise:",
    disputed="Another memory says otherwise.",
    agree="{count} more say the same.",
    outside="from outside, to be weighed",
    learned="learned from our talk",
    no_more="That is all I have on it.",
    nothing_cited="I have not quoted anything yet.",
    source_of="It comes from:",
    filed="Filed: {quote}",
    filed_before="I had that already: {quote}",
    in_review="Kept, but not in use until somebody has looked at it: {quote}",
    redacted="Filed, without {count} secret(s) that were in it: a memory is no place for them.",
    offer="I file only what I am told to. Shall I remember {quote}?",
    what_to_remember="What shall I remember? Say “remember that …”.",
    nothing_about="I have nothing about {topic}.",
    nothing="The memory is empty.",
    listed="What I have:",
    about="What I have about {topic}:",
    more_there="There is more: ask about something in particular.",
    corrected="Corrected: it was {before}, it is now {quote}",
    nothing_to_correct="I had nothing to correct, so I filed it: {quote}",
    offer_correction="I have {before}. Shall I correct it to {quote}?",
    kept_beside="I could not change what was there ({before}), so I filed the new one beside it: {quote}",
    what_to_correct="What is right instead? Say “no, …”.",
    shall_forget="I would forget:",
    nothing_to_forget="I found nothing about that, so there is nothing to forget.",
    forgotten="Forgotten: {count}. A person can bring it back with `commonplace undo`.",
    left_alone="Nothing was changed.",
    what_to_forget="What shall I forget? Say “forget …”.",
    scheduled="Scheduled: {quote}",
    what_to_schedule="What shall be done, and when?",
    when_to_schedule="When? Say for example “every Monday at 9:00” or “tomorrow at 8:30”.",
    history="From earlier conversations:",
    no_history="I found nothing about that in earlier conversations.",
    cannot="I cannot {what} here: there is no `{tool}` tool in this session.",
    failed="That did not work: {reason}",
    confirm="Say yes, and I do it.",
    open_quote="“",
    close_quote="”",
    said_by="{speaker}: ",
    between=" · ",
)

CHINESE: Final = Phrases(
    introduction=(
        "（没有设置语言模型：我只用记忆中的原话回答，自己不写任何内容。要设置模型，请在 config.toml 中写入 `llm_model`，"
        "或设置环境变量 COMMONPLACE_LLM_MODEL。）"
    ),
    hello="你好。可以问我记忆里的事，也可以告诉我要记住什么。",
    welcome="不客气。",
    fine="好的。",
    capabilities=(
        "我管理记忆。你可以这样说：\n"
        "- 提一个问题：我去查，引用能回答的原话并注明来源\n"
        "- “记住……”：我存下来\n"
        "- “关于……你知道什么？”、“列出我的笔记”\n"
        "- “不对，是……”：我更正已有的内容\n"
        "- “忘掉……”：我先给你看会删除什么，再问你\n"
        "- “我们聊过……吗？”：我查以前的对话\n"
        "- “周五提醒我……”，如果有日程工具\n"
        "- 回答之后：“为什么？”、“还有呢？”、“最接近的是什么？”"
    ),
    no_chat="我只负责查找和存放，闲聊需要语言模型。可以问我记忆里的事。",
    empty="这条消息里没有可读的内容。可以问我记忆里的事，也可以告诉我要记住什么。",
    unknown="我不知道：没有记忆能回答这个问题。",
    unknown_here="我不知道：已经想起的内容都不能回答，这里也没有 `memory_search` 可以继续查。",
    nearest="没有一条能回答这个问题。最接近的是：",
    also="另外：",
    otherwise="另一条记忆的说法不同：",
    disputed="另一条记忆的说法不同。",
    agree="另有 {count} 条说法相同。",
    outside="来自外部，仅供参考",
    learned="从我们的谈话中得知",
    no_more="关于这个，我只有这些。",
    nothing_cited="我还没有引用过任何内容。",
    source_of="来源：",
    filed="已记住：{quote}",
    filed_before="这个我已经有了：{quote}",
    in_review="已保存，但要等有人审核之后才会使用：{quote}",
    redacted="已记住，但其中 {count} 处机密没有保存：记忆不是存放机密的地方。",
    offer="没有让我记的，我不会存。要我记住{quote}吗？",
    what_to_remember="要我记住什么？请说“记住……”。",
    nothing_about="关于{topic}，我没有任何内容。",
    nothing="记忆是空的。",
    listed="我有这些：",
    about="关于{topic}，我有这些：",
    more_there="还有更多，可以问得具体一些。",
    corrected="已更正：原来是{before}，现在是{quote}",
    nothing_to_correct="没有找到可更正的内容，所以新存了一条：{quote}",
    offer_correction="我这里是{before}。要改成{quote}吗？",
    kept_beside="原有内容（{before}）无法修改，所以另存了一条：{quote}",
    what_to_correct="正确的是什么？请说“不对，是……”。",
    shall_forget="将会忘掉：",
    nothing_to_forget="没有找到相关内容，没有什么可忘的。",
    forgotten="已忘掉：{count} 条。可以用 `commonplace undo` 恢复。",
    left_alone="没有做任何改动。",
    what_to_forget="要我忘掉什么？请说“忘掉……”。",
    scheduled="已安排：{quote}",
    what_to_schedule="要做什么，什么时候？",
    when_to_schedule="什么时候？例如“每周一九点”或“明天八点半”。",
    history="以前的对话里：",
    no_history="在以前的对话里没有找到相关内容。",
    cannot="这里无法{what}：本次会话没有 `{tool}` 工具。",
    failed="没有成功：{reason}",
    confirm="请回答“是”，我就去做。",
    open_quote="“",
    close_quote="”",
    said_by="{speaker}：",
    between=" · ",
)

MARKS: Final = (ENGLISH.introduction[:28], CHINESE.introduction[:10])
"""By these an introduction is known again."""

ACTIONS: Final = {
    "memory_search": ("look anything up", "查找"),
    "memory_list": ("list the memory", "列出记忆"),
    "memory_store": ("file anything", "存入记忆"),
    "memory_correct": ("correct anything", "更正"),
    "memory_delete": ("forget anything", "删除"),
    "session_search": ("look through earlier conversations", "查以前的对话"),
    "schedule": ("schedule anything", "安排日程"),
}
"""What needs a tool, in both languages."""


def phrases(chinese: bool) -> Phrases:
    return CHINESE if chinese else ENGLISH


def cannot(tool: str, chinese: bool) -> str:
    english, han = ACTIONS[tool]
    return phrases(chinese).cannot.format(what=han if chinese else english, tool=tool)
