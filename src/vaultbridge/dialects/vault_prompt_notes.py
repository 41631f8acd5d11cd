"""Prompts that people keep as notes: a note's text with `{{placeholders}}` is a prompt with arguments.

The note's properties may say `description` and `arguments` (a list of names, a list of objects with name,
description, required and complete, or an object of names and descriptions). A placeholder that no argument
declares is a required argument of its own, except `{{date}}`, `{{time}}` and `{{title}}`, which are filled in
as in a template. Pure: where the notes lie is `vault_prompts`' duty.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Any, Final

from msgspec import Struct

from vaultbridge.errors import InvalidArgument
from vaultbridge.note.parse import parse
from vaultbridge.vault.templates import expand_template

ARGUMENTS: Final = 32
"""The most arguments of one prompt: a person fills them in one by one."""

DESCRIPTION_CHARS: Final = 500
"""What is shown of a description: it stands in a menu."""

_PLACEHOLDER: Final = re.compile(r"\{\{[ \t]*([^\W_][\w -]{0,63}?)[ \t]*(?::[^{}\r\n]*)?\}\}")
_TEMPLATE_WORDS: Final = frozenset({"date", "time", "title"})


class Argument(Struct, frozen=True):
    """`complete` says what kind of value is suggested: note, tag, folder, property or nothing."""

    name: str
    description: str = ""
    required: bool = False
    complete: str = ""


class NotePrompt(Struct, frozen=True):
    title: str
    description: str
    arguments: tuple[Argument, ...]
    body: str


def prompt_of(title: str, text: str) -> NotePrompt:
    """The prompt that a note is. Properties that make no sense are left out, never an error: the note is a
    person's, and they may be in the middle of writing it."""
    note = parse(text)
    values: Mapping[str, Any] = note.properties.values if note.properties is not None else {}
    body = text[note.properties.end :] if note.properties is not None else text
    declared = {argument.name: argument for argument in _declared(values.get("arguments"))}
    for found in _PLACEHOLDER.finditer(body):
        name = found[1]
        if name not in declared and name.lower() not in _TEMPLATE_WORDS:
            declared[name] = Argument(name, required=True)
    description = values.get("description")
    return NotePrompt(
        title=title,
        description=description.strip()[:DESCRIPTION_CHARS] if isinstance(description, str) else "",
        arguments=tuple(declared.values())[:ARGUMENTS],
        body=body.strip(),
    )


def filled(prompt: NotePrompt, given: Mapping[str, str], now: datetime) -> str:
    """The prompt's text for these arguments; an optional one that is not given leaves nothing behind. Raises
    InvalidArgument for a missing or unknown one."""
    check_arguments(prompt.title, prompt.arguments, given)
    names = {argument.name for argument in prompt.arguments}

    def value(found: re.Match[str]) -> str:
        if found[1] in names:
            return given.get(found[1], "")
        return expand_template(found[0], title=prompt.title, now=now)

    return _PLACEHOLDER.sub(value, prompt.body)


def check_arguments(prompt: str, known: tuple[Argument, ...], given: Mapping[str, str]) -> None:
    names = [argument.name for argument in known]
    for argument in known:
        if argument.required and not given.get(argument.name, "").strip():
            raise InvalidArgument(
                f"{argument.name} is missing: the prompt {prompt!r} needs it.",
                argument=argument.name,
                hint=argument.description,
            )
    for name in given:
        if name not in names:
            raise InvalidArgument(
                f"The prompt {prompt!r} has no argument {name!r}.",
                argument=name,
                hint=f"There are: {', '.join(names)}." if names else "It takes none.",
            )


def _declared(value: Any) -> Iterator[Argument]:
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
            yield Argument(entry.strip(), complete=_kind(entry.strip(), ""))
        elif isinstance(entry, dict) and isinstance(entry.get("name"), str) and entry["name"].strip():
            name = entry["name"].strip()
            about = entry.get("description")
            yield Argument(
                name,
                about.strip()[:DESCRIPTION_CHARS] if isinstance(about, str) else "",
                entry.get("required") is True,
                _kind(name, entry.get("complete")),
            )


_KINDS: Final = {"note": "note", "tag": "tag", "folder": "folder", "property": "property"}


def _kind(name: str, wanted: Any) -> str:
    """What to suggest for an argument: as it says, else what its name means."""
    chosen = wanted if isinstance(wanted, str) and wanted else name.lower()
    return _KINDS.get(chosen, "")
