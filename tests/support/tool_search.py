"""Searches a list of tools as clients do that do not show all of it to their model.

The API's tool search looks at the names and descriptions of tools and of their arguments: by BM25 for a
question in words, or by a regular expression. `tests/claude/test_claude_search.py` asks Claude Code's own
search, which only that program has."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable

from vaultbridge.tools.base.tool import ListedTool

SATURATION = 1.5
LENGTH = 0.75
"""The usual constants of BM25."""

ASKED = {
    "find and replace text in many notes": "edit_note",
    "replace text in many notes": "edit_note",
    "rename tag": "edit_note",
    "link unlinked mentions": "edit_note",
    "extract a section": "edit_note",
    "merge notes": "edit_note",
    "notes without tags": "list_files",
    "recent changes": "list_files",
    "unused images": "list_files",
    "orphan notes": "links",
    "frontmatter": "properties",
    "metadata": "properties",
    "undo": "undo",
    "todo": "tasks",
    "journal": "daily_note",
    "similar": "related",
    "current": "active",
    "selected text": "active",
    "insert image": "add_attachment",
    "move notes by tag": "move_note",
    "checklist": "tasks",
    "overdue": "tasks",
    "picture": "attachment",
    "add a picture": "add_attachment",
    "graph": "links",
    "dataview": "base_query",
}
"""What users call something, and the tool that does it."""

PATTERNS = {
    r"(?i)replace": "edit_note",
    r"(?i)rename.*tag": "edit_note",
    r"(?i)unlinked|mentions": "edit_note",
    r"(?i)extract": "edit_note",
    r"(?i)without.*tag|untagged": "list_files",
    r"(?i)recent": "list_files",
}
"""Patterns as a model would write them for the same."""


def collect_text(tool: ListedTool) -> str:
    arguments = tool.input_schema["properties"].items()
    described = (f"{name} {schema.get('description', '')}" for name, schema in arguments)
    return " ".join([tool.name, tool.description, *described])


def rank(tools: Iterable[ListedTool], question: str) -> list[str]:
    """The names of the tools that have a word of the question, the best first."""
    words = {tool.name: _split(collect_text(tool)) for tool in tools}
    average = sum(map(len, words.values())) / len(words)
    wanted = set(_split(question))
    having = Counter(word for own in words.values() for word in wanted & set(own))
    scores: dict[str, float] = {}
    for name, own in words.items():
        counts = Counter(own)
        for word in wanted & counts.keys():
            rarity = math.log(1 + (len(words) - having[word] + 0.5) / (having[word] + 0.5))
            weight = 1 - LENGTH + LENGTH * len(own) / average
            share = counts[word] * (SATURATION + 1) / (counts[word] + SATURATION * weight)
            scores[name] = scores.get(name, 0.0) + rarity * share
    return sorted(scores, key=lambda name: (-scores[name], name))


def find_matching(tools: Iterable[ListedTool], pattern: str) -> list[str]:
    return [tool.name for tool in tools if re.search(pattern, collect_text(tool))]


def _split(text: str) -> list[str]:
    return re.findall(r"[a-z0-9]+", text.lower())
