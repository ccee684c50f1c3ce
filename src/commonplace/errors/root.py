"""The root of the tree."""

from __future__ import annotations

import inspect
from typing import ClassVar


class CommonplaceError(Exception):
    """Something went wrong in Commonplace."""

    code: ClassVar[str] = "error"
    status: ClassVar[int] = 500

    def __init__(self, message: str | None = None, **details: object) -> None:
        self.message = message or inspect.cleandoc(type(self).__doc__ or type(self).__name__)
        self.details = details
        super().__init__(self.message)
