"""One example of every edit operation, for the tests that try them all. A new operation gets its row here."""

from __future__ import annotations

from typing import Any

NOTE = "---\nkind: x\n---\n# One\nfirst #t ^b1\n\n## Two\n- [ ] do it\nthird\n"
TEMPLATE = "from T\n"

EDITS: list[tuple[str, dict[str, Any], str, str]] = [
    ("append", {"content": "end"}, "third\n", "third\nend\n"),
    ("append", {"content": "end", "heading": "Two"}, "third\n", "third\nend\n"),
    ("append", {"content": "end", "block": "b1"}, "^b1\n", "^b1\n\nend\n"),
    ("prepend", {"content": "top"}, "---\n# One", "---\ntop\n\n# One"),
    ("prepend", {"content": "top", "heading": "One#Two"}, "## Two\n", "## Two\ntop\n"),
    ("insert", {"content": "here", "line": 7}, "## Two", "here\n## Two"),
    ("replace_text", {"old": "third", "new": "last"}, "third", "last"),
    ("replace_text", {"old": "i", "new": "I", "all": True}, "", ""),
    ("replace_section", {"content": "new", "heading": "Two"}, "- [ ] do it\nthird\n", "new\n"),
    ("replace_section", {"content": "new", "block": "^b1"}, "first #t ^b1", "new ^b1"),
    ("apply_diff", {"diff": "--- a\n+++ b\n@@ -9 +9 @@\n-third\n+last\n"}, "third", "last"),
    ("write", {"content": "all new\n"}, NOTE, "all new\n"),
    ("set_property", {"property": "n", "value": [1, "a"]}, "kind: x\n", "kind: x\nn:\n  - 1\n  - a\n"),
    ("set_property", {"property": "kind", "value": None}, "kind: x\n", "kind:\n"),
    ("remove_property", {"property": "kind"}, "---\nkind: x\n---\n", ""),
    ("rename_property", {"property": "kind", "to": "sort"}, "kind:", "sort:"),
    ("add_tag", {"tag": "#new"}, "kind: x\n", "kind: x\ntags:\n  - new\n"),
    ("remove_tag", {"tag": "t"}, "first #t ^b1", "first ^b1"),
    ("rename_tag", {"tag": "t", "to": "u"}, "#t", "#u"),
    ("set_task", {"line": 8}, "- [ ]", "- [x]"),
    ("set_task", {"text": "do it", "status": "/"}, "- [ ]", "- [/]"),
    ("set_task", {"line": 8, "status": "done"}, "- [ ]", "- [x]"),
    ("rename_heading", {"heading": "Two", "to": "Zwei"}, "## Two", "## Zwei"),
    ("rename_block", {"block": "b1", "to": "b2"}, "^b1", "^b2"),
    ("insert_template", {"template": "T"}, "third\n", "third\nfrom T\n"),
    ("insert_template", {"template": "T", "line": 7}, "## Two", "from T\n## Two"),
]
"""The op, its arguments for a note that holds `NOTE` beside a note T that holds `TEMPLATE`, which text of the
note it replaces, and by what."""
