"""Roots of memory for a test, and a way to write into them as a person's editor would."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from commonplace.markdown.roots import Root, user_root, workspace_root


@dataclass(frozen=True)
class Place:
    """The roots of a person and of a workspace, made, and a folder outside both with something to lose in it."""

    user: Root
    project: Root
    outside: Path

    @classmethod
    def below(cls, folder: Path) -> Place:
        home, outside = folder / "home", folder / "outside"
        outside.mkdir()
        (outside / "secret.md").write_text("the secret", encoding="utf-8")
        place = cls(user_root(home), workspace_root(home, folder / "web", "web"), outside)
        for root in place.roots:
            root.folder.make()
        return place

    @property
    def roots(self) -> tuple[Root, Root]:
        return self.user, self.project

    def save(self, root: Root, path: str, text: str | bytes) -> Path:
        """As an editor saves: in place, without a lock."""
        file = root.path / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(text.encode() if isinstance(text, str) else text)
        return file

    def entry(self, root: Root, path: str, body: str, name: str = "A thing", description: str = "") -> Path:
        """An entry by hand; without a description its first line is that."""
        head = (
            f"---\nname: {name}\ndescription: {description or body.splitlines()[0]}\ntype: {path.split('/')[0]}\n---\n"
        )
        return self.save(root, path, f"{head}{body}\n")

    def files(self) -> dict[str, str]:
        """Every entry's text by its kind of root and path, without indexes and hidden files."""
        return {
            f"{root.kind}:{found.path}": (root.path / found.path).read_text(encoding="utf-8")
            for root in self.roots
            for found in root.folder.walk()
            if found.path != "MEMORY.md"
        }


def traces(root: Root, *words: str) -> list[str]:
    """The files below a root, hidden ones too, in whose names or bytes one of `words` is."""
    names: list[str] = []
    for path in sorted(root.path.rglob("*")):
        text = path.relative_to(root.path).as_posix().lower()
        text += path.read_text(encoding="utf-8", errors="replace").lower() if path.is_file() else ""
        names += [path.name] if any(word.lower() in text for word in words) else []
    return names
