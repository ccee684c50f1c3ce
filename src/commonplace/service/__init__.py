"""The use cases: authorise, act, audit, publish. The only caller of the engines beside the embedded memory."""
