"""The companion's hunks and merges: whatever is taken, left out or merged, no line is lost or invented."""

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

LINES = st.sampled_from(["a\n", "b\n", "c\n", "\n", "ä 🧀\n", "a\r\n", "d\r"])
TEXTS = st.builds(
    lambda lines, end: "".join(lines) + end, st.lists(LINES, max_size=9), st.sampled_from(["", "x", "a"])
)


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
        return self.do("parts", name=name, args=args)

    def merge(self, base: str, mine: str, theirs: str) -> tuple[str, bool]:
        answer = self.call("merge", base, mine, theirs)
        return answer["text"], answer["clash"]

    def apply(self, text: str, hunks: list[Any]) -> Any:
        return self.call("applyHunks", self.call("splitLines", text), hunks)


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


@given(TEXTS, TEXTS)
@settings(deadline=None)
def test_all_hunks_together_make_the_new_text_and_none_the_old(parts: Parts, old: str, new: str) -> None:
    hunks = parts.call("findHunks", old, new)
    assert parts.apply(old, hunks) == new
    assert parts.apply(old, []) == old
    assert (hunks == []) == (old == new)
    # A line that stays lies between two hunks, so each can be decided on alone.
    assert all(one["at"] + one["gone"] < two["at"] for one, two in itertools.pairwise(hunks))


@given(TEXTS, TEXTS, st.sets(st.integers(0, 9)))
@settings(deadline=None)
def test_parts_that_are_left_out_stay_unchanged(parts: Parts, old: str, new: str, leave: set[int]) -> None:
    diff = {"id": "d1", "client": "c", "tabName": "t", "path": "A.md", "oldText": old, "newText": new}
    final, moved = parts.do("final", diff=diff, leave=sorted(leave))
    base = old.replace("\r\n", "\n")
    hunks = parts.call("findHunks", base, new)
    assert final == parts.apply(base, [hunk for i, hunk in enumerate(hunks) if i not in leave])
    assert moved == ""


@given(TEXTS, TEXTS)
@settings(deadline=None)
def test_where_only_one_side_changed_the_merge_is_that_side(parts: Parts, base: str, changed: str) -> None:
    assert parts.merge(base, changed, base) == (changed, False)
    assert parts.merge(base, base, changed) == (changed, False)
    assert parts.merge(base, changed, changed) == (changed, False)


@given(TEXTS, TEXTS, TEXTS)
@settings(deadline=None)
def test_a_merge_without_a_clash_does_not_depend_on_who_came_first(
    parts: Parts, base: str, mine: str, theirs: str
) -> None:
    text, clash = parts.merge(base, mine, theirs)
    other, clashes = parts.merge(base, theirs, mine)
    assert clash == clashes and (clash or text == other)


@given(st.lists(st.booleans(), min_size=1, max_size=12), st.data())
@settings(deadline=None)
def test_changes_to_distant_lines_are_both_kept(parts: Parts, mine: list[bool], data: st.DataObject) -> None:
    """Each block of three lines is changed in its middle line by one side at most."""
    theirs = [not changed and data.draw(st.booleans()) for changed in mine]
    blocks = range(len(mine))

    def text(*sides: tuple[str, list[bool]]) -> str:
        words = {block: name for name, changed in sides for block in blocks if changed[block]}
        return "".join(f"head {i}\n{words.get(i, 'body')} {i}\ntail {i}\n" for i in blocks)

    merged, clash = parts.merge(text(), text(("mine", mine)), text(("theirs", theirs)))
    assert (merged, clash) == (text(("mine", mine), ("theirs", theirs)), False)


def test_two_changes_of_one_line_clash_and_the_proposal_wins(parts: Parts) -> None:
    """It is shown against the note as it is, so the person sees what they would lose."""
    assert parts.merge("a\nb\nc\n", "a\nmine\nc\n", "a\ntheirs\nc\n") == ("a\ntheirs\nc\n", True)
    assert parts.merge("a\n", "a\nmine\n", "a\ntheirs\n") == ("a\ntheirs\n", True)
    diff = {
        "id": "d",
        "client": "c",
        "tabName": "t",
        "path": "A.md",
        "oldText": "a\nb\n",
        "newText": "a\nB\n",
    }
    assert parts.do("final", diff=diff, leave=[], current="a\nmine\n") == ["a\nB\n", "clash"]
    assert parts.do("final", diff=diff, leave=[0], current="a\nmine\n") == ["a\nmine\n", "clash"]


@given(st.text(st.sampled_from("ab é🧀.\t"), max_size=20), st.text(st.sampled_from("ab é🧀.\t"), max_size=20))
@settings(deadline=None)
def test_marked_words_are_still_the_whole_lines(parts: Parts, old: str, new: str) -> None:
    before, after = parts.call("compareWords", old, new)
    assert "".join(text for text, _ in before) == old
    assert "".join(text for text, _ in after) == new
    if any(changed for _, changed in (*before, *after)):
        same = [[text for text, changed in side if not changed] for side in (before, after)]
        assert "".join(same[0]) == "".join(same[1])


def test_texts_too_far_apart_are_one_block_and_cost_no_more(parts: Parts) -> None:
    old = "".join(f"old {i}\n" for i in range(20_000))
    new = "".join(f"new {i}\n" for i in range(20_000))
    [hunk] = parts.call("findHunks", "same\n" + old, "same\n" + new)
    assert (hunk["at"], hunk["gone"], len(hunk["lines"])) == (1, 20_000, 20_000)


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
    from vaultbridge.vault.cache_folder import cache_base

    assert parts.call("bridgeFolders", environ, platform, "/h") == folders
    assert str(cache_base({**environ, "HOME": "/h"}, platform=platform)) in folders
