"""The main command of the README, `make run`, in the terminals in which people type it."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
import urllib.request
from pathlib import Path

import pytest

from support.long_form import combine
from support.process import ROOT
from support.terminal import CTRL_C, open_terminal
from support.waiting import BOUND

LINK = re.compile(r"http://127\.0\.0\.1:\d+/#code=[\w-]+")

pytestmark = pytest.mark.skipif(
    shutil.which("make") is None or sys.platform == "win32", reason="needs make and a pseudo-terminal"
)


class Checkout:
    """This checkout as `make run` finds it once everything is set up, and a home of its own."""

    def __init__(self, folder: Path) -> None:
        programs = folder / "run-env" / "bin"
        programs.mkdir(parents=True)
        script = programs / "vaultbridge"
        script.write_text(
            f"#!{sys.executable}\nimport sys\nfrom vaultbridge.__main__ import main\nsys.exit(main())\n",
            "utf-8",
        )
        # It holds the screen until somebody types, as the real one does with more than a screenful.
        self.pager_log = folder / "paged"
        pager = folder / "bin" / "less"
        pager.parent.mkdir()
        pager.write_text(f"#!/bin/sh\ntouch '{self.pager_log}'\ncat\nread key < /dev/tty\n", "utf-8")
        for program in (script, pager):
            program.chmod(0o755)
        ready = folder / "run-env" / ".ready"
        self.command = ["make", "--old-file", str(ready), "run", f"RUN_VENV={programs.parent}"]
        self.environ = {
            "PATH": f"{pager.parent}{os.pathsep}{os.environ['PATH']}",
            "HOME": str(folder / "home"),
            "XDG_CACHE_HOME": str(folder / "cache"),
            "XDG_CONFIG_HOME": str(folder / "config"),
            "TERM": "xterm-256color",
        }
        self.program = script


@pytest.fixture
def checkout(tmp_path: Path) -> Checkout:
    return Checkout(tmp_path)


@pytest.mark.parametrize(
    ("size", "pager"),
    combine({"24-80": (24, 80), "40-120": (40, 120)}, {"without PAGER": None, "with PAGER": "less"}),
)
def test_it_ends_with_the_link(checkout: Checkout, size: tuple[int, int], pager: str | None) -> None:
    rows, columns = size
    environ = checkout.environ | ({} if pager is None else {"PAGER": pager})
    with open_terminal(checkout.command, rows=rows, columns=columns, cwd=ROOT, env=environ) as terminal:
        shown = terminal.wait_for(r"#code=\S+\n")
        *_, link = shown.splitlines()
        assert LINK.fullmatch(link), shown
        # The whole announcement is on the screen, and the terminal's edge does not break the link.
        lines = shown[shown.index("Serving ") :].splitlines()
        assert len(lines) < rows
        assert all(len(line) <= columns for line in shown.splitlines() if link in line)
        with urllib.request.urlopen(link.partition("#")[0], timeout=BOUND) as page:
            assert page.status == 200
        terminal.type(CTRL_C)
        code = terminal.wait()
    assert code in (0, 2, 130, -signal.SIGINT)
    assert "Traceback" not in terminal.shown
    assert not checkout.pager_log.exists()


def test_it_prints_the_link_without_a_terminal(checkout: Checkout) -> None:
    with subprocess.Popen(
        checkout.command, cwd=ROOT, env=checkout.environ, text=True, start_new_session=True,
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
    ) as process:  # fmt: skip
        assert process.stdout is not None
        try:
            lines: list[str] = []
            while not (lines and LINK.search(lines[-1])):
                lines.append(process.stdout.readline())
                assert lines[-1], "".join(lines)
            assert LINK.fullmatch(lines[-1].strip()), lines
        finally:
            os.killpg(process.pid, signal.SIGINT)
            rest = process.stdout.read()
            process.wait(BOUND)
    assert "Traceback" not in rest
