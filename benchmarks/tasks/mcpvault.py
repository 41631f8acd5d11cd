"""The twenty requests with the tools of mcpvault."""

from __future__ import annotations

import json
from typing import Any

from tasks.assistant import Assistant, NotPossible, Script
from tasks.vault import CHANGED_ROUTES, LAST_WEEK, ROUTES, SINCE, TODAY

MOST_FOUND = 20
"""What `search_notes` accepts as its highest limit."""


def search(
    assistant: Assistant, query: str, limit: int = MOST_FOUND, **arguments: Any
) -> list[dict[str, Any]]:
    """Each found note: its path as `p`, its title as `t`, an excerpt as `ex`."""
    found: list[dict[str, Any]] = json.loads(
        assistant.call("search_notes", query=query, limit=limit, **arguments)
    )
    return found


def find(assistant: Assistant, title: str) -> str:
    """The path of the note that a person calls by its title."""
    [path] = [note["p"] for note in search(assistant, title, limit=3) if note["t"] == title]
    return str(path)


def read(assistant: Assistant, path: str) -> str:
    return str(json.loads(assistant.call("read_note", path=path))["content"])


def patch(assistant: Assistant, path: str, old: str, new: str, **arguments: Any) -> None:
    assistant.call("patch_note", path=path, oldString=old, newString=new, **arguments)


def decide(assistant: Assistant) -> str:
    [note] = search(assistant, "sync", limit=5)
    return read(assistant, note["p"])


def add_task_today(assistant: Assistant) -> None:
    path = find(assistant, str(TODAY))
    # Text is appended as it is: whether it needs a line end before it depends on the last line.
    break_before = "" if read(assistant, path).endswith("\n") else "\n"
    content = f"{break_before}- [ ] call the mason\n"
    assistant.call("write_note", path=path, content=content, mode="append")


def rename_project(assistant: Assistant) -> None:
    notes = search(assistant, "Atlas")
    for note in notes:
        for old, new in (("[[Atlas]]", "[[Compass]]"), ("/Atlas.md)", "/Compass.md)")):
            if old in note["ex"]:
                patch(assistant, note["p"], old, new)
    [path] = [note["p"] for note in notes if note["t"] == "Atlas"]
    assistant.call("move_note", oldPath=path, newPath=path.replace("Atlas", "Compass"))


def move_by_tag(assistant: Assistant) -> None:
    for note in search(assistant, "done", searchFrontmatter=True, searchContent=False):
        assert "tags: [done]" in note["ex"]
        assistant.call("move_note", oldPath=note["p"], newPath=f"Archive/{note['t']}.md")


def merge(assistant: Assistant) -> None:
    notes = search(assistant, "Ada")
    paths = {note["t"]: note["p"] for note in notes}
    source, target = paths["Ada"], paths["Ada Lund"]
    read_both = json.loads(assistant.call("read_multiple_notes", paths=[source, target]))
    texts = {note["path"]: note["content"] for note in read_both["ok"]}
    assistant.call("write_note", path=target, content=f"\n{texts[source]}", mode="append")
    for note in notes:
        if "[[Ada]]" in note["ex"]:
            patch(assistant, note["p"], "[[Ada]]", "[[Ada Lund]]")
    assistant.call("delete_note", path=source, confirmPath=source, trashMode="local")


def make_table(assistant: Assistant) -> str:
    notes = search(assistant, "rating", searchFrontmatter=True, searchContent=False)
    best = [note["p"] for note in notes if int(note["ex"].rpartition("rating: ")[2]) >= 4]
    return assistant.call("read_multiple_notes", paths=best, includeContent=False)


def read_last_week(assistant: Assistant) -> str:
    first = find(assistant, str(LAST_WEEK[0]))
    paths = [first.replace(str(LAST_WEEK[0]), str(day)) for day in LAST_WEEK]
    return assistant.call("read_multiple_notes", paths=paths, includeFrontmatter=False)


def list_untagged(_: Assistant) -> None:
    raise NotPossible("the properties of every note would have to be read, ten notes a call")


def insert_image(_: Assistant) -> None:
    raise NotPossible("it writes only notes")


def undo(assistant: Assistant) -> None:
    """It has no undo; but an assistant that replaced a text knows where and what it was."""
    patch(assistant, "Projects/Mountain hut.md", CHANGED_ROUTES, ROUTES)


def create_from_template(assistant: Assistant) -> None:
    [path] = [note["p"] for note in search(assistant, "Template", limit=5) if "Meeting" in note["t"]]
    template = json.loads(assistant.call("read_note", path=path))
    content = template["content"].replace("{{title}}", "Roof")
    assistant.call("write_note", path="Meetings/Roof.md", content=content, frontmatter=template["fm"])


def append_under_heading(assistant: Assistant) -> None:
    path = find(assistant, "House")
    section = read(assistant, path).partition("## Log\n")[2].partition("\n## ")[0]
    last = section.strip().splitlines()[-1]
    patch(assistant, path, f"{last}\n", f"{last}\n- fence painted\n")


def replace_everywhere(assistant: Assistant) -> None:
    for note in search(assistant, "Acme Corp"):
        if "Acme Corp" in note["ex"]:
            patch(assistant, note["p"], "Acme Corp", "Acme Inc", replaceAll=True)


def link_mentions(assistant: Assistant) -> None:
    for note in search(assistant, "Solar kiln"):
        if "Solar kiln" in note["ex"] and "[[Solar kiln" not in note["ex"]:
            patch(assistant, note["p"], "Solar kiln", "[[Solar kiln]]")


def list_backlinks(assistant: Assistant) -> str:
    notes = search(assistant, "[[Harbour")
    return "\n".join(note["t"] for note in notes if "[[Harbour" in note["ex"])


def export(assistant: Assistant) -> str:
    notes = search(assistant, "kiln", pathPrefix="Workshop")
    return assistant.call("read_multiple_notes", paths=[note["p"] for note in notes if "Kiln" in note["t"]])


def tick_due_task(assistant: Assistant) -> None:
    for note in search(assistant, str(TODAY)):
        before, due, _ = note["ex"].partition(str(TODAY))
        _, box, text = before.rpartition("[ ]")
        if due and box:
            patch(assistant, note["p"], f"{box}{text}{due}", f"[x]{text}{due}")


def rename_tag(assistant: Assistant) -> None:
    for note in search(assistant, "cooking", searchFrontmatter=True):
        hash_sign = "#" if "#cooking" in note["ex"] else ""
        patch(assistant, note["p"], f"{hash_sign}cooking", f"{hash_sign}kitchen")


def extract_section(assistant: Assistant) -> None:
    path = find(assistant, "Mountain hut")
    section = read(assistant, path).partition("## Routes\n")[2].partition("\n## ")[0].strip()
    assistant.call("write_note", path="Routes.md", content=f"{section}\n")
    patch(assistant, path, section, "[[Routes]]")


def list_recent(assistant: Assistant) -> str:
    notes = json.loads(assistant.call("get_vault_stats", recentCount=10))["recent"]
    return "\n".join(note["path"] for note in notes if note["modified"] / 1000 >= SINCE)


def change_routes(assistant: Assistant) -> None:
    patch(assistant, "Projects/Mountain hut.md", ROUTES, CHANGED_ROUTES)


SCRIPT: Script = {
    "decide": decide,
    "task today": add_task_today,
    "rename project": rename_project,
    "move by tag": move_by_tag,
    "merge": merge,
    "table": make_table,
    "last week": read_last_week,
    "untagged": list_untagged,
    "insert image": insert_image,
    "undo": undo,
    "from template": create_from_template,
    "append": append_under_heading,
    "replace in 12": replace_everywhere,
    "link mentions": link_mentions,
    "backlinks": list_backlinks,
    "export": export,
    "tick due task": tick_due_task,
    "rename tag": rename_tag,
    "extract section": extract_section,
    "recent notes": list_recent,
}
