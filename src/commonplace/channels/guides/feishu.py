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
            en="Events and callbacks (事件与回调), Events (事件配置): choose the long connection (使用长连接接收事件), and add `im.message.receive_v1` (接收消息), "
            "`im.chat.member.bot.added_v1` (机器人进群) and `im.chat.member.bot.deleted_v1` (机器人被移出群).",
            zh="事件与回调 → 事件配置：选择“使用长连接接收事件”，添加事件 `im.message.receive_v1`（接收消息）、`im.chat.member.bot.added_v1`（机器人进群）和 `im.chat.member.bot.deleted_v1`（机器人被移出群）。",
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
            en="Add the bot to a group: group settings, Bots (群机器人), Add bot (添加机器人).",
            zh="把机器人加入群：群设置 → 群机器人 → 添加机器人。",
        ),
        Bilingual(
            en="Mention it in the group three times: it answers with a code for the group first, then with one for you, then to what you say. Approve both codes here or with "
            "`commonplace channel pair`. Unless the settings say otherwise, nobody is heard without one.",
            zh="在群里 @ 它三次：它先回复该群的配对码，再回复你的配对码，第三次才回答。两个配对码都在这里或用 `commonplace channel pair` 批准。除非另行设置，没有配对的一律不听。",
        ),
    ),
    problems=(
        PlatformProblem(
            sign="1000040350",
            meaning=Bilingual(
                en="The app has too many long connections. Another daemon or a program of somebody else uses the same App ID: stop it. It is tried again every minute.",
                zh="该应用的长连接过多。另有守护进程或他人的程序在使用同一个 App ID：请停止它。每分钟会自动重试。",
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
                en="The App ID or the App Secret is wrong. Copy both again from Credentials (凭证与基础信息). If the secret is in a variable, start the daemon again, else stop and start the channel. It is tried again every five minutes.",
                zh="App ID 或 App Secret 错误。请从“凭证与基础信息”重新复制。密钥在环境变量里就重启守护进程，否则停止再启动频道。每五分钟会自动重试。",
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
                en="The id of a group begins with oc_. Those that wrote to it are in what `channel show` prints, and in the list of rooms.",
                zh="群 ID 以 oc_ 开头。发过消息的群见 `channel show` 的输出或房间列表。",
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
                en="Too many calls in a short time. They are tried again by themselves, after the time that Feishu asks for.",
                zh="短时间内调用过多。会自动重试，并遵守飞书要求的等待时间。",
            ),
        ),
        PlatformProblem(
            sign="10005",
            meaning=Bilingual(
                en="Feishu does not know the app, its secret is another, or it is switched off. Look at the App ID and the App Secret, and whether the app is enabled (版本管理与发布).",
                zh="飞书不认识该应用、密钥不匹配，或应用已停用。请检查 App ID 和 App Secret，以及应用是否已启用（版本管理与发布）。",
            ),
        ),
        PlatformProblem(
            sign="1000040344",
            meaning=Bilingual(
                en="Feishu knows no such app for a long connection. Look at the App ID, whether the bot is added and the version published, and whether the service (domain) is that of your organisation.",
                zh="飞书找不到可使用长连接的该应用。请检查 App ID、是否已添加机器人并发布版本，以及服务地址（domain）是否为你的企业所在。",
            ),
        ),
        PlatformProblem(
            sign="code 403",
            meaning=Bilingual(
                en="Feishu does not let the app open the long connection. Look whether the app is enabled and published, and whether events come by the long connection (使用长连接接收事件).",
                zh="飞书不允许该应用建立长连接。请检查应用是否已启用并发布，以及事件是否选择了“使用长连接接收事件”。",
            ),
        ),
        PlatformProblem(
            sign="the app's token",
            meaning=Bilingual(
                en="Feishu takes neither the app's token nor a new one. Look whether the app is enabled, and copy App ID and App Secret again. It is tried again every five minutes.",
                zh="飞书不接受该应用的令牌，新令牌也不接受。请检查应用是否已启用，并重新复制 App ID 和 App Secret。每五分钟会自动重试。",
            ),
        ),
        PlatformProblem(
            sign="99991679",
            meaning=Bilingual(
                en="The app may not do this in the name that it has. Add the permission that the error names (权限管理), then publish a new version.",
                zh="应用没有执行此操作的权限。请在“权限管理”开通错误信息中的权限，然后发布新版本。",
            ),
        ),
        PlatformProblem(
            sign="234003",
            meaning=Bilingual(
                en="The file is not there any more, or it is not of this message. Let whoever sent it send it again.",
                zh="文件已不存在，或不属于该消息。请发送者重新发送。",
            ),
        ),
        PlatformProblem(
            sign="The file has more than",
            meaning=Bilingual(
                en="The file is too large to be fetched: at most 50 MB. Send it in parts, or a link to it.",
                zh="文件过大，最多 50 MB。请分成几部分发送，或发送链接。",
            ),
        ),
        PlatformProblem(
            sign="is no file of Feishu",
            meaning=Bilingual(
                en="What came with the message is of a kind that cannot be fetched. Send it as a file.",
                zh="该附件的类型无法获取。请以文件形式发送。",
            ),
        ),
        PlatformProblem(
            sign="not known any more",
            meaning=Bilingual(
                en="The card or message is too old, or was sent before a restart, and cannot be changed. What it was about holds all the same.",
                zh="该卡片或消息过旧，或是重启前发送的，无法再修改。相关内容仍然有效。",
            ),
        ),
        PlatformProblem(
            sign="cannot be read",
            meaning=Bilingual(
                en="Feishu brought something in a form that this version does not know. It was left out; everything else goes on.",
                zh="飞书送来此版本不认识的内容。已略过，其余照常。",
            ),
        ),
        PlatformProblem(
            sign="nothing that we know",
            meaning=Bilingual(
                en="Somebody pressed a button that is not one of ours, or is of an older version. Nothing was done.",
                zh="有人点击了不属于本程序或属于旧版本的按钮。没有执行任何操作。",
            ),
        ),
        PlatformProblem(
            sign="could not be taken",
            meaning=Bilingual(
                en="The event could not be kept here. Feishu brings it again; look into the log of the daemon if this goes on.",
                zh="未能保存该事件。飞书会再次推送；若持续出现，请查看守护进程的日志。",
            ),
        ),
        PlatformProblem(
            sign="Nothing can listen on",
            meaning=Bilingual(
                en="Another program has this port, or the address is not one of this machine. Choose another webhook_port or webhook_host.",
                zh="该端口已被其他程序占用，或地址不属于本机。请换一个 webhook_port 或 webhook_host。",
            ),
        ),
        PlatformProblem(
            sign="The webhook needs",
            meaning=Bilingual(
                en="The webhook is not set up whole: it needs webhook_port, verification_token and encrypt_key. The last two are on the page Events and callbacks (加密策略).",
                zh="Webhook 设置不完整：需要 webhook_port、verification_token 和 encrypt_key。后两者在“事件与回调 → 加密策略”。",
            ),
        ),
        PlatformProblem(
            sign="The service of Feishu",
            meaning=Bilingual(
                en="The option domain is no address of the service: https and the name of the server, without a path.",
                zh="选项 domain 不是服务地址：应为 https 加服务器名，不带路径。",
            ),
        ),
        PlatformProblem(
            sign="The channel is",
            meaning=Bilingual(
                en="The channel is being stopped or started. Try it again in a moment.",
                zh="频道正在停止或启动。请稍后再试。",
            ),
        ),
        *PROBLEMS,
        PlatformProblem(
            sign="not one of Feishu",
            meaning=Bilingual(
                en="Something else answers in place of Feishu: a proxy, a portal that asks for a login, or a wrong address. Look at the option domain, and at proxies.",
                zh="回答的不是飞书：可能是代理、需要登录的门户，或地址错误。请检查选项 domain 和代理。",
            ),
        ),
        PlatformProblem(
            sign="Feishu answered with HTTP",
            meaning=Bilingual(
                en="Feishu has a fault, or a proxy stands between. It is tried again by itself; look at proxies if it goes on.",
                zh="飞书出现故障，或中间有代理。会自动重试；若持续出现，请检查代理。",
            ),
        ),
        PlatformProblem(
            sign="cannot be reached",
            meaning=Bilingual(
                en="This machine does not reach Feishu. Let it open HTTPS to open.feishu.cn (open.larksuite.com for Lark), port 443. It is tried again by itself.",
                zh="本机无法访问飞书。请允许它通过 HTTPS 访问 open.feishu.cn（Lark 为 open.larksuite.com）的 443 端口。会自动重试。",
            ),
        ),
        PlatformProblem(
            sign="connection to Feishu broke",
            meaning=Bilingual(
                en="The connection ended in the middle of a call. It is tried again by itself, and nothing comes twice; look at proxies if it goes on.",
                zh="调用途中连接中断。会自动重试，不会重复发送；若持续出现，请检查代理。",
            ),
        ),
        PlatformProblem(
            sign="could not be opened",
            meaning=Bilingual(
                en="The long connection was refused on the way. Let proxies and firewalls pass websockets (wss), port 443, to the servers of Feishu, or use the webhook. It is tried again by itself.",
                zh="长连接在途中被拒绝。请让代理和防火墙放行到飞书服务器 443 端口的 WebSocket（wss），或改用 Webhook。会自动重试。",
            ),
        ),
        PlatformProblem(
            sign="for the long connection",
            meaning=Bilingual(
                en="Feishu named no place for the long connection, or one without TLS. Look at the option domain, and at proxies.",
                zh="飞书没有给出长连接地址，或给出的地址没有 TLS。请检查选项 domain 和代理。",
            ),
        ),
        PlatformProblem(
            sign="gave no token",
            meaning=Bilingual(
                en="Feishu gave the app no token. The rest of the error says why; it is tried again by itself.",
                zh="飞书没有给应用令牌，原因见错误信息。会自动重试。",
            ),
        ),
        PlatformProblem(
            sign="does not accept the app",
            meaning=Bilingual(
                en="Feishu does not accept the app. Copy App ID and App Secret again, look whether the app is enabled and published, and whether the service (domain) is that of your organisation. It is tried again every five minutes.",
                zh="飞书不接受该应用。请重新复制 App ID 和 App Secret，检查应用是否已启用并发布，以及服务地址（domain）是否为你的企业所在。每五分钟会自动重试。",
            ),
        ),
        PlatformProblem(
            sign="which message it made",
            meaning=Bilingual(
                en="Feishu took a message and did not say which it is. Look into the group whether it is there.",
                zh="飞书接收了消息但没有说明是哪一条。请到群里查看。",
            ),
        ),
        PlatformProblem(
            sign="Feishu did not do it",
            meaning=Bilingual(
                en="Feishu refused this for a reason of its own. Look up the code that stands in the error on open.feishu.cn; the words behind it are Feishu's.",
                zh="飞书因自身的原因拒绝了此操作。请在 open.feishu.cn 查询错误信息中的错误码；其后的文字是飞书给出的。",
            ),
        ),
    ),
    open_points=(
        Bilingual(
            en="What the permissions are called in your console, and which need an administrator. Search for the names above (权限管理); 99991672 in the log names the one that is missing.",
            zh="各权限在你的后台里的名称，以及哪些需要管理员审批。请在“权限管理”搜索上面的名称；日志中的 99991672 会写明缺少的权限。",
        ),
        Bilingual(
            en="Whether an administrator has to agree to your version. If a mention in the group brings nothing to the log of the daemon, the version is not out yet, or the event is not added.",
            zh="你的版本是否需要管理员审批。若在群里 @ 它后守护进程的日志没有任何内容，说明版本尚未发布，或没有添加事件。",
        ),
        Bilingual(
            en="How many messages and changes of a card per second your edition allows. Ask for a long answer, and look for 99991400 and 230020 in the log of the channel.",
            zh="你的版本每秒允许多少消息和卡片更新。请让它写一段长回答，并留意频道日志中的 99991400 和 230020。",
        ),
        Bilingual(
            en="How large a card may be. Ask for a table of 200 rows; if its end comes as plain text, the card was refused.",
            zh="卡片最大多少。请让它写一个 200 行的表格；若结尾是纯文本，说明卡片被拒绝。",
        ),
        Bilingual(
            en="Whether a reply to the bot reaches it without a mention. Answer one of its messages; if nothing happens, ask for im:message.group_msg.",
            zh="不 @ 机器人、只回复它的消息时它能否收到。请回复它的一条消息；若无反应，请申请 im:message.group_msg。",
        ),
        Bilingual(
            en="Whether Feishu brings again what nobody took, and for how long it keeps it. Stop the channel, write to it, start it after a minute: it is answered, or lost.",
            zh="无人接收的消息飞书是否会再次推送、保留多久。停止频道，给它发消息，一分钟后启动：会回答，或者丢失。",
        ),
        Bilingual(
            en="Whether the repeated requests of the webhook bear a new time. Do the same with the webhook for ten minutes: forbidden in the log means that they bear the old one, and are lost after five minutes.",
            zh="Webhook 重试的请求是否带新的时间。用 Webhook 做同样的事，等十分钟：日志中的 forbidden 表示仍是旧时间，超过五分钟就会丢失。",
        ),
        Bilingual(
            en="How long a token and a long connection hold. Leave it alone for three hours, then write a test message; the log shows when it connected again.",
            zh="令牌和长连接能保持多久。放置三小时，再发一条测试消息；日志显示何时重新连接。",
        ),
        Bilingual(
            en="What becomes of two daemons with one App ID. Feishu is said to give each event to one of them, so use an app for each daemon; 1000040350 in the log says that there are too many.",
            zh="两个守护进程使用同一个 App ID 会怎样。据说飞书把每个事件只给其中一个，因此请为每个守护进程建一个应用；日志中的 1000040350 表示连接过多。",
        ),
        Bilingual(
            en="Whether the bot may be in groups with people of other organisations. Add it to one; the custom app of one organisation may not be let in.",
            zh="有外部企业成员的群能否加入机器人。把它加进去试试；自建应用可能不被允许。",
        ),
        Bilingual(
            en="Until when a card can be changed. Press a button of a question of two weeks ago; the log says if Feishu refused the change.",
            zh="卡片多久之内可以修改。按一下两周前的请求上的按钮；若飞书拒绝修改，日志会说明。",
        ),
        Bilingual(
            en="Whether Lark is as Feishu is. Set the option domain to https://open.larksuite.com, and take all steps there.",
            zh="Lark 是否与飞书相同。把选项 domain 设为 https://open.larksuite.com，并在那里完成所有步骤。",
        ),
    ),
)
