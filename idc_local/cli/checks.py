"""Lists of checks, as ``verify``, ``forget``, ``compact`` and ``doctor`` print them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from idc_local.cli.output import Result
from idc_local.cli.render import check_lines
from idc_local.cli.schema import CHECK_COLUMNS, check_item
from idc_local.cli.session import Session, with_places
from idc_local.cli.terminal import Screen

if TYPE_CHECKING:
    from idc_local.types import Check


def report_checks(session: Session, checks: Sequence[Check], **facts: Any) -> None:  # noqa: ANN401
    """Prints the checks, with ``facts`` beside them in JSON, and ends with exit code 1 where one fails."""
    session.close()
    failed = sum(check.status == "fail" for check in checks)
    told = [replace(check, fix=with_places(check.fix, session.settings)) for check in checks]
    items = [check_item(check) for check in told]

    def text(screen: Screen) -> Iterator[str]:
        yield from check_lines(told, screen)

    session.emit(Result({**facts, "checks": items, "failed": failed}, items, CHECK_COLUMNS, text))
    if failed:
        session.note(f"{failed} of {len(checks)} checks failed")
        session.stop(1)
