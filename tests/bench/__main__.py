"""`python -m tests.bench [NAME …] [--quick] [--json]`; `--help` lists the names."""

from __future__ import annotations

import argparse
import importlib
import json
import logging
import os
import platform
import sys
import time
import warnings
from typing import Any

import structlog
from rich.console import Console
from rich.table import Table

from tests.bench.measure import Effort, Findings

BENCHES = {
    "submissions": "tests.bench.submissions",
    "claims": "tests.bench.claiming",
    "peers": "tests.bench.peers",
    "settlements": "tests.bench.settlements",
    "blocks": "tests.bench.blocks",
    "deliveries": "tests.bench.delivering",
    "isolation": "tests.bench.isolation",
    "waiting": "tests.bench.waiting",
}


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.bench", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="name", help=", ".join(BENCHES))
    parser.add_argument("--quick", action="store_true", help="one short round: does it run at all?")
    parser.add_argument(
        "--events",
        type=int,
        default=Effort.events,
        help="of each endpoint, in isolation; 500 take a quarter of an hour. Default: %(default)s",
    )
    parser.add_argument("--json", action="store_true", help="answer in JSON")
    given = parser.parse_args()
    unknown = [name for name in given.names if name not in BENCHES]
    if unknown:
        parser.error(f"no benchmark is called {unknown[0]}; there are {', '.join(BENCHES)}")
    # The embedded server asks for a folder of the session that a bare machine does not have.
    warnings.filterwarnings("ignore", "XDG_RUNTIME_DIR")
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.ERROR))
    effort = Effort(rounds=1, seconds=0.7) if given.quick else Effort(events=given.events)
    began, load_before = time.monotonic(), os.getloadavg()
    found: dict[str, Findings] = {}
    for name in given.names or BENCHES:
        print(f"{name} …", file=sys.stderr, flush=True)
        found[name] = importlib.import_module(BENCHES[name]).measure(effort)
    machine = {
        "cores": os.cpu_count(),
        "python": platform.python_version(),
        "load_before": load_before[0],
        "load_after": os.getloadavg()[0],
        "seconds": round(time.monotonic() - began),
        "rounds": effort.rounds,
    }
    if given.json:
        print(json.dumps(_as_json(found, machine), indent=2))
    else:
        _show(found, machine)


def _as_json(found: dict[str, Findings], machine: dict[str, Any]) -> dict[str, Any]:
    return {
        "machine": machine,
        "rows": [row.as_dict() for findings in found.values() for row in findings.rows],
        "notes": [note for findings in found.values() for note in findings.notes],
    }


def _show(found: dict[str, Findings], machine: dict[str, Any]) -> None:
    console = Console(width=None if sys.stdout.isatty() else 150)
    table = Table(box=None, padding=(0, 1))
    for heading in ("what", "rate", "limit", "its rate", "ratio", "least–most"):
        numeric = heading not in ("what", "limit")
        table.add_column(heading, justify="right" if numeric else "left", no_wrap=numeric)
    for findings in found.values():
        for row in findings.rows:
            told = row.as_dict()
            table.add_row(
                row.what,
                f"{told['rate']:,.0f} {row.unit}",
                row.limit,
                f"{told['limit_rate']:,.0f}",
                f"{told['ratio']:.2f}",
                f"{told['ratio_least']:.2f}–{told['ratio_most']:.2f}",
            )
    console.print(table)
    for findings in found.values():
        for note in findings.notes:
            console.print(f"· {note}", highlight=False)
    told = ", ".join(f"{name} {value}" for name, value in machine.items())
    console.print(f"· machine: {told}", highlight=False)


if __name__ == "__main__":
    main()
