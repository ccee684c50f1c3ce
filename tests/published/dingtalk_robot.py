# pyright: basic, reportMissingImports=false
"""
A robot that somebody made with DingTalk's own SDK, unmodified. It runs in an environment of its own, does what a message asks for, and says on
its standard output, in a line of JSON each, what happened.
"""

import asyncio
import json
import logging
import os
import sys

import dingtalk_stream
from dingtalk_stream.card_replier import AICardReplier, CardReplier


def tell(**what: object) -> None:
    sys.stdout.write(f"{json.dumps(what)}\n")
    sys.stdout.flush()


class Robot(dingtalk_stream.ChatbotHandler):
    async def process(self, callback):
        message = dingtalk_stream.ChatbotMessage.from_dict(callback.data)
        text = message.text.content.strip()
        tell(message=text, sender=message.sender_staff_id, mention=message.is_in_at_list)
        if text == "token":
            first, second = (self.dingtalk_client.get_access_token() for _ in range(2))
            tell(token=first == second and bool(first))
        elif text == "text":
            tell(answer=self.reply_text("As text.", message))
        elif text == "markdown":
            tell(answer=self.reply_markdown("Title", "**As** Markdown.", message))
        elif text == "file":
            tell(address=self.get_image_download_url("code-1"))
        elif text == "card":
            await self.grow(message)
        elif text == "question":
            tell(
                card=CardReplier(self.dingtalk_client, message).create_and_deliver_card(
                    "asks.schema", {"title": "Push it?"}
                )
            )
        return dingtalk_stream.AckMessage.STATUS_OK, "OK"

    async def grow(self, message) -> None:
        card = AICardReplier(self.dingtalk_client, message)
        key = await card.async_start("template-1.schema", {"content": ""})
        for text in ("It ", "It grows"):
            await card.async_streaming(key, "content", text, append=False, finished=False, failed=False)
        await card.async_streaming(key, "content", "It grows.", append=False, finished=True, failed=False)
        await card.async_finish(key, {"content": "It grows."})
        tell(card=key)


class Buttons(dingtalk_stream.CallbackHandler):
    async def process(self, callback):
        press = dingtalk_stream.CardCallbackMessage.from_dict(callback.data)
        tell(button=press.content["cardPrivateData"]["actionIds"], card=press.card_instance_id, sender=press.user_id)
        return dingtalk_stream.AckMessage.STATUS_OK, {"userPrivateData": {"cardParamMap": {"notice": "Seen."}}}


class Events(dingtalk_stream.EventHandler):
    async def process(self, event):
        tell(event=event.headers.event_type, data=event.data)
        return dingtalk_stream.AckMessage.STATUS_OK, "OK"


def main() -> None:
    credential = dingtalk_stream.Credential(os.environ["ROBOT_ID"], os.environ["ROBOT_SECRET"])
    client = dingtalk_stream.DingTalkStreamClient(credential, logging.getLogger("robot"))
    client.register_callback_handler(dingtalk_stream.ChatbotMessage.TOPIC, Robot())
    client.register_callback_handler(dingtalk_stream.CallbackHandler.TOPIC_CARD_CALLBACK, Buttons())
    client.register_all_event_handler(Events())
    tell(version=dingtalk_stream.VERSION_STRING if hasattr(dingtalk_stream, "VERSION_STRING") else "")
    asyncio.run(client.start())


if __name__ == "__main__":
    sys.exit(main())
