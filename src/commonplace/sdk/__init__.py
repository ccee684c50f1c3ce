"""
The client of a daemon: `AsyncClient`, and `Client`, its twin without an event loop.

Requests are made and answers are read in one place, without a connection (`calls`, `talk`, `lines`, `listening`). The two
clients only send.
"""
