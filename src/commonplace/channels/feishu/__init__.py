"""
Feishu, or Lark: our own client of its long connection, its signed webhook and its messages.

The vendor's SDK is not used at run time: it takes seconds to import, blocks the loop and cannot be stopped. It runs in
`tests/published/test_feishu_sdk.py` against the server that our tests use (`testing/feishu`), which is thereby held to the vendor's code.
"""
