"""Operations carried out on a draft: names become paths, scopes are asked, links follow.

Each operation either changes the draft or raises and leaves the caller to throw the draft away. Nothing is
written here.

The operations that change one note's text, each as changes against that text. Pure.

Operations that move and delete files and folders, on a draft.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping

from vaultbridge.canvas.edit import rename_canvas_tag
from vaultbridge.engine.draft import Draft
from vaultbridge.engine.move import linking_to, move, pin_older_links, references_to
from vaultbridge.engine.naming import (
    NamingContext,
    as_folder,
    as_made,
    existing,
    files_under,
    holds_text,
    is_folder,
    new_note_path,
    same_path,
)
from vaultbridge.engine.operations import (
    AddFile,
    AddTag,
    Append,
    ApplyDiff,
    Create,
    Delete,
    Insert,
    Move,
    NoteEdit,
    Operation,
    Prepend,
    RemoveProperty,
    RemoveTag,
    RenameBlock,
    RenameHeading,
    RenameProperty,
    RenameTag,
    ReplaceSection,
    ReplaceText,
    SetProperty,
    SetTask,
    Write,
)
from vaultbridge.errors import EditRefused, InvalidArgument, NoteNotFound
from vaultbridge.links.heading_rename import SubpathPlan, plan_block_rename, plan_heading_rename
from vaultbridge.links.resolve import name_key
from vaultbridge.markdown.edits import properties as properties_edit
from vaultbridge.markdown.edits import sections as section_edit
from vaultbridge.markdown.edits import tags as tag_edit
from vaultbridge.markdown.edits import tasks as task_edit
from vaultbridge.markdown.edits import text as edit
from vaultbridge.markdown.edits import unified_diff
from vaultbridge.markdown.edits.change import Change, apply_changes
from vaultbridge.markdown.edits.property_types import coerce_value, property_type
from vaultbridge.markdown.model import Note
from vaultbridge.markdown.parse import parse
from vaultbridge.markdown.sections import has_section
from vaultbridge.markdown.text import encode
from vaultbridge.vault.paths import (
    TEXT_SUFFIXES,
    VaultPath,
    folder_of,
    is_under,
    join,
    name_of,
    new_vault_path,
    vault_path,
)


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
            wanted = coerce_value(value, property_type(name, types))
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


def move_named(draft: Draft, operation: Move, around: NamingContext) -> None:
    folder = as_folder(draft, operation.note, around)
    if folder is not None:
        _move_folder(draft, folder, operation.to, around)
        return
    source = existing(draft, operation.note, around)
    around.scope.check_write(source)
    to = _into_folder(draft, source, operation.to, around)
    target = as_made(draft, _move_target(source, to), around)
    around.scope.check_write(target, new=True)
    if operation.expected:
        draft.open(source, expected=operation.expected)
    if target == source:
        return
    taken = [path for path in draft.table.same_path(target) if path != source]
    if taken or is_folder(draft, target, around):
        raise EditRefused(
            f"{target} exists already; {source} was not moved.", hint="Choose another name.", path=target
        )
    move(draft, around.sources, {source: target}, around.settings.links, around.scope.visible)


def _into_folder(draft: Draft, source: VaultPath, to: str, around: NamingContext) -> str:
    """`to` with a slash at its end when it names a folder that is there, as `mv` would take it: beside the
    source, or from the vault's top. The folder that the source is in already is not meant: then it is a new
    name. Raises EditRefused when two folders, or a folder and a note, could be meant."""
    if to.endswith("/"):
        return to
    beside = join(folder_of(source), to) if "/" not in to else to
    own = {name_key(source), name_key(folder_of(source))}
    found: dict[str, VaultPath] = {}
    for spelled in (beside, to):
        with contextlib.suppress(InvalidArgument):
            folder = vault_path(spelled)
            visible = name_key(folder) not in own and around.scope.visible(folder)
            if visible and is_folder(draft, folder, around):
                found.setdefault(name_key(folder), folder)
    if not found:
        return to
    readings = [f"{folder}/" for folder in found.values()]
    note = f"{beside}.md"
    if source.lower().endswith(".md") and draft.seen.same_path(note):
        readings.append(note)
    if len(readings) > 1:
        raise EditRefused(
            f"{to!r} may mean {' or '.join(readings)}; {source} was not moved.",
            hint="Write the whole path: with / at its end to move into a folder.",
        )
    return f"./{readings[0]}"


def _move_target(source: VaultPath, to: str) -> VaultPath:
    """A name alone renames in place, a `/` at the end moves into that folder, all else is the new path. The
    extension stays unless another one is written."""
    if to.endswith("/"):
        return new_vault_path(to + name_of(source))
    extension = "." + name_of(source).rpartition(".")[2] if "." in name_of(source) else ""
    spelled = to
    if extension.lower() in TEXT_SUFFIXES:
        if not spelled.lower().endswith(extension.lower()):
            spelled += extension
    elif "." not in name_of(spelled):
        spelled += extension
    if "/" not in spelled:
        spelled = join(folder_of(source), spelled)
    return new_vault_path(spelled)


def _move_folder(draft: Draft, source: VaultPath, to: str, around: NamingContext) -> None:
    if to.endswith("/"):
        inside = vault_path(to + name_of(source))
        into = folder_of(inside)
        spelled = inside if not into or is_folder(draft, into, around) else into
    else:
        spelled = VaultPath(to) if "/" in to or not to else join(folder_of(source), to)
    target = as_made(draft, new_vault_path(spelled), around)
    around.scope.check_write(source)
    around.scope.check_write(target, new=True)
    if target == source:
        return
    if is_under(target, source):
        raise EditRefused(f"{source}/ cannot be moved into itself.", hint="Choose another folder.")
    same_but_case = target.lower() == source.lower()
    if not same_but_case and (is_folder(draft, target, around) or draft.table.same_path(target)):
        raise EditRefused(
            f"{target} exists already; {source}/ was not moved.",
            hint=f"Choose another name, or write {target}/ to move into it.",
        )
    files = files_under(draft, source, around)
    moves = {path: VaultPath(target + path[len(source) :]) for path in files}
    move(draft, around.sources, moves, around.settings.links, around.scope.visible, folder=(source, target))


def delete_named(draft: Draft, operation: Delete, around: NamingContext) -> None:
    folder = as_folder(draft, operation.note, around)
    option = around.settings.trash_option
    if folder is not None:
        around.scope.check_write(folder)
        on_disk = around.is_folder(folder) and not draft.left(folder)
        files = files_under(draft, folder, around)
        _tell_linking(draft, files, f"into {folder}/", around)
        draft.delete(files, root=folder, option=option, on_disk=on_disk)
        return
    path = existing(draft, operation.note, around)
    around.scope.check_write(path)
    if operation.expected:
        draft.open(path, expected=operation.expected)
    _tell_linking(draft, [path], f"to {path}", around)
    draft.delete([path], root=path, option=option)


def _tell_linking(draft: Draft, files: list[VaultPath], where: str, around: NamingContext) -> None:
    """How many files will be left with links to those that are about to go."""
    left = linking_to(draft, around.sources, files)
    if left:
        draft.notices.append(f"{len(left)} file(s) still link {where}.")


def operate(draft: Draft, operation: Operation, around: NamingContext) -> None:
    """Carry one operation out on the draft. Raises VaultbridgeErrors."""
    match operation:
        case Create():
            _create(draft, operation, around)
        case Write(note=name, content=content, expected=expected):
            path = existing(draft, name, around)
            around.scope.check_write(path)
            file = draft.open(path, expected=expected)
            _must_hold_text(path, file.data)
            file.text  # noqa: B018 - decodes, so that a BOM is known and kept
            file.rewrite(_with_own_line_ends(content, file.text))
        case Move():
            move_named(draft, operation, around)
        case Delete():
            delete_named(draft, operation, around)
        case AddFile(path=wanted, data=data):
            path = as_made(draft, new_vault_path(wanted), around)
            around.scope.check_write(path, new=True)
            _must_be_free(draft, path, around)
            pin_older_links(draft, around.sources, path, around.settings.links)
            draft.create(path, data)
        case RenameTag():
            _rename_tag(draft, operation, around)
        case RenameHeading(note=name, heading=heading, to=to, expected=expected):
            path = _writable(draft, name, around)
            file = draft.open(path, expected=expected)
            references = references_to(draft, around.sources, path)
            plan = plan_heading_rename(
                path, file.text, file.note, heading, to, references, read=_reader(draft)
            )
            _edit_all(draft, path, plan)
        case RenameBlock(note=name, block=block, to=to, expected=expected):
            path = _writable(draft, name, around)
            file = draft.open(path, expected=expected)
            references = references_to(draft, around.sources, path)
            plan = plan_block_rename(path, file.text, file.note, block, to, references, read=_reader(draft))
            _edit_all(draft, path, plan)
        case _:
            _edit_note(draft, operation, around)


def _writable(draft: Draft, name: str, around: NamingContext) -> VaultPath:
    path = existing(draft, name, around)
    around.scope.check_write(path)
    if not path.lower().endswith(".md"):
        raise EditRefused(f"{path} is not a note.", hint="This edit needs a Markdown file (.md).")
    return path


def _edit_note(draft: Draft, operation: NoteEdit, around: NamingContext) -> None:
    path = _writable(draft, operation.note, around)
    file = draft.open(path, expected=operation.expected)
    draft.edit(path, changes_for(operation, file.text, file.note, types=around.settings.property_types))


def _create(draft: Draft, operation: Create, around: NamingContext) -> None:
    path = as_made(draft, new_note_path(operation.note, around.settings), around)
    around.scope.check_write(path, new=True)
    text = operation.content
    if operation.template:
        expanded = around.expand(operation.template, name_of(path).removesuffix(".md"))
        text = expanded if not text else apply_changes(expanded, _appended(expanded, text))
    for name, value in operation.properties.items():
        wanted = coerce_value(value, property_type(name, around.settings.property_types))
        text = apply_changes(text, properties_edit.set_property(text, parse(text), name, wanted))
    there = same_path(draft, path)
    if not there and (stored := around.stored(path)) is not None and not draft.left(stored):
        draft.notice_file(stored)
        there = [stored]
    if there:
        if not around.scope.visible(there[0]):
            raise EditRefused(f"{path} cannot be created.", hint="Choose another name.")
        if not operation.overwrite:
            raise EditRefused(
                f"{there[0]} exists already.",
                hint="Set overwrite to replace it, edit it instead, or choose another name.",
                path=there[0],
            )
        file = draft.open(there[0], expected=operation.expected)
        file.text  # noqa: B018 - decodes, so that a BOM is known and kept
        file.rewrite(text)
        return
    if operation.expected:
        raise EditRefused(f"{path} does not exist, so it cannot have the hash {operation.expected}.")
    _must_be_free(draft, path, around)
    pin_older_links(draft, around.sources, path, around.settings.links)
    draft.create(path, encode(text, bom=False))


def _appended(text: str, addition: str) -> tuple[Change, ...]:
    from vaultbridge.markdown.edits.text import append

    return append(text, parse(text), addition)


def _must_be_free(draft: Draft, path: VaultPath, around: NamingContext) -> None:
    if draft.table.same_path(path) or is_folder(draft, path, around):
        raise EditRefused(f"{path} exists already.", hint="Choose another name.", path=path)


def _must_hold_text(path: VaultPath, data: bytes) -> None:
    if not holds_text(path, data):
        raise EditRefused(
            f"{path} is not a text file: it holds bytes that are not UTF-8.",
            hint="Text replaces only text. Choose another name.",
            path=path,
        )


def _rename_tag(draft: Draft, operation: RenameTag, around: NamingContext) -> None:
    if operation.note:
        path = _writable(draft, operation.note, around)
        file = draft.open(path, expected=operation.expected)
        draft.edit(path, tag_edit.rename_tag(file.text, file.note, operation.tag, operation.to))
        return
    indexed = draft.where_now(around.notes_with_tag(operation.tag))
    written = [file.path for file in draft.opened() if file.changed and around.scope.visible(file.path)]
    found = False
    for path in dict.fromkeys((*indexed, *written)):
        file = draft.open(path)
        if path.lower().endswith(".canvas"):
            changes = rename_canvas_tag(file.text, operation.tag, operation.to)
        else:
            changes = tag_edit.rename_tag(file.text, file.note, operation.tag, operation.to)
        if changes:
            found = True
            around.scope.check_write(path)
            draft.edit(path, changes)
    if not found:
        raise NoteNotFound(operation.tag, what="tag")


def _reader(draft: Draft) -> Callable[[str], str]:
    return lambda path: draft.open(VaultPath(path)).text


def _edit_all(draft: Draft, path: VaultPath, plan: SubpathPlan) -> None:
    for source, changes in plan.edits.items():
        file = draft.edit(VaultPath(source), changes)
        file.links_rewritten += len(changes) - (source == path)


def _with_own_line_ends(content: str, old: str) -> str:
    """A caller that only knows LF must not turn a CR LF note into another: the whole text is given the line
    ends of the old one when those were all CR LF and the new text has none."""
    if "\r\n" in old and "\r" not in content and old.count("\n") == old.count("\r\n"):
        return content.replace("\n", "\r\n")
    return content
