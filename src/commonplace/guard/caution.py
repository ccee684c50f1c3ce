"""
What must not be learned, whoever said it: orders to an agent, marks of a prompt, and secrets.

A memory is read by agents later. A sentence that tells them to drop their instructions, that carries the syntax of a tool call
or of a prompt, that hides characters, or that has them send things away, is not a fact about anything. Nor is a password.
These are filters of form; the trust label of a record and the fence it is recalled in do the rest.
"""

from __future__ import annotations

import re
from typing import Final

from commonplace.guard.quarantine import signs
from commonplace.guard.signs import Sign, occurs
from commonplace.text.fence import neutral
from commonplace.text.proximity import Gap, Proximity
from commonplace.text.scrub import scrub
from commonplace.text.unicode import normal_form

STARK: Final[frozenset[Sign]] = frozenset({"injection", "role_marker", "tool_syntax", "fence", "hidden", "homoglyph"})
"""What nobody writes who only says how they want to be served."""

# Takes no room on the screen. The two that emoji are made with (U+200D, U+FE0F) are left out.
_HIDDEN: Final = re.compile(
    "[\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180e\u200b\u200c\u200e\u200f\u202a-\u202e\u2060-\u206f\u3164\ufeff\uffa0"
    "\ufff9-\ufffb\U000e0000-\U000e007f\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff]"
)
_MARKUP: Final = re.compile(
    r"<\s*+/?\s*+(?:system|assistant|user|human|tool|function|memory|instruction|invoke|antml|prompt|script|important|admin)"
    r"|<\||\|>|\[/?(?:INST|SYS|SYSTEM|TOOL|ASSISTANT)\]|<<\s*+SYS|\btool_(?:call|use|result)|\bfunction_?call"
    r"|[\"'](?:tool|name|arguments|function|parameters|role)[\"']\s*+:|^\s*+(?:system|assistant|developer)\s*+[:：]"
    r"|```|\$\(|##\s*+(?:system|instruction)|\{\{|\]\(\s*+(?:javascript|data):|系统\s*+[:：]|系統\s*+[:：]",
    re.IGNORECASE,
)
# Meant for an agent that reads it, and for nobody else.
_ATTACKS: Final = re.compile(
    r"\b(?:ignor\w*|disregard\w*|overrid\w*|bypass\w*|forget|discard)\b.{0,40}"
    r"\b(?:instruct\w*|prompts?|guidelines?|guardrails?|(?:previous|prior|above|earlier) (?:\w+ )?(?:rules?|messages?|text|context|directions?|orders?)"
    r"|safety|what you were told|everything (?:above|before|you))\b"
    r"|\b(?:system|developer|hidden|initial|secret) (?:prompt|message|instructions?)\b|\bnew instructions?\b"
    r"|\byou(?:'re| are| will be) (?:now|no longer|actually) (?:an?|the|in|my|bound|dan|free|un)\w*|\bfrom now on,? you(?:'re| are| must obey)\b"
    r"|\bjail-?break|\bdeveloper mode\b|\bdo anything now\b|\bexfiltrat\w+"
    r"|(?:忽略|无视|無視|忘记|忘記|忘掉|绕过|繞過|不要理会|不要理會|推翻|覆盖|覆蓋).{0,12}(?:指令|指示|提示|设定|設定|(?:之前|以前|前面|上面|以上|先前)的?(?:所有|一切)?(?:规则|規則|内容|內容|对话|對話|要求|话|話))"
    r"|系统提示|系統提示|提示词|提示詞|新的?指令|越狱|越獄|开发者模式|開發者模式"
    r"|[从從][现現]在(?:起|开始|開始)[，,]?你(?:就)?是(?!不是|否)|你(?:现在|現在|从现在|從現在|已经|已經)(?:起|开始|開始)?[，,]?(?:是(?!不是|否)|就是|变成|變成|扮演)",
    re.IGNORECASE | re.DOTALL,
)
_ORDERS: Final = re.compile(
    r"\b(?:ignor\w*|disregard\w*|overrid\w*|bypass\w*|skip|drop)\b.{0,40}"
    r"\b(?:rules?|polic(?:y|ies)|previous|prior|above|earlier|everything|restrictions?|checks?|permissions?|approvals?|training)\b"
    r"|\b(?:act|behave|respond|answer) as (?:if|though|an?|the|my)\b|\bpretend\b|\brole-?play\b"
    r"|\bDAN\b|\bwithout (?:asking|confirmation|confirming|permission|approval|telling|review)\b"
    r"|\b(?:do not|don't|never) (?:tell|inform|mention|reveal|warn|alert|ask|log)\b"
    r"|\b(?:reveal|leak|disclose|print|dump|expose)\b.{0,40}\b(?:keys?|tokens?|secrets?|prompts?|credentials?|passwords?"
    r"|memor(?:y|ies)|env\w*|files?)\b"
    r"|\b(?:send|forward|e-?mail|post|upload|copy|transfer|wire|submit|cc|bcc|pay)\b.{0,80}"
    r"(?:https?://|\S@\S|\b(?:keys?|tokens?|secrets?|credentials?|passwords?|conversations?|transcripts?|wallet|bank account)\b)"
    r"|\bcurl\b.{0,60}\|\s*(?:ba|z)?sh\b|\brm -rf\b|\bsudo\b|\beval\("
    r"|\bdisabl\w+\b.{0,30}\b(?:auth\w*|security|checks?|firewall|2fa|mfa|tls|verification|logging|audit\w*|signing)\b"
    r"|\b(?:grant|give)\b.{0,40}\b(?:admin|root|full access|owner)\b"
    r"|\b(?:is|are) (?:now )?(?:an? )?(?:trusted|verified|authori[sz]ed|pre-?approved|whitelisted)\b|\btrust (?:all|any|every)\b",
    re.IGNORECASE | re.DOTALL,
)
_ORDERS_IN_CHINESE: Final = re.compile(
    r"(?:忽略|无视|無視|忘记|忘記|忘掉|绕过|繞過|跳过|跳過|违反|違反).{0,16}(?:规则|規則|限制|之前|以前|前面|上面|以上|先前|所有|一切|安全|审批|審批|权限|權限|检查|檢查|系统|系統)"
    r"|你不再|扮演|假装|假裝|不要(?:告诉|告訴|提醒|通知|询问|詢問|透露|记录|記錄)|别告诉|別告訴"
    r"|(?:无需|無需|不用|不必|不需要)(?:再)?(?:确认|確認|询问|詢問|审批|審批|批准|同意)"
    r"|(?:泄露|洩露|泄漏|洩漏|透露|打印|导出|導出|公开|公開).{0,16}(?:密钥|密鑰|密码|密碼|令牌|凭证|憑證|提示|记忆|記憶|环境变量|環境變量)"
    r"|(?:发送|發送|转发|轉發|发到|發到|发给|發給|上传|上傳|抄送|转账|轉賬|转给|轉給|提交给|提交給).{0,40}"
    r"(?:https?://|\S@\S|密钥|密鑰|密码|密碼|凭证|憑證|对话|對話|聊天记录|聊天記錄|账户|帳戶)"
    r"|(?:关闭|關閉|禁用|停用).{0,10}(?:验证|驗證|认证|認證|安全|审计|審計|防火墙|防火牆|校验|校驗)|管理员权限|管理員權限",
    re.IGNORECASE | re.DOTALL,
)
_SENDS_IN_CHINESE: Final = Proximity(
    "把|将|將",
    Gap(30),
    "发送?|發送?|转发|轉發|上传|上傳|抄送|转",
    Gap(6),
    "到|给|給",
    Gap(40),
    r"https?://|\S@\S|[a-z0-9-]{1,63}+\.[a-z]{2}",
)
# The name of a secret with what may be its value after it.
_SECRET_TOLD: Final = re.compile(
    r"(?:\b(?:pass(?:word|wd|phrase|code)s?|pwd|pin(?: code| number)?|secrets?|(?:api|access|private|secret|ssh|license)[ _-]?keys?"
    r"|tokens?|credentials?|cvv|ssn|social security|(?:credit|debit) card|otp|seed phrase|recovery codes?)\b"
    r"|密码|密碼|口令|密钥|密鑰|令牌|凭证|憑證|验证码|驗證碼|身份证|身份證|银行卡|銀行卡|信用卡|卡号|卡號|助记词|助記詞)"
    r".{0,30}?(?:\b(?:is|are|was)\b|[=:：是为為]|\d{3})",
    re.IGNORECASE,
)
_LONG_NUMBER: Final = re.compile(r"(?:\d[ -]?){14,}\d")
_KEPT_SOMEWHERE: Final = re.compile(
    r"\b(?:live|lives|stored|kept|sits?|managed|found|saved|rotated?|come|comes|read|loaded|in (?:the )?vault|1password|bitwarden"
    r"|secrets? manager|keychain|key ?vault)\b"
    r"|(?:放|存|保存|存放|存储|存儲|管理|保管)(?:在|于|於)|轮换|輪換",
    re.IGNORECASE,
)


def is_attack(text: str) -> bool:
    """Whether `text` means to steer an agent. Nothing that was said in the same breath is to be believed."""
    return neutral(text) != text or occurs(_ATTACKS, _HIDDEN.sub("", normal_form(text)))


def is_suspect(text: str) -> bool:
    """Whether a statement reads like an order to an agent, a piece of a prompt, or hides something."""
    if _HIDDEN.search(text) or is_attack(text):
        return True
    plain = normal_form(text)
    orders = (_ORDERS, _ORDERS_IN_CHINESE, _SENDS_IN_CHINESE)
    return (
        bool(_MARKUP.search(plain))
        or any(occurs(order, plain) for order in orders)
        or bool({*signs(text)} - {"steering"})
    )


def is_planted(text: str) -> bool:
    """
    Whether a text that a person keeps is no wish of theirs: it drops an agent's instructions, carries marks of a prompt, or
    hides something. A person may well want answers in German from now on, or no question before noon.
    """
    return is_attack(text) or not STARK.isdisjoint(signs(text))


def is_secret(text: str) -> bool:
    """Whether `text` holds, held or seems to tell a secret. Where one is kept is no secret."""
    if "[redacted:" in text or _LONG_NUMBER.search(text) or scrub(text).report.status != "passed":
        return True
    return bool(_SECRET_TOLD.search(text)) and not _KEPT_SOMEWHERE.search(text)
