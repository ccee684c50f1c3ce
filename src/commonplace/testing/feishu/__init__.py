"""
Feishu on this machine, for tests: the long connection, messages, files and signed webhooks, with faults on demand.

The vendor's own SDK runs against it in `tests/published/test_feishu_sdk.py`, so that it speaks as Feishu does and not as we think.
"""

from commonplace.testing.feishu.server import FeishuServer
from commonplace.testing.feishu.stories import card_press, chat_message, room_joined

__all__ = ["FeishuServer", "card_press", "chat_message", "room_joined"]
