"""The index on disk: one SQLite database that is the truth, and generations of files derived from it.

Each name is imported when it is first asked for, so that searching does not wait for what only writing needs.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from idc_local.store.archive import export_index, import_index
    from idc_local.store.checking import verify
    from idc_local.store.layout import check_place
    from idc_local.store.snapshot import Snapshot
    from idc_local.store.upkeep import compact, forget, repair
    from idc_local.store.writer import Writer

__all__ = ["Snapshot", "Writer", "check_place", "compact", "export_index", "forget", "import_index", "repair", "verify"]

_HOMES = {
    "Snapshot": "snapshot",
    "Writer": "writer",
    "check_place": "layout",
    "compact": "upkeep",
    "export_index": "archive",
    "forget": "upkeep",
    "import_index": "archive",
    "repair": "upkeep",
    "verify": "checking",
}


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
