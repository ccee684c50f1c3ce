"""A door as the server takes it in: its routes, and the use cases that exist at no other door."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from fastapi import APIRouter

from commonplace.service.services import Services


def _none(services: Services) -> Sequence[object]:
    del services
    return ()


@dataclass(frozen=True, kw_only=True, slots=True)
class ApiDoor:
    """`use_cases` makes them over the services, one object a class; a route asks for one with `auth.use_case`."""

    routers: tuple[APIRouter, ...]
    use_cases: Callable[[Services], Sequence[object]] = _none
