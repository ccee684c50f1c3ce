"""A DingTalk on this machine, for tests: it speaks the protocol to our client and to DingTalk's own SDK alike, and fails when it is told to."""
