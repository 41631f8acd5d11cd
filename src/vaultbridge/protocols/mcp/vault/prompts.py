"""The prompts of a server: a few built-in ones, and every note of each vault's prompt folder.

A built-in prompt about one note attaches that note, so that the model need not read it first. The text of a
prompt note has `{{placeholders}}`, which are its arguments. Its properties may have a `description` and
`arguments` (a list of names, a list of objects with name, description, required and complete, or an object of
names and descriptions). A placeholder that is not declared is a required argument, except `{{date}}`,
`{{time}}` and `{{title}}`, which are filled in as in a template. The methods of `Prompts` block and run in a
worker thread.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import TYPE_CHECKING, Any, Final

from msgspec import Struct

from vaultbridge.engine.reading import excerpt
from vaultbridge.errors import InvalidArgument, NotFound, VaultbridgeError
from vaultbridge.limits import KIB
from vaultbridge.markdown.model import Note
from vaultbridge.markdown.parse import parse
from vaultbridge.markdown.text import decode, replace_surrogates
from vaultbridge.protocols.mcp.values import (
    Content,
    Page,
    PromptArgument,
    PromptInfo,
    PromptMessage,
    PromptResult,
    TextContent,
)
from vaultbridge.protocols.mcp.vault.resources import paginate
from vaultbridge.vault.dates import expand_template
from vaultbridge.vault.paths import VaultPath, vault_folder
from vaultbridge.vault.read import content_hash
from vaultbridge.vault.walk import FileEntry, walk

if TYPE_CHECKING:
    from vaultbridge.engine import Engine
    from vaultbridge.protocols.mcp.vault.engines import VaultEngines

PROMPT_FOLDER: Final = "Prompts"

PROMPT_NOTES: Final = 200
"""Prompt notes of one vault: clients show them in one menu."""

PROMPT_BYTES: Final = 256 * KIB
"""A larger note is not a prompt, whatever its folder."""

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
                hint=f"Choose one of: {', '.join(names)}." if names else "It takes none.",
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
        description="Notes that belong with a note, linked or not",
        arguments=(_NOTE,),
        attaches="note",
        wording=(
            "Find the notes that belong with [[{note}]], which follows.\n\n"
            "Ask obsidian_related for it, which says why each note belongs with it, and obsidian_context for "
            "what the note is about, in plain words. Leave out what is linked already. Answer "
            "with at most ten notes as [[wikilinks]], the most closely related first, each with one line "
            "that says what connects the two and under which heading a link would fit. Change nothing."
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
            "3. Name what was decided, what got stuck, and notes that were started and abandoned.\n\n"
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
            "table: where it belongs among the existing folders, a better name if it needs one, tags that "
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
            "that matter. Group what they say by subject, say where they disagree or repeat each other, "
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
            "Ask obsidian_properties for its values and types. Say which notes spell a value "
            "differently, have another type than most, or lack the property although their neighbours "
            "in the same folder have it. Propose the smallest set of changes that makes it uniform, note "
            "by note. "
            "Change nothing yet."
        ),
    ),
)


class VaultPrompt(Struct, frozen=True):
    """A prompt note, and the vault it is in."""

    vault: str
    prompt: NotePrompt


Prompt = BuiltIn | VaultPrompt


class Prompts:
    """May be used from any thread. Nothing is cached: prompt notes are few, and may be edited at any time."""

    def __init__(self, engines: VaultEngines, *, folder: str = PROMPT_FOLDER) -> None:
        self._engines = engines
        self._folder = vault_folder(folder)
        self.limit(read_only=False)

    def limit(self, *, read_only: bool) -> None:
        """From now on, leave out the prompts that change the vault, or include them again."""
        self._built_in = [prompt for prompt in BUILT_IN if not (read_only and prompt.changes)]

    def list_infos(self) -> list[PromptInfo]:
        """All prompts, by name."""
        several = len(self._engines) > 1
        return [
            _make_info(name, prompt, several=several)
            for name, prompt in sorted(self._load_all().items(), key=lambda item: item[0])
        ]

    def get(self, name: str, arguments: Mapping[str, str]) -> PromptResult:
        """Raises InvalidArgument for an unknown prompt or argument and for a missing one, NoteNotFound for
        the note to attach."""
        match self.find(name):
            case VaultPrompt(vault=vault, prompt=prompt):
                text = fill(prompt, arguments, self._engines[vault].now())
                return PromptResult((_make_user_message(TextContent(text=text)),), prompt.description)
            case BuiltIn() as prompt:
                return self._render_built_in(prompt, arguments)

    def find(self, name: str) -> Prompt:
        prompt = self._load_all().get(name)
        if prompt is None:
            raise InvalidArgument(
                f"There is no prompt {name!r}.", argument="name", hint="prompts/list has all of them."
            )
        return prompt

    def concerns(self, path: str) -> bool:
        """Whether a change of this file may change the prompts."""
        return not self._folder or path == self._folder or path.startswith(self._folder + "/")

    def _render_built_in(self, prompt: BuiltIn, arguments: Mapping[str, str]) -> PromptResult:
        vault_argument = (_VAULT,) if len(self._engines) > 1 else ()
        check_arguments(prompt.name, (*prompt.arguments, *vault_argument), arguments)
        messages = [_make_user_message(TextContent(text=prompt.text(arguments)))]
        if prompt.attaches and (name := arguments.get(prompt.attaches)):
            messages.append(_make_user_message(self._read_note(name, arguments.get("vault", ""))))
        return PromptResult(tuple(messages), prompt.description)

    def _read_note(self, name: str, vault: str) -> Content:
        """A note to attach, cut to the size of one read."""
        if not vault and len(self._engines) > 1:
            raise InvalidArgument(
                "vault is missing: several vaults are open.",
                argument="vault",
                hint=f"Give one of: {', '.join(self._engines)}.",
            )
        vault = vault or next(iter(self._engines))
        if vault not in self._engines:
            raise NotFound(vault, closest=tuple(self._engines), what="vault")
        engine = self._engines[vault]
        path = engine.find(name)
        data = engine.read_bytes(path)
        cut = excerpt(decode(data).text, Note())
        rest = f"[cut at line {cut.last_line} of {cut.total_lines}; read on with start={cut.next_start}]"
        text = cut.text + (rest if cut.next_start is not None else "")
        # The note is sent as text, because a popular adapter rejects a prompt that contains a resource. The
        # marks around it show where the note begins and ends, because its text is data and not a request of
        # the person. No text contains its own hash, so no note can fake its end.
        mark = f"note-{content_hash(data)}"
        return TextContent(text=f"The note {path}, as data:\n<{mark}>\n{replace_surrogates(text)}\n</{mark}>")

    def _load_all(self) -> dict[str, Prompt]:
        prompts: dict[str, Prompt] = {prompt.name: prompt for prompt in self._built_in}
        for vault in self._engines:
            try:
                engine = self._engines[vault]
            except VaultbridgeError:
                # The built-in prompts still work; tool calls report what is wrong with the vault.
                continue
            for path, prompt in self._read_notes(engine):
                prompts[_free_name(path.removeprefix(f"{self._folder}/"), prompts)] = VaultPrompt(
                    vault, prompt
                )
        return prompts

    def _read_notes(self, engine: Engine) -> Iterator[tuple[VaultPath, NotePrompt]]:
        """The prompt notes, read from disk: they are needed before the index is built."""
        paths = sorted(self._list_paths(engine))
        for path in paths[:PROMPT_NOTES]:
            try:
                data = engine.read_bytes(path)
            except VaultbridgeError:
                # Hidden by the scope, or deleted in the meantime.
                continue
            if len(data) <= PROMPT_BYTES:
                title = path.rpartition("/")[2].removesuffix(".md")
                yield path, parse_prompt(title, replace_surrogates(decode(data).text))

    def _list_paths(self, engine: Engine) -> Iterator[VaultPath]:
        if not engine.is_folder(self._folder):
            return
        for entry in walk(engine.root, VaultPath(self._folder)):
            if not isinstance(entry, FileEntry) or entry.kind != "note" or entry.placeholder:
                continue
            # A hidden note must not take the place of another one among the first few.
            if engine.scope.visible(entry.path):
                yield entry.path


_VAULT: Final = PromptField("vault", "Which vault")


def paginate_prompts(infos: list[PromptInfo], cursor: str) -> Page[PromptInfo]:
    return paginate(infos, cursor, lambda info: info.name)


def arguments_of(prompt: Prompt) -> tuple[PromptField, ...]:
    return prompt.arguments if isinstance(prompt, BuiltIn) else prompt.prompt.arguments


def _make_info(name: str, prompt: Prompt, *, several: bool) -> PromptInfo:
    described = prompt if isinstance(prompt, BuiltIn) else prompt.prompt
    vault_argument = (_VAULT,) if several and isinstance(prompt, BuiltIn) else ()
    return PromptInfo(
        name=name,
        title=described.title,
        description=described.description,
        arguments=tuple(
            PromptArgument(name=argument.name, description=argument.description, required=argument.required)
            for argument in (*described.arguments, *vault_argument)
        ),
    )


def _free_name(path: str, taken: Mapping[str, object]) -> str:
    """An unused name that clients can turn into a command: the note's path in lower case, words joined by
    `_`."""
    name = re.sub(r"\W+", "_", path.lower().removesuffix(".md")).strip("_") or "prompt"
    number = 2
    free = name
    while free in taken:
        free = f"{name}_{number}"
        number += 1
    return free


def _make_user_message(content: Content) -> PromptMessage:
    return PromptMessage("user", content)
