"""How fast the package is, as ratios to named references that are measured in the same run.

Each section runs in a process of its own and prints its figures as JSON; all of them end in ``speed.json`` and
pictures in the output folder. Run it through scripts/bench, which makes the environment that holds the peers.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from speed_growth import cost_growth, memory
from speed_index import chunking, index
from speed_models import embedding, intents
from speed_plots import draw
from speed_report import table
from speed_search import search
from speedkit import ROOT, Bench, Result, say

from idc_local.backends.native import yield_while_waiting

SECTIONS: dict[str, Callable[[Bench], Result]] = {
    "intents": intents,
    "index": index,
    "embedding": embedding,
    "chunking": chunking,
    "search": search,
    "memory": memory,
    "growth": cost_growth,
}


def arguments() -> argparse.Namespace:
    """What was typed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path, help="folder of question sets, from which texts are taken")
    parser.add_argument("--only", default=",".join(SECTIONS), help="sections, with commas between")
    parser.add_argument("--rounds", type=int, default=3, help="rounds that medians are taken over")
    parser.add_argument("--scale", type=float, default=1.0, help="share of the sizes, for a trial")
    parser.add_argument("--models", type=Path, default=ROOT / "models")
    parser.add_argument("--out", type=Path, default=ROOT / "docs" / "results")
    parser.add_argument("--section", choices=SECTIONS, help=argparse.SUPPRESS)
    return parser.parse_args()


def main() -> None:
    """Measures, and writes the report."""
    given = arguments()
    if given.section:
        with tempfile.TemporaryDirectory() as work:
            bench = Bench(given.data, given.models, Path(work), given.rounds, given.scale)
            print(json.dumps(SECTIONS[given.section](bench)))
        return
    given.out.mkdir(parents=True, exist_ok=True)
    place = given.out / "speed.json"
    report = json.loads(place.read_text(encoding="utf-8")) if place.is_file() else {}
    for name in given.only.split(","):
        began = time.monotonic()
        done = subprocess.run([sys.executable, *sys.argv, "--section", name], stdout=subprocess.PIPE, check=True)
        report[name] = json.loads(done.stdout.splitlines()[-1]) | {"rounds": given.rounds, "scale": given.scale}
        place.write_text(json.dumps(report, indent=1) + "\n", encoding="utf-8")
        say(f"{name} in {time.monotonic() - began:.0f} s: {json.dumps(report[name])}")
        (given.out / "speed.md").write_text(table(report), encoding="utf-8")
    draw(report, given.out)


if __name__ == "__main__":
    # Before any library brings its OpenMP in: passive threads would cost the references most.
    yield_while_waiting()
    main()
