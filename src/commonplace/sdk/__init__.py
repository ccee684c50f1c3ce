"""
The client of a daemon: `AsyncClient`, and `Client`, generated from it, for programs without an event loop.

Requests are made and answers are read without a connection (`calls`, `talk`, `lines`, `event_listener`); `async_connection` sends.
`tools/sync_client.py` writes `client` and `connection` from their `async_` files.
"""
