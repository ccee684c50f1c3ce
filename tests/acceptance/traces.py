"""A secret in managed Markdown, something else beside it, and where the words of the secret are."""

from pathlib import Path
from typing import Final

SECRET: Final = "Quixotic zebras juggle marmalade"
MORE: Final = "Vexed walruses polish bassoons"
OTHER: Final = "Patient keepers repaint the harbour wall"
WORDS: Final = tuple(f"{SECRET} {MORE}".lower().split())


def in_files(home: Path) -> list[str]:
    """The words of the secret in what is below the home folder, the store included."""
    data = [path.read_bytes().lower() + path.name.encode() for path in home.rglob("*") if path.is_file()]
    return [word for word in WORDS if any(word.encode() in item for item in data)]
