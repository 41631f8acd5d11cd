"""Suggests a tool to a caller that asks for one we do not have.

Models know the tool names of other Obsidian servers; for these there is a table of our tools and arguments.
Any other name is compared with ours. A tool that changes something is then suggested only to a caller that
got its name nearly right: a caller that wants to read must never be sent to `delete_note`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

NAME_CHARS: Final = 128
"""How much of an unknown name is compared: twice the longest name that model APIs accept, because clients add
prefixes."""

NEAR_CHARS: Final = 3
"""A shorter name would match too many tools."""

SAME_BEGINNING: Final = 4
"""How many letters a mistyped name must share with the beginning of a destructive tool's name: its verb."""

_OURS: Final = "obsidian"

_DESTRUCTIVE: Final = ("delete", "remove", "trash", "write", "edit", "move", "batch", "undo", "put", "patch")
"""If the name of a tool without hints contains one of these words, it is not suggested to a caller that may
want to read."""

FOREIGN_TOOLS: Final[tuple[tuple[str, str, str], ...]] = (
    (
        "read_note",
        "with the file's path as name",
        "get_file_contents get_note get_note_content get_vault_file read_file view_note fetch get_file "
        "open_note read_content get_note_contents load_note show_note",
    ),
    (
        "read_note",
        "with the paths as names",
        "batch_get_file_contents read_multiple_notes read_notes get_notes read_multiple_files "
        "get_multiple_notes",
    ),
    ("read_note", "with name and outline", "get_outline get_note_outline get_document_map get_headings"),
    ("read_note", "with name and heading", "read_section get_section"),
    (
        "list_files",
        "with folder for one folder",
        "list_files_in_vault list_files_in_dir list_notes list_directory list_vault_files list_vault "
        "get_files list_all_notes get_vault_structure directory_tree browse_vault get_vault_tree",
    ),
    ("list_files", "with kind folder", "list_folders list_directories get_folders"),
    (
        "list_files",
        "with sort modified",
        "get_recent_changes recent_activity get_recent_notes list_recent_notes recent_notes get_recent_files",
    ),
    (
        "search",
        "with query; it takes words, tag:#x, path:x, [property:value] and more",
        "simple_search complex_search global_search search_notes search_vault search_vault_simple "
        "search_files full_text_search find_notes query_notes search_content search_text "
        "search_by_tag find_by_tag search_frontmatter dataview_query",
    ),
    (
        "context",
        "with the question",
        "ask ask_vault ask_question answer_question build_context gather_context get_context retrieve "
        "retrieve_context rag_query semantic_search search_semantic smart_search search_vault_smart "
        "vector_search hybrid_search chat_with_vault",
    ),
    (
        "related",
        "with name",
        "get_related_notes find_related related_notes find_similar similar_notes get_similar_notes "
        "suggest_links suggest_connections find_missing_links recommend_links unlinked_mentions",
    ),
    (
        "edit_note",
        "with op append and content",
        "append_content append_to_note append_note append_to_file append_to_vault_file add_content",
    ),
    (
        "edit_note",
        "with op replace_section, replace_text, append or insert",
        "patch_content patch_note patch_vault_file update_note edit_file search_replace replace_in_note "
        "modify_note search_and_replace update_section insert_content update_file",
    ),
    ("edit_note", "with op prepend and content", "prepend_content prepend_to_note prepend_note"),
    (
        "create_note",
        "with name and content; overwrite replaces a note",
        "put_content write_note create_vault_file write_file create_file new_note save_note add_note",
    ),
    (
        "edit_note",
        "with op set_property, remove_property or rename_property",
        "manage_frontmatter update_frontmatter set_frontmatter set_property update_properties set_properties "
        "update_property remove_property delete_property",
    ),
    (
        "properties",
        "with name",
        "get_frontmatter get_properties get_property list_properties get_metadata get_note_metadata",
    ),
    (
        "edit_note",
        "with op add_tag, remove_tag or rename_tag",
        "manage_tags add_tags remove_tags add_tag remove_tag rename_tag update_tags",
    ),
    ("tags", "", "list_tags list_all_tags get_tags get_all_tags"),
    (
        "delete_note",
        "with the file's path as name",
        "delete_file delete_vault_file remove_note remove_file trash_note",
    ),
    ("move_note", "with name and to", "move_file rename_note rename_file move_vault_file"),
    (
        "links",
        "with name",
        "get_backlinks backlinks get_links get_outgoing_links get_graph find_orphans get_orphans "
        "get_neighbors",
    ),
    ("edit_note", "with op merge and to", "merge_notes merge_note combine_notes"),
    ("tasks", "", "list_tasks get_tasks find_tasks search_tasks query_tasks"),
    ("edit_note", "with op set_task", "toggle_task complete_task update_task set_task"),
    (
        "daily_note",
        "with period and date",
        "get_periodic_note get_recent_periodic_notes get_daily_note read_daily_note get_today_note "
        "resolve_daily_note",
    ),
    (
        "write_daily_note",
        "with content",
        "append_to_daily_note append_daily_note create_daily_note add_to_daily_note append_periodic_note",
    ),
    ("template", "with template and title", "list_templates execute_template get_template expand_template"),
    ("edit_note", "with op insert_template", "insert_template apply_template"),
    ("canvas", "with name", "read_canvas get_canvas"),
    ("edit_canvas", "with name and action", "create_canvas update_canvas add_canvas_node"),
    ("attachment", "with name", "get_attachment read_attachment get_image read_image"),
    ("batch", "with operations", "batch_edit bulk_edit batch_update"),
    ("history", "", "get_history list_changes note_history"),
    ("undo", "", "undo_change revert restore_note"),
    (
        "vault_info",
        "",
        "get_vault_stats vault_stats get_vault_info get_server_info status list_vault_issues "
        "list_available_vaults list_vaults get_stats",
    ),
    ("active", "", "get_active get_active_file get_active_note current_note get_current_note"),
    ("open", "with name", "show_file_in_obsidian open_in_ui open_file open_in_obsidian"),
)
"""Our tool, how to call it, and its names on other servers, without the prefix."""


CHANGED_BY: Final = {
    "tags": "edit_note (op add_tag, remove_tag, rename_tag)",
    "properties": "edit_note (op set_property, remove_property, rename_property)",
    "tasks": "edit_note (op set_task)",
    "template": "edit_note (op insert_template)",
    "daily_note": "write_daily_note",
    "canvas": "edit_canvas",
    "attachment": "add_attachment",
    "history": "undo",
}
"""For a tool that reads, the one that changes what it shows. Callers try to change with an `action`."""


def suggest_tool(name: str, tools: Mapping[str, bool]) -> str:
    """A sentence that names the tool to use, or "". `tools` maps the callable tools to whether each is
    harmless enough to suggest to a caller that may have wanted another."""
    found, how = find_tool(name, tools)
    if not found:
        return ""
    return f"Use {found} {how}." if how else f"Did you mean {found}?"


def find_tool(name: str, tools: Mapping[str, bool]) -> tuple[str, str]:
    """The closest tool and how to call it, or two empty strings. See `suggest_tool`."""
    wanted = _normalize(name[:NAME_CHARS])
    letters = {_normalize(tool): tool for tool in tools}
    for key, tool in letters.items():
        # Different case, or a prefix that the client added.
        if wanted.endswith(key) or (len(wanted) >= NEAR_CHARS and key == _OURS + wanted):
            return tool, ""
    bare = wanted.rpartition(_OURS)[2] or wanted
    for ours, how, names in FOREIGN_TOOLS:
        if any(_normalize(foreign) == bare for foreign in names.split()):
            return next((tool for tool in (f"{_OURS}_{ours}", ours) if tool in tools), ""), how
    return _find_nearest(bare, tools), ""


def is_harmless(name: str, *, reads: bool | None, destroys: bool | None) -> bool:
    """Whether a tool may be suggested to anybody, by its hints or, without hints, by its name."""
    if reads or destroys is False:
        return True
    return destroys is None and not any(verb in name.lower() for verb in _DESTRUCTIVE)


def _find_nearest(wanted: str, tools: Mapping[str, bool]) -> str:
    from difflib import get_close_matches

    letters = {_normalize(tool).removeprefix(_OURS): tool for tool in tools}
    ending = [key for key in letters if len(wanted) >= NEAR_CHARS and key.endswith(wanted)]
    for key in (*ending, *get_close_matches(wanted, letters, n=3)):
        if tools[letters[key]] or key[:SAME_BEGINNING] == wanted[:SAME_BEGINNING]:
            return letters[key]
    return ""


def _normalize(name: str) -> str:
    return "".join(filter(str.isalnum, name)).lower()
