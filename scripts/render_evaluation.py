"""The page docs/evaluation.md from docs/results: its tables anew, and the figures that its text quotes by name.

Tables stand between markers (``<!-- rivals -->`` … ``<!-- /rivals -->``). Their files are those that evaluate_all
writes; a table whose files are missing is left as it stands. Quoted figures go to docs/results/headline.md.
"""

from __future__ import annotations

import argparse
import re
import sys
from pathlib import Path

from evaluation_tables import TABLES
from headline import headline
from results import Results

ROOT = Path(__file__).resolve().parents[1]


def rendered(page: str, results: Results) -> str:
    """The page with every table for which there are results.

    Raises:
        SystemExit: a marker of a table is missing, or stands there twice.
    """
    for name, table in TABLES.items():
        if not all(results.has(file) for file in table.files):
            print(f"{name}: {', '.join(table.files)} not in {results.folder}, left as it stands", file=sys.stderr)
            continue
        text = f"<!-- {name} -->\n\n{table.render(results)}\n<!-- /{name} -->"
        page, count = re.subn(rf"<!-- {name} -->\n.*?<!-- /{name} -->", lambda _: text, page, flags=re.DOTALL)  # noqa: B023
        if count != 1:
            raise SystemExit(f"error: {count} pairs of markers {name!r} in the page, not one")
    return page


def arguments() -> argparse.Namespace:
    """What was typed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--results", type=Path, default=ROOT / "docs" / "results")
    parser.add_argument("--page", type=Path, default=ROOT / "docs" / "evaluation.md")
    parser.add_argument("--check", action="store_true", help="write nothing; end with 1 if something would change")
    return parser.parse_args()


def main() -> None:
    """Writes what changed, and names it."""
    given = arguments()
    results = Results(given.results)
    made = {
        given.page: rendered(given.page.read_text(encoding="utf-8"), results),
        given.results / "headline.md": headline(results),
    }
    changed = [path for path, text in made.items() if not path.is_file() or path.read_text(encoding="utf-8") != text]
    for path in changed:
        print(path)
        if not given.check:
            path.write_text(made[path], encoding="utf-8")
    if given.check and changed:
        raise SystemExit(1)


if __name__ == "__main__":
    main()
