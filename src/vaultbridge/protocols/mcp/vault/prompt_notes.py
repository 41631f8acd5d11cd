"""The prompts: those that come with the server, and notes that are read as prompts.

The text of a prompt note has `{{placeholders}}`, which are its arguments. Its properties may have a
`description` and `arguments` (a list of names, a list of objects with name, description, required and
complete, or an object of names and descriptions). A placeholder that is not declared is a required argument,
except `{{date}}`, `{{time}}` and `{{title}}`, which are filled in as in a template. Pure: `prompts` finds the
notes.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Any, Final

from msgspec import Struct

from vaultbridge.errors import InvalidArgument
from vaultbridge.markdown.parse import parse
from vaultbridge.vault.dates import expand_template

ARGUMENTS: Final = 32
"""The most arguments of one prompt: a person fills them in one by one."""

DESCRIPTION_CHARS: Final = 500
"""How much of a description is listed: clients show it in a menu."""

_PLACEHOLDER: Final = re.compile(r"\{\{[ \t]*([^\W_][\w -]{0,63}?)[ \t]*(?::[^{}\r\n]*)?\}\}")
_TEMPLATE_WORDS: Final = frozenset({"date", "time", "title"})


class PromptField(Struct, frozen=True):
    """`complete` is the kind of value to suggest: note, tag, folder, property or nothing."""

    name: str
    description: str = ""
    required: bool = False
    complete: str = ""


class NotePrompt(Struct, frozen=True):
    title: str
    description: str
    arguments: tuple[PromptField, ...]
    body: str


def parse_prompt(title: str, text: str) -> NotePrompt:
    """Read a note as a prompt. Properties that make no sense are ignored, because a person may be in the
    middle of writing the note."""
    note = parse(text)
    values: Mapping[str, Any] = note.properties.values if note.properties is not None else {}
    body = text[note.properties.end :] if note.properties is not None else text
    declared = {argument.name: argument for argument in _read_declared(values.get("arguments"))}
    for match in _PLACEHOLDER.finditer(body):
        name = match[1]
        if name not in declared and name.lower() not in _TEMPLATE_WORDS:
            declared[name] = PromptField(name, required=True)
    description = values.get("description")
    return NotePrompt(
        title=title,
        description=description.strip()[:DESCRIPTION_CHARS] if isinstance(description, str) else "",
        arguments=tuple(declared.values())[:ARGUMENTS],
        body=body.strip(),
    )


def fill(prompt: NotePrompt, arguments: Mapping[str, str], now: datetime) -> str:
    """The prompt's text with these arguments filled in; an optional one that is missing becomes empty. Raises
    InvalidArgument for a missing required one and for an unknown one."""
    check_arguments(prompt.title, prompt.arguments, arguments)
    names = {argument.name for argument in prompt.arguments}

    def replace(match: re.Match[str]) -> str:
        if match[1] in names:
            return arguments.get(match[1], "")
        return expand_template(match[0], title=prompt.title, now=now)

    return _PLACEHOLDER.sub(replace, prompt.body)


def check_arguments(prompt: str, known: tuple[PromptField, ...], arguments: Mapping[str, str]) -> None:
    names = [argument.name for argument in known]
    for argument in known:
        if argument.required and not arguments.get(argument.name, "").strip():
            raise InvalidArgument(
                f"{argument.name} is missing: the prompt {prompt!r} needs it.",
                argument=argument.name,
                hint=argument.description,
            )
    for name in arguments:
        if name not in names:
            raise InvalidArgument(
                f"The prompt {prompt!r} has no argument {name!r}.",
                argument=name,
                hint=f"There are: {', '.join(names)}." if names else "It takes none.",
            )


def _read_declared(value: Any) -> Iterator[PromptField]:
    if isinstance(value, str):
        value = [value]
    if isinstance(value, dict):
        value = [
            {"name": name, **(about if isinstance(about, dict) else {"description": about})}
            for name, about in value.items()
        ]
    if not isinstance(value, list):
        return
    for entry in value:
        if isinstance(entry, str) and entry.strip():
            yield PromptField(entry.strip(), complete=_choose_kind(entry.strip(), ""))
        elif isinstance(entry, dict) and isinstance(entry.get("name"), str) and entry["name"].strip():
            name = entry["name"].strip()
            about = entry.get("description")
            yield PromptField(
                name,
                about.strip()[:DESCRIPTION_CHARS] if isinstance(about, str) else "",
                entry.get("required") is True,
                _choose_kind(name, entry.get("complete")),
            )


_KINDS: Final = {"note": "note", "tag": "tag", "folder": "folder", "property": "property"}


def _choose_kind(name: str, declared: Any) -> str:
    """Return what to suggest for an argument: the kind that it declares, else the one that its name
    implies."""
    chosen = declared if isinstance(declared, str) and declared else name.lower()
    return _KINDS.get(chosen, "")


class BuiltIn(Struct, frozen=True, kw_only=True):
    """`wording` has `{argument}` where the value of an argument goes; `defaults` replace missing ones.
    `attaches` names the argument whose note is attached. `changes`: following the prompt changes the
    vault."""

    name: str
    title: str
    description: str
    arguments: tuple[PromptField, ...]
    wording: str
    defaults: Mapping[str, str] = {}
    attaches: str = ""
    changes: bool = False

    def text(self, arguments: Mapping[str, str]) -> str:
        values = {
            argument.name: arguments.get(argument.name) or self.defaults.get(argument.name, "")
            for argument in self.arguments
        }
        # Not str.format: values and the wording may contain braces.
        text = self.wording
        for name in values:
            text = text.replace(f"{{{name}}}", f"\0{name}\0")
        for name, value in values.items():
            text = text.replace(f"\0{name}\0", value)
        return text


_NOTE: Final = PromptField("note", "The note's name or path", required=True, complete="note")

BUILT_IN: Final[tuple[BuiltIn, ...]] = (
    BuiltIn(
        name="summarize_note",
        title="Summarize a note",
        description="The gist of a note, its open questions and its tasks",
        arguments=(_NOTE, PromptField("focus", "What the summary should be about")),
        attaches="note",
        defaults={"focus": "what matters most in it"},
        wording=(
            "Summarize the note [[{note}]], which follows. Focus: {focus}.\n\n"
            "Give five sentences at most, then the open questions and the unfinished tasks as lists. Where "
            "the note leans on a linked note that you need, read that one too. Say only what the notes "
            "say, and name a heading as [[{note}#Heading]] where a reader may want to look it up."
        ),
    ),
    BuiltIn(
        name="ask",
        title="Ask the vault",
        description="What the notes say about a question, and where",
        arguments=(PromptField("question", "As you would ask a person", required=True),),
        wording=(
            "Answer from this vault: {question}\n\n"
            "Begin with obsidian_context and the question. If a part of the answer is missing, ask again in "
            "other words, or read a section that a passage leads to. Say only what the notes say, and after "
            "each statement name its place as [[Note#Heading]]. Say what the notes leave open."
        ),
    ),
    BuiltIn(
        name="find_related",
        title="Find related notes",
        description="Notes that belong together with a note, linked or not",
        arguments=(_NOTE,),
        attaches="note",
        wording=(
            "Find the notes that belong together with [[{note}]], which follows.\n\n"
            "Ask obsidian_related for it, which says why each note belongs to it, and obsidian_context for "
            "what the note is about, in plain words. Leave out what is linked already. Answer "
            "with at most ten notes as [[wikilinks]], the most closely related first, each with one line "
            "that says what joins the two and under which heading a link would fit. Change nothing."
        ),
    ),
    BuiltIn(
        name="weekly_review",
        title="Weekly review",
        description="What was done, what is open and what is due, from the notes of a week",
        arguments=(PromptField("week", "A day of the week, as YYYY-MM-DD; this week when left out"),),
        defaults={"week": "today"},
        wording=(
            "Review the week of {week} from this vault.\n\n"
            "1. Read the daily notes of that week (obsidian_daily_note) and the notes changed in it "
            "(obsidian_list_files, the recent ones).\n"
            "2. List the tasks done, those still open, and those due in the next seven days "
            "(obsidian_tasks).\n"
            "3. Name what was decided, what got stuck, and notes that were begun and left.\n\n"
            "Answer on one page: done, open, due, stuck, and at most three suggestions for next week. Name "
            "every note as a [[wikilink]]. Write nothing into the vault unless asked to."
        ),
    ),
    BuiltIn(
        name="tidy_inbox",
        title="Tidy the inbox",
        description="Propose a place, a name, tags and links for each note of a folder, then carry it out",
        arguments=(PromptField("folder", "The folder to tidy; Inbox when left out", complete="folder"),),
        defaults={"folder": "Inbox"},
        changes=True,
        wording=(
            "Tidy the folder {folder} of this vault.\n\n"
            "List its notes (obsidian_list_files) and read each. For every note propose, in one row of a "
            "table: where it belongs among the folders there are, a better name if it needs one, tags that "
            "the vault already uses (obsidian_tags), and notes to link it with. Mark notes to merge or to "
            "delete, with the reason.\n\n"
            "Then stop and ask which rows to carry out. Move with obsidian_move_note, which keeps links "
            "right; try edits with dry_run first."
        ),
    ),
    BuiltIn(
        name="tag_overview",
        title="Overview of a tag",
        description="What the notes under a tag say together, and where they disagree",
        arguments=(PromptField("tag", "The tag, with or without #", required=True, complete="tag"),),
        wording=(
            "Give an overview of the notes tagged {tag}.\n\n"
            "Find them with obsidian_search (tag:{tag}), read the outlines first and then the sections "
            "that matter. Group what they say by subject, tell where they disagree or repeat each other, "
            "and what is missing. Name every note as a [[wikilink]]. Change nothing."
        ),
    ),
    BuiltIn(
        name="check_property",
        title="Check a property",
        description="Whether all notes use a property in the same way, and what to correct",
        arguments=(PromptField("property", "The property's name", required=True, complete="property"),),
        wording=(
            "Check how the property {property} is used in this vault.\n\n"
            "Ask obsidian_properties for its values and types. Tell which notes spell a value in another "
            "way, have another type than most, or lack the property although their neighbours in the same "
            "folder have it. Propose the smallest set of changes that makes it uniform, note by note. "
            "Change nothing yet."
        ),
    ),
)
