"""The files of docs/results as the page reads them, and how the page writes numbers.

Reads only; ``scripts/evaluate_all`` writes them.
"""

from __future__ import annotations

import csv
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from idc_local.types import Limits

Line = Mapping[str, Any]
"""A line of a grid's JSON: ``strategy``, ``target``, ``retriever``, ``chunks``, ``metrics``, ``difference``, …"""
Row = Mapping[str, str]
"""A row of a CSV file."""
SHIPPED = ("intent", Limits().target_chars, "default")
"""Strategy, target and retriever of the product as it ships."""
OWN = ("intent", "recursive", "paragraph", "coherence", "cluster", "c99", "sliding", "fixed")
"""The product's own strategies, in the order of the page."""


@dataclass(frozen=True)
class Results:
    """A folder of results."""

    folder: Path

    def has(self, name: str) -> bool:
        """Whether the file was written."""
        return (self.folder / name).is_file()

    def json(self, name: str) -> Any:  # noqa: ANN401 - what the file holds
        """A JSON file."""
        return json.loads((self.folder / name).read_text(encoding="utf-8"))

    def rows(self, name: str) -> list[dict[str, str]]:
        """A CSV file."""
        with (self.folder / name).open(newline="", encoding="utf-8") as source:
            return list(csv.DictReader(source))

    @cached_property
    def strategies(self) -> Mapping[tuple[str, int, str], Line]:
        """Macro averages of the main table by strategy, target and retriever, in the order of the file."""
        return {key_of(line): line for line in self.json("strategies.json")["results"]}

    @cached_property
    def by_set(self) -> Mapping[str, Mapping[tuple[str, int, str], Row]]:
        """Lines of the main table, for each set by strategy, target and retriever."""
        found: dict[str, dict[tuple[str, int, str], Row]] = {}
        for row in self.rows("strategies.csv"):
            found.setdefault(row["set"], {})[row["strategy"], int(row["target"]), row["retriever"]] = row
        return {name: lines for name, lines in found.items() if name != "macro"}

    @cached_property
    def rivals(self) -> Mapping[str, Mapping[str, Row]]:
        """For each metric the rows of shipped.csv by rival, best rival first."""
        found: dict[str, dict[str, Row]] = {}
        for row in self.rows("shipped.csv"):
            found.setdefault(row["metric"], {})[row["rival"]] = row
        return found

    def shipped(self) -> Line:
        """The product as it ships."""
        return self.strategies[SHIPPED]

    def long_answers(self) -> frozenset[str]:
        """Sets whose answers are mostly longer than the headline's budget."""
        sets = self.json("strategies.json")["sets"]
        return frozenset(facts["name"] for facts in sets if not facts["headline"].startswith("answer"))

    def at_size_of_shipped(self, strategy: str, metric: str) -> float:
        """A strategy's mean over sets, each read off its curve at the mean size of the product's chunks there."""
        values = []
        for lines in self.by_set.values():
            points = sorted(
                (float(row["mean_chars"]), target, float(row[metric]))
                for (name, target, retriever), row in lines.items()
                if (name, retriever) == (strategy, SHIPPED[2])
            )
            size = float(lines[SHIPPED]["mean_chars"])
            values.append(np.interp(size, [point[0] for point in points], [point[2] for point in points]))
        return float(np.mean(values))


def key_of(line: Line) -> tuple[str, int, str]:
    """Strategy, target and retriever of a line."""
    return line["strategy"], line["target"], line["retriever"]


def share(value: float | str, places: int = 3) -> str:
    """A number of 0 to 1 without its 0: ``.742``; −0.004 is ``−.004``."""
    return _bare(f"{float(value):.{places}f}")


def signed(value: float | str, places: int = 3) -> str:
    """A difference: ``+.016``, ``−.013``."""
    return _bare(f"{float(value):+.{places}f}")


def _bare(text: str) -> str:
    sign = text[0] if text[0] in "+-" else ""
    digits = text.removeprefix(sign)
    return sign.replace("-", "−") + (digits[1:] if digits.startswith("0.") else digits)


def interval(estimate: Mapping[str, Any]) -> str:
    """``[.712, .771]``, the bounds of a mean."""
    return f"[{share(estimate['low'])}, {share(estimate['high'])}]"


def change(estimate: Mapping[str, Any]) -> str:
    """``[−.013, +.043]``, the bounds of a difference."""
    return f"[{signed(estimate['low'])}, {signed(estimate['high'])}]"


def plain(value: float | str) -> str:
    """A number as it is, without zeros at its end: ``0.03``, ``1``."""
    return f"{float(value):.6f}".rstrip("0").rstrip(".")


def markdown(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table."""
    lines = [head, ["---"] * len(head), *rows]
    rule = f"|{'|'.join(lines[1])}|"
    body = [f"| {' | '.join(line)} |" if line is not lines[1] else rule for line in lines]
    return "\n".join(" ".join(line.split()) for line in body) + "\n"
