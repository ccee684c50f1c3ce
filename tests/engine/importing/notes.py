"""A folder of files and its importer, for the tests beside this."""

from pathlib import Path
from typing import Any, Final

from commonplace.importing.importer import Importer
from commonplace.memory.lifecycle import Lifecycle
from commonplace.memory.prepare import Preparer
from commonplace.memory.write import Writer
from commonplace.stores.sqlite.store import SqliteStore
from commonplace.testing.clock import FakeClock
from commonplace.text.tokens import estimate
from commonplace.values.query import Filter
from commonplace.values.record import Record
from commonplace.values.scope import DEFAULT_TENANT, Scope
from commonplace.values.transfer import ImportOptions, ImportReport, Progress

WEB: Final = Scope("workspace", "web")


class Notes:
    """A folder of files, its importer, and what became of them."""

    def __init__(self, root: Path, store: SqliteStore, clock: FakeClock) -> None:
        preparer = Preparer([], estimate)
        writer = Writer(store.records, store.recall, preparer, clock, DEFAULT_TENANT)
        self.root = root
        self.store = store
        self.importer = Importer(store.records, writer, clock, DEFAULT_TENANT, "ada")
        self.lifecycle = Lifecycle(store.records, preparer, clock, DEFAULT_TENANT)

    def write(self, name: str, text: str | bytes) -> Path:
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text.encode() if isinstance(text, str) else text)
        return path

    async def run(self, progress: Progress | None = None, **options: Any) -> ImportReport:
        return await self.importer.import_path(
            self.root, scope=WEB, options=ImportOptions(**options), progress=progress
        )

    async def records(self) -> dict[str, Record]:
        """The live records by the path of their file."""
        page = await self.store.records.find(DEFAULT_TENANT, Filter(scopes=(WEB,)), "key", 1000, None)
        return {record.provenance.file or "": record for record in page.records}
