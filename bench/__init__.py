"""Where the numbers in the README come from. `python -m bench --help` says what can be measured."""
