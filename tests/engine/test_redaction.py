"""Which errors name a hidden file is decided by the paths that they carry, never by their text."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from vaultbridge.engine import DirectEngine
from vaultbridge.engine.operations import Move
from vaultbridge.errors import (
    AmbiguousName,
    EditRefused,
    EngineFailure,
    NoteBusy,
    NoteNotFound,
    PermissionDenied,
    StaleWrite,
    VaultbridgeError,
)
from vaultbridge.vault.scope import Scope, redact
from vaultbridge.vault.write.replace import to_vault_error
from vaultbridge.vault.write.trash import Trash

REDACTED = "This cannot be done from here: it affects folders that may not be used."

ERRORS: list[Callable[[str], VaultbridgeError]] = [
    NoteNotFound,
    NoteBusy,
    lambda path: NoteNotFound("Other.md", closest=(path,)),
    lambda path: AmbiguousName("Other", ("Other.md", path)),
    lambda path: StaleWrite(path, expected="0", current="1"),
    lambda path: to_vault_error(PermissionError(13, "no"), path),
    lambda path: to_vault_error(OSError(28, "full"), path),
]

names = st.text("aAbB .é", min_size=1, max_size=5).map(str.strip).filter(lambda name: name.strip("."))


def redact_error(error: VaultbridgeError, hidden: set[str]) -> str:
    with pytest.raises(VaultbridgeError) as raised, redact(hidden):
        raise error
    return str(raised.value)


@given(hidden=names, around=names, make=st.sampled_from(ERRORS))
def test_an_error_about_another_file_is_shown_however_alike_the_names_are(
    hidden: str, around: str, make: Callable[[str], VaultbridgeError]
) -> None:
    for path in (f"{around}{hidden}.md", f"{hidden}{around}.md", f"{around}/{hidden}.md", f"{hidden}.md.md"):
        error = make(path)
        assert redact_error(error, {f"{hidden}.md"}) == str(error)


@given(
    folder=names, hidden=names, make=st.sampled_from(ERRORS), spell=st.sampled_from([str.lower, str.upper])
)
def test_an_error_about_a_hidden_file_or_its_folder_names_nothing(
    folder: str, hidden: str, make: Callable[[str], VaultbridgeError], spell: Callable[[str], str]
) -> None:
    path = f"{folder}/{hidden}.md"
    for named in (path, spell(path), folder):
        assert redact_error(make(named), {"Other hidden.md", path}) == REDACTED


def test_an_error_without_paths_is_shown_only_if_nothing_is_hidden() -> None:
    assert redact_error(EditRefused("S.md is odd."), {"S.md"}) == REDACTED
    assert redact_error(EditRefused("S.md is odd."), set()) == "S.md is odd."
    assert redact_error(EngineFailure("The disk is full.", paths=()), {"S.md"}) == "The disk is full."


@settings(max_examples=12, deadline=None)
@given(hidden=names, around=names, locked=st.booleans())
def test_a_move_names_the_visible_note_that_prevents_it_and_no_hidden_one(
    tmp_path_factory: pytest.TempPathFactory, hidden: str, around: str, locked: bool
) -> None:
    """Both notes link to the moved one; one of the two is read-only."""
    visible = f"{around}{hidden}"
    assume(re.fullmatch(r"\w[\w ]*\w|\w", hidden) and re.fullmatch(r"\w[\w ]*\w|\w", visible))
    assume("x" not in (hidden, visible) and hidden.lower() != visible.lower())
    base: Path = tmp_path_factory.mktemp("redaction")
    folder = base / "vault"
    folder.mkdir()
    (folder / "x.md").write_text("text", "utf-8")
    for name in (hidden, visible):
        (folder / f"{name}.md").write_text("[[x]]", "utf-8")
    (folder / f"{hidden if locked else visible}.md").chmod(0o444)
    trash = Trash({"HOME": str(base / "home")})
    scope = Scope(deny=(f"{hidden}.md",))
    with (
        DirectEngine(folder, cache=base / "cache", trash=trash, scope=scope) as engine,
        pytest.raises(EditRefused if locked else PermissionDenied) as raised,
    ):
        engine.apply([Move(note="x", to="y")])
    expected = REDACTED if locked else f"{visible}.md is read-only. Nothing was changed."
    assert str(raised.value) == expected
