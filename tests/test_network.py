import socket

import pytest


def test_a_test_that_leaves_this_machine_is_stopped() -> None:
    with socket.socket() as probe, pytest.raises(RuntimeError, match="leave this machine"):
        probe.connect(("192.0.2.1", 80))


def test_a_name_that_is_not_this_machine_is_not_looked_up() -> None:
    with pytest.raises(RuntimeError, match="leave this machine"):
        socket.getaddrinfo("example.invalid", 80)


def test_loopback_is_allowed() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server, socket.create_connection(server.getsockname()) as client:
        assert client.getpeername() == server.getsockname()
