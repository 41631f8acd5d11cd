"""After links were renamed, the index equals a rebuilt one, whoever writes to it meanwhile."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from hypothesis import given, settings
from hypothesis import strategies as st

from support.index import Vault
from vaultbridge.index.store.database import Index
from vaultbridge.index.sync import Synchronizer
from vaultbridge.vault.paths import VaultPath

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
    with TemporaryDirectory(prefix="renamed-") as folder:
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
