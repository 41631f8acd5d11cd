"""Who is where, from several sources at once, and what of it may be known."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from vaultbridge.editor.model import TOP_OF_NOTE, Focus, OpenTab, Point, Selection
from vaultbridge.editor.state import OBSIDIAN, OPEN_FILES_PER_SOURCE, SELECTION_CHARS, WORKSPACE, EditorState
from vaultbridge.vault.paths import VaultPath, vault_path

A, B, SECRET = vault_path("A.md"), vault_path("Folder/B.md"), vault_path("Private/Secret.md")
WORDS = Selection(Point(2, 3), Point(2, 8), "words")


def is_not_private(path: VaultPath) -> bool:
    return not path.startswith("Private/")


def make_state(*sources: tuple[str, str]) -> EditorState:
    state = EditorState(is_not_private)
    for name, app in sources:
        state.join(name, app)
    return state


def test_without_a_report_there_is_no_focus() -> None:
    state = make_state(("editor-1", "page"))
    assert state.focus() is None
    assert state.open_files() == ()


def test_the_newest_report_decides() -> None:
    state = make_state(("one", "page"), ("two", "page"))
    state.focus_on("one", A)
    state.focus_on("two", B, WORDS)
    assert state.focus() == Focus(B, WORDS, "two")
    state.focus_on("one", A, WORDS)
    assert state.focus() == Focus(A, WORDS, "one")


def test_a_repeated_report_is_not_new() -> None:
    """A page that repeats itself must not take the focus from another."""
    state = make_state(("one", "page"), ("two", "page"))
    state.focus_on("one", A)
    state.focus_on("two", B)
    state.focus_on("one", A)
    assert state.focus() == Focus(B, TOP_OF_NOTE, "two")


def test_when_a_source_leaves_an_older_report_counts_again() -> None:
    state = make_state(("one", "page"), ("two", "page"))
    state.focus_on("one", A)
    state.focus_on("two", B)
    state.leave("two")
    assert state.focus() == Focus(A, TOP_OF_NOTE, "one")
    state.leave("one")
    assert state.focus() is None


def test_closing_the_file_clears_the_focus() -> None:
    state = make_state(("one", "page"))
    state.focus_on("one", A)
    state.focus_on("one", None)
    assert state.focus() is None
    assert state.latest() == Focus(A, TOP_OF_NOTE, "one")


def test_the_workspace_file_is_ignored_while_obsidian_itself_reports() -> None:
    """It is written a second later and knows no selection: it would wipe out what the companion said."""
    state = make_state((WORKSPACE, OBSIDIAN), ("editor-1", OBSIDIAN))
    state.focus_on("editor-1", A, WORDS)
    state.focus_on(WORKSPACE, B)
    state.files_open(WORKSPACE, [OpenTab(B)])
    assert state.focus() == Focus(A, WORDS, "editor-1")
    assert [file.path for file in state.open_files()] == [A]
    state.leave("editor-1")
    assert state.focus() == Focus(B, TOP_OF_NOTE, WORKSPACE)


def test_the_workspace_file_counts_beside_a_page() -> None:
    state = make_state((WORKSPACE, OBSIDIAN), ("editor-1", "page"))
    state.focus_on("editor-1", A)
    state.focus_on(WORKSPACE, B)
    assert state.focus() == Focus(B, TOP_OF_NOTE, WORKSPACE)


def test_open_files_of_all_sources_are_joined() -> None:
    state = make_state(("one", "page"), ("two", "page"))
    state.files_open("one", [OpenTab(A, lines=3), OpenTab(B, preview=True)])
    state.files_open("two", [OpenTab(B, dirty=True, pinned=True)])
    assert state.open_files() == (OpenTab(A, lines=3), OpenTab(B, dirty=True, pinned=True))
    assert state.is_dirty(B)
    assert not state.is_dirty(A)


def test_the_active_note_counts_as_open() -> None:
    state = make_state(("one", "page"))
    state.focus_on("one", A)
    assert state.open_files() == (OpenTab(A),)


def test_a_renamed_note_is_followed() -> None:
    state = make_state(("one", "page"))
    state.files_open("one", [OpenTab(A, dirty=True)])
    state.focus_on("one", A, WORDS)
    state.moved(A, B)
    assert state.focus() == Focus(B, WORDS, "one")
    assert state.open_files() == (OpenTab(B, dirty=True),)


def test_a_deleted_note_loses_the_focus() -> None:
    state = make_state(("one", "page"))
    state.files_open("one", [OpenTab(A), OpenTab(B)])
    state.focus_on("one", A, WORDS)
    state.removed(A)
    assert state.focus() is None
    assert state.latest() is None
    assert state.open_files() == (OpenTab(B),)


# privacy


def test_nothing_about_a_private_note_gets_out() -> None:
    state = make_state(("one", "page"))
    state.files_open("one", [OpenTab(SECRET, dirty=True), OpenTab(A)])
    state.focus_on("one", SECRET, WORDS)
    assert state.focus() is None
    assert state.latest() is None
    assert state.open_files() == (OpenTab(A),)
    assert not state.is_dirty(SECRET)


def test_an_older_note_is_not_reported_while_the_person_is_in_a_private_one() -> None:
    state = make_state(("one", "page"), ("two", "page"))
    state.focus_on("one", A, WORDS)
    state.focus_on("two", SECRET, WORDS)
    assert state.focus() is None


def test_a_scope_that_changes_counts_at_once() -> None:
    hidden: set[str] = set()
    state = EditorState(lambda path: path not in hidden)
    state.join("one", "page")
    state.focus_on("one", A, WORDS)
    assert state.focus() is not None
    hidden.add(A)
    assert state.focus() is None
    assert state.latest() is None


def test_the_switch_hides_everything() -> None:
    state = make_state(("one", "page"))
    state.focus_on("one", A, WORDS)
    state.share_selection(share=False)
    assert (state.focus(), state.latest(), state.open_files()) == (None, None, ())
    state.share_selection(share=True)
    assert state.focus() == Focus(A, WORDS, "one")


# caps and listeners


def test_the_reports_of_a_source_are_limited() -> None:
    state = make_state(("one", "page"))
    state.files_open("one", [OpenTab(vault_path(f"{n}.md")) for n in range(OPEN_FILES_PER_SOURCE + 5)])
    assert len(state.open_files()) == OPEN_FILES_PER_SOURCE
    state.focus_on("one", A, Selection(Point(1, 0), Point(99, 0), "x" * (SELECTION_CHARS + 1)))
    focus = state.focus()
    assert focus is not None
    assert len(focus.selection.text) == SELECTION_CHARS
    assert focus.selection.end == Point(99, 0)


def test_listeners_are_called_for_changes_only_and_can_unsubscribe() -> None:
    state = make_state(("one", "page"))
    heard: list[int] = []
    stop = state.subscribe(lambda: heard.append(1))
    state.focus_on("one", A)
    state.focus_on("one", A)
    state.files_open("one", [OpenTab(A)])
    state.files_open("one", [OpenTab(A)])
    assert len(heard) == 2
    stop()
    state.focus_on("one", B)
    assert len(heard) == 2


PATHS = st.sampled_from([None, A, B, SECRET])
STEPS = st.lists(
    st.tuples(
        st.sampled_from(["focus", "open", "leave", "join"]), st.sampled_from(["x", "y", WORKSPACE]), PATHS
    ),
    max_size=30,
)


@given(STEPS)
def test_whatever_happens_no_private_path_gets_out(steps: list[tuple[str, str, VaultPath | None]]) -> None:
    state = EditorState(is_not_private)
    joined: set[str] = set()
    for what, source, path in steps:
        if what == "leave":
            state.leave(source)
            joined.discard(source)
            continue
        if what == "join" or source not in joined:
            state.join(source, OBSIDIAN)
            joined.add(source)
        if what == "focus":
            state.focus_on(source, path, WORDS)
        elif what == "open" and path is not None:
            state.files_open(source, [OpenTab(path)])
        paths = [focus.path for focus in (state.focus(), state.latest()) if focus is not None]
        paths += [file.path for file in state.open_files()]
        assert SECRET not in paths
