"""Who is present in a session: those who listen to it or are attached to it, and whom its room says."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Generator, Iterable
from contextlib import contextmanager

from commonplace.values.principal import Principal


class Attendance:
    """Persons, by their subjects. Whoever only reads is not counted: they could not vote."""

    def __init__(self) -> None:
        self._counts: Counter[str] = Counter()
        self._sources: list[Callable[[], Iterable[str]]] = []

    @property
    def present(self) -> tuple[str, ...]:
        subjects = {*self._counts, *(subject for source in self._sources for subject in source())}
        return tuple(sorted(subjects))

    @contextmanager
    def attend(self, who: Principal) -> Generator[None]:
        """This person is present for as long, once for each time that it is entered."""
        if not who.is_at_least("writer"):
            yield
            return
        self._counts[who.subject] += 1
        try:
            yield
        finally:
            self._counts[who.subject] -= 1
            if not self._counts[who.subject]:
                del self._counts[who.subject]

    @contextmanager
    def include(self, source: Callable[[], Iterable[str]]) -> Generator[None]:
        """For as long those are present, too, whom `source` answers when it is asked: the members of a room, who all may write."""
        self._sources.append(source)
        try:
            yield
        finally:
            self._sources.remove(source)
