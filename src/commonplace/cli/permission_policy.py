"""What is answered to a request for permission without asking a person."""

from collections.abc import Sequence
from dataclasses import dataclass

from commonplace.errors import InvalidInput
from commonplace.values.permission import PermissionChoice, PermissionRequest


@dataclass(frozen=True, kw_only=True, slots=True)
class PermissionPolicy:
    """
    `rules` are allowed: each is that of a request (`shell:make test`), or every call of a tool (`fetch:*`). `edits`: changes of files
    are, too. A hidden file, which may steer a program, is allowed by its own rule alone. `refuse_others`: everything else is refused;
    otherwise a person decides.
    """

    rules: tuple[str, ...] = ()
    edits: bool = False
    refuse_others: bool = False

    @classmethod
    def of(cls, rules: Sequence[str], *, edits: bool, refuse_others: bool) -> "PermissionPolicy":
        """Raises InvalidInput: a rule names no tool."""
        for rule in rules:
            tool, colon, about = rule.partition(":")
            if not (tool.strip() and colon and about.strip()):
                raise InvalidInput(
                    f"{rule!r} is not a rule. Write TOOL:WHAT as a request shows it, `shell:make test`, or TOOL:* for every call of a tool."
                )
        return cls(rules=tuple(rules), edits=edits, refuse_others=refuse_others)

    def choice(self, request: PermissionRequest) -> PermissionChoice | None:
        """None: a person is to be asked."""
        every_call = f"{request.tool}:*"
        is_plain = request.kind != "edit" or request.rule == every_call
        is_edit = self.edits and request.kind == "edit"
        if request.rule in self.rules or (is_plain and (is_edit or every_call in self.rules)):
            return "allow_once"
        return "reject_once" if self.refuse_others else None
