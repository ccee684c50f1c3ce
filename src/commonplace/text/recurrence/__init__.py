"""Sentences that say when something is to be done, in English and Chinese. Rules, pure functions."""
