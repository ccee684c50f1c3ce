"""Rooms of our own: nothing has to be set up."""

from typing import Final

from commonplace.values.platform import Bilingual, PlatformGuide, PlatformProblem

_STOPPED: Final = PlatformProblem(
    sign="channel_stopped",
    meaning=Bilingual(
        en="The channel is stopped, so nothing that is written in its rooms is taken. Start it.",
        zh="该频道已停止，房间里写的内容不会被接收。请启动它。",
    ),
)

WEB: Final = PlatformGuide(
    kind="web",
    title=Bilingual(en="Rooms of this console", zh="本控制台的房间"),
    summary=Bilingual(
        en="People talk with the agent in this console. The channel web is there without being made; add another one if its rooms are to have another agent, "
        "folder or budget.",
        zh="大家在本控制台里与智能体聊天。频道 web 无需创建即可使用；只有当房间需要不同的智能体、文件夹或预算时，才需要另加一个。",
    ),
    steps=(
        Bilingual(
            en="Make a key for each person: in the console under Keys, or with `commonplace key create ana --user ana`.",
            zh="为每个人创建一个密钥：在控制台的“密钥”页，或使用 `commonplace key create ana --user ana`。",
        ),
    ),
    after=(
        Bilingual(
            en="Open Rooms, make a room, press Members and let the others in. They find it in their own list of rooms.",
            zh="打开“房间”，新建一个，点击“成员”邀请其他人。他们会在自己的列表里看到它。",
        ),
        Bilingual(
            en="Write `@assistant` in front of what the agent is to answer, or tick Ask the agent.",
            zh="要让智能体回答，请在消息前写 `@助手`，或勾选“询问智能体”。",
        ),
    ),
    problems=(_STOPPED,),
)

TERMINAL: Final = PlatformGuide(
    kind="terminal",
    title=Bilingual(en="Rooms at the terminal", zh="终端里的房间"),
    summary=Bilingual(
        en="Several terminals on this machine share one room. The operator says who speaks, so it is for trying things out, and for machines that everybody trusts.",
        zh="本机上的多个终端共用一个房间。由操作者说明是谁在说话，因此适合试用，以及大家都信任的机器。",
    ),
    after=(
        Bilingual(
            en="Say `commonplace channel chat releases --as ana` in one terminal, and the same with `--as bob` in another one.",
            zh="在一个终端运行 `commonplace channel chat releases --as ana`，在另一个终端用 `--as bob` 运行同样的命令。",
        ),
    ),
    problems=(_STOPPED,),
)
