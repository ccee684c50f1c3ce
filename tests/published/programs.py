"""Where the published programs are."""

import os
from pathlib import Path


class Published:
    """The folder with `node_modules`. Its programs run on the Node that lies in it, whatever the machine has."""

    def __init__(self, folder: Path) -> None:
        self.modules = folder / "node_modules"
        self.programs = self.modules / ".bin"

    @property
    def node(self) -> str:
        return self.program("node")

    def program(self, name: str) -> str:
        path = self.programs / name
        assert path.exists(), f"{name} is not installed. Run `make acceptance`."
        return str(path)

    def environment(self, home: Path, **variables: str) -> dict[str, str]:
        """For a child: its own home, so that nothing of this machine's user is read, and no road to the outside."""
        path = f"{self.programs}{os.pathsep}{os.environ['PATH']}"
        return {"HOME": str(home), "PATH": path, "LANG": "C.UTF-8", "NO_COLOR": "1", **variables}
