"""The twenty requests with the tools of obsidian-mcp-rs."""

from __future__ import annotations

import json
from datetime import datetime
from typing import Any

from tasks.assistant import Assistant, NotPossible, Script
from tasks.vault import CHANGED_ROUTES, LAST_WEEK, ROUTES, SINCE, TODAY

VAULT = "vault"
"""The name of the folder, which every call repeats. The call that asks for it is not counted."""


def call(assistant: Assistant, tool: str, /, **arguments: Any) -> str:
    return assistant.call(tool, vault=VAULT, **arguments)


def search(assistant: Assistant, query: str, **arguments: Any) -> list[dict[str, Any]]:
    """Each found note: its `path` and `snippets` of lines."""
    found: list[dict[str, Any]] = json.loads(call(assistant, "search-vault", query=query, **arguments))[
        "results"
    ]
    return found


def find(assistant: Assistant, title: str) -> str:
    """The path of the note that a person calls by its title; the other tools do not look for it."""
    notes = search(assistant, title, searchType="filename", limit=5)
    [path] = [note["path"] for note in notes if note["path"].endswith(f"/{title}.md")]
    return str(path)


def replace(assistant: Assistant, path: str, old: str, new: str) -> None:
    """Replaces the first occurrence; there is no tool that replaces all."""
    call(assistant, "edit-note", filename=path, operation="find_and_replace", search=old, content=new)


def decide(assistant: Assistant) -> str:
    notes = search(assistant, "What did we decide about syncing, and why?", limit=5)
    return "\n".join(snippet["text"] for note in notes for snippet in note["snippets"])


def add_task_today(assistant: Assistant) -> None:
    today = json.loads(call(assistant, "periodic", period="daily", action="create"))
    content = "- [ ] call the mason\n"
    call(assistant, "edit-note", filename=today["path"], operation="append", content=content)


def rename_project(assistant: Assistant) -> None:
    folder, _, name = find(assistant, "Atlas").rpartition("/")
    call(assistant, "move-note", filename=name, folder=folder, newFilename="Compass.md")


def move_by_tag(assistant: Assistant) -> None:
    for note in search(assistant, "tag:done"):
        folder, _, name = note["path"].rpartition("/")
        call(assistant, "move-note", filename=name, folder=folder, newFolder="Archive")


def merge(assistant: Assistant) -> None:
    source = find(assistant, "Ada")
    target = find(assistant, "Ada Lund")
    body = call(assistant, "read-note", filename=source).split("---\n", 2)[2]
    call(assistant, "edit-note", filename=target, operation="append", content=f"\n{body}")
    links = json.loads(call(assistant, "wikilinks", query="backlinks", filename=source))["links"]
    for link in links:
        replace(assistant, link["from"], "[[Ada]]", "[[Ada Lund]]")
    call(assistant, "delete-note", filename=source)


def make_table(assistant: Assistant) -> str:
    notes = search(assistant, "rating: [4-9]", regex=True)
    return "\n".join(call(assistant, "frontmatter", filename=note["path"], action="get") for note in notes)


def read_last_week(assistant: Assistant) -> str:
    return "\n".join(
        call(assistant, "periodic", period="daily", action="get", date=str(day)) for day in LAST_WEEK
    )


def list_untagged(_: Assistant) -> None:
    raise NotPossible("every note would have to be read, one a call")


def insert_image(_: Assistant) -> None:
    raise NotPossible("it writes only notes")


def undo(assistant: Assistant) -> None:
    """It has no undo; but an assistant that replaced a text knows where and what it was."""
    replace(assistant, "Projects/Mountain hut.md", CHANGED_ROUTES, ROUTES)


def create_from_template(assistant: Assistant) -> None:
    notes = search(assistant, "Template", searchType="filename", limit=5)
    [path] = [note["path"] for note in notes if "Meeting" in note["path"]]
    content = call(assistant, "read-note", filename=path).replace("{{title}}", "Roof")
    call(assistant, "create-note", filename="Roof.md", folder="Meetings", content=content)


def append_under_heading(assistant: Assistant) -> None:
    path = find(assistant, "House")
    call(
        assistant,
        "edit-note",
        filename=path,
        operation="append",
        targetType="heading",
        target="Log",
        content="- fence painted",
    )


def replace_everywhere(assistant: Assistant) -> None:
    for note in search(assistant, "Acme Corp", regex=True):
        for _ in range(note["match_count"]):
            replace(assistant, note["path"], "Acme Corp", "Acme Inc")


def link_mentions(assistant: Assistant) -> None:
    for note in search(assistant, "Solar kiln", regex=True):
        replace(assistant, note["path"], "Solar kiln", "[[Solar kiln]]")


def list_backlinks(assistant: Assistant) -> str:
    return call(assistant, "wikilinks", query="backlinks", filename=find(assistant, "Harbour"))


def export(assistant: Assistant) -> str:
    notes = search(assistant, "kiln", path="Workshop", searchType="filename")
    return "\n".join(call(assistant, "read-note", filename=note["path"]) for note in notes)


def tick_due_task(assistant: Assistant) -> None:
    for note in search(assistant, rf"- \[ \].*📅 {TODAY}", regex=True):
        for snippet in note["snippets"]:
            replace(assistant, note["path"], snippet["text"], snippet["text"].replace("[ ]", "[x]"))


def rename_tag(assistant: Assistant) -> None:
    call(assistant, "rename-tag", oldTag="cooking", newTag="kitchen")


def extract_section(assistant: Assistant) -> None:
    path = find(assistant, "Mountain hut")
    text = call(assistant, "read-note", filename=path)
    section = text.partition("## Routes\n")[2].partition("\n## ")[0].strip()
    call(assistant, "create-note", filename="Routes.md", content=f"{section}\n")
    replace(assistant, path, section, "[[Routes]]")


def list_recent(assistant: Assistant) -> str:
    notes = json.loads(call(assistant, "vault-info", query="recent", limit=10))["recent"]
    recent = (note for note in notes if datetime.fromisoformat(note["modified"]).timestamp() >= SINCE)
    return "\n".join(note["path"] for note in recent)


def change_routes(assistant: Assistant) -> None:
    replace(assistant, "Projects/Mountain hut.md", ROUTES, CHANGED_ROUTES)


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
