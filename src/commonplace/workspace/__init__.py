"""
The settings' file of a workspace, which comes with whatever was cloned there.

`authority` says what such a file may set, `file` reads it, `ledger` remembers what this home trusts.
`docs/design/0005-trust-of-folders.md` tells why. Nothing here loads pydantic.
"""
