"""
Carries bytes between a hosted agent, which takes this for an MCP server, and the memory in our process.

    python memory_pipe.py SOCKET

It needs nothing but the standard library, and ends when either side does.
"""

import os
import socket
import sys
import threading


def main() -> None:
    memory = socket.socket(socket.AF_UNIX)
    memory.connect(sys.argv[1])

    def say() -> None:
        while data := os.read(0, 65_536):
            memory.sendall(data)
        memory.shutdown(socket.SHUT_WR)

    threading.Thread(target=say, daemon=True).start()
    while data := memory.recv(65_536):
        rest = memoryview(data)
        while rest:
            rest = rest[os.write(1, rest) :]


if __name__ == "__main__":
    main()
