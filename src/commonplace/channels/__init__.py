"""
Rooms: an agent that several people share, in chats of some platform.

`gates` and `pairing` say who is heard, `router` which session a message goes to, `speakers` who acts in its turn, `residence` is one channel at
work. A turn of a room is a turn of the agent's session: there is no second queue here.
"""
