"""The prompts of a server: a few built-in ones, and every note of each vault's prompt folder.

A built-in prompt about one note attaches that note, so that the model need not read it first. Functions block
and run in a worker thread. `prompt_notes` parses the notes.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Final

from msgspec import Struct

from vaultbridge.errors import InvalidArgument, NoteNotFound, VaultbridgeError
from vaultbridge.limits import KIB
from vaultbridge.protocols.mcp.values import (
    Content,
    Page,
    PromptArgument,
    PromptInfo,
    PromptMessage,
    PromptResult,
    TextContent,
)
from vaultbridge.protocols.mcp.vault.prompt_notes import (
    BUILT_IN,
    BuiltIn,
    NotePrompt,
    PromptField,
    check_arguments,
    fill,
    parse_prompt,
)
from vaultbridge.protocols.mcp.vault.resources import paginate
from vaultbridge.vault.paths import VaultPath, vault_folder

if TYPE_CHECKING:
    from vaultbridge.engine import Engine
    from vaultbridge.protocols.mcp.vault.engines import VaultEngines

PROMPT_FOLDER: Final = "Prompts"

PROMPT_NOTES: Final = 200
"""Prompt notes of one vault: clients show them in one menu."""

PROMPT_BYTES: Final = 256 * KIB
"""A larger note is not a prompt, whatever its folder."""

FOLDER_DEPTH: Final = 4
"""How deep the prompt folder is searched."""


class VaultPrompt(Struct, frozen=True):
    """A prompt note, and the vault it is in."""

    vault: str
    prompt: NotePrompt


Prompt = BuiltIn | VaultPrompt


class Prompts:
    """May be used from any thread. Nothing is cached: prompt notes are few, and may be edited at any time."""

    def __init__(
        self, engines: VaultEngines, *, folder: str = PROMPT_FOLDER, read_only: bool = False
    ) -> None:
        self._engines = engines
        self._folder = vault_folder(folder)
        self.limit(read_only=read_only)

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
            raise NoteNotFound(vault, closest=tuple(self._engines), what="vault")
        from vaultbridge.engine.reading import excerpt
        from vaultbridge.markdown.model import Note
        from vaultbridge.markdown.text import decode, replace_surrogates
        from vaultbridge.vault.read import content_hash

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
        from vaultbridge.markdown.text import decode, replace_surrogates

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
        top = engine.root.place(self._folder)
        for folder, below, files in os.walk(top):
            depth = len(Path(folder).relative_to(top).parts)
            below[:] = [] if depth >= FOLDER_DEPTH else [name for name in below if not name.startswith(".")]
            for file in files:
                if file.lower().endswith(".md") and (path := engine.root.path_of(Path(folder, file))):
                    yield path


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
