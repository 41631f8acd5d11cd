"""Injects each fault many times into real processes and prints what was lost.

    python tests/faults/run.py               # 300 of each
    python tests/faults/run.py --count 3000
    python tests/faults/run.py --only append --only swap-file

Exit code 1 when anything was lost. `docs/reliability.md` says what each fault is.
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

sys.path[:0] = [str(Path(__file__).resolve().parent.parent)]

from faults.environment import (
    break_cache,
    fill_disk,
    link_to_denied,
    pin_to_hidden,
    shift_clock,
    use_up_watches,
)
from faults.injections import Result, kill_server, save_outside, swap_for_link
from faults.several import write_from_everywhere

Fault = Callable[[Path, int], Result]

FAULTS: dict[str, Fault] = {
    "in-place": lambda folder, count: save_outside(folder, "in-place", count, 0.01),
    "in-place-slow": lambda folder, count: save_outside(folder, "in-place", max(1, count // 30), 0.3),
    "closing": lambda folder, count: save_outside(folder, "closing", count, 0.01),
    "closing-slow": lambda folder, count: save_outside(folder, "closing", max(1, count // 30), 0.3),
    "pieces": lambda folder, count: save_outside(folder, "pieces", max(1, count // 3), 0.05),
    "mapped": lambda folder, count: save_outside(folder, "mapped", max(1, count // 3), 0.05),
    "backup": lambda folder, count: save_outside(folder, "backup", max(1, count // 3), 0.05),
    "replace": lambda folder, count: save_outside(folder, "replace", count, 0),
    "append": lambda folder, count: save_outside(folder, "append", count, 0),
    "killed": lambda folder, count: kill_server(folder, max(1, count // 10)),
    "swap-file": lambda folder, count: swap_for_link(folder, "file", count, denied=False),
    "swap-folder": lambda folder, count: swap_for_link(folder, "folder", count, denied=False),
    "swap-file-denied": lambda folder, count: swap_for_link(folder, "file", count, denied=True),
    "swap-folder-denied": lambda folder, count: swap_for_link(folder, "folder", count, denied=True),
    "link-to-denied": link_to_denied,
    "pin-to-hidden": lambda folder, count: pin_to_hidden(folder, max(1, count // 3)),
    "cache": lambda folder, count: break_cache(folder, max(1, count // 30)),
    "disk-full": fill_disk,
    "clock": lambda folder, count: shift_clock(folder, max(3, count // 30)),
    "several": write_from_everywhere,
    "several-ways": lambda folder, count: write_from_everywhere(folder, count, in_any_way=True),
    "watches": lambda folder, count: use_up_watches(folder, count, "watches", count * 3 // 2),
    "watchers": lambda folder, count: use_up_watches(folder, count, "instances", 0),
}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--count", type=int, default=300, help="how often; slow faults less often")
    parser.add_argument("--only", action="append", choices=FAULTS, help="only this fault; repeatable")
    args = parser.parse_args()
    print("| fault | injected | calls | done | only in history | lost |")
    print("|---|---|---|---|---|---|")
    failed = False
    for name in args.only or FAULTS:
        folder = Path(tempfile.mkdtemp(prefix="faults-"))
        try:
            result = FAULTS[name](folder, args.count)
        except subprocess.CalledProcessError as error:
            print(f"{name} was skipped: {error.cmd[0]} is not allowed here", file=sys.stderr)
            continue
        print(
            f"| {name} | {result.injected} | {result.calls} | {result.done} | {result.in_history} |"
            f" {len(result.lost) or 'nothing'} |",
            flush=True,
        )
        if result.ended:
            print(f"  servers that the fault ended: {result.ended}", file=sys.stderr)
        for lost in result.lost[:5]:
            print(f"  lost: {lost}", file=sys.stderr)
        failed = failed or bool(result.lost)
        shutil.rmtree(folder)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
