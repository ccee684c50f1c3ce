"""What a room says by itself, in two languages."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

Language: TypeAlias = Literal["en", "zh"]
_HAN: Final = re.compile(r"[\u3400-\u4dbf\u4e00-\u9fff]")


@dataclass(frozen=True, kw_only=True, slots=True)
class RoomPhrases:
    flooded: str
    queue_full: str
    nothing_said: str
    too_long: str
    files_lost: str
    paused: str
    restarted: str
    not_begun: str
    cancelled: str
    nothing_runs: str
    failed: str
    spent: str
    day_spent: str
    budget_warning: str
    day_warning: str
    unpriced: str
    pairing: str
    pairing_full: str
    cleared: str
    confirm_clear: str
    not_allowed: str
    not_linked: str
    paused_now: str
    resumed_now: str
    who: str
    nobody: str
    status_idle: str
    status_busy: str
    help: str
    card: str
    answered: str
    refused: str
    unanswered: str
    lapsed: str
    question_over: str
    recorded: str
    nothing_waits: str
    several_wait: str
    remembered: str
    remembered_before: str
    redacted: str
    nothing_given: str
    nothing_known: str
    memories: str
    learned: str
    corrected: str
    forgotten: str
    which_one: str
    undone: str
    nothing_to_undo: str
    why: str
    why_nothing: str
    audit: str
    audit_nothing: str
    budget: str
    budget_tokens: str
    budget_estimated: str
    budget_day: str
    no_budget: str
    no_shell: str
    played_again: str


ENGLISH: Final = RoomPhrases(
    flooded="{name}, that was many messages at once. I read on when it is calmer.",
    queue_full="{name}, several requests wait already. Please say it again when one is answered.",
    nothing_said="{name}, I see no words in that. Say what you need; /help shows what I can do.",
    too_long="{name}, I read the first {most} characters of that. Please send the rest in pieces, or as a file.",
    files_lost="{name}, I could not take these files:\n{lines}",
    paused="I am paused here. /resume lets me work again.",
    restarted="{name}, I was restarted while I worked on this, and I do not do anything twice. Please ask me again.",
    not_begun="{name}, this conversation was ended before I came to your question. Please ask me again.",
    cancelled="Stopped.",
    nothing_runs="Nothing is running.",
    failed="{name}, I could not answer: {reason}",
    spent="What this room may spend is used up for now, so I did not begin. /budget shows it.",
    day_spent="What all rooms may spend today is used up, so I did not begin. It begins anew at midnight, UTC.",
    budget_warning="This room has used {percent} % of what it may spend until {until}.",
    day_warning="{percent} % of what all rooms may spend until {until} is used.",
    unpriced="I do not know what {model} costs, so the money of this room cannot be counted: I count tokens, and what is shown in dollars is a "
    "guess that refuses nothing. An admin can say the price in [llm], or give the room a budget in tokens.",
    pairing="I do not know you yet. Ask an admin to approve this code: {code} (good for an hour).",
    pairing_full="I do not know you yet, and too many others wait to be approved. Please try again in an hour.",
    cleared="A new conversation begins here. What was said before stays in the history.",
    confirm_clear="This clears the conversation of everybody here. Write /clear confirm to do it.",
    not_allowed="Only those whom the settings of this channel name may do that.",
    not_linked="Only people whom an admin linked to a person may do that here.",
    paused_now="{name} paused me here. Messages are left alone until /resume.",
    resumed_now="{name} lets me work again.",
    who="{channel}, {kind} room. Folder: {folder}. {scope}\nHere now: {people}",
    nobody="nobody I know of",
    status_idle="Nothing is running. Session: {session}.",
    status_busy="Working for {speaker}: {text}\nWaiting: {waiting}.",
    help="Speak to me by name, or answer one of my messages. I know:\n{commands}",
    card="{asker} asks me for this, and I need a yes: {title}\n/approve, /approve-always or /deny{id}",
    answered="{voter} allowed it.",
    refused="{voter} refused it.",
    unanswered="Nobody answered in time, so it was not done.",
    lapsed="I was restarted before anybody answered, so it was not done. Ask me again.",
    question_over="This question is not open any more: it was answered, or I was restarted since.",
    recorded="Your vote counts; {needed} more needed.",
    nothing_waits="Nothing waits for an answer.",
    several_wait="Several requests wait. Name one: {ids}",
    remembered="I will remember that: {text}",
    remembered_before="I know that already: {text}",
    redacted="A secret was taken out before I kept it.",
    nothing_given="Say what: {usage}",
    nothing_known="I remember nothing about this room yet.",
    memories="What I remember about this room:\n{lines}",
    learned="From what was said here I keep:\n{lines}",
    corrected="It now says: {text}\n/correct undo takes that back.",
    forgotten="Forgotten: {text}\n/forget undo brings it back.",
    which_one="Which one? Say more of it, or its number:\n{lines}",
    undone="It is back: {text}",
    nothing_to_undo="There is nothing to undo.",
    why="My last answer rested on:\n{lines}",
    why_nothing="My last answer rested on no memory.",
    audit="What happened here last:\n{lines}",
    audit_nothing="Nothing is written down about this room yet.",
    budget="This room has used {spent} of {limit} US dollars until {until}.",
    budget_tokens="Tokens: {spent} of {limit} until {until}.",
    budget_estimated="{estimated} of that is a guess, which refuses nothing.",
    budget_day="All rooms together: {spent} of {limit} US dollars until {until}.",
    no_budget="This room has no budget of its own.",
    no_shell="Commands of the shell are not run in rooms.",
    played_again="(A daemon stopped in the middle of this, so it was done again. It may come twice.)",
)
CHINESE: Final = RoomPhrases(
    flooded="{name}，消息太多了。等一会儿我再继续读。",
    queue_full="{name}，已有多个请求在排队。请等一个回答完后再说一次。",
    nothing_said="{name}，这条消息里没有文字。请说出你需要什么；/帮助 可查看我会做什么。",
    too_long="{name}，这条消息我只读了前 {most} 个字符。其余内容请分段或以文件发送。",
    files_lost="{name}，这些文件我没能收下：\n{lines}",
    paused="我在这里已暂停。/恢复 可让我继续工作。",
    restarted="{name}，我在处理这件事时被重启了。我不会重复做任何事，请再问我一次。",
    not_begun="{name}，还没轮到你的问题，这次对话就结束了。请再问我一次。",
    cancelled="已停止。",
    nothing_runs="没有正在进行的任务。",
    failed="{name}，我无法回答：{reason}",
    spent="本房间的预算暂时用完了，所以我没有开始。/预算 可查看。",
    day_spent="今天所有房间的预算都用完了，所以我没有开始。UTC 零点重新计算。",
    day_warning="截至 {until}，所有房间的共同预算已用掉 {percent} %。",
    unpriced="我不知道 {model} 的价格，所以无法计算本房间的花费：我只统计令牌数，显示的美元只是估计，不会因此拒绝。管理员可以在 [llm] 中设置价格，或给房间设置令牌预算。",
    budget_warning="截至 {until}，本房间已用掉预算的 {percent} %。",
    pairing="我还不认识你。请让管理员批准此代码：{code}（一小时内有效）。",
    pairing_full="我还不认识你，而且等待批准的人太多。请一小时后再试。",
    cleared="新的对话从这里开始。之前说过的仍保留在历史中。",
    confirm_clear="这会清除所有人的对话。请输入 /清除 确认。",
    not_allowed="只有频道设置中列出的人可以这样做。",
    not_linked="只有管理员关联过的人可以在这里这样做。",
    paused_now="{name} 让我在这里暂停。恢复之前我不处理消息。",
    resumed_now="{name} 让我继续工作。",
    who="{channel}，{kind} 房间。文件夹：{folder}。{scope}\n现在在场：{people}",
    nobody="没有我认识的人",
    status_idle="没有正在进行的任务。会话：{session}。",
    status_busy="正在为 {speaker} 工作：{text}\n排队：{waiting}。",
    help="叫我的名字，或回复我的消息。我知道：\n{commands}",
    card="{asker} 要我做这件事，我需要许可：{title}\n/批准、/总是批准 或 /拒绝{id}",
    answered="{voter} 已批准。",
    refused="{voter} 已拒绝。",
    unanswered="没有人及时回答，所以没有执行。",
    lapsed="还没有人回答我就被重启了，所以没有执行。请再问我一次。",
    question_over="这个请求已不再等待回答：已有人回答，或我在此之后被重启过。",
    recorded="已记录你的投票，还需要 {needed} 票。",
    nothing_waits="没有等待回答的请求。",
    several_wait="有多个请求在等待。请指明一个：{ids}",
    remembered="我会记住：{text}",
    remembered_before="这个我已经知道：{text}",
    redacted="保存之前已删去一处机密。",
    nothing_given="请说明内容：{usage}",
    nothing_known="关于这个房间我还什么都没记住。",
    memories="关于这个房间我记得：\n{lines}",
    learned="从刚才的谈话中我记下：\n{lines}",
    corrected="现在是：{text}\n/更正 撤销 可恢复原来的内容。",
    forgotten="已忘记：{text}\n/忘记 撤销 可恢复。",
    which_one="哪一条？请说得更详细，或说编号：\n{lines}",
    undone="已恢复：{text}",
    nothing_to_undo="没有可以撤销的更改。",
    why="我上次的回答依据：\n{lines}",
    why_nothing="我上次的回答没有依据任何记忆。",
    audit="这里最近发生的事：\n{lines}",
    audit_nothing="关于这个房间还没有任何记录。",
    budget="截至 {until}，本房间已用 {spent} 美元，上限 {limit} 美元。",
    budget_tokens="令牌：截至 {until} 已用 {spent}，上限 {limit}。",
    budget_estimated="其中 {estimated} 是估计，不会因此拒绝。",
    budget_day="所有房间合计：截至 {until} 已用 {spent} 美元，上限 {limit} 美元。",
    no_budget="本房间没有单独的预算。",
    no_shell="房间里不运行 shell 命令。",
    played_again="（执行过程中服务重启，因此重新执行了一次，结果可能出现两次。）",
)


def is_chinese(text: str) -> bool:
    return bool(_HAN.search(text))


def words(language: Language | None, text: str = "") -> RoomPhrases:
    """Those of the channel's language, else of the one that somebody writes in."""
    chinese = is_chinese(text) if language is None else language == "zh"
    return CHINESE if chinese else ENGLISH
