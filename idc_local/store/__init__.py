"""The index on disk: one SQLite database that is the truth, and generations of files derived from it."""

from idc_local.store.archive import export_index, import_index
from idc_local.store.checking import verify
from idc_local.store.snapshot import Snapshot
from idc_local.store.upkeep import compact, forget, repair
from idc_local.store.writer import Writer

__all__ = ["Snapshot", "Writer", "compact", "export_index", "forget", "import_index", "repair", "verify"]
