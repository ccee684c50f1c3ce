"""What an editor lends a session: of what it offers, what our tools can use."""

from __future__ import annotations

from commonplace.agent.acp.connection import RpcConnection
from commonplace.agent.acp.serve.editor_files import EditorBuffers, files_of
from commonplace.agent.acp.serve.editor_session import EditorSession
from commonplace.agent.acp.serve.editor_terminal import EditorTerminal
from commonplace.agent.acp.serve.requests import EditorCapabilities, EditorServer
from commonplace.agent.acp.serve.servers import servers_of
from commonplace.agent.supplies import SessionSupplies


def supplies_of(
    connection: RpcConnection,
    session: EditorSession,
    offers: EditorCapabilities,
    servers: tuple[EditorServer, ...],
) -> SessionSupplies:
    fs = offers.fs
    buffers = EditorBuffers(
        connection=connection,
        session=session.id,
        reads=fs is not None and fs.read_text_file,
        writes=fs is not None and fs.write_text_file,
    )
    terminal = EditorTerminal(connection=connection, session=session.id, show=session.show_terminal)
    return SessionSupplies(
        files=files_of(buffers), run=terminal.run if offers.terminal else None, servers=servers_of(servers)
    )
