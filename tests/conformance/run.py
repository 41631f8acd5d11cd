"""Run the official MCP conformance suite against our core; fails unless every check of every scenario passes.

    python tests/conformance/run.py [--verbose]

Installs the pinned suite on first use (see mcp_support/node.py), starts the fixture server on a free
port, and runs all scenarios at both protocol versions the suite knows. Prints one line per version; every
check that is not a success is printed in full.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

TESTS = Path(__file__).parents[1]
sys.path.insert(0, str(TESTS))
sys.path.insert(0, str(TESTS.parent / "src"))

from mcp_support.node import NotInstallable, installed, node  # noqa: E402
from mcp_support.process import environment  # noqa: E402

VERSIONS = {"2025-11-25": 83, "2026-07-28": 152}
"""The checks that must pass at each version: a suite that quietly runs fewer is a failure too."""

RUN_SECONDS = 180.0
GOOD = {"SUCCESS", "INFO"}


@contextmanager
def fixture_server() -> Iterator[int]:
    command = [sys.executable, str(TESTS / "conformance" / "fixture.py"), "http"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, env=environment(), text=True) as server:
        try:
            assert server.stdout is not None
            yield int(server.stdout.readline())
        finally:
            server.terminate()


def run_suite(folder: Path, port: int, version: str, output: Path) -> list[dict[str, Any]]:
    """All checks of one run."""
    entry = folder / "node_modules" / "@modelcontextprotocol" / "conformance" / "dist" / "index.js"
    command = [node(folder), str(entry), "server", "--url", f"http://localhost:{port}/mcp"]
    command += ["--suite", "all", "--spec-version", version, "-o", str(output)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=RUN_SECONDS, check=False)
    checks = [
        check
        for file in sorted(output.glob("*/checks.json"))
        for check in json.loads(file.read_text("utf-8"))
    ]
    if not checks:
        raise RuntimeError(f"the suite wrote no checks:\n{done.stdout[-2000:]}\n{done.stderr[-2000:]}")
    if done.returncode != 0:
        checks.append(
            {"id": "exit-code", "status": "FAILURE", "errorMessage": f"the suite gave {done.returncode}"}
        )
    return checks


def judge(version: str, checks: list[dict[str, Any]], *, verbose: bool) -> bool:
    counts = Counter(check["status"] for check in checks)
    bad = [check for check in checks if check["status"] not in GOOD]
    print(f"{version}: {counts['SUCCESS']} passed, {len(bad)} not, {VERSIONS[version]} expected")
    for check in checks if verbose else bad:
        print(
            f"  {check['status']} {check['id']}: {check.get('errorMessage') or check.get('description', '')}"
        )
    return not bad and counts["SUCCESS"] >= VERSIONS[version]


def main(args: list[str]) -> int:
    try:
        folder = installed("suite")
        node(folder)
    except NotInstallable as reason:
        print(f"the conformance suite cannot be installed: {reason}", file=sys.stderr)
        return 2
    good = True
    with fixture_server() as port, tempfile.TemporaryDirectory() as scratch:
        for version in VERSIONS:
            checks = run_suite(folder, port, version, Path(scratch) / version)
            good &= judge(version, checks, verbose="--verbose" in args)
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
