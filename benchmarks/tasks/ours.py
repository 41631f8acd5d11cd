"""The twenty requests with our tools."""

from __future__ import annotations

import base64

from tasks.assistant import Assistant, Script
from tasks.vault import CHANGED_ROUTES, LAST_WEEK, PICTURE, ROUTES

BOOKS = """\
filters: rating >= 4
views:
  - type: table
    name: Books
    order: [file.name, author, rating]
"""


def list_rows(answer: str) -> list[str]:
    """What an answer lists, a row each, without the line in parentheses that counts them."""
    return [row for row in answer.splitlines() if row and not row.startswith("(")]


def decide(assistant: Assistant) -> str:
    return assistant.call("obsidian_context", question="What did we decide about syncing, and why?")


def add_task_today(assistant: Assistant) -> None:
    assistant.call("obsidian_write_daily_note", content="- [ ] call the mason")


def rename_project(assistant: Assistant) -> None:
    assistant.call("obsidian_move_note", name="Atlas", to="Compass")


def move_by_tag(assistant: Assistant) -> None:
    assistant.call("obsidian_move_note", query="tag:#done", to="Archive/")


def merge(assistant: Assistant) -> None:
    assistant.call("obsidian_edit_note", op="merge", name="Ada", to="Ada Lund")


def make_table(assistant: Assistant) -> str:
    properties = assistant.call("obsidian_properties")
    assert "rating  number" in properties and "author  text" in properties
    return assistant.call("obsidian_base_query", base=BOOKS)


def read_last_week(assistant: Assistant) -> str:
    return assistant.call("obsidian_daily_note", date=str(LAST_WEEK[0]), until=str(LAST_WEEK[-1]))


def list_untagged(assistant: Assistant) -> str:
    return assistant.call("obsidian_list_files", kind="untagged")


def insert_image(assistant: Assistant) -> None:
    data = base64.b64encode(PICTURE).decode()
    assistant.call("obsidian_add_attachment", name="roof.png", data=data, note="House", embed=True)


def undo(assistant: Assistant) -> None:
    assistant.call("obsidian_undo")


def create_from_template(assistant: Assistant) -> None:
    [template] = [row for row in list_rows(assistant.call("obsidian_template")) if "Meeting" in row]
    assistant.call("obsidian_create_note", name="Meetings/Roof", template=template)


def append_under_heading(assistant: Assistant) -> None:
    assistant.call("obsidian_edit_note", op="append", name="House", heading="Log", content="- fence painted")


def replace_everywhere(assistant: Assistant) -> None:
    assistant.call(
        "obsidian_edit_note",
        op="replace_text",
        query='"Acme Corp"',
        old="Acme Corp",
        new="Acme Inc",
        all=True,
    )


def link_mentions(assistant: Assistant) -> None:
    assistant.call("obsidian_edit_note", op="link_mentions", name="Solar kiln")


def list_backlinks(assistant: Assistant) -> str:
    return assistant.call("obsidian_links", name="Harbour")


def export(assistant: Assistant) -> str:
    return assistant.call("obsidian_read_note", query="path:Workshop file:kiln")


def tick_due_task(assistant: Assistant) -> None:
    due = assistant.call("obsidian_tasks", status="open", due_after="-1", due_before="1")
    [row] = list_rows(due)
    name, line = row.split(": ")[0].rsplit(":", 1)
    assistant.call("obsidian_edit_note", op="set_task", name=name, line=int(line), status="done")


def rename_tag(assistant: Assistant) -> None:
    assistant.call("obsidian_edit_note", op="rename_tag", tag="cooking", to="kitchen")


def extract_section(assistant: Assistant) -> None:
    assistant.call("obsidian_edit_note", op="extract_section", name="Mountain hut", heading="Routes")


def list_recent(assistant: Assistant) -> str:
    return assistant.call("obsidian_list_files", modified_since="yesterday")


def change_routes(assistant: Assistant) -> None:
    assistant.call(
        "obsidian_edit_note", op="replace_text", name="Mountain hut", old=ROUTES, new=CHANGED_ROUTES
    )


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
