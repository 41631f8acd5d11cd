"""Injects each fault many times, with real processes, and prints what was lost.

    python tests/faults/run.py               # 300 of each
    python tests/faults/run.py --count 3000
    python tests/faults/run.py --only append --only swap-file

Exit code 1 when anything was lost. `docs/reliability.md` says what each fault is.
"""

from __future__ import annotations

import argparse
import shutil
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

sys.path[:0] = [str(Path(__file__).resolve().parent.parent)]

from faults.injections import Result, killed, outside_saves, swapped  # noqa: E402

Fault = Callable[[Path, int], Result]

FAULTS: dict[str, Fault] = {
    "in-place": lambda folder, count: outside_saves(folder, "in-place", count, 0.01),
    "in-place-slow": lambda folder, count: outside_saves(folder, "in-place", max(1, count // 30), 0.3),
    "closing": lambda folder, count: outside_saves(folder, "closing", count, 0.01),
    "closing-slow": lambda folder, count: outside_saves(folder, "closing", max(1, count // 30), 0.3),
    "replace": lambda folder, count: outside_saves(folder, "replace", count, 0),
    "append": lambda folder, count: outside_saves(folder, "append", count, 0),
    "killed": lambda folder, count: killed(folder, max(1, count // 10)),
    "swap-file": lambda folder, count: swapped(folder, "file", count, denied=False),
    "swap-folder": lambda folder, count: swapped(folder, "folder", count, denied=False),
    "swap-file-denied": lambda folder, count: swapped(folder, "file", count, denied=True),
    "swap-folder-denied": lambda folder, count: swapped(folder, "folder", count, denied=True),
}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--count", type=int, default=300, help="how often each fault is injected, at least")
    parser.add_argument("--only", action="append", choices=FAULTS, help="one fault; may be given again")
    args = parser.parse_args()
    print("| fault | injected | calls | done | only in the history | lost |")
    print("|---|---|---|---|---|---|")
    failed = False
    for name in args.only or FAULTS:
        folder = Path(tempfile.mkdtemp(prefix="faults-"))
        result = FAULTS[name](folder, args.count)
        print(
            f"| {name} | {result.injected} | {result.calls} | {result.done} | {result.in_history} |"
            f" {len(result.lost) or 'nothing'} |",
            flush=True,
        )
        for lost in result.lost[:5]:
            print(f"  lost: {lost}", file=sys.stderr)
        failed = failed or bool(result.lost)
        shutil.rmtree(folder)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
