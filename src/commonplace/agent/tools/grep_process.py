"""
Find lines by a pattern, in a process of its own.

A model's pattern can take longer than the age of the universe, and Python cannot stop one: so it runs where it can be killed.
This file is run as a program, with no package around it. It reads a line of JSON (`pattern`, `flags`, `most`), then for each file a line
with its name and its size and then its bytes; it writes a line of JSON for each line found. What is no pattern is said in one line.
"""

import json
import re
import sys
from typing import Any

NO_PATTERN = 2


def main() -> None:
    source, out = sys.stdin.buffer, sys.stdout
    order: dict[str, Any] = json.loads(source.readline())
    room = order["most"]
    try:
        pattern = re.compile(order["pattern"], order["flags"])
    except (re.error, OverflowError, RecursionError) as error:
        out.write(json.dumps({"fault": str(error)}))
        sys.exit(NO_PATTERN)
    while room > 0 and (header := source.readline()):
        name, size = json.loads(header)
        for number, line in enumerate(source.read(size).decode("utf-8", "replace").split("\n"), 1):
            if pattern.search(line):
                out.write(json.dumps([name, number, line[:500]]) + "\n")
                room -= 1
                if room <= 0:
                    break
        # Each file's lines are there if the next file takes too long.
        out.flush()


if __name__ == "__main__":
    main()
