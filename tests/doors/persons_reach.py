"""Who reaches what, and what each route answers about it: written by hand, nothing of the product is asked for it."""

from dataclasses import dataclass, field
from typing import Any, Literal

Target = Literal["own", "person", "session", "room", "project", "web", "private", "resource", "quarantined"]
TARGETS: tuple[Target, ...] = (
    "own",
    "person",
    "session",
    "room",
    "project",
    "web",
    "private",
    "resource",
    "quarantined",
)
SCOPES: dict[Target, str] = {
    "person": "user:ana",
    "session": "session:ana-1",
    "room": "channel:ana-room",
    "project": "workspace:web-payroll",
    "web": "workspace:web",
    "private": "user:ana",
    "resource": "user:gia",
    "quarantined": "workspace:web",
}
ROLES = ("reader", "writer", "reviewer", "admin")

REACH: dict[str, set[Target]] = {
    "reader": {"own", "project", "web", "quarantined"},
    "writer": {"own", "project", "web", "quarantined"},
    "reviewer": {"own", "project", "web", "quarantined"},
    "scoped": {"web", "quarantined"},
    "admin": set(TARGETS),
    "abroad": {"own"},
    "gus": {"own"},
}
"""What a caller may name. `scoped` is a writer whose key says `workspace:web`, `gus` a user of the gateway, `abroad` an admin of another tenant."""
HOME: dict[str, set[Target]] = {**REACH, "admin": {"own", "project", "web", "quarantined"}}
"""What a caller reaches who names no scope."""
REVIEWERS = {"reviewer", "admin"}
"""Who reads a text in quarantine by its id, and where all that waits is listed. Nobody has it recalled."""
CALLERS = {
    "reader": "reader",
    "writer": "writer",
    "reviewer": "reviewer",
    "scoped": "writer",
    "admin": "admin",
    "abroad": "admin",
}
"""The roles of those who have a key."""


@dataclass(frozen=True)
class Row:
    """
    How a route is asked. `about`: `id` names a record, `scope` a scope, `all` names nothing. `needs` is the role. `body`, `query`: with
    ID, SCOPE and WORD in place of what the target is. `code` is what a caller gets who reaches the target and has the role; `cells` are those who get
    another one, as `caller target`, each of which may be a star. `recalls`: what is in quarantine is nobody's there, not even a reviewer's.
    """

    about: Literal["id", "scope", "all"]
    needs: str = "reader"
    body: dict[str, Any] | None = None
    query: str = ""
    code: int = 200
    cells: dict[str, int] = field(default_factory=dict[str, int])
    recalls: bool = False

    def expected(self, caller: str, target: Target) -> int:
        if ROLES.index(CALLERS[caller]) < ROLES.index(self.needs):
            return 403
        if self.about != "all" and not (caller == "abroad" and self.about == "scope") and target not in REACH[caller]:
            return 404 if self.about == "id" else self.cells.get(f"unreached {target}", 403)
        for cell in (f"{caller} {target}", f"* {target}", f"{caller} *"):
            if cell in self.cells:
                return self.cells[cell]
        return self.code


WHY = {"reason": "r"}
WAITS = {"* quarantined": 200, "* resource": 200}
"""So many documents that say nearly the same are a flood, and wait, too."""
NO_FILES = {"abroad *": 409}
"""Another tenant has no folder here."""
NEW_NOTE = {"text": "A new note", "scope": "SCOPE"}
ROWS: dict[str, Row] = {
    "GET /v1/records/{id}": Row("id"),
    "GET /v1/records/{id}/versions": Row("id"),
    "GET /v1/records/{id}/recalls": Row("id"),
    "PATCH /v1/records/{id}": Row("id", "writer", {"importance": 7}),
    "DELETE /v1/records/{id}": Row("id", "writer"),
    "POST /v1/records/{id}/pin": Row("id", "writer", {}),
    "POST /v1/records/{id}/undo": Row("id", "writer", {}, code=409),
    "POST /v1/records/{id}/promote": Row(
        "id", "writer", {}, cells={"writer *": 403, "scoped *": 403, "reviewer own": 403}
    ),
    "POST /v1/records/{id}/demote": Row("id", "writer", {}),
    "POST /v1/records/{id}/supersede": Row("id", "writer", {"text": "Something else"}, code=201),
    "POST /v1/records/{id}/expire": Row("id", "writer", {}),
    "POST /v1/review/{id}/release": Row("id", "reviewer", WHY, code=409, cells=WAITS),
    "POST /v1/review/{id}/reject": Row("id", "reviewer", WHY, code=409, cells=WAITS),
    "POST /v1/review/{id}/restore": Row("id", "reviewer", WHY, code=409),
    "POST /v1/review/{id}/purge": Row("id", "reviewer", WHY, code=409, cells=WAITS),
    "POST /v1/approvals": Row(
        "id",
        "reviewer",
        {"id": "ID", "version": 1},
        code=201,
        cells={"reviewer own": 403, "* quarantined": 409, "* resource": 409},
    ),
    "GET /v1/approvals": Row("all"),
    "POST /v1/records": Row("scope", "writer", NEW_NOTE, code=201),
    "POST /v1/records/bulk": Row("scope", "writer", {"records": [NEW_NOTE]}, code=201),
    "POST /v1/turns": Row(
        "scope", "writer", {"session": "s", "scope": "SCOPE", "turns": [{"speaker": "x", "text": "Hello"}]}, code=201
    ),
    "POST /v1/import/files": Row(
        "scope", "writer", {"scope": "SCOPE", "files": [{"path": "a.md", "text": "A page"}]}, code=202
    ),
    "POST /v1/extract": Row("scope", "writer", {"transcript": "user: I keep a cat.", "scope": "SCOPE"}, code=202),
    # Only sessions and rooms have members; somebody else's are not there.
    "GET /v1/members": Row(
        "scope",
        query="?scope=SCOPE",
        code=400,
        cells={
            "* session": 200,
            "* room": 200,
            "unreached session": 404,
            "unreached room": 404,
            **{f"unreached {target}": 400 for target in TARGETS if target not in ("session", "room")},
        },
    ),
    "POST /v1/search": Row("scope", body={"text": "WORD", "scopes": ["SCOPE"]}, recalls=True),
    "GET /v1/search": Row("scope", query="?q=WORD&scope=SCOPE", recalls=True),
    "POST /v1/context": Row("scope", body={"query": "WORD", "scopes": ["SCOPE"]}, recalls=True),
    "GET /v1/records": Row("scope", query="?scope=SCOPE", recalls=True),
    "GET /v1/counts": Row("scope", query="?by=scope&scope=SCOPE"),
    "GET /v1/export": Row("scope", query="?scope=SCOPE"),
    "GET /v1/stats": Row("all"),
    "GET /v1/scopes": Row("all"),
    "GET /v1/review": Row("all", "reviewer"),
    "GET /v1/audit": Row("all", "reviewer"),
    "GET /v1/audit/export": Row("all", "reviewer"),
    "GET /v1/tasks": Row("all"),
    "GET /v1/managed": Row("all", cells=NO_FILES),
    "GET /v1/managed/changes": Row("all", cells=NO_FILES),
    "POST /v1/managed/recall": Row("all", body={"query": "WORD"}, cells=NO_FILES, recalls=True),
    "GET /v1/knowledge/spaces": Row("all"),
    "GET /v1/knowledge/items": Row("all"),
    "POST /v1/knowledge/preflight": Row("all", body={"subject": "WORD"}, recalls=True),
    "GET /v1/runs": Row("all"),
    "GET /v1/artifacts": Row("all"),
    "GET /context/runs": Row("all"),
    "GET /v1/me": Row("all"),
    "GET /v1/tree": Row("all", query="?uri=commonplace://", recalls=True),
    "GET /api/agents": Row("all"),
    "GET /api/workspaces": Row("all"),
    "POST /memory/search": Row("all", body={"query": "WORD"}, recalls=True),
    "GET /memory": Row("all"),
    "GET /memory/audit": Row("all"),
    # The governed door tells in its answer what was done.
    "DELETE /memory/{id}": Row("id", "writer"),
    "POST /memory/demote": Row("id", "writer", {"id": "ID"}),
    "GET /memory/context/tree": Row("all", query="?uri=commonplace://", recalls=True),
    "GET /workspace/memory": Row("all", cells=NO_FILES),
    "POST /v1/purge": Row("scope", "admin", {"scope": "SCOPE"}),
}
"""What is asked of the callers with a key, once for each target."""
