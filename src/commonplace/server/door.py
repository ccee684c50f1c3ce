"""A door as the server takes it in: its routes, and the use cases that exist at no other door."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from fastapi import APIRouter, Depends, Request

from commonplace.errors import InvalidInput
from commonplace.server.auth import caller
from commonplace.service.services import Services


def _none(services: Services) -> Sequence[object]:
    del services
    return ()


@dataclass(frozen=True, kw_only=True, slots=True)
class ApiDoor:
    """`use_cases` makes them over the services, one object a class; a route asks for one with `auth.use_case`."""

    routers: tuple[APIRouter, ...]
    use_cases: Callable[[Services], Sequence[object]] = _none


def only_conditions(*names: str, after: Callable[..., object] = caller) -> Any:
    """
    A dependency of a list that has these conditions: one that we do not know might have narrowed it, and is refused, `after` the caller
    was let in.
    """

    async def require_known(request: Request, _: object = Depends(after)) -> None:
        if unknown := sorted(set(request.query_params) - set(names)):
            conditions = f"Those there are: {', '.join(names)}." if names else "It has none."
            raise InvalidInput(f"{', '.join(unknown)}: this list has no such condition. {conditions}")

    return Depends(require_known)
