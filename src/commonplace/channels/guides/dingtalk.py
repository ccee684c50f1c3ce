"""How to set up a channel of DingTalk."""

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

DINGTALK: Final = PlatformGuide(
    kind="dingtalk",
    title=Bilingual(en="DingTalk", zh="钉钉"),
    summary=Bilingual(
        en="An app of your organisation with a robot is the agent. The daemon connects to DingTalk (Stream mode), so it needs no public address.",
        zh="用企业内部应用的机器人作为智能体。守护进程主动连接钉钉（Stream 模式），因此不需要公网地址。",
    ),
    steps=(
        Bilingual(
            en="Open the developer console, open-dev.dingtalk.com, as somebody who may make apps for your organisation.",
            zh="以有权为企业创建应用的账号打开开发者后台 open-dev.dingtalk.com。",
        ),
        Bilingual(
            en="Application development (应用开发), internal apps (企业内部应用), DingTalk app (钉钉应用), Create (创建应用): give it a name and a sentence.",
            zh="应用开发 → 企业内部应用 → 钉钉应用 → 创建应用：填写名称和简介。",
        ),
        Bilingual(
            en="In the app: add the capability Robot (添加应用能力 → 机器人), switch it on, and choose Stream mode (Stream 模式) as the way it receives messages.",
            zh="在应用中：添加应用能力 → 机器人，打开机器人配置，消息接收模式选择 Stream 模式。",
        ),
        Bilingual(
            en="On the robot's page note the RobotCode; for an app of your own it is usually the same as the Client ID.",
            zh="在机器人页面记下 RobotCode；企业内部应用的 RobotCode 通常与 Client ID 相同。",
        ),
        Bilingual(
            en="Credentials (凭证与基础信息): note the Client ID (formerly AppKey), and put the Client Secret (formerly AppSecret) where the daemon finds it: in a variable of its "
            "environment, or in a file that only it can read.",
            zh="凭证与基础信息：记下 Client ID（原 AppKey），把 Client Secret（原 AppSecret）放到守护进程能找到的地方：它的环境变量，或只有它能读的文件。",
        ),
        Bilingual(
            en="Permissions (权限管理): search for the names below, and apply for each.",
            zh="权限管理：搜索下列权限点并逐一申请。",
        ),
        Bilingual(
            en="If permissions are to be asked with buttons: on the card platform (open-dev.dingtalk.com/fe/card) choose New template (新建模板), card type message card (消息卡片), scene and app: this app. Without a template the robot asks in text, and people answer with /approve or /deny.",
            zh="若要用按钮询问许可：在卡片平台（open-dev.dingtalk.com/fe/card）新建模板，卡片类型选“消息卡片”，关联本应用。没有模板时，机器人以文字询问，大家用 /approve 或 /deny 回答。",
        ),
        Bilingual(
            en="In its editor add the variables (变量), all of the type string (字符串) but text, which is Markdown (Markdown 内容): title, text, tool, asker, status, outcome, approve_label, approve_always_label, deny_label, and, as a private one (私有数据), notice. Put title, text, asker and outcome on the card as ${title} and so on, and notice in a line of its own: only the presser of a button has it.",
            zh="在编辑器中添加变量：除 text 为“Markdown 内容”外，其余类型都是“字符串”：title、text、tool、asker、status、outcome、approve_label、approve_always_label、deny_label，以及作为私有数据的 notice。用 ${title} 等形式把 title、text、asker、outcome 放到卡片上；notice 单独一行，只有点击按钮的人能看到。",
        ),
        Bilingual(
            en="Put three buttons on it, with the texts ${approve_label}, ${approve_always_label} and ${deny_label}. For each choose the click event callback (点击事件 → 回传请求), the action id approve, approve-always or deny, and the parameter action with the same word. In the visibility (显示条件) of each, or of the row that holds them, set: status equals open. The robot sends open with the question, and allowed or refused when it is decided, which takes the buttons away. Save, publish (发布), and note the template's id.",
            zh="放三个按钮，文字分别为 ${approve_label}、${approve_always_label}、${deny_label}。每个按钮的点击事件选“回传请求”，动作 ID 分别为 approve、approve-always、deny，并加参数 action，值与动作 ID 相同。在每个按钮或其所在行的显示条件中设置：status 等于 open。机器人发出询问时 status 为 open，决定后变为 allowed 或 refused，按钮随之消失。保存并发布，记下模板 ID。",
        ),
        Bilingual(
            en="If answers are to grow while they are written: make a second template, of the scene AI card (AI 卡片), for this app, with the variable content of the type Markdown, for which streaming (流式) is switched on, and the variable title of the type string. Its states follow the variable flowStatus, which the AI card brings along: 1 begun, 2 writing, 3 finished, 5 failed. A button with the click event callback, the action id stop and the parameter action = stop, visible while flowStatus equals 2, ends the answer, for whoever asked. Publish it, and note its id. Without it each answer is sent when it is whole.",
            zh="若要流式显示回答：再新建一个“AI 卡片”场景的模板，关联本应用，添加类型为 Markdown、开启流式的变量 content，以及类型为“字符串”的变量 title。卡片状态由 AI 卡片自带的变量 flowStatus 决定：1 开始、2 输出中、3 完成、5 失败。一个点击事件为“回传请求”、动作 ID 为 stop、参数 action = stop、显示条件为 flowStatus 等于 2 的按钮，可由提问者中止回答。发布并记下模板 ID。没有它时，回答完成后一次发送。",
        ),
        Bilingual(
            en="Versions (版本管理与发布): make a version, choose who may see it, and publish. Nothing above holds before that.",
            zh="版本管理与发布：创建版本、选择可见范围并发布。发布之前以上设置都不生效。",
        ),
    ),
    permissions=(
        PlatformPermission(
            name="qyapi_robot_sendmsg",
            purpose=Bilingual(
                en="Write to groups and people first (schedules, alerts, the test message)",
                zh="主动向群和个人发消息（定时任务、提醒、测试消息）",
            ),
            certain=False,
        ),
        PlatformPermission(
            name="Card.Instance.Write",
            purpose=Bilingual(en="Make and change cards with buttons", zh="创建和更新带按钮的卡片"),
            required=False,
            certain=False,
        ),
        PlatformPermission(
            name="Card.Streaming.Write",
            purpose=Bilingual(en="Let an answer grow in a card while it is written", zh="在卡片中流式显示回答"),
            required=False,
            certain=False,
        ),
        PlatformPermission(
            name="qyapi_chat_read",
            purpose=Bilingual(
                en="Turn a group's chatId into the id that messages need; only if chat_ids is filled in",
                zh="把群的 chatId 转换为发消息所需的 ID；仅在填写 chat_ids 时需要",
            ),
            required=False,
            certain=False,
        ),
    ),
    fields=(
        PlatformField(
            name="client_id",
            label=Bilingual(en="Client ID (AppKey)", zh="Client ID（原 AppKey）"),
            help=Bilingual(en="On the page Credentials (凭证与基础信息).", zh="在“凭证与基础信息”页。"),
            example="dingxxxxxxxxxxxxxxxx",
        ),
        PlatformField(
            name="client_secret",
            label=Bilingual(en="Client Secret (AppSecret)", zh="Client Secret（原 AppSecret）"),
            help=Bilingual(
                en="The name of the variable that has the secret, or `file:` and a path. Never the secret itself.",
                zh="保存密钥的环境变量名，或 `file:` 加路径。切勿填写密钥本身。",
            ),
            secret=True,
            example="DINGTALK_CLIENT_SECRET",
        ),
        PlatformField(
            name="robot_code",
            label=Bilingual(en="RobotCode", zh="RobotCode"),
            help=Bilingual(
                en="On the robot's page. Empty: the same as the Client ID.",
                zh="在机器人页面。留空表示与 Client ID 相同。",
            ),
            required=False,
            example="dingxxxxxxxxxxxxxxxx",
        ),
        PlatformField(
            name="robot_name",
            label=Bilingual(en="What the robot is called", zh="机器人的名称"),
            help=Bilingual(
                en="As people mention it, for instance Release Bot. Only if commands such as /status do nothing since DingTalk leaves the name in the text. Empty: it is learned where a message shows it plainly.",
                zh="大家 @ 它时的名称，例如 发布助手。仅当钉钉把名称留在文字中、/status 等命令因此不起作用时填写。留空：在消息明确显示时自动得知。",
            ),
            required=False,
            example="Release Bot",
        ),
        PlatformField(
            name="card_template",
            label=Bilingual(en="Id of the card template", zh="卡片模板 ID"),
            help=Bilingual(
                en="For questions with buttons. Empty: the robot asks in text.",
                zh="用于带按钮的询问。留空表示用文字询问。",
            ),
            required=False,
            example="xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx.schema",
        ),
        PlatformField(
            name="answer_template",
            label=Bilingual(en="Id of the AI card template", zh="AI 卡片模板 ID"),
            help=Bilingual(
                en="For answers that grow while they are written. Empty: each is sent when it is whole.",
                zh="用于流式显示回答。留空表示回答完成后一次发送。",
            ),
            required=False,
            example="xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx.schema",
        ),
        PlatformField(
            name="answer_field",
            label=Bilingual(en="Streamed variable of the AI card", zh="AI 卡片的流式变量"),
            help=Bilingual(
                en="What the Markdown variable of that template is called. Empty: content.",
                zh="该模板中 Markdown 变量的名称。留空表示 content。",
            ),
            required=False,
            example="content",
        ),
        PlatformField(
            name="proactive",
            label=Bilingual(en="May it write first?", zh="能否主动发消息？"),
            help=Bilingual(
                en="With `no` it only answers, for as long after somebody's message as DingTalk lets it, and cannot play schedules in its rooms. "
                "Choose it if your organisation does not grant the permission.",
                zh="选 `no` 时只能在有人发言后、钉钉允许的时间内回答，无法在其房间执行定时任务。企业不授予该权限时请选它。",
            ),
            required=False,
            choices=(
                FieldChoice(value="yes", label=Bilingual(en="Yes", zh="能")),
                FieldChoice(value="no", label=Bilingual(en="No, it only answers", zh="不能，只回答")),
            ),
        ),
        PlatformField(
            name="chat_ids",
            label=Bilingual(en="chatIds of groups", zh="群的 chatId"),
            help=Bilingual(
                en="Only if DingTalk answers invalid.openConversationId: for each such group its conversationId, an equals sign, and its chatId; separated by spaces. A chatId begins with chat: the JSAPI chooseChat answers it when somebody chooses the group in a small app of the organisation, and so does the call that created the group (chat/create), to whoever made it by the interface.",
                zh="仅当钉钉返回 invalid.openConversationId 时填写：每个群写 conversationId、等号、chatId，各组以空格分隔。chatId 以 chat 开头：在企业的小程序或网页应用里调用 JSAPI chooseChat 选择该群时返回；若群是通过接口（chat/create）创建的，创建时也会返回。",
            ),
            required=False,
            example="cidAbCdEf==chat0123456789abcdef",
        ),
        PlatformField(
            name="endpoint",
            label=Bilingual(en="Address of DingTalk's interface", zh="钉钉接口地址"),
            help=Bilingual(
                en="Empty: https://api.dingtalk.com. Only for a DingTalk of your own (专属钉钉): this server gets the secret.",
                zh="留空表示 https://api.dingtalk.com。仅专属钉钉需要填写：密钥会发送给该服务器。",
            ),
            required=False,
            example="https://api.dingtalk.com",
        ),
    ),
    after=(
        Bilingual(
            en="Add the robot to a group: group settings, Robots (机器人), Add (添加机器人), and search for its name.",
            zh="把机器人加入群：群设置 → 机器人 → 添加机器人，搜索它的名称。",
        ),
        Bilingual(
            en="Mention it in the group three times: it answers with a code for the group first, then with one for you, then to what you say. Approve each code here before the next mention. DingTalk brings it nothing that does not mention it.",
            zh="在群里 @ 它三次：它先回复该群的配对码，再回复你的配对码，第三次才回答。每次收到配对码后先在这里批准，再 @ 下一次。钉钉不会把没有 @ 它的群消息转给它。",
        ),
    ),
    problems=(
        PlatformProblem(
            sign="Throttling",
            meaning=Bilingual(
                en="Too much in a short time: DingTalk takes nothing for a while. It is sent by itself when that is over; let the robot say less if it goes on.",
                zh="短时间内调用过多，钉钉暂时不接收。结束后会自动发送；若持续出现，请让机器人少发消息。",
            ),
        ),
        PlatformProblem(
            sign="flowControlled",
            meaning=Bilingual(
                en="DingTalk holds messages to this person back, since too many were sent. They are sent again after a minute; send less often.",
                zh="发给此人的消息过多，被钉钉限流。一分钟后会重新发送；请降低发送频率。",
            ),
        ),
        PlatformProblem(
            sign="invalid.openConversationId",
            meaning=Bilingual(
                en="DingTalk does not take the group's id for messages that nobody asked for. Put the group's chatId into the option chat_ids: the right id is made of it, for which the app needs the permission qyapi_chat_read.",
                zh="钉钉不接受用该群 ID 主动发消息。请在选项 chat_ids 中填写该群的 chatId，由它换取正确的 ID，应用需要权限 qyapi_chat_read。",
            ),
        ),
        PlatformProblem(
            sign="Forbidden.AccessDenied",
            meaning=Bilingual(
                en="The app lacks a permission. The answer names it: apply for it (权限管理), then publish a new version.",
                zh="应用缺少权限。错误信息里有权限名：在“权限管理”申请，然后发布新版本。",
            ),
        ),
        PlatformProblem(
            sign="invalidClientIdOrSecret",
            meaning=Bilingual(
                en="Client ID and Client Secret do not belong together. Copy both again from Credentials (凭证与基础信息).",
                zh="Client ID 与 Client Secret 不匹配。请从“凭证与基础信息”重新复制。",
            ),
        ),
        PlatformProblem(
            sign="robot.notExist",
            meaning=Bilingual(
                en="There is no robot of this RobotCode. Look at the robot's page, and whether the app was published.",
                zh="没有该 RobotCode 对应的机器人。请查看机器人页面，以及应用是否已发布。",
            ),
        ),
        PlatformProblem(
            sign="invalidStaffId",
            meaning=Bilingual(
                en="This person is not in the organisation, or not among those who may see the app. Look at its visibility (版本管理与发布).",
                zh="此人不在企业中，或不在应用可见范围内。请检查“版本管理与发布”里的可见范围。",
            ),
        ),
        PlatformProblem(
            sign="HTTP 401",
            meaning=Bilingual(
                en="DingTalk does not accept the credentials. Copy Client ID and Client Secret again.",
                zh="钉钉不接受凭证。请重新复制 Client ID 和 Client Secret。",
            ),
        ),
        PlatformProblem(
            sign="only answers",
            meaning=Bilingual(
                en="The option proactive is `no`, or DingTalk did not accept the credentials. Set it to `yes` when the app has the permission to send.",
                zh="选项 proactive 为 `no`，或钉钉不接受凭证。应用有发送权限后，请把它设为 `yes`。",
            ),
        ),
        PlatformProblem(
            sign="answer only",
            meaning=Bilingual(
                en="The option proactive is `no`, and nobody has written there lately. Somebody has to mention the robot, or set it to `yes`.",
                zh="选项 proactive 为 `no`，且近期没有人在那里发言。请有人 @ 机器人，或把它设为 `yes`。",
            ),
        ),
        PlatformProblem(
            sign="without conversationId",
            meaning=Bilingual(
                en="DingTalk brought a message and did not say of which chat it is. It was dropped, since it could be answered nowhere. Write it again.",
                zh="钉钉转来一条没有会话 ID 的消息。由于无法回复，已丢弃。请重新发送。",
            ),
        ),
        PlatformProblem(
            sign="we cannot read",
            meaning=Bilingual(
                en="DingTalk sent something in a form that this version does not know. It was left out; everything else goes on.",
                zh="钉钉发来此版本不认识的内容。已略过，其余照常。",
            ),
        ),
        PlatformProblem(
            sign="one of those of the endpoint",
            meaning=Bilingual(
                en="DingTalk named a server outside the domain of the endpoint, which gets no secret. With a DingTalk of your own, set the option endpoint to its address.",
                zh="钉钉给出的服务器不属于接口地址的域名，因此不会把密钥发给它。使用专属钉钉时，请把选项 endpoint 设为其地址。",
            ),
        ),
        PlatformProblem(
            sign="that is not DingTalk's",
            meaning=Bilingual(
                en="A message named an address for answers outside the domain of the endpoint. It is not used: the robot writes by itself.",
                zh="一条消息给出的回复地址不属于接口地址的域名。不使用该地址，改为主动发消息。",
            ),
        ),
        PlatformProblem(
            sign="createAndDeliver",
            meaning=Bilingual(
                en="The card could not be shown, so text was sent in its place. Look at the template's id, whether it is connected to this app and published, and at the permissions for cards.",
                zh="卡片无法显示，已改发文字。请检查模板 ID、模板是否关联本应用并已发布，以及卡片权限。",
            ),
        ),
        PlatformProblem(
            sign="card/streaming",
            meaning=Bilingual(
                en="The answer could not grow in its card, so it was sent as text. Look at the option answer_field, and whether that variable of the template is streamed.",
                zh="无法在卡片中流式显示，已改发文字。请检查选项 answer_field，以及模板中该变量是否开启流式。",
            ),
        ),
        PlatformProblem(
            sign="card/instances",
            meaning=Bilingual(
                en="A card that is there could not be changed. What it was about is decided all the same; look at the permissions for cards.",
                zh="已有的卡片无法更新。相关决定仍然有效；请检查卡片权限。",
            ),
        ),
        PlatformProblem(
            sign="emotion/reply",
            meaning=Bilingual(
                en="The sign that a message was seen could not be put on it. Answers come all the same.",
                zh="无法给消息加“已看到”的表情。回答不受影响。",
            ),
        ),
        PlatformProblem(
            sign="emotion/recall",
            meaning=Bilingual(
                en="The sign that a message was seen could not be taken away. Answers come all the same.",
                zh="无法撤回“已看到”的表情。回答不受影响。",
            ),
        ),
        *PROBLEMS,
        PlatformProblem(
            sign="fault of DingTalk",
            meaning=Bilingual(
                en="DingTalk failed. What may be asked for twice is; a message that may be there is not sent again. Look into the chat.",
                zh="钉钉出现故障。可重复的操作会重试；可能已送达的消息不会再发。请到群里查看。",
            ),
        ),
        PlatformProblem(
            sign="no connection to DingTalk",
            meaning=Bilingual(
                en="This machine does not reach DingTalk. Let it open HTTPS to api.dingtalk.com and oapi.dingtalk.com, port 443.",
                zh="本机无法访问钉钉。请允许它通过 HTTPS 访问 api.dingtalk.com 和 oapi.dingtalk.com 的 443 端口。",
            ),
        ),
        PlatformProblem(
            sign="could not be opened",
            meaning=Bilingual(
                en="The connection for messages was refused. Let proxies and firewalls pass websockets (wss) to *.dingtalk.com, port 443. It is tried again by itself.",
                zh="消息连接被拒绝。请让代理和防火墙放行到 *.dingtalk.com 443 端口的 WebSocket（wss）。会自动重试。",
            ),
        ),
        PlatformProblem(
            sign="broke off",
            meaning=Bilingual(
                en="The connection ended in the middle of a call. What may be there is not sent again; look into the chat, and at proxies if it goes on.",
                zh="调用途中连接中断。可能已送达的消息不会再发；请到群里查看，若持续出现请检查代理。",
            ),
        ),
        PlatformProblem(
            sign="sessionWebhook",
            meaning=Bilingual(
                en="The address for answers to a message ended before its time, as it does now and then. The robot writes by itself, for which it needs the permission to send.",
                zh="消息的回复地址提前失效，这时有发生。机器人会改为主动发消息，这需要发送权限。",
            ),
        ),
        PlatformProblem(
            sign="The file",
            meaning=Bilingual(
                en="A file that somebody sent could not be fetched. It may have expired or be too large; let them send it again.",
                zh="无法获取有人发送的文件。它可能已过期或过大，请重新发送。",
            ),
        ),
        PlatformProblem(
            sign="asked to connect anew",
            meaning=Bilingual(
                en="DingTalk ends each connection now and then. Another one is opened at once, and nothing is lost.",
                zh="钉钉会不时结束连接。会立即重新连接，不会丢失消息。",
            ),
        ),
        PlatformProblem(
            sign="without a place to connect to",
            meaning=Bilingual(
                en="DingTalk did not say where messages come from. It is tried again by itself; look at the option endpoint and at proxies if it goes on.",
                zh="钉钉没有给出消息连接的地址。会自动重试；若持续出现，请检查选项 endpoint 和代理。",
            ),
        ),
        PlatformProblem(
            sign="without an access token",
            meaning=Bilingual(
                en="DingTalk gave the app no token. It is tried again by itself; look at the option endpoint and at proxies if it goes on.",
                zh="钉钉没有给应用访问令牌。会自动重试；若持续出现，请检查选项 endpoint 和代理。",
            ),
        ),
        PlatformProblem(
            sign="before a button was answered",
            meaning=Bilingual(
                en="Somebody pressed a button while the connection was lost. Let them press it again.",
                zh="有人点击按钮时连接断开。请再点击一次。",
            ),
        ),
        PlatformProblem(
            sign="something of the system",
            meaning=Bilingual(
                en="DingTalk told the robot something that this version does not know. It was left out; everything else goes on.",
                zh="钉钉发来此版本不认识的系统消息。已略过，其余照常。",
            ),
        ),
        PlatformProblem(
            sign="was not done",
            meaning=Bilingual(
                en="DingTalk did not do it, also when asked again. It is tried again by itself if it can be.",
                zh="钉钉多次未执行该调用。可以重试的会自动重试。",
            ),
        ),
        PlatformProblem(
            sign="this is no address",
            meaning=Bilingual(
                en="DingTalk named an address for answers that is none. The robot writes by itself.",
                zh="钉钉给出的回复地址无效。机器人会改为主动发消息。",
            ),
        ),
        PlatformProblem(
            sign="more than we read",
            meaning=Bilingual(
                en="DingTalk answered with more than an answer can be. Look at the option endpoint, and at proxies.",
                zh="钉钉的回答过大。请检查选项 endpoint 和代理。",
            ),
        ),
        PlatformProblem(
            sign="cannot be kept",
            meaning=Bilingual(
                en="What DingTalk said of a chat is too long to be kept. The message is brought again.",
                zh="钉钉给出的会话信息过长，无法保存。该消息会再次送来。",
            ),
        ),
        PlatformProblem(
            sign="The channel is",
            meaning=Bilingual(
                en="The channel is being stopped or started. DingTalk brings the message again.",
                zh="频道正在停止或启动。钉钉会再次送来该消息。",
            ),
        ),
        PlatformProblem(
            sign="The endpoint is",
            meaning=Bilingual(
                en="The option endpoint is no address: https and the name of the server. Leave it empty, unless you have a DingTalk of your own.",
                zh="选项 endpoint 不是地址：应为 https 加服务器名。除专属钉钉外请留空。",
            ),
        ),
        PlatformProblem(
            sign="The chat ids are",
            meaning=Bilingual(
                en="The option chat_ids cannot be read: for each group its conversationId, an equals sign, and its chatId; separated by spaces.",
                zh="选项 chat_ids 无法读取：每个群写 conversationId、等号、chatId，各组以空格分隔。",
            ),
        ),
    ),
    open_points=(
        Bilingual(
            en="What the permissions are called in your console: the names above come from what the interface answers when one is missing. Send a test message; if it is refused, the error names the one it wants.",
            zh="权限点在你的后台里叫什么：上面的名称来自缺少权限时接口的回答。发送一条测试消息；若被拒绝，错误信息会写明所需权限。",
        ),
        Bilingual(
            en="Whether your group's conversationId is taken for messages that nobody asked for. A test message says so: it always goes the way of schedules. If it answers invalid.openConversationId, fill in chat_ids.",
            zh="你的群的 conversationId 能否用于主动发消息。测试消息总是走定时任务的途径，发送即可得知。若返回 invalid.openConversationId，请填写 chat_ids。",
        ),
        Bilingual(
            en="Whether turning a chatId into that id needs qyapi_chat_read in your console, too, as DingTalk's pages say. Fill in chat_ids and write a test message; if it is refused, the error names the permission.",
            zh="把 chatId 转换为该 ID 是否如钉钉文档所说需要 qyapi_chat_read。填写 chat_ids 后发送一条测试消息；若被拒绝，错误信息会写明所需权限。",
        ),
        Bilingual(
            en="Whether DingTalk takes the robot's name out of what people write, as others report. Mention the robot and write /status: if the agent answers in place of the command, set robot_name.",
            zh="钉钉是否会从消息中去掉机器人的名称（有人报告会去掉）。@ 机器人并写 /status：若回答的是智能体而不是命令，请设置 robot_name。",
        ),
        Bilingual(
            en="How much a robot may write: 20 messages a minute and then ten minutes of silence are documented for another kind of robot. No chat gets more than 18 a minute from here; look for Throttling in the log.",
            zh="机器人能发多少消息：每分钟 20 条、超出后停十分钟，是另一类机器人的文档说明。这里每个会话每分钟最多发 18 条；请留意日志中的 Throttling。",
        ),
        Bilingual(
            en="How many calls a month your edition has. Each answer, sign and change of a card is one, and growing answers are many. Look at the app's statistics in the developer console after the first day.",
            zh="你的版本每月有多少次接口调用。每条回答、每个表情、每次卡片更新都算一次，流式回答次数较多。第一天后请在开发者后台查看应用的调用统计。",
        ),
        Bilingual(
            en="How long a message may be answered by its own address: we go by what each message says. Look for webhook_ended in the log.",
            zh="一条消息的回复地址能用多久：以每条消息的说明为准。请留意日志中的 webhook_ended。",
        ),
        Bilingual(
            en="Whether a message comes again that could not be kept, or that was written while the daemon was down. Stop the channel, mention the robot, and start the channel again; "
            "look for not_kept in the log.",
            zh="无法保存的消息，或守护进程停止期间写的消息，钉钉是否会再次送来。停止频道、@ 机器人、再启动频道即可得知；请留意日志中的 not_kept。",
        ),
        Bilingual(
            en="Whether DingTalk tells a robot that it was added to a group. Add it to an empty group: if it does, the group stands among the channel's rooms before anybody has spoken.",
            zh="机器人被加入群时钉钉是否通知它。把它加入一个新群：若会通知，在有人发言前，该群就会出现在频道的房间列表中。",
        ),
        Bilingual(
            en="Whether the sign that a message was seen needs a permission. Look for mark_failed in the log.",
            zh="给消息加“已看到”的表情是否需要权限。请留意日志中的 mark_failed。",
        ),
        Bilingual(
            en="Whether your card templates show what they are given. Ask the agent to write a file, press a button, and look whether the buttons go; look for card_failed in the log. What the editor of templates calls its fields may differ from the steps above.",
            zh="你的卡片模板能否正确显示内容。请让智能体写一个文件、点击按钮，看按钮是否消失；请留意日志中的 card_failed。模板编辑器中的名称可能与上面的步骤不同。",
        ),
    ),
)
