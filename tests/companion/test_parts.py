"""Functions of the companion that need no app: marks within lines, and where bridges are looked for."""

from __future__ import annotations

import itertools
import json
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from companion.obsidian import FLAGS, HOST, MAIN, NODE, needs_node

pytestmark = needs_node


class Parts:
    """Calls of the plugin's own functions, one after another, in one process."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process
        self._ids = itertools.count(1)

    def do(self, verb: str, **args: Any) -> Any:
        assert self._process.stdin is not None and self._process.stdout is not None
        self._process.stdin.write(json.dumps({"id": next(self._ids), "verb": verb, "args": args}) + "\n")
        self._process.stdin.flush()
        answer = json.loads(self._process.stdout.readline())
        assert "error" not in answer, answer["error"]
        return answer["result"]

    def call(self, name: str, *args: Any) -> Any:
        return self.do("callPart", name=name, args=args)


@pytest.fixture(scope="module")
def parts(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Parts]:
    assert NODE is not None
    vault: Path = tmp_path_factory.mktemp("vault")
    command = [NODE, *FLAGS, str(HOST), str(MAIN), str(vault), "{}"]
    with subprocess.Popen(
        command, env=os.environ, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, encoding="utf-8"
    ) as process:
        yield Parts(process)
        assert process.stdin is not None
        process.stdin.close()


@given(st.text(st.sampled_from("ab é🧀.\t"), max_size=20), st.text(st.sampled_from("ab é🧀.\t"), max_size=20))
@settings(deadline=None)
def test_marked_lines_are_still_the_whole_lines(parts: Parts, old: str, new: str) -> None:
    before, after = parts.call("compareLines", old, new)
    assert "".join(text for text, _ in before) == old
    assert "".join(text for text, _ in after) == new
    if any(changed for _, changed in (*before, *after)):
        same = [[text for text, changed in side if not changed] for side in (before, after)]
        assert "".join(same[0]) == "".join(same[1])


@pytest.mark.parametrize(
    ("environ", "platform", "folders"),
    [
        ({}, "linux", ["/h/.cache/vaultbridge"]),
        ({"XDG_CACHE_HOME": "/x"}, "linux", ["/x/vaultbridge", "/h/.cache/vaultbridge"]),
        ({"XDG_CACHE_HOME": "relative"}, "linux", ["/h/.cache/vaultbridge"]),
        ({"VAULTBRIDGE_CACHE": "/c"}, "darwin", ["/c", "/h/Library/Caches/vaultbridge"]),
        ({"LOCALAPPDATA": "/local"}, "win32", ["/local/vaultbridge/Cache"]),
        ({}, "win32", ["/h/AppData/Local/vaultbridge/Cache"]),
    ],
)
def test_bridges_are_searched_for_where_vaultbridge_saves_them(
    parts: Parts, environ: dict[str, str], platform: str, folders: list[str]
) -> None:
    from vaultbridge.vault.folders import find_bases

    assert parts.call("listBridgeFolders", environ, platform, "/h") == folders
    assert str(find_bases({**environ, "HOME": "/h"}, platform=platform).cache) in folders
