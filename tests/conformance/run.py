"""Run the official MCP conformance suite against our servers and our client; every check must pass.

    python tests/conformance/run.py [--verbose]

Servers: our core with the fixture provider alone, and `vaultbridge serve` with the suite's tools beside those
of the sample vault (`product.py`), asked as a program of this machine asks, without a token. Then the
client's scenarios, with client.py. Installs the pinned suite on first use (see mcp_support/node.py), starts
each server on a free port, and runs all scenarios at both protocol versions the suite knows. Prints one line
per side and version; every check that is not a success is printed in full.
"""

from __future__ import annotations

import json
import shutil
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

from support.node import NotInstallable, find_node, install_packages
from support.process import make_process_environ

VERSIONS = {"2025-11-25": 83, "2026-07-28": 152}
"""The checks that must pass at each version: a suite that quietly runs fewer is a failure too."""

CLIENT_CHECKS = {"2025-11-25": 20, "2026-07-28": 61}
"""The same for the client's side."""

CLIENT_SCENARIOS = {
    "2025-11-25": (
        "initialize",
        "tools_call",
        "elicitation-sep1034-client-defaults",
        "sse-retry",
        "json-schema-2020-12-preservation",
    ),
    "2026-07-28": (
        "tools_call",
        "request-metadata",
        "http-standard-headers",
        "http-custom-headers",
        "http-invalid-tool-headers",
        "json-schema-ref-no-deref",
        "json-schema-2020-12-preservation",
        "sep-2322-client-request-state",
    ),
}
"""Left out is what our client does not offer: OAuth (auth/…)."""

RUN_SECONDS = 180.0
GOOD = {"SUCCESS", "INFO"}
CLIENT_GOOD = GOOD | {"SKIPPED"}
"""A check of a capability that a client need not have is skipped."""


@contextmanager
def core() -> Iterator[int]:
    """The port of the fixture server."""
    command = [sys.executable, str(TESTS / "conformance" / "fixture.py"), "http"]
    with started(command, make_process_environ()) as line:
        yield int(line)


@contextmanager
def product() -> Iterator[int]:
    """The port of `vaultbridge serve` on a copy of the sample vault, with a home of its own."""
    with tempfile.TemporaryDirectory() as scratch:
        vault = Path(scratch, "vault")
        shutil.copytree(TESTS.parent / "examples" / "sample-vault", vault)
        own = {
            "HOME": scratch,
            "XDG_CONFIG_HOME": f"{scratch}/config",
            "VAULTBRIDGE_CACHE": f"{scratch}/cache",
        }
        command = [sys.executable, str(TESTS / "conformance" / "product.py")]
        with started([*command, str(vault), "--port", "0", "--json"], make_process_environ(**own)) as line:
            yield json.loads(line)["port"]


@contextmanager
def started(command: list[str], environ: dict[str, str]) -> Iterator[str]:
    """The first line that a server prints."""
    with subprocess.Popen(command, stdout=subprocess.PIPE, env=environ, text=True) as server:
        try:
            assert server.stdout is not None
            yield server.stdout.readline()
        finally:
            server.terminate()


SERVERS = {"core": core, "serve": product}


def run_suite(folder: Path, port: int, version: str, output: Path) -> list[dict[str, Any]]:
    """All checks of one run."""
    entry = folder / "node_modules" / "@modelcontextprotocol" / "conformance" / "dist" / "index.js"
    command = [find_node(folder), str(entry), "server", "--url", f"http://localhost:{port}/mcp"]
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


def run_client(folder: Path, version: str, output: Path) -> list[dict[str, Any]]:
    """All checks of our client against the suite's servers."""
    entry = folder / "node_modules" / "@modelcontextprotocol" / "conformance" / "dist" / "index.js"
    ours = f"{sys.executable} {TESTS / 'conformance' / 'client.py'}"
    checks: list[dict[str, Any]] = []
    for scenario in CLIENT_SCENARIOS[version]:
        place = output / scenario
        command = [find_node(folder), str(entry), "client", "--command", ours, "--scenario", scenario]
        command += ["--spec-version", version, "-o", str(place)]
        done = subprocess.run(command, capture_output=True, text=True, timeout=RUN_SECONDS, check=False)
        for file in sorted(place.glob("**/checks.json")):
            checks.extend(json.loads(file.read_text("utf-8")))
        if done.returncode != 0:
            why = f"{scenario}: the suite gave {done.returncode}: {done.stderr[-500:]}"
            checks.append({"id": "exit-code", "status": "FAILURE", "errorMessage": why})
    return checks


def judge(title: str, checks: list[dict[str, Any]], expected: int, *, good: set[str], verbose: bool) -> bool:
    counts = Counter(check["status"] for check in checks)
    bad = [check for check in checks if check["status"] not in good]
    print(f"{title}: {counts['SUCCESS']} passed, {len(bad)} not, {expected} expected")
    for check in checks if verbose else bad:
        print(
            f"  {check['status']} {check['id']}: {check.get('errorMessage') or check.get('description', '')}"
        )
    return not bad and counts["SUCCESS"] >= expected


def main(args: list[str]) -> int:
    try:
        folder = install_packages("suite")
        find_node(folder)
    except NotInstallable as reason:
        print(f"the conformance suite cannot be installed: {reason}", file=sys.stderr)
        return 2
    good, verbose = True, "--verbose" in args
    with tempfile.TemporaryDirectory() as scratch:
        for name, server in SERVERS.items():
            with server() as port:
                for version, expected in VERSIONS.items():
                    checks = run_suite(folder, port, version, Path(scratch) / f"{name}-{version}")
                    good &= judge(f"{name}, {version}", checks, expected, good=GOOD, verbose=verbose)
        for version, expected in CLIENT_CHECKS.items():
            checks = run_client(folder, version, Path(scratch) / f"client-{version}")
            good &= judge(f"client, {version}", checks, expected, good=CLIENT_GOOD, verbose=verbose)
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
