"""Runs the same session against vaultbridge and its peers that need no Obsidian, and writes tables and plots.

    python benchmarks/peers/run.py                                # 2,000 notes; prints the tables
    python benchmarks/peers/run.py --notes 10000 --write-docs     # and puts them into docs/benchmarks.md
    python benchmarks/peers/run.py --only mcpvault --rounds 2     # a first impression

The peers are installed from the lock files in `pins/` into `installed/`, beside this file. Every server gets
a copy of one generated vault, a home of its own and the same client; `peers.toml` says which of its tools
does what. The servers take turns within each round, so that a passing load slows all of them.
"""

from __future__ import annotations

import argparse
import datetime
import json
import os
import platform
import signal
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path[:0] = [str(HERE), str(HERE.parent), str(ROOT / "src")]

from fidelity import check_all
from generate import generate
from limits import Limits
from questions import ask_all
from report import put_into_document, render_tables
from servers import TABLE, Server, load_servers
from timing import Timing

DOCUMENTS = ROOT / "docs"


def run(
    servers: list[Server], missing: dict[str, str], work: Path, *, notes: int, rounds: int
) -> dict[str, Any]:
    """Measures everything and returns it in one form, for the tables and as JSON."""
    begun = time.monotonic()

    def say(what: str) -> None:
        print(f"{time.monotonic() - begun:6.1f} s  {what}", file=sys.stderr, flush=True)

    result: dict[str, Any] = {
        "notes": notes,
        "rounds": rounds,
        "date": datetime.datetime.now(datetime.UTC).date().isoformat(),
        "machine": describe_machine(),
        "servers": {server.name: server.version for server in servers},
        "missing": missing,
    }
    vault = work / "generated"
    generate(vault, notes)
    limits = Limits(vault, work / "limits")
    timing = Timing(servers, vault, work / "timing", rounds=rounds, each_round=limits.round)
    result["figures"] = timing.run(say)
    result["limits"] = limits.close()
    say("questions")
    for name, figure in ask_all(servers, work / "questions", say).items():
        result["figures"][name]["questions"] = figure
    say("what happens to the notes")
    result["fidelity"] = check_all(servers, work / "fidelity", say)
    say("done")
    return result


def describe_machine() -> dict[str, Any]:
    """The kind of machine, and nothing that tells which one it is."""
    return {
        "cores": os.cpu_count(),
        "system": f"{platform.system()} on {platform.machine()}",
        "python": platform.python_version(),
        "load": round(os.getloadavg()[0], 2),
    }


def main(args: list[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--notes", type=int, default=2000, help="size of the vault (default: %(default)s)")
    parser.add_argument(
        "--rounds", type=int, default=5, help="rounds of every measure (default: %(default)s)"
    )
    parser.add_argument("--only", nargs="*", metavar="PEER", help="these peers, and vaultbridge")
    parser.add_argument(
        "--table", type=Path, default=TABLE, help="servers and their tools (default: peers.toml)"
    )
    parser.add_argument("--json", type=Path, metavar="FILE", help="write all figures there")
    parser.add_argument(
        "--write-docs",
        type=Path,
        nargs="?",
        const=DOCUMENTS,
        metavar="FOLDER",
        help="put tables and plots into benchmarks.md of this folder (default: docs)",
    )
    options = parser.parse_args(args)
    # So that the servers are ended, whoever ends the run.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    servers, missing = load_servers(options.table, options.only)
    for name, why in missing.items():
        print(f"without {name}: {why}", file=sys.stderr)
    with tempfile.TemporaryDirectory(prefix="peers-", ignore_cleanup_errors=True) as work:
        result = run(servers, missing, Path(work), notes=options.notes, rounds=options.rounds)
    figures = json.dumps(result, indent=1, ensure_ascii=False) + "\n"
    if options.json is not None:
        options.json.write_text(figures, "utf-8")
    if options.write_docs is not None:
        put_into_document(options.write_docs / "benchmarks.md", result, options.write_docs / "images")
    if options.write_docs == DOCUMENTS:
        (HERE / f"results-{options.notes}.json").write_text(figures, "utf-8")
    print(render_tables(result))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
