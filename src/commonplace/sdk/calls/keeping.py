"""Looking after the memory, who may, and the audit."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta

from commonplace.sdk.documents import changed, document, part, query, written
from commonplace.sdk.talk import Call, Talk, asked
from commonplace.values.audit import AuditPage, AuditQuery
from commonplace.values.principal import Key, Principal, Role, User
from commonplace.values.record import Json
from commonplace.values.upkeep import Finding, Rule, Stats, Upkeep
from commonplace.wire.audit import AuditAnswer
from commonplace.wire.keeping import FindingsAnswer, LogAnswer, ReindexedAnswer, RulesAnswer, StatsAnswer
from commonplace.wire.people import (
    CodeAnswer,
    KeyAnswer,
    KeysAnswer,
    MeAnswer,
    NewKeyAnswer,
    NewUserAnswer,
    UsersAnswer,
)

# ---- upkeep


def stats() -> Talk[Stats]:
    def read(body: bytes) -> Stats:
        return StatsAnswer.model_validate_json(body).value()

    return asked(Call(method="GET", path="/v1/stats", read=read, reads=True))


def check() -> Talk[list[Finding]]:
    def read(body: bytes) -> list[Finding]:
        return [one.value() for one in FindingsAnswer.model_validate_json(body).findings]

    return asked(Call(method="GET", path="/v1/check", read=read, reads=True))


def _rules(body: bytes) -> list[Rule]:
    return [one.value() for one in RulesAnswer.model_validate_json(body).rules]


def rules() -> Talk[list[Rule]]:
    return asked(Call(method="GET", path="/v1/rules", read=_rules, reads=True))


def set_rule(rule: Rule) -> Talk[list[Rule]]:
    body = changed({"scope": rule.scope, "max_age": rule.max_age, "max_records": rule.max_records})
    return asked(Call(method="PUT", path="/v1/rules", body=written(body), read=_rules))


def _log(body: bytes) -> list[Upkeep]:
    return [one.value() for one in LogAnswer.model_validate_json(body).log]


def tidy(purge_after: timedelta | None) -> Talk[list[Upkeep]]:
    body = changed({"purge_after": purge_after})
    return asked(Call(method="POST", path="/v1/tidy", body=written(body), read=_log, endless=True))


def upkeep_log(since: datetime | None, limit: int) -> Talk[list[Upkeep]]:
    wanted = query({"since": since, "limit": limit})
    return asked(Call(method="GET", path="/v1/upkeep", query=wanted, read=_log, reads=True))


def reindex() -> Talk[int]:
    def read(body: bytes) -> int:
        return ReindexedAnswer.model_validate_json(body).texts

    return asked(Call(method="POST", path="/v1/reindex", read=read, endless=True))


# ---- who may


def me() -> Talk[Principal]:
    def read(body: bytes) -> Principal:
        return MeAnswer.model_validate_json(body).value()

    return asked(Call(method="GET", path="/v1/me", read=read, reads=True))


def sign_in_url() -> Talk[tuple[str, datetime]]:
    def read(body: bytes) -> tuple[str, datetime]:
        made = CodeAnswer.model_validate_json(body)
        return made.url, made.expires_at

    return asked(Call(method="POST", path="/v1/codes", read=read))


def create_key(
    name: str, role: Role, scopes: Sequence[str] | None, expires_at: datetime | None
) -> Talk[tuple[Key, str]]:
    def read(body: bytes) -> tuple[Key, str]:
        made = NewKeyAnswer.model_validate_json(body)
        return made.key.value(), made.secret

    told = changed({"name": name, "role": role, "scopes": scopes, "expires_at": expires_at})
    return asked(Call(method="POST", path="/v1/keys", body=written(told), read=read))


def keys() -> Talk[list[Key]]:
    def read(body: bytes) -> list[Key]:
        return [key.value() for key in KeysAnswer.model_validate_json(body).keys]

    return asked(Call(method="GET", path="/v1/keys", read=read, reads=True))


def revoke_key(id: str) -> Talk[Key]:
    def read(body: bytes) -> Key:
        return KeyAnswer.model_validate_json(body).value()

    return asked(Call(method="DELETE", path=f"/v1/keys/{part(id)}", read=read))


def _new_user(body: bytes) -> tuple[User, str]:
    made = NewUserAnswer.model_validate_json(body)
    return made.user.value(), made.user_key


def create_user(user: str) -> Talk[tuple[User, str]]:
    told: dict[str, Json] = {"user_id": document(user)}
    return asked(Call(method="POST", path="/v1/users", body=written(told), read=_new_user))


def users() -> Talk[list[User]]:
    def read(body: bytes) -> list[User]:
        return [user.value() for user in UsersAnswer.model_validate_json(body).users]

    return asked(Call(method="GET", path="/v1/users", read=read, reads=True))


def rotate_user(user: str) -> Talk[tuple[User, str]]:
    return asked(Call(method="POST", path=f"/v1/users/{part(user)}/rotate", read=_new_user))


def remove_user(user: str) -> Talk[None]:
    return asked(Call(method="DELETE", path=f"/v1/users/{part(user)}", read=_nothing))


def _nothing(body: bytes) -> None:
    del body


# ---- audit


def audit(wanted: AuditQuery, limit: int, cursor: str | None) -> Talk[AuditPage]:
    def read(body: bytes) -> AuditPage:
        return AuditAnswer.model_validate_json(body).value()

    told = query(
        {
            "action": wanted.actions,
            "outcome": wanted.outcomes,
            "actor": wanted.actor,
            "record": wanted.record,
            "run": wanted.run,
            "door": wanted.doors,
            "since": wanted.since,
            "until": wanted.until,
            "limit": limit,
            "cursor": cursor,
        }
    )
    return asked(Call(method="GET", path="/v1/audit", query=told, read=read, reads=True))
