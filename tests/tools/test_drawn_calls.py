"""Calls drawn from the schemas that clients see, with words of the vault, of every script, and of no sense at
all: each is answered or refused with a reason, and nothing happens outside the vault."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest

from support.long_form import mark_long_after
from support.scripts import draw_mixed_word
from support.tools import ToolHarness
from vaultbridge.errors import VaultbridgeError

CALLS = 400
"""For each seed. `pytest tests/tools/test_drawn_calls.py` takes a few seconds; more seeds find more."""

ODD_TEXTS = (
    "", " ", "..", "../x", "/", "\x00", "CON", "a" * 300, "[[", "]]", "![[x]]", "[a](b.md)", "#tag", "# H",
    "- [ ] x", "---\na: 1\n---\n", "```\n", "%%", "^abc", "$a$", "'", '"a', "\\", "\u202e", "\ufeff", "\r\n",
    "a:b", "/x/", "/(/", "path:", "tag:#a", "task:x", "line:(a b)", "[a:1]", "-", "(", "OR", "a OR -b",
    "{{date}}", "=1+1", "null", "true", "1e999", "9" * 5000, "²", "٣", "--5", "2026-01-01", "p12", "1",
    "https://example.com/a", "Qk0=", "@@ -1 +1 @@\n-a\n+b\n",
)  # fmt: skip
ODD_VALUES: tuple[Any, ...] = (
    None, 0, -1, "", [], {}, True, 1.5, float("inf"), 10**30, "x", [[]], {"a": {"b": 1}}, [None],
)  # fmt: skip


class Drawing:
    def __init__(self, seed: int, harness: ToolHarness) -> None:
        self._rng = random.Random(seed)
        self._harness = harness
        self._tools = harness.catalog.list_tools(vaults=("vault",))
        self._paths: list[str] = []
        self._lines: list[str] = []

    def look(self) -> None:
        """See what is in the vault now."""
        files = self._harness.files()
        self._paths = [path for path in files if not path.startswith(".")]
        texts = (data.decode("utf-8", "replace") for path, data in files.items() if path.endswith(".md"))
        self._lines = [line for text in texts for line in text.splitlines() if line.strip()]

    def call(self) -> tuple[str, dict[str, Any]]:
        tool = self._rng.choice(self._tools)
        return tool.name, self._object(tool.input_schema, 0.3)

    def _object(self, schema: dict[str, Any], share: float) -> dict[str, Any]:
        required = schema.get("required", ())
        return {
            name: self._value(part)
            for name, part in schema.get("properties", {}).items()
            if self._rng.random() < (0.97 if name in required else share)
        }

    def _value(self, schema: dict[str, Any]) -> Any:
        rng = self._rng
        if rng.random() < 0.03:
            return rng.choice(ODD_VALUES)
        if "enum" in schema:
            return rng.choice(schema["enum"])
        kinds = schema.get("type", "string")
        match rng.choice(kinds) if isinstance(kinds, list) else kinds:
            case "string":
                return self._text()
            case "integer":
                most = schema.get("maximum", 5)
                return rng.choice((0, 1, 2, 3, 10, -1, most, most + 1))
            case "number":
                return rng.choice((0, 1.5, -2))
            case "boolean":
                return rng.random() < 0.5
            case "array":
                return [self._value(schema.get("items", {})) for _ in range(rng.choice((0, 1, 1, 2, 3)))]
            case "object":
                return self._object(schema, 0.4)
        return None

    def _text(self) -> str:
        rng = self._rng
        match rng.randrange(6):
            case 0 | 1 if self._paths:
                path = rng.choice(self._paths)
                return path if rng.random() < 0.6 else Path(path).stem
            case 2 if self._lines:
                return rng.choice(self._lines).lstrip("#- ")
            case 3:
                return draw_mixed_word(rng)
        return rng.choice(ODD_TEXTS) + rng.choice(("", "", " " + rng.choice(ODD_TEXTS)))


@pytest.mark.parametrize("seed", mark_long_after(1, range(3)))
def test_a_drawn_call_is_answered_or_refused_with_a_reason(sample: ToolHarness, seed: int) -> None:
    around = sample.folder.parent
    (around / "beside.md").write_text("Not in the vault.\n")
    drawing = Drawing(seed, sample)
    answered = 0
    for number in range(CALLS):
        if number % 50 == 0:
            drawing.look()
        name, arguments = drawing.call()
        try:
            assert sample.call(name, **arguments) is not None
            answered += 1
        except VaultbridgeError as error:
            assert str(error), (name, arguments)
            assert str(around) not in f"{error} {error.hint}", (name, arguments)
        except Exception as error:
            error.add_note(f"{name} {arguments!r}"[:2000])
            raise
    assert answered > CALLS // 4, "calls that are all refused try nothing"
    beside = {place.name for place in around.iterdir()}
    assert beside <= {"beside.md", "cache", "home", sample.folder.name}, "nothing outside was made"
    assert (around / "beside.md").read_text() == "Not in the vault.\n"


@pytest.mark.parametrize("seed", mark_long_after(1, range(100, 102)))
def test_drawn_changes_undone_one_after_the_other_leave_the_vault_as_it_was(
    sample: ToolHarness, seed: int
) -> None:
    drawing = Drawing(seed, sample)
    before = sample.files()
    changes: list[int] = []
    for number in range(CALLS):
        if number % 50 == 0:
            drawing.look()
        name, arguments = drawing.call()
        if not sample.catalog.may_change(name) or name.endswith("undo"):
            continue
        try:
            if sample.call(name, **arguments).changed:
                changes.append(sample.engine.history.newest_to_undo())
        except VaultbridgeError:
            continue
    assert len(changes) == len(set(changes)) > 5
    for change in reversed(changes):
        sample.call("undo", id=change)
    assert sample.files() == before
