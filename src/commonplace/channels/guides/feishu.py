"""How to set up a channel of Feishu, or Lark."""

from typing import Final

from commonplace.channels.guides.connection import PROBLEMS
from commonplace.values.platform import (
    Bilingual,
    FieldChoice,
    PlatformField,
    PlatformGuide,
    PlatformPermission,
    PlatformProblem,
)

FEISHU: Final = PlatformGuide(
    kind="feishu",
    title=Bilingual(en="Feishu (Lark)", zh="飞书"),
    summary=Bilingual(
        en="A custom app of your organisation with a bot is the agent. By its long connection the daemon needs no public address; a signed and encrypted webhook is there for "
        "networks that allow no connection out.",
        zh="智能体就是企业自建应用里的机器人。使用长连接时守护进程不需要公网地址；若网络不允许对外连接，可改用签名并加密的 Webhook。",
    ),
    steps=(
        Bilingual(
            en="Open the developer console, open.feishu.cn (open.larksuite.com for Lark), and make a custom app (创建企业自建应用).",
            zh="打开开发者后台 open.feishu.cn（Lark 为 open.larksuite.com），点击“创建企业自建应用”。",
        ),
        Bilingual(
            en="Credentials (凭证与基础信息): note the App ID, and put the App Secret where the daemon finds it: in a variable of its environment, or in a file that only it can read.",
            zh="凭证与基础信息：记下 App ID，把 App Secret 放到守护进程能找到的地方：它的环境变量，或只有它能读的文件。",
        ),
        Bilingual(
            en="Add the capability Bot (添加应用能力 → 机器人).",
            zh="添加应用能力 → 机器人。",
        ),
        Bilingual(
            en="Permissions (权限管理): add the names below.",
            zh="权限管理：开通下列权限。",
        ),
        Bilingual(
            en="Fill in the fields below and add the channel now: the console saves the long connection only while somebody is connected.",
            zh="现在先填写下面的字段并添加频道：只有已建立连接时，后台才能保存长连接设置。",
        ),
        Bilingual(
            en="Events and callbacks (事件与回调), Events (事件配置): choose the long connection (使用长连接接收事件), and add `im.message.receive_v1` (接收消息) and "
            "`im.chat.member.bot.added_v1` (机器人进群).",
            zh="事件与回调 → 事件配置：选择“使用长连接接收事件”，添加事件 `im.message.receive_v1`（接收消息）和 `im.chat.member.bot.added_v1`（机器人进群）。",
        ),
        Bilingual(
            en="On the same page, Callbacks (回调配置): choose the long connection here, too, and add `card.action.trigger` (卡片回传交互), for the buttons.",
            zh="同一页的“回调配置”：同样选择长连接，添加 `card.action.trigger`（卡片回传交互），用于按钮。",
        ),
        Bilingual(
            en="Only for the webhook: on that page, set an Encrypt Key (加密策略) and note the Verification Token; then choose sending to the developer's server "
            "(将事件发送至开发者服务器), for events and for callbacks, with the address of your proxy. The channel has to be at work by then: Feishu asks for it.",
            zh="仅用于 Webhook：在该页“加密策略”设置 Encrypt Key 并记下 Verification Token；然后在事件配置和回调配置中选择“将事件发送至开发者服务器”，填写反向代理的地址。此时频道必须已在运行：飞书会验证该地址。",
        ),
        Bilingual(
            en="Versions (版本管理与发布): make a version and publish it. Permissions and events hold only after that, and after an administrator has agreed.",
            zh="版本管理与发布：创建版本并发布。发布并经管理员审批后，权限和事件才会生效。",
        ),
    ),
    permissions=(
        PlatformPermission(
            name="im:message",
            purpose=Bilingual(en="Read and send messages, change cards", zh="获取与发送消息、更新卡片"),
        ),
        PlatformPermission(
            name="im:message:send_as_bot",
            purpose=Bilingual(en="Send as the bot", zh="以应用的身份发消息"),
        ),
        PlatformPermission(
            name="im:message.group_at_msg:readonly",
            purpose=Bilingual(en="Be told when somebody mentions it in a group", zh="接收群聊中 @ 机器人的消息"),
        ),
        PlatformPermission(
            name="im:message.p2p_msg:readonly",
            purpose=Bilingual(en="Be told what people write to it alone", zh="接收单聊消息"),
        ),
        PlatformPermission(
            name="im:resource",
            purpose=Bilingual(en="Fetch pictures and files of messages", zh="获取消息中的图片和文件"),
            required=False,
        ),
        PlatformPermission(
            name="im:message.reactions:write_only",
            purpose=Bilingual(en="Mark a message as seen", zh="用表情标记消息已读"),
            required=False,
        ),
        PlatformPermission(
            name="im:message.group_msg",
            purpose=Bilingual(
                en="Be told of what is written in a group without a mention: replies to it, and groups that need none",
                zh="接收群聊中未 @ 机器人的消息：对它的回复，以及不要求 @ 的群",
            ),
            required=False,
        ),
        PlatformPermission(
            name="im:chat.members:bot_access",
            purpose=Bilingual(en="Be told when a group lets it in", zh="接收机器人进群事件"),
            required=False,
            certain=False,
        ),
    ),
    fields=(
        PlatformField(
            name="app_id",
            label=Bilingual(en="App ID", zh="App ID"),
            help=Bilingual(en="On the page Credentials (凭证与基础信息).", zh="在“凭证与基础信息”页。"),
            example="cli_xxxxxxxxxxxxxxxx",
        ),
        PlatformField(
            name="app_secret",
            label=Bilingual(en="App Secret", zh="App Secret"),
            help=Bilingual(
                en="The name of the variable that has the secret, or `file:` and a path. Never the secret itself.",
                zh="保存密钥的环境变量名，或 `file:` 加路径。切勿填写密钥本身。",
            ),
            secret=True,
            example="FEISHU_APP_SECRET",
        ),
        PlatformField(
            name="domain",
            label=Bilingual(en="Which service", zh="服务地址"),
            help=Bilingual(
                en="Where your organisation has its account: https://open.feishu.cn, or https://open.larksuite.com for Lark. It gets the app's secret.",
                zh="你的企业账号所在的服务：https://open.feishu.cn，Lark 为 https://open.larksuite.com。应用密钥会发给它。",
            ),
            required=False,
            default="https://open.feishu.cn",
            example="https://open.larksuite.com",
        ),
        PlatformField(
            name="mode",
            label=Bilingual(en="How events come", zh="事件接收方式"),
            help=Bilingual(
                en="By the long connection, unless your network allows no connection out.",
                zh="除非网络不允许对外连接，否则使用长连接。",
            ),
            required=False,
            default="websocket",
            choices=(
                FieldChoice(value="websocket", label=Bilingual(en="Long connection", zh="长连接")),
                FieldChoice(value="webhook", label=Bilingual(en="Webhook", zh="Webhook")),
            ),
        ),
        PlatformField(
            name="webhook_port",
            label=Bilingual(en="Port of the webhook", zh="Webhook 端口"),
            help=Bilingual(
                en="Only for the webhook: a free port of this machine. A proxy with TLS passes Feishu's requests on to it.",
                zh="仅用于 Webhook：本机的一个空闲端口，由带 TLS 的反向代理把飞书的请求转发到这里。",
            ),
            required=False,
            example="4180",
        ),
        PlatformField(
            name="webhook_host",
            label=Bilingual(en="Address of the webhook", zh="Webhook 监听地址"),
            help=Bilingual(
                en="Only for the webhook: where it listens. Leave it, unless the proxy is on another machine.",
                zh="仅用于 Webhook：监听的地址。除非代理在另一台机器上，否则不要改。",
            ),
            required=False,
            default="127.0.0.1",
        ),
        PlatformField(
            name="title",
            label=Bilingual(en="Title of the cards", zh="卡片标题"),
            help=Bilingual(
                en="What stands above every answer, at most 20 characters.", zh="显示在每条回答上方，最多 20 个字符。"
            ),
            required=False,
            default="Commonplace",
        ),
        PlatformField(
            name="verification_token",
            label=Bilingual(en="Verification Token", zh="Verification Token"),
            help=Bilingual(
                en="Only for the webhook: the name of its variable, or `file:` and a path. On the page Events and callbacks (加密策略).",
                zh="仅用于 Webhook：保存它的环境变量名，或 `file:` 加路径。在“事件与回调 → 加密策略”。",
            ),
            secret=True,
            required=False,
            example="FEISHU_VERIFICATION_TOKEN",
        ),
        PlatformField(
            name="encrypt_key",
            label=Bilingual(en="Encrypt Key", zh="Encrypt Key"),
            help=Bilingual(
                en="Only for the webhook, which is refused without it: the name of its variable, or `file:` and a path.",
                zh="仅用于 Webhook，缺少它会被拒绝：保存它的环境变量名，或 `file:` 加路径。",
            ),
            secret=True,
            required=False,
            example="FEISHU_ENCRYPT_KEY",
        ),
    ),
    after=(
        Bilingual(
            en='If you add the channel by command, say who is heard, too: `--settings` and a file with `{"group_policy": "pairing", "senders": "pairing"}`. Else nobody is.',
            zh='用命令添加频道时，还要说明谁可以使用：`--settings` 加一个内容为 `{"group_policy": "pairing", "senders": "pairing"}` 的文件。否则不放行任何人。',
        ),
        Bilingual(
            en="Add the bot to a group: group settings, Bots (群机器人), Add bot (添加机器人).",
            zh="把机器人加入群：群设置 → 群机器人 → 添加机器人。",
        ),
        Bilingual(
            en="Mention it in the group. If it does not know you, it answers with a code; approve it here or with `commonplace channel pair`.",
            zh="在群里 @ 它。如果它不认识你，会回复一个配对码；在这里或用 `commonplace channel pair` 批准。",
        ),
    ),
    problems=(
        PlatformProblem(
            sign="1000040350",
            meaning=Bilingual(
                en="The app has too many long connections. Another daemon or a program of somebody else uses the same App ID: stop it.",
                zh="该应用的长连接过多。另有守护进程或他人的程序在使用同一个 App ID：请停止它。",
            ),
        ),
        PlatformProblem(
            sign="1000040343",
            meaning=Bilingual(
                en="Feishu has a fault of its own. It is tried again by itself.", zh="飞书内部错误。会自动重试。"
            ),
        ),
        PlatformProblem(
            sign="10003",
            meaning=Bilingual(
                en="The App ID or the App Secret is wrong. Copy both again from Credentials (凭证与基础信息).",
                zh="App ID 或 App Secret 错误。请从“凭证与基础信息”重新复制。",
            ),
        ),
        PlatformProblem(
            sign="10014",
            meaning=Bilingual(
                en="The App Secret does not belong to this App ID. Copy both again from Credentials (凭证与基础信息).",
                zh="App Secret 与 App ID 不匹配。请从“凭证与基础信息”重新复制。",
            ),
        ),
        PlatformProblem(
            sign="514",
            meaning=Bilingual(
                en="Feishu refuses the connection: App ID and App Secret do not belong together, or the app is switched off.",
                zh="飞书拒绝连接：App ID 与 App Secret 不匹配，或应用已停用。",
            ),
        ),
        PlatformProblem(
            sign="99991672",
            meaning=Bilingual(
                en="The app lacks a permission. The answer names it: add it (权限管理), then publish a new version.",
                zh="应用缺少权限。错误信息里有权限名：在“权限管理”开通，然后发布新版本。",
            ),
        ),
        PlatformProblem(
            sign="230002",
            meaning=Bilingual(
                en="The bot is not in this group. Add it to the group again.", zh="机器人不在该群中。请重新把它加入群。"
            ),
        ),
        PlatformProblem(
            sign="230006",
            meaning=Bilingual(
                en="The app has no bot. Add the capability Bot, and publish a new version.",
                zh="应用没有开启机器人能力。请添加机器人能力并发布新版本。",
            ),
        ),
        PlatformProblem(
            sign="230013",
            meaning=Bilingual(
                en="The bot may not write to this person. Widen who may use it (版本管理与发布 → 可用范围), and publish a new version.",
                zh="机器人对此用户不可用。请扩大可用范围（版本管理与发布 → 可用范围）并发布新版本。",
            ),
        ),
        PlatformProblem(
            sign="230018",
            meaning=Bilingual(
                en="The settings of this group do not let the bot write. Ask its owner who may speak there.",
                zh="群设置不允许机器人发言。请群主检查发言权限。",
            ),
        ),
        PlatformProblem(
            sign="230020",
            meaning=Bilingual(
                en="Too many messages in this group in a short time. They are tried again by themselves.",
                zh="该群短时间内消息过多。会自动重试。",
            ),
        ),
        PlatformProblem(
            sign="is no id of Feishu",
            meaning=Bilingual(
                en="The id of a group begins with oc_. Those that wrote to it are in `commonplace channel show`, and in the list of rooms.",
                zh="群 ID 以 oc_ 开头。发过消息的群见 `commonplace channel show` 或房间列表。",
            ),
        ),
        PlatformProblem(
            sign="its signature is wrong",
            meaning=Bilingual(
                en="The Encrypt Key here is not that of the app, the clock of this machine is wrong by more than five minutes, or somebody else knocks.",
                zh="此处的 Encrypt Key 与应用的不一致，或本机时钟误差超过五分钟，或是他人的请求。",
            ),
        ),
        PlatformProblem(
            sign="its verification token is another",
            meaning=Bilingual(
                en="The Verification Token here is not that of the app. Copy it again (加密策略).",
                zh="此处的 Verification Token 与应用的不一致。请重新复制（加密策略）。",
            ),
        ),
        PlatformProblem(
            sign="what it says cannot be read",
            meaning=Bilingual(
                en="The app encrypts with another Encrypt Key, or not at all: set one (加密策略), and give the same here. Or somebody else knocks.",
                zh="应用使用了不同的 Encrypt Key，或未加密：请在“加密策略”设置，并在此填写相同的值。也可能是他人的请求。",
            ),
        ),
        PlatformProblem(
            sign="99991400",
            meaning=Bilingual(
                en="Too many calls in a short time. They are tried again by themselves.",
                zh="短时间内调用过多。会自动重试。",
            ),
        ),
        *PROBLEMS,
    ),
    open_points=(
        Bilingual(
            en="What the permissions are called in your console, and which need an administrator. 99991672 in the log names the one that is missing.",
            zh="各权限在你的后台里的名称，以及哪些需要管理员审批。日志中的 99991672 会写明缺少的权限。",
        ),
        Bilingual(
            en="Whether an administrator has to agree to your version. If a message in the group brings nothing to the log, the version is not out yet, or the event is not added.",
            zh="你的版本是否需要管理员审批。若群里发消息后日志没有任何内容，说明版本尚未发布，或没有添加事件。",
        ),
        Bilingual(
            en="How many messages and changes of a card per second your edition allows. Ask for a long answer, and look for 99991400 and 230020 in the log.",
            zh="你的版本每秒允许多少消息和卡片更新。请让它写一段长回答，并留意日志中的 99991400 和 230020。",
        ),
        Bilingual(
            en="Whether a reply to the bot reaches it without a mention. Answer one of its messages; if nothing happens, ask for im:message.group_msg.",
            zh="不 @ 机器人、只回复它的消息时它能否收到。请回复它的一条消息；若无反应，请申请 im:message.group_msg。",
        ),
        Bilingual(
            en="How long Feishu keeps what nobody takes. Stop the channel for a minute, write to it, start it: the answer comes, or you learn that it does not.",
            zh="无人接收的消息飞书保留多久。停止频道一分钟，给它发消息，再启动：看是否会收到回答。",
        ),
    ),
)
