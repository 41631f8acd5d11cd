"""A note in which only targets of links changed is derived from what the index knows: as the parser reads
it."""

from __future__ import annotations

import os
import re
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from support.index import Vault
from vaultbridge.index.build import Chunk, FileJob, FileResult, run_chunk
from vaultbridge.index.store.database import Index
from vaultbridge.index.store.relink import Known, Relinked, relink
from vaultbridge.index.store.rows import Rows, build_rows
from vaultbridge.index.sync import Synchronizer
from vaultbridge.markdown.parse import parse
from vaultbridge.vault.paths import VaultPath

FRONTMATTER = (
    "",
    "---\ntags: [a, b]\nrelated: '[[Hub]]'\naliases: [x]\nn: 123456789012345678901234567890\n---\n",
    "---\nbad: [\n---\n",
    "---\nunclosed: x\n",
)
TARGETS = (
    "Hub",
    "Hub renamed",
    "a/Hub",
    "été 🎈",
    "x y",
    "it's (b), c",
    "*a*",
    "`c",
    "a<b",
    "x:: y",
    "a\\",
    "1",
)
LINES = (
    "text LINK and LINK more #tag ^id",
    "LINK",
    "- item LINK",
    "  - nested 🎈 LINK\n    more LINK",
    "1. LINK\n\n   > quoted in it LINK",
    "- [ ] task LINK 📅 2024-01-01",
    "> [!note] Title LINK\n> body LINK",
    "> lazy\nLINK",
    "| a | b |\n| --- | --- |\n| LINK | 𝒳 LINK |",
    "| LINK\n| ---",
    "# Heading LINK",
    "LINK\n---",
    "Under LINK\n===",
    "```\nLINK\n```",
    "    LINK",
    "`LINK` and LINK",
    "$x LINK$ and $$ LINK $$",
    "%% LINK %% LINK",
    "%%\nLINK\n%%",
    "a [^1] LINK\n\n[^1]: note LINK\n    more LINK",
    "see ^[inline LINK\n and LINK] LINK",
    "key:: LINK",
    "LINK key:: value",
    "[key:: LINK] (other:: LINK)",
    "[text](LINK) LINK",
    '[text](dest "LINK") LINK',
    "[text](dest '\nLINK') LINK",
    "[LINK](dest) [a LINK b](c)",
    "<a b=LINK> LINK",
    "<a b='LINK> LINK'>",
    "<div>\nLINK\n</div>",
    "<!-- LINK\n-->",
    "LINK: x",
    "[a LINK]: x",
    "\\LINK !LINK \\!LINK #LINK ^LINK",
    "[LINK] LINK]] [[LINK",
    "LINK^id2",
    "^id2",
    "#tag",
    "",
)


@st.composite
def _drafts(draw: st.DrawFn) -> tuple[str, str]:
    """A note, and the same note with other targets in some of its links."""
    end = draw(st.sampled_from(["\n", "\r\n", "\r"]))
    lines = draw(st.lists(st.sampled_from(LINES), min_size=1, max_size=6))
    between = draw(st.sampled_from(["\n", "\n\n", "\n \n"]))
    pattern = draw(st.sampled_from(FRONTMATTER)) + between.join(lines) + draw(st.sampled_from(["", "\n"]))
    form = st.sampled_from(
        ["[[{}]]", "![[{}]]", "[[{}#Part]]", "[[{}|shown 🎈]]", "[[{}\\|shown]]", "[[{} ]]"]
    )
    before: list[str] = []
    after: list[str] = []
    for piece in re.split("(LINK)", pattern):
        if piece != "LINK":
            before.append(piece)
            after.append(piece)
            continue
        written, old = draw(form), draw(st.sampled_from(TARGETS))
        new = draw(st.sampled_from((old, *TARGETS)))
        before.append(written.format(old))
        after.append(written.format(new))
    return "".join(before).replace("\n", end), "".join(after).replace("\n", end)


def make_rows(text: str) -> Rows:
    return build_rows(parse(text), text, "hash")


def derive(before: str, after: str) -> Relinked | None:
    return relink(Known(make_rows(before).note, before, "hash before"), after, "hash")


def apply_to(rows: Rows, change: Relinked) -> Rows:
    """The rows of a note with what the index writes of this change: everything else in it stays."""
    links = list(rows.links)
    for seq, raw, target, key, exact_key in change.links:
        line, flags, _, _, subpath, _, _ = links[seq]
        links[seq] = (line, flags, raw, target, subpath, key, exact_key)
    assert rows.heads == change.heads
    return replace(rows, hash=change.hash, text=change.text, note=change.note, links=links)


@settings(max_examples=800, deadline=None)
@given(_drafts())
@example(("[x]([[a b]])", "[x]([[ab]])"))
@example(("<a b=[[x y]]>", "<a b=[[xy]]>"))
@example(("[[Hub]] k:: v", "[[Hub 2]] k:: v"))
@example(("[![[Hub]]](x) [[Hub]]", "[![[Hub]]](x) [[Hub 2]]"))
def test_what_is_derived_equals_what_is_parsed(drafts: tuple[str, str]) -> None:
    before, after = drafts
    derived = derive(before, after)
    if derived is not None:
        assert apply_to(make_rows(before), derived) == make_rows(after) == derived.all_rows()


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (
            "See [[Hub]], and [[Hub#Part|it]].\n\n# After\n",
            "See [[Hub 2]], and [[Hub 2#Part|it]].\n\n# After\n",
        ),
        (
            "---\ntags: [x]\n---\n- [[Hub]]\n  - 🎈 ![[Hub]] ^id\n",
            "---\ntags: [x]\n---\n- [[é]]\n  - 🎈 ![[é]] ^id\n",
        ),
        ("> [!note] T\r\n> [[Hub]]\r\n\r\n#tag", "> [!note] T\r\n> [[a/Hub]]\r\n\r\n#tag"),
        ("| a |\n| - |\n| [[Hub\\|x]] |\n\n- [ ] task", "| a |\n| - |\n| [[H\\|x]] |\n\n- [ ] task"),
        ("[a](b.md)\n\n[[Hub]] [c](d.md)", "[a](b.md)\n\n[[Hub 2]] [c](d.md)"),
    ],
)
def test_a_renamed_link_is_derived(before: str, after: str) -> None:
    derived = derive(before, after)
    assert derived is not None
    assert apply_to(make_rows(before), derived) == make_rows(after) == derived.all_rows()


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("[[Hub]]", "[[Hub]] more"),
        ("[[Hub]] a", "[[Hub]]"),
        ("[[Hub]]", "![[Hub]]"),
        ("[[Hub|a]]", "[[Hub|b]]"),
        ("[[Hub]]", "[[Hub|b]]"),
        ("[[Hub]]", "[[`Hub]]"),
        ("# [[Hub]]", "# [[Hub 2]]"),
        ("- [ ] [[Hub]]", "- [ ] [[Hub 2]]"),
        ("[a](Hub.md)", "[a](Hub2.md)"),
        ("---\na: '[[Hub]]'\n---", "---\na: '[[Hub 2]]'\n---"),
        ("text", "other"),
    ],
)
def test_anything_else_is_parsed(before: str, after: str) -> None:
    assert derive(before, after) is None


def test_a_text_that_cannot_be_decoded_is_parsed(tmp_path: Path) -> None:
    known = Known(make_rows("[[Hub]] a").note, "[[Hub]] a", "hash before")

    def read(data: bytes) -> FileResult:
        (tmp_path / "n.md").write_bytes(data)
        job = FileJob(1, "n.md", "note", len(data), known_hash="hash before")
        (result,) = run_chunk(Chunk(str(tmp_path), False, [job]), lambda _: {1: known})
        return result

    assert read(b"[[Hub 2]] a").relinked is not None
    broken = read(b"[[Hub 2]] \xff")
    assert broken.relinked is None
    assert broken.rows is not None
    assert broken.rows.problems


def test_an_index_in_which_links_were_renamed_equals_a_rebuilt_one(empty_vault: Vault) -> None:
    texts = {f"n{n}.md": line.replace("LINK", "[[Hub]]") for n, line in enumerate(LINES)}
    empty_vault.write({"Hub.md": "", "Hub 2.md": "", **texts})
    empty_vault.sync_all()
    for old, new in (("[[Hub]]", "[[Hub 2]]"), ("[[Hub 2]]", "[[a/Hub]]"), ("[[a/Hub]]", "[[Hub]]")):
        texts = {path: text.replace(old, new) for path, text in texts.items()}
        empty_vault.write(dict(texts))
        empty_vault.sync_paths(*texts)
        assert empty_vault.dump() == empty_vault.rebuild()


class _Overtaken(Index):
    """An index in which another process writes after we have read the files and before we write."""

    def __init__(self, folder: Path, name: str) -> None:
        super().__init__(folder, name)
        self.meanwhile: Callable[[], object] = lambda: None

    @contextmanager
    def writing(self, *, silently: bool = False) -> Iterator[sqlite3.Connection]:
        self.meanwhile()
        with super().writing(silently=silently) as db:
            yield db


_PIECES = st.sampled_from(("see LINK", "word", "été", "#tag", "\n\n", "\n# Head\n", "\n- [ ] task\n"))
_PLAIN = st.sampled_from(("Hub renamed", "a/Hub", "été"))


@st.composite
def _renames(draw: st.DrawFn) -> tuple[str, str, str]:
    """A note, the same note with another target in its links, and a different note, or "" for none."""
    pattern = " ".join([*draw(st.lists(_PIECES, max_size=5)), "LINK", *draw(st.lists(_PIECES, max_size=5))])
    other = draw(st.one_of(st.just(""), st.lists(_PIECES, min_size=1, max_size=5).map(" other ".join)))
    new = f"[[{draw(_PLAIN)}]]"
    return pattern.replace("LINK", "[[Hub]]"), pattern.replace("LINK", new), other.replace("LINK", new)


@settings(max_examples=30, deadline=None)
@given(st.lists(_renames(), min_size=1, max_size=4))
def test_a_note_that_another_process_indexes_meanwhile_has_the_rows_of_its_text(
    notes: list[tuple[str, str, str]],
) -> None:
    """What is derived from the note that we knew must not be added to the note that is there now."""
    with TemporaryDirectory(prefix="relink-") as folder:
        vault = Vault(Path(folder))
        paths = [VaultPath(f"n{n}.md") for n in range(len(notes))]
        vault.write({"Hub.md": "", **{path: note[0] for path, note in zip(paths, notes, strict=True)}})
        vault.sync_all()
        index = _Overtaken.open(vault.cache)
        assert isinstance(index, _Overtaken)

        def index_meanwhile() -> None:
            """The same text, or an older one that was restored in the meantime: then ours counts as newer."""
            for path, (_, _, other) in zip(paths, notes, strict=True):
                if other:
                    vault.write({path: other})
                    os.utime(vault.folder / path, ns=(10**18, 10**18))
            vault.sync_paths(*paths)

        ours = {path: note[1] for path, note in zip(paths, notes, strict=True)}
        vault.write({**ours})
        index.meanwhile = index_meanwhile
        Synchronizer(vault.root, index).sync_paths(paths)
        index.close()
        vault.write({**ours})
        vault.sync_paths(*paths)
        assert vault.dump() == vault.rebuild()
        vault.close()
