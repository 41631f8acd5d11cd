"""Every operation on every odd note: no byte changes that the edit did not name, and undo gives all back."""

from __future__ import annotations

import difflib

import pytest

from vaultbridge.engine.operations import (
    AddTag,
    Append,
    ApplyDiff,
    Insert,
    Move,
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
)
from vaultbridge.engine.operations.base import Operation
from vaultbridge.markdown.text import decode

from .conftest import MakeVault, read_contents

LINES = (
    b"---",
    b"zip: 01234 # a comment",
    b"Quoted:   'as it \"is\"'",
    b"tags: [ one, two ]   # kept",
    b"---",
    b"# Top",
    b"",
    b"text with [[Other]] and #tag  ",
    b"",
    b"## Part",
    b"- [ ] do it ^id1",
    b"- [x] done\xff\xfe raw bytes \xc3",
    b"",
    b"## Part two",
    b"\ttabs and nbsp\xc2\xa0here",
    b"last line [x](Other.md)",
)
FORMS = {
    "lf": (b"", b"\n", b"\n"),
    "crlf": (b"", b"\r\n", b"\r\n"),
    "bom": (b"\xef\xbb\xbf", b"\n", b"\n"),
    "bom crlf without final line end": (b"\xef\xbb\xbf", b"\r\n", b""),
    "without final line end": (b"", b"\n", b""),
}
EDITS: dict[str, tuple[Operation, int]] = {
    # The operation, and how many old lines it may replace.
    "append": (Append(note="N", content="added"), 1),
    "append under heading": (Append(note="N", content="added", heading="Part"), 0),
    "append after block": (Append(note="N", content="added", block="id1"), 0),
    "prepend": (Prepend(note="N", content="added"), 0),
    "prepend under heading": (Prepend(note="N", content="added", heading="Top#Part"), 0),
    "insert": (Insert(note="N", line=8, content="added"), 0),
    "replace text": (ReplaceText(note="N", old="do it", new="added"), 1),
    "replace section": (ReplaceSection(note="N", content="added", heading="Part"), 3),
    "diff": (
        ApplyDiff(note="N", diff="@@ -8,1 +8,1 @@\n-text with [[Other]] and #tag  \n+added\n"),
        1,
    ),
    "set property": (SetProperty(note="N", name="zip", value="added"), 1),
    "new property": (SetProperty(note="N", name="fresh", value=["added"]), 0),
    "remove property": (RemoveProperty(note="N", name="quoted"), 1),
    "rename property": (RenameProperty(note="N", name="zip", to="added"), 1),
    "add tag": (AddTag(note="N", tag="added"), 1),
    "remove tag": (RemoveTag(note="N", tag="two"), 1),
    "rename tag": (RenameTag(tag="tag", to="added"), 1),
    "task": (SetTask(note="N", text="do it"), 1),
    "rename heading": (RenameHeading(note="N", heading="Part", to="added"), 1),
    "rename block": (RenameBlock(note="N", block="id1", to="added"), 1),
    "rename a linked note": (Move(note="Other", to="added"), 2),
}


@pytest.mark.parametrize("form", FORMS)
def test_an_edit_changes_only_the_bytes_it_names_and_undo_restores_them(
    make_vault: MakeVault, form: str
) -> None:
    bom, end, final = FORMS[form]
    note = bom + end.join(LINES) + final
    engine = make_vault({"N.md": note, "Other.md": b"x"})
    place = engine.root.folder / "N.md"
    place.chmod(0o640)
    for what, (operation, replaced) in EDITS.items():
        before = read_contents(engine)
        change = int(engine.apply([operation]).change_id)
        after = place.read_bytes()
        assert after.startswith(bom) and after.count(b"\xef\xbb\xbf") == len(bom) // 3, what
        old, new = note.split(end), after.split(end)
        opcodes = difflib.SequenceMatcher(None, old, new, autojunk=False).get_opcodes()
        touched = sum(i2 - i1 for tag, i1, i2, _, _ in opcodes if tag != "equal")
        assert touched <= replaced, (what, opcodes, after)
        if end == b"\r\n":
            assert b"\n" not in after.replace(b"\r\n", b""), what
        else:
            assert b"\r" not in after, what
        if what not in ("replace section",):
            assert b"\xff\xfe raw bytes \xc3" in after, what
        if final == b"":
            assert not after.endswith(end), what
        assert place.stat().st_mode & 0o777 == 0o640, what
        assert decode(after).bom is bool(bom)
        engine.undo(change)
        assert read_contents(engine) == before, what
