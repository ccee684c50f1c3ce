# pyright: basic, reportMissingImports=false
"""
A bot that somebody made with Feishu's own SDK, unmodified. It runs in an environment of its own, does what a message asks for, and says on
its standard output, in a line of JSON each, what happened.

Beside its long connection it has a webhook, whose requests the SDK judges.
"""

import json
import os
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread

import lark_oapi as lark
from lark_oapi.api.im.v1 import (
    CreateMessageReactionRequest,
    CreateMessageReactionRequestBody,
    CreateMessageRequest,
    CreateMessageRequestBody,
    DeleteMessageReactionRequest,
    DeleteMessageRequest,
    Emoji,
    GetMessageRequest,
    GetMessageResourceRequest,
    P2ImChatMemberBotAddedV1,
    P2ImMessageReceiveV1,
    PatchMessageRequest,
    PatchMessageRequestBody,
    ReplyMessageRequest,
    ReplyMessageRequestBody,
)
from lark_oapi.core.enum import AccessTokenType, HttpMethod
from lark_oapi.core.model import BaseRequest, RawRequest
from lark_oapi.event.callback.model.p2_card_action_trigger import P2CardActionTrigger, P2CardActionTriggerResponse


def tell(**what: object) -> None:
    sys.stdout.write(f"{json.dumps(what)}\n")
    sys.stdout.flush()


class Robot:
    def __init__(self, client) -> None:
        self.messages = client.im.v1.message
        self.reactions = client.im.v1.message_reaction
        self.resources = client.im.v1.message_resource
        self.client = client

    def hear(self, event: P2ImMessageReceiveV1) -> None:
        message = event.event.message
        text = json.loads(message.content)["text"]
        mentions = [mention.id.open_id for mention in message.mentions or []]
        tell(message=text, sender=event.event.sender.sender_id.open_id, chat=message.chat_id, mentions=mentions)
        act = {
            "reply": self.reply,
            "card": self.grow,
            "mark": self.mark,
            "file": self.fetch,
            "quote": self.quote,
            "cold": self.begin,
            "bot": self.who,
            "twice": self.twice,
        }.get(text.removeprefix("@_user_1 "))
        if act is not None:
            act(message)

    def reply(self, message) -> None:
        body = ReplyMessageRequestBody.builder().msg_type("text").content(json.dumps({"text": "Heard."})).build()
        answer = self.messages.reply(
            ReplyMessageRequest.builder().message_id(message.message_id).request_body(body).build()
        )
        tell(code=answer.code, id=answer.data.message_id, parent=answer.data.parent_id)

    def _create(self, chat: str, content: dict, kind: str = "interactive", uuid: str = ""):
        body = CreateMessageRequestBody.builder().receive_id(chat).msg_type(kind).content(json.dumps(content))
        request = CreateMessageRequest.builder().receive_id_type("chat_id").request_body(body.uuid(uuid).build())
        return self.messages.create(request.build())

    def begin(self, _message) -> None:
        answer = self._create("oc_cold", {"text": "Good morning."}, "text")
        tell(code=answer.code, chat=answer.data.chat_id)

    def twice(self, message) -> None:
        answers = [self._create(message.chat_id, {"text": "Once."}, "text", uuid="u-1") for _ in range(2)]
        tell(same=answers[0].data.message_id == answers[1].data.message_id)

    def grow(self, message) -> None:
        id = self._create(message.chat_id, card("It ")).data.message_id
        codes = []
        for text in ("It grows", "It grows."):
            body = PatchMessageRequestBody.builder().content(json.dumps(card(text))).build()
            answer = self.messages.patch(PatchMessageRequest.builder().message_id(id).request_body(body).build())
            codes.append(answer.code)
        tell(card=id, codes=codes)

    def mark(self, message) -> None:
        emoji = Emoji.builder().emoji_type("OnIt").build()
        body = CreateMessageReactionRequestBody.builder().reaction_type(emoji).build()
        request = CreateMessageReactionRequest.builder().message_id(message.message_id).request_body(body).build()
        id = self.reactions.create(request).data.reaction_id
        tell(reaction=id)
        request = DeleteMessageReactionRequest.builder().message_id(message.message_id).reaction_id(id).build()
        tell(code=self.reactions.delete(request).code)

    def fetch(self, message) -> None:
        request = GetMessageResourceRequest.builder().message_id(message.message_id).type("image")
        answer = self.resources.get(request.file_key("img_1").build())
        tell(code=answer.code, file=answer.file.read().decode())

    def quote(self, message) -> None:
        answer = self.messages.get(GetMessageRequest.builder().message_id(message.parent_id).build())
        [item] = answer.data.items
        gone = self.messages.delete(DeleteMessageRequest.builder().message_id("om_none").build())
        tell(kind=item.msg_type, sender=item.sender.id, content=json.loads(item.body.content), missing=gone.code)

    def who(self, _message) -> None:
        request = BaseRequest.builder().http_method(HttpMethod.GET).uri("/open-apis/bot/v3/info")
        answer = self.client.request(request.token_types({AccessTokenType.TENANT}).build())
        tell(code=answer.code, bot=json.loads(answer.raw.content)["bot"]["open_id"])


def card(text: str) -> dict:
    return {"schema": "2.0", "body": {"elements": [{"tag": "markdown", "content": text}]}}


def press(event: P2CardActionTrigger) -> P2CardActionTriggerResponse:
    action, context = event.event.action, event.event.context
    tell(button=action.value, sender=event.event.operator.open_id, message=context.open_message_id)
    return P2CardActionTriggerResponse({"toast": {"type": "info", "content": "Seen."}})


def added(event: P2ImChatMemberBotAddedV1) -> None:
    tell(added=event.event.chat_id, name=event.event.name)


def webhook(handler) -> int:
    """The port of a webhook whose requests the SDK judges."""

    class Door(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            request = RawRequest()
            request.uri = self.path
            request.headers = self.headers
            request.body = self.rfile.read(int(self.headers["Content-Length"]))
            answer = handler.do(request)
            self.send_response(answer.status_code)
            self.send_header("Content-Length", str(len(answer.content)))
            self.end_headers()
            self.wfile.write(answer.content)

        def log_message(self, *args: object) -> None:
            """Standard output is for what happened."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Door)
    Thread(target=server.serve_forever, daemon=True).start()
    return server.server_port


def main() -> None:
    server, id, secret = (os.environ[name] for name in ("FEISHU_SERVER", "ROBOT_ID", "ROBOT_SECRET"))
    client = lark.Client.builder().app_id(id).app_secret(secret).domain(server).log_level(lark.LogLevel.ERROR).build()
    robot = Robot(client)
    handler = (
        lark.EventDispatcherHandler.builder(os.environ["ENCRYPT_KEY"], os.environ["VERIFICATION_TOKEN"])
        .register_p2_im_message_receive_v1(robot.hear)
        .register_p2_card_action_trigger(press)
        .register_p2_im_chat_member_bot_added_v1(added)
        .build()
    )
    tell(port=webhook(handler))
    lark.ws.Client(id, secret, event_handler=handler, domain=server, log_level=lark.LogLevel.ERROR).start()


if __name__ == "__main__":
    sys.exit(main())
