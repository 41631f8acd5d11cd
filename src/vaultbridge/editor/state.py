"""The one place that knows the active note, the selection and the open files, and which source reported each.

Several sources report at once: Obsidian's workspace file, connected editors, the command line. The newest
report counts, with one exception: the workspace file is written a second late and has no selection, so it is
ignored while an editor inside the same app is connected.

Nothing about a private note gets out: every answer is filtered by `visible` when it is given, because scopes
may change while we run. This module does no I/O and reads no clock.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Final

from msgspec import Struct

from vaultbridge.editor.model import TOP_OF_NOTE, Focus, OpenTab, Selection
from vaultbridge.vault.paths import VaultPath

WORKSPACE: Final = "workspace"
"""The source name of Obsidian's `workspace.json`."""

OBSIDIAN: Final = "obsidian"
"""The app name that an editor inside Obsidian reports: such an editor outranks the workspace file."""

OPEN_FILES_PER_SOURCE: Final = 500
"""More tabs than a person has open; what a source lists beyond them is dropped."""

SELECTION_CHARS: Final = 262_144
"""The longest selected text that is stored. A client shows a line count and attaches the text to a prompt,
which a longer one would fill; so the text is cut, while the range stays exact."""


class _Report(Struct):
    app: str
    path: VaultPath | None = None
    selection: Selection = TOP_OF_NOTE
    open_files: tuple[OpenTab, ...] = ()
    order: int = 0


class EditorState:
    """`visible` says whether assistants may see a note. A person can switch `share_selection` off: then the
    active note, the selection and the open files are not shared, but explicit mentions still are."""

    def __init__(self, visible: Callable[[VaultPath], bool], *, share_selection: bool = True) -> None:
        self._visible = visible
        self._share = share_selection
        self._reports: dict[str, _Report] = {}
        self._order = 0
        self._latest: Focus | None = None
        self._listeners: list[Callable[[], None]] = []

    # For sources.

    def join(self, source: str, app: str) -> None:
        """Add a source. Joining again under the same name forgets its earlier reports."""
        self._reports[source] = _Report(app)

    def leave(self, source: str) -> None:
        """Forget all reports of `source`; an older report of another source counts again."""
        if self._reports.pop(source, None) is not None:
            self._changed()

    def focus_on(self, source: str, path: VaultPath | None, selection: Selection = TOP_OF_NOTE) -> None:
        """`source` reports which note is active (None: no note) and what is selected there."""
        report = self._reports[source]
        if len(selection.text) > SELECTION_CHARS:
            selection = Selection(selection.start, selection.end, selection.text[:SELECTION_CHARS])
        # A repeated report is not new: it must not outrank what another source has reported since.
        if report.order and report.path == path and report.selection == selection:
            return
        report.path, report.selection = path, selection
        self._order += 1
        report.order = self._order
        self._changed()

    def files_open(self, source: str, files: Iterable[OpenTab]) -> None:
        report = self._reports[source]
        listed = tuple(files)[:OPEN_FILES_PER_SOURCE]
        if listed != report.open_files:
            report.open_files = listed
            self._changed()

    def moved(self, old: VaultPath, new: VaultPath) -> None:
        """A note was moved: its new path replaces the old one in all reports."""
        for report in self._reports.values():
            if report.path == old:
                report.path = new
            report.open_files = tuple(
                OpenTab(new, tab.dirty, tab.pinned, tab.preview, tab.lines) if tab.path == old else tab
                for tab in report.open_files
            )
        self._changed()

    def removed(self, path: VaultPath) -> None:
        """A note was deleted from the vault: nobody can be in it."""
        if self._latest is not None and self._latest.path == path:
            self._latest = None
        for report in self._reports.values():
            if report.path == path:
                report.path, report.selection = None, TOP_OF_NOTE
            report.open_files = tuple(tab for tab in report.open_files if tab.path != path)
        self._changed()

    def share_selection(self, *, share: bool) -> None:
        self._share = share
        self._changed()

    def visibility_changed(self) -> None:
        """The scope has changed: the active note that assistants may see may be another one, or none."""
        self._changed()

    # For assistants.

    @property
    def shares_selection(self) -> bool:
        return self._share

    def focus(self) -> Focus | None:
        """Where the person is. None if that is in no note or in a private one, or if sharing is off."""
        newest = self._newest()
        if newest is None or not self._share:
            return None
        source, report = newest
        if report.path is None or not self._visible(report.path):
            return None
        return Focus(report.path, report.selection, source)

    def latest(self) -> Focus | None:
        """The last note that a person was in, even if it has been closed since."""
        latest = self.focus() or self._latest
        return latest if latest is not None and self._share and self._visible(latest.path) else None

    def open_files(self) -> tuple[OpenTab, ...]:
        """Each open note once, in the order of the sources' lists; dirty if any source says so."""
        if not self._share:
            return ()
        found: dict[VaultPath, OpenTab] = {}
        for source, report in self._reports.items():
            if not self._counts(source):
                continue
            listed = report.open_files
            if report.path is not None and all(tab.path != report.path for tab in listed):
                listed = (*listed, OpenTab(report.path))
            for file in listed:
                if not self._visible(file.path):
                    continue
                known = found.get(file.path)
                found[file.path] = file if known is None else _merge(known, file)
        return tuple(found.values())

    def is_dirty(self, path: VaultPath) -> bool:
        return any(file.path == path and file.dirty for file in self.open_files())

    def named_paths(self) -> frozenset[VaultPath]:
        """Every path that any source names now, including private ones: for comparisons only, never to be
        shown. May be called from any thread."""
        reports = tuple(self._reports.values())
        active = {report.path for report in reports if report.path is not None}
        return frozenset(active | {file.path for report in reports for file in report.open_files})

    def sources(self) -> tuple[tuple[str, str], ...]:
        """(name, app) of every source, for status pages."""
        return tuple((source, report.app) for source, report in self._reports.items())

    def subscribe(self, listener: Callable[[], None]) -> Callable[[], None]:
        """Call `listener` after every change, until the returned function is called."""
        self._listeners.append(listener)
        return lambda: self._listeners.remove(listener)

    def _counts(self, source: str) -> bool:
        """Whether the reports of a source are used."""
        if source != WORKSPACE:
            return True
        return not any(report.app == OBSIDIAN and name != WORKSPACE for name, report in self._reports.items())

    def _newest(self) -> tuple[str, _Report] | None:
        reports = [
            (source, report)
            for source, report in self._reports.items()
            if report.order and self._counts(source)
        ]
        return max(reports, key=lambda pair: pair[1].order, default=None)

    def _changed(self) -> None:
        self._latest = self.focus() or self._latest
        for listener in tuple(self._listeners):
            listener()


def _merge(first: OpenTab, second: OpenTab) -> OpenTab:
    return OpenTab(
        first.path,
        dirty=first.dirty or second.dirty,
        pinned=first.pinned or second.pinned,
        preview=first.preview and second.preview,
        lines=first.lines or second.lines,
    )
