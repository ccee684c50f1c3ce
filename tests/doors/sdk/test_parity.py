"""The clients and the memories have the same methods, called in the same way."""

import inspect

import pytest

from commonplace import AsyncClient, AsyncMemory, Client, Memory

TWINS = {"aclose": "close", "__aenter__": "__enter__", "__aexit__": "__exit__"}


def methods(kind: type) -> dict[str, inspect.Signature]:
    return {
        TWINS.get(name, name): inspect.signature(function)
        for name, function in inspect.getmembers(kind, inspect.isfunction)
        if not name.startswith("_")
    }


def parameters(signature: inspect.Signature) -> list[tuple[str, object, object, str]]:
    return [
        (one.name, one.kind, one.default, str(one.annotation).rpartition(".")[2])
        for one in signature.parameters.values()
    ]


@pytest.mark.parametrize(
    ("one", "other"), [(AsyncClient, Client), (AsyncMemory, AsyncClient), (Memory, Client), (AsyncMemory, Memory)]
)
def test_what_both_have_is_called_in_the_same_way(one: type, other: type) -> None:
    first, second = methods(one), methods(other)

    differing = [name for name in first.keys() & second.keys() if parameters(first[name]) != parameters(second[name])]

    assert differing == []


@pytest.mark.parametrize(("memory", "client"), [(Memory, Client), (AsyncMemory, AsyncClient)])
def test_a_client_can_all_that_a_memory_can(memory: type, client: type) -> None:
    missing = methods(memory).keys() - methods(client).keys()

    assert missing == set()


def test_the_two_clients_have_the_same_methods_and_are_made_alike() -> None:
    made = [
        [(name, one.default) for name, one in inspect.signature(kind).parameters.items()]
        for kind in (AsyncClient, Client)
    ]

    assert methods(AsyncClient).keys() == methods(Client).keys()
    assert made[0] == made[1]
