"""The prompts that come with the server: questions people put to any vault."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from msgspec import Struct

from vaultbridge.dialects.vault_prompt_notes import Argument


class BuiltIn(Struct, frozen=True, kw_only=True):
    """`wording` has `{argument}` where an argument's value belongs, `defaults` stand in for those not given.
    `brings` names the argument whose note is sent along. `changes`: the work ends in changes of the vault."""

    name: str
    title: str
    description: str
    arguments: tuple[Argument, ...]
    wording: str
    defaults: Mapping[str, str] = {}
    brings: str = ""
    changes: bool = False

    def text(self, given: Mapping[str, str]) -> str:
        values = {one.name: given.get(one.name) or self.defaults.get(one.name, "") for one in self.arguments}
        # Not str.format: a value or the wording may hold braces of its own.
        text = self.wording
        for name in values:
            text = text.replace(f"{{{name}}}", f"\0{name}\0")
        for name, value in values.items():
            text = text.replace(f"\0{name}\0", value)
        return text


_NOTE: Final = Argument("note", "The note's name or path", required=True, complete="note")

BUILT_IN: Final[tuple[BuiltIn, ...]] = (
    BuiltIn(
        name="summarize_note",
        title="Summarize a note",
        description="The gist of a note, its open questions and its tasks",
        arguments=(_NOTE, Argument("focus", "What the summary should be about")),
        brings="note",
        defaults={"focus": "what matters most in it"},
        wording=(
            "Summarize the note [[{note}]], which follows. Focus: {focus}.\n\n"
            "Give five sentences at most, then the open questions and the unfinished tasks as lists. Where "
            "the note leans on a linked note that you need, read that one too. Say only what the notes "
            "say, and name a heading as [[{note}#Heading]] where a reader may want to look it up."
        ),
    ),
    BuiltIn(
        name="find_related",
        title="Find related notes",
        description="Notes that belong together with a note, linked or not",
        arguments=(_NOTE,),
        brings="note",
        wording=(
            "Find the notes that belong together with [[{note}]], which follows.\n\n"
            "Look at its links and backlinks (obsidian_links), at the notes that share its tags, and "
            "search for its three or four most telling terms. Leave out what is linked already. Answer "
            "with at most ten notes as [[wikilinks]], the most closely related first, each with one line "
            "that says what joins the two and under which heading a link would fit. Change nothing."
        ),
    ),
    BuiltIn(
        name="weekly_review",
        title="Weekly review",
        description="What was done, what is open and what is due, from the notes of a week",
        arguments=(Argument("week", "A day of the week, as YYYY-MM-DD; this week when left out"),),
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
        arguments=(Argument("folder", "The folder to tidy; Inbox when left out", complete="folder"),),
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
        arguments=(Argument("tag", "The tag, with or without #", required=True, complete="tag"),),
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
        description="Whether a property is used alike in all notes, and what to put right",
        arguments=(Argument("property", "The property's name", required=True, complete="property"),),
        wording=(
            "Check how the property {property} is used in this vault.\n\n"
            "Ask obsidian_properties for its values and types. Tell which notes spell a value in another "
            "way, have another type than most, or lack the property although their neighbours in the same "
            "folder have it. Propose the smallest set of changes that makes it uniform, note by note. "
            "Change nothing yet."
        ),
    ),
)
