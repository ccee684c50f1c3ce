"""
In which folders of the daemon's machine the tools of an agent may work, and for whom.

The operator names any folder. Everybody else stays below the roots that the operator opened, by real path: whoever may choose a folder
reads what lies in it. Our own home folder is nobody's, since its files hold everybody's memory and the keys to it.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from commonplace.errors import InvalidInput
from commonplace.values.agent_errors import FolderForbidden
from commonplace.values.principal import Principal


@dataclass(frozen=True, kw_only=True, slots=True)
class WorkFolders:
    """`roots` are for whoever may write; below `home` nobody works."""

    roots: tuple[Path, ...] = ()
    home: Path | None = None

    def require(self, who: Principal, folder: str) -> Path:
        """
        The real path of the folder, which need not be there.

        Raises:
            InvalidInput: it is no whole path.
            FolderForbidden: nobody may work there, or the caller may not.
        """
        if not folder.startswith("/") or not folder.isprintable():
            raise InvalidInput("Name the folder by its whole path on the daemon's machine, from the root on.")
        real = Path(os.path.realpath(folder))
        if self.home is not None and real.is_relative_to(os.path.realpath(self.home)):
            raise FolderForbidden("The folder belongs to Commonplace itself. Name another.")
        if not who.operator and not any(real.is_relative_to(os.path.realpath(root)) for root in self.roots):
            raise FolderForbidden
        return real

    def allows(self, who: Principal, folder: str) -> bool:
        try:
            self.require(who, folder)
        except (FolderForbidden, InvalidInput):
            return False
        return True
