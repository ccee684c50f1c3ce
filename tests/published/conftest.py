"""
Other people's programs, as they are published: clients that talk to our daemon and agent, and agents that ours hosts.

`make acceptance` installs them by locked versions into one folder, names it in `COMMONPLACE_PUBLISHED` and runs what is here. `make test`
needs none of them: without the variable nothing of this folder is collected.
"""

import os
from pathlib import Path

import pytest
from tests.published.programs import Published

VARIABLE = "COMMONPLACE_PUBLISHED"

if VARIABLE not in os.environ:
    collect_ignore_glob = ["test_*.py"]


@pytest.fixture(scope="session")
def published() -> Published:
    return Published(Path(os.environ[VARIABLE]))
