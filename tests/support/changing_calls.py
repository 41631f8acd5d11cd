"""Calls of everything that changes a vault, for the tests that hold for all of them."""

from __future__ import annotations

import base64
from typing import Any

FILES = {
    "A.md": "---\nkind: x\ntags: [one]\n---\n# Top\n\nline #two\n\n- [ ] task\n\n## Sub\n\nold ^blk\n",
    "B.md": "[[A#Sub]]\n",
    "T.md": "template\n",
    "Named.md": "a name\n",
    "Naming.md": "All about Named.\n",
    "C.canvas": '{"nodes":[{"id":"n","type":"text","text":"t","x":0,"y":0,"width":9,"height":9}],"edges":[]}',
}

EDITS: dict[str, dict[str, Any]] = {
    "write": {"content": "x"},
    "append": {"content": "x"},
    "prepend": {"content": "x"},
    "replace_section": {"heading": "Sub", "content": "x"},
    "insert": {"line": 7, "content": "x"},
    "replace_text": {"old": "old", "new": "x"},
    "apply_diff": {"diff": "@@ -11,3 +11,3 @@\n ## Sub\n \n-old ^blk\n+x ^blk\n"},
    "set_property": {"property": "kind", "value": "y"},
    "remove_property": {"property": "kind"},
    "add_tag": {"tag": "new"},
    "remove_tag": {"tag": "one"},
    "set_task": {"text": "task", "status": "x"},
    "rename_property": {"property": "kind", "to": "sort"},
    "rename_tag": {"tag": "two", "to": "three"},
    "rename_heading": {"heading": "Sub", "to": "New"},
    "rename_block": {"block": "blk", "to": "other"},
    "insert_template": {"template": "T"},
    "merge": {"to": "B"},
    "extract_section": {"heading": "Sub", "to": "New"},
    "link_mentions": {"name": "Named"},
}

TOOLS: dict[str, list[dict[str, Any]]] = {
    "create_note": [{"name": "New", "content": "x"}, {"name": "A", "content": "x", "overwrite": True}],
    "edit_note": [
        *({"name": "A", "op": op, **arguments} for op, arguments in EDITS.items()),
        {"query": "path:B", "op": "append", "content": "x"},
    ],
    "move_note": [{"name": "A", "to": "Z"}],
    "delete_note": [{"name": "A"}],
    "write_daily_note": [{"action": "append", "content": "x"}],
    "edit_canvas": [
        {"name": "C", "action": "add", "text": "x"},
        {"name": "C", "action": "remove", "id": "n"},
        {"name": "New", "action": "create"},
    ],
    "add_attachment": [{"name": "p.png", "data": base64.b64encode(b"\x89PNG").decode()}],
    "batch": [{"operations": [{"op": "delete", "name": "A"}, {"op": "append", "name": "B", "content": "x"}]}],
    "undo": [{}, {"id": 1}, {"id": 1, "force": True}],
}
"""Calls of each tool that changes something. They find `FILES`, and one change of the same assistant."""
