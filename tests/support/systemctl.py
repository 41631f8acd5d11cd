"""A substitute for `systemctl --user` where there is no systemd for users: it keeps what it was asked to do
in a file, and really starts what a unit's ExecStart says, read by the rules of systemd.syntax(7).

    python systemctl.py FOLDER --user enable vaultbridge.service
"""

from __future__ import annotations

import contextlib
import os
import shlex
import signal
import subprocess
import sys
import time
from pathlib import Path


def read_unit(text: str) -> tuple[list[str], dict[str, str]]:
    """The command line and the environment of a unit."""
    words: list[str] = []
    environ: dict[str, str] = {}
    for line in text.splitlines():
        key, _, value = line.partition("=")
        if key in ("ExecStart", "Environment"):
            # The same quotes and escapes as a shell's, and specifiers, of which only `%%` is known here.
            parts = [part.replace("%%", "\0") for part in shlex.split(value)]
            assert not any("%" in part for part in parts), parts
            parts = [part.replace("\0", "%") for part in parts]
        if key == "ExecStart":
            assert not any("$" in part.replace("$$", "") for part in parts[1:]), parts
            words = [parts[0], *(part.replace("$$", "$") for part in parts[1:])]
        elif key == "Environment":
            name, _, text_ = parts[0].partition("=")
            environ[name] = text_
    return words, environ


def write_program(tools: Path, state: Path) -> None:
    """Write the substitute into a folder of PATH; `state` is where it keeps what it did."""
    program = tools / "systemctl"
    words = [sys.executable, str(Path(__file__)), str(state)]
    program.write_text(f'#!/bin/sh\nexec {shlex.join(words)} "$@"\n', "utf-8")
    program.chmod(0o755)


def main(folder: Path, *asked: str) -> int:
    with (folder / "asked").open("a", encoding="utf-8") as log:
        log.write(" ".join(asked) + "\n")
    pid_file = folder / "pid"
    if asked[1:2] == ("restart",):
        stop(pid_file)
        unit = Path(os.environ["HOME"]) / ".config" / "systemd" / "user" / asked[2]
        words, environ = read_unit(unit.read_text("utf-8"))
        with (folder / "log").open("ab") as output:
            process = subprocess.Popen(
                words,
                # Of the environment of whoever asks, a service has only the home.
                env={"HOME": os.environ["HOME"], **environ},
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                start_new_session=True,
            )
        pid_file.write_text(str(process.pid), "utf-8")
        process.returncode = 0
    elif asked[1:3] == ("disable", "--now"):
        stop(pid_file)
    return 0


def stop(pid_file: Path) -> None:
    if not pid_file.exists():
        return
    pid = int(pid_file.read_text("utf-8"))
    pid_file.unlink()
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, signal.SIGTERM)
        while Path(f"/proc/{pid}").exists():
            if Path(f"/proc/{pid}/stat").read_text("latin-1").rpartition(")")[2].split()[0] == "Z":
                break
            time.sleep(0.01)


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]), *sys.argv[2:]))
