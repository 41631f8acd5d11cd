"""What holds for every test: a verdict that depends on the code alone, not on how busy the machine is.

Hypothesis fails an example that takes longer than 200 ms and a strategy that draws slowly; both happen on a
machine that does something else at the moment. It also draws other examples in each run. Neither belongs in
a suite that must say the same of the same code wherever it runs, so this one draws the same examples
each time; `--hypothesis-profile explore` looks for new ones.
"""

from __future__ import annotations

import gc
import os
import signal
import sys
from collections.abc import Generator, Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings
from hypothesis.internal.conjecture import providers

from support.files import write_vault

UNTIMED = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])

settings.register_profile("same-verdict", UNTIMED, derandomize=True)
settings.register_profile("explore", UNTIMED)
settings.load_profile("same-verdict")

# What tests write is for others to read only, whoever started them: files that everybody may change are not
# trusted, and most tests are not about that.
os.umask(0o022)

# Containers often set it. Hundreds of tests start a process, and each would compile every module anew.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
sys.dont_write_bytecode = False

# The shell of the person who runs the tests says nothing about the code, so the variables that vaultbridge or
# the programs it starts would obey are left out. A proxy stays, for npm, but is not used within this machine.
PREFIXES = ("VAULTBRIDGE_", "OBSIDIAN_MCP_", "CLAUDE_", "XDG_")
OF_THE_TESTS = ("VAULTBRIDGE_NEEDS_", "VAULTBRIDGE_TEST_", "VAULTBRIDGE_SCREENSHOTS")
TERMINAL = {"NO_COLOR", "FORCE_COLOR", "CLICOLOR", "CLICOLOR_FORCE", "COLUMNS", "LINES", "TERM_PROGRAM"}
PROGRAMS = {"PAGER", "LESS", "EDITOR", "VISUAL", "BROWSER"}
for name in list(os.environ):
    if name in TERMINAL | PROGRAMS or (name.startswith(PREFIXES) and not name.startswith(OF_THE_TESTS)):
        del os.environ[name]
for name in ("no_proxy", "NO_PROXY"):
    os.environ[name] = ",".join(("127.0.0.1", "localhost", "::1", *filter(None, (os.environ.get(name),))))

# A shell that runs the tests in the background makes whatever they start deaf to Ctrl-C.
signal.signal(signal.SIGINT, signal.default_int_handler)

# `nohup` makes them deaf to a closed terminal. The tests stay so, but what they start does not: a process
# inherits what is ignored, but no function that handles a signal.
if sys.platform != "win32" and signal.getsignal(signal.SIGHUP) is signal.SIG_IGN:
    signal.signal(signal.SIGHUP, lambda *_: None)


@pytest.hookimpl(trylast=True)
def pytest_configure() -> None:
    """Hypothesis also draws the literals of every module of ours that happens to be loaded. Then the examples
    would depend on what the tests before have imported, and on the text of unrelated modules. Looking for new
    examples, that is welcome; there is no setting for it."""
    if settings.get_current_profile_name() != "explore":
        providers._get_local_constants = providers.Constants


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None]:
    """The thousands of collected tests stay in memory. If the garbage collector walks them at each full
    collection, that takes a sixth of the processor time of the tests that start no process."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.collect()
        gc.freeze()
        gc.enable()


@pytest.fixture(autouse=True)
def engines_are_closed() -> Iterator[None]:
    """Python 3.13 reports each database connection that nobody closed."""
    yield
    if (support := sys.modules.get("support.vault")) is not None:
        support.close_engines()


@pytest.fixture
def vault(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """A folder with the files of the test module's `VAULT` (see `write_vault`).

    Its name is the module's `VAULT_NAME`, or "Notes". With a `VAULT_LINK` it is reached through a symbolic
    link of that name."""
    module = request.module
    folder = write_vault(tmp_path / getattr(module, "VAULT_NAME", "Notes"), getattr(module, "VAULT", {}))
    if (link := getattr(module, "VAULT_LINK", "")) == "":
        return folder
    (tmp_path / link).symlink_to(folder)
    return tmp_path / link
