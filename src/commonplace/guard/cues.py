"""What speaks for an order to an agent in a sentence, or against it."""

from __future__ import annotations

from typing import Literal, TypeAlias

Cue: TypeAlias = Literal[
    "agent",
    "address",
    "order",
    "trigger",
    "save",
    "secrecy",
    "cover",
    "falsify",
    "identity",
    "money",
    "secret",
    "data",
    "give",
    "away",
    "bypass",
    "persist",
    "override",
    "promote",
    "exec",
    "covert",
    "leak",
    "exfil",
    "hand",
    "ship",
    "party",
    "codeword",
    "self",
    "pressure",
    "prudence",
    "report",
]
