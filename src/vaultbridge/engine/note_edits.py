"""The operations that change one note's text, each as changes against that text. Pure."""

from __future__ import annotations

from collections.abc import Mapping

from vaultbridge.engine.operations import (
    AddTag,
    Append,
    ApplyDiff,
    Insert,
    NoteEdit,
    Prepend,
    RemoveProperty,
    RemoveTag,
    RenameProperty,
    ReplaceSection,
    ReplaceText,
    SetProperty,
    SetTask,
)
from vaultbridge.errors import InvalidArgument
from vaultbridge.note import edit, properties_edit, section_edit, tag_edit, task_edit, unified_diff
from vaultbridge.note.change import Change
from vaultbridge.note.model import Note
from vaultbridge.note.property_types import coerce, type_of
from vaultbridge.note.sections import has_section


def changes_for(
    operation: NoteEdit, text: str, note: Note, *, types: Mapping[str, str]
) -> tuple[Change, ...]:
    """`types` are the vault's property types by lower-case name. Raises EditRefused or InvalidArgument."""
    match operation:
        case Append(content=content, heading=heading, block=block, create=create):
            _one_place(heading, block)
            if heading and create and not has_section(text, note, heading):
                return section_edit.append_section(text, note, heading, content)
            if heading:
                return section_edit.append_under_heading(text, note, heading, content)
            if block:
                return section_edit.append_after_block(text, note, block, content)
            return edit.append(text, note, content)
        case Prepend(content=content, heading=heading, block=block, create=create):
            _one_place(heading, block)
            if heading and create and not has_section(text, note, heading):
                return section_edit.append_section(text, note, heading, content)
            if heading:
                return section_edit.prepend_under_heading(text, note, heading, content)
            if block:
                return section_edit.prepend_before_block(text, note, block, content)
            return edit.prepend(text, note, content)
        case ReplaceSection(content=content, heading=heading, block=block):
            _one_place(heading, block)
            if heading:
                return section_edit.replace_under_heading(text, note, heading, content)
            if block:
                return section_edit.replace_block(text, note, block, content)
            raise InvalidArgument("Which section? Give heading or block.", argument="heading")
        case Insert(line=line, content=content):
            return edit.insert_at_line(text, line, content)
        case ReplaceText(old=old, new=new, all=every):
            return edit.replace_text(text, old, new, every=every)
        case ApplyDiff(diff=diff):
            return unified_diff.apply_diff(text, diff)
        case SetProperty(name=name, value=value):
            wanted = coerce(value, type_of(name, types))
            return properties_edit.set_property(text, note, name, wanted)
        case RemoveProperty(name=name):
            return properties_edit.remove_property(text, note, name)
        case RenameProperty(name=name, to=to):
            return properties_edit.rename_property(text, note, name, to)
        case AddTag(tag=tag):
            return tag_edit.add_tag(text, note, tag)
        case RemoveTag(tag=tag):
            return tag_edit.remove_tag(text, note, tag)
        case SetTask(line=line, text=sought, status=status):
            task = task_edit.find_task(note, line=line, text=sought)
            return task_edit.set_task(text, task, status)


def _one_place(heading: str, block: str) -> None:
    if heading and block:
        raise InvalidArgument("Give heading or block, not both.", argument="block")
