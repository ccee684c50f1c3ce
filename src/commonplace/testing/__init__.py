"""Doubles that ship: what our own tests use in place of time, models and rooms, for the tests of others as well."""
