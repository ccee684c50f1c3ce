"""
How people set up a channel, kind by kind: data that the console, the command and the documentation show alike.

A guide knows nothing of the client of its platform, so that it can be read before there is one.
"""
