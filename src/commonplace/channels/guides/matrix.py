"""How to set up a channel of a Matrix server."""

from typing import Final

from commonplace.channels.guides.connection import PROBLEMS
from commonplace.values.platform import Bilingual, PlatformField, PlatformGuide, PlatformProblem

MATRIX: Final = PlatformGuide(
    kind="matrix",
    title=Bilingual(en="Matrix", zh="Matrix"),
    summary=Bilingual(
        en="An account of a Matrix server (Synapse, for instance) is the agent. The daemon asks the server for news, so it needs no address of its own. Encrypted rooms "
        "are not supported.",
        zh="用 Matrix 服务器（例如 Synapse）上的一个账号作为智能体。守护进程主动向服务器拉取消息，因此不需要公网地址。不支持加密房间。",
    ),
    steps=(
        Bilingual(
            en="Make an account for the agent on your server. With Synapse: `register_new_matrix_user -c homeserver.yaml`, a name such as `assistant`, no admin.",
            zh="在你的服务器上为智能体注册一个账号。Synapse 用 `register_new_matrix_user -c homeserver.yaml`，取名如 `assistant`，不要设为管理员。",
        ),
        Bilingual(
            en="Get an access token for it. In Element, signed in as that account: All settings, Help & About, Advanced, Access Token. Do not sign that session out "
            "afterwards: the token would end with it.",
            zh="获取它的访问令牌。用该账号登录 Element：所有设置 → 帮助与关于 → 高级 → 访问令牌。之后不要退出该会话，否则令牌随之失效。",
        ),
        Bilingual(
            en="Put the token where the daemon finds it: in a variable of its environment, or in a file that only it can read (`chmod 600`).",
            zh="把令牌放到守护进程能找到的地方：它的环境变量，或只有它能读的文件（`chmod 600`）。",
        ),
    ),
    fields=(
        PlatformField(
            name="homeserver",
            label=Bilingual(en="Address of the server", zh="服务器地址"),
            help=Bilingual(
                en="Where its client API is, without a path. For many servers that is not the name behind the colon of a user.",
                zh="其客户端 API 的地址，不含路径。很多服务器的这个地址与用户名冒号后面的名称不同。",
            ),
            example="https://matrix.example.org",
        ),
        PlatformField(
            name="token",
            label=Bilingual(en="Access token", zh="访问令牌"),
            help=Bilingual(
                en="The name of the variable that has the token, or `file:` and a path. Never the token itself.",
                zh="保存令牌的环境变量名，或 `file:` 加路径。切勿填写令牌本身。",
            ),
            secret=True,
            example="MATRIX_TOKEN",
        ),
    ),
    after=(
        Bilingual(
            en="Make a room without encryption, and invite the account. It joins by itself, where the settings let anybody be heard: `group_policy` for a group, `senders` and "
            "`allowed` for a talk of two. Another invitation waits until they do.",
            zh="新建一个不加密的房间，并邀请该账号。只要设置允许有人在那里发言，它就会自动加入：群聊看 `group_policy`，私聊看 `senders` 和 `allowed`。否则邀请会保留，直到设置允许。",
        ),
        Bilingual(
            en="Mention it: `@assistant when do we ship?`. If it does not know you, it answers with a code; approve it here or with `commonplace channel pair`.",
            zh="提到它：`@assistant 我们什么时候发布？`。如果它不认识你，会回复一个配对码；在这里或用 `commonplace channel pair` 批准。",
        ),
    ),
    problems=(
        PlatformProblem(
            sign="M_UNKNOWN_TOKEN",
            meaning=Bilingual(
                en="The server does not know the access token: it was signed out, or copied in part. Get a new one, put it in its place, and start the channel again.",
                zh="服务器不认识该访问令牌：会话已退出，或复制不完整。请重新获取、放回原处，然后重新启动频道。",
            ),
        ),
        PlatformProblem(
            sign="M_MISSING_TOKEN",
            meaning=Bilingual(
                en="No access token was sent. Look whether the variable or the file has one.",
                zh="没有发送访问令牌。请检查环境变量或文件里是否有内容。",
            ),
        ),
        PlatformProblem(
            sign="M_FORBIDDEN",
            meaning=Bilingual(
                en="The account may not do this in this room: it is not a member any more, or may not write there. Invite it again, or give it the right to send messages.",
                zh="该账号在此房间没有权限：可能已不是成员，或不允许发言。请重新邀请它，或授予发言权限。",
            ),
        ),
        PlatformProblem(
            sign="M_LIMIT_EXCEEDED",
            meaning=Bilingual(
                en="The server slows the account down. It is tried again by itself; raise `rc_message` in the server's configuration if this goes on.",
                zh="服务器限制了该账号的速度。会自动重试；若持续出现，请在服务器配置里提高 `rc_message`。",
            ),
        ),
        PlatformProblem(
            sign="Cannot reach the server",
            meaning=Bilingual(
                en="Nobody answers at the address of the server. Look at it, at the network, and whether the server runs. It is tried again by itself.",
                zh="服务器地址没有回应。请检查地址、网络，以及服务器是否在运行。会自动重试。",
            ),
        ),
        PlatformProblem(
            sign="encrypted",
            meaning=Bilingual(
                en="The room is encrypted, which is not supported. Encryption cannot be switched off again: make a room without it.",
                zh="该房间已加密，不受支持。加密无法关闭：请新建一个不加密的房间。",
            ),
        ),
        *PROBLEMS,
    ),
    open_points=(
        Bilingual(
            en="How strict the limits of your server are. Send ten messages in a row with `commonplace channel test`, and look for M_LIMIT_EXCEEDED in the log.",
            zh="你的服务器限制有多严格。用 `commonplace channel test` 连续发送十条消息，看日志里是否出现 M_LIMIT_EXCEEDED。",
        ),
    ),
)
