"""The vault as it would be after some operations, while nothing is written yet.

A draft reads files from disk once, keeps their new state in memory, and finally returns the steps of one
transaction. Operations therefore see each other's results, a dry run is a draft that is thrown away, and a
refused operation leaves nothing behind. A draft knows nothing about operations.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from vaultbridge.engine.reading import parse_file
from vaultbridge.errors import EditRefused, NoteNotFound, StaleWrite
from vaultbridge.limits import NOTE_WRITE_BYTES
from vaultbridge.links.resolve import FileTable
from vaultbridge.markdown.edits.change import Change, apply_changes
from vaultbridge.markdown.edits.properties import describe_damage
from vaultbridge.markdown.model import Note
from vaultbridge.markdown.text import decode, encode
from vaultbridge.vault.paths import VaultPath, Visible, folder_of, is_under
from vaultbridge.vault.read import content_hash, is_hash_of
from vaultbridge.vault.scope import HiddenNoteInUse
from vaultbridge.vault.write.steps import (
    ABSENT,
    MoveFile,
    MoveFolder,
    Step,
    TrashFile,
    TrashOption,
    WriteFile,
)


class DraftFile:
    """One file of the draft. `origin` is its path on disk (None for a new one), `path` its path now."""

    __slots__ = (
        "_before_hash",
        "_note",
        "_text",
        "before",
        "bom",
        "data",
        "links_rewritten",
        "origin",
        "path",
    )

    def __init__(self, path: VaultPath, *, origin: VaultPath | None, before: bytes | None) -> None:
        self.path = path
        self.origin = origin
        self.before = before
        self.data = before if before is not None else b""
        self.links_rewritten = 0
        self.bom = False
        self._before_hash: str | None = None
        self._text: str | None = None
        self._note: Note | None = None

    @property
    def before_hash(self) -> str:
        """The hash of the file on disk; "" for a new one."""
        if self._before_hash is None:
            self._before_hash = content_hash(self.before) if self.before is not None else ""
        return self._before_hash

    @property
    def text(self) -> str:
        if self._text is None:
            decoded = decode(self.data)
            self._text, self.bom = decoded.text, decoded.bom
        return self._text

    @property
    def note(self) -> Note:
        """Parsed once per state of the text."""
        if self._note is None:
            self._note = parse_file(self.path, self.text)
        return self._note

    @property
    def changed(self) -> bool:
        return self.data != self.before

    def rewrite(self, text: str) -> None:
        data = encode(text, bom=self.bom)
        if len(data) > NOTE_WRITE_BYTES:
            raise EditRefused(
                f"{self.path} would have {len(data)} bytes; at most {NOTE_WRITE_BYTES} can be written.",
                paths=(self.path,),
            )
        self.data, self._text, self._note = data, text, None

    def rewrite_whole(self, text: str) -> None:
        """Give the file this text, exactly as it is. A BOM stays, because no reader is shown it; a text that
        begins with one does not get a second."""
        bare = text.removeprefix("\ufeff")
        self.text  # noqa: B018 - decodes, so that a BOM is known
        self.bom = self.bom or bare is not text
        self.rewrite(bare)

    def replace(self, data: bytes) -> None:
        self.data, self._text, self._note = data, None, None


class Draft:
    """`read` returns a file's bytes from disk or raises NoteNotFound; `table` returns the vault's files, and
    is called only when they are needed: an edit of a note that is named by its path needs none of the others.
    `existing` returns a function that says whether a file exists for the caller; None when all do."""

    def __init__(
        self,
        read: Callable[[VaultPath], bytes],
        table: Callable[[], FileTable],
        existing: Callable[[], Callable[[str], bool]] | None = None,
    ) -> None:
        self._read = read
        self._load_table = table
        self._table: FileTable | None = None
        self._own_table = False
        self._found: list[VaultPath] = []
        """Files on disk that the table may lack when it is loaded."""
        self._existing = existing
        self._exists: Callable[[str], bool] | None = None
        self._visible_table: FileTable | None = None
        self._files: dict[VaultPath, DraftFile] = {}
        self._on_disk: list[Step] = []
        self._left: set[VaultPath] = set()
        """Paths on disk whose file has been moved away or deleted in this draft."""
        self._origins: dict[VaultPath, VaultPath] = {}
        """Where a moved file that nobody has opened is on disk."""
        self.notices: list[str] = []

    @property
    def table(self) -> FileTable:
        if self._table is None:
            self._table = self._load_table()
            for path in self._found:
                self.add_known_file(path)
        return self._table

    @property
    def keeps_paths(self) -> bool:
        """Whether every file still has the path that it has on disk, and no file was added."""
        return not self._left and all(file.origin == path for path, file in self._files.items())

    def exists(self, path: VaultPath) -> bool:
        return path in self.table

    @property
    def restricted(self) -> bool:
        """Whether some files may be hidden from the caller."""
        return self._existing is not None

    def hides(self, path: str) -> bool:
        """Whether a file does not exist for the caller."""
        if self._existing is None:
            return False
        if self._exists is None:
            # Only now: it may have to look at every file of the vault.
            self._exists = self._existing()
        return not self._exists(path)

    @property
    def visible_table(self) -> FileTable:
        """The files that exist for the caller."""
        if self._existing is None:
            return self.table
        if self._visible_table is None:
            self._visible_table = FileTable(path for path in self.table if not self.hides(path))
        return self._visible_table

    def table_for(self, source: str) -> FileTable:
        """The files among which the links of `source` are resolved. The links of visible notes never lead to
        a hidden note; those of a hidden note may lead anywhere in the vault."""
        return self.table if self.hides(source) else self.visible_table

    def has_left(self, path: VaultPath) -> bool:
        """Whether the file or folder at `path` on disk has been moved away or deleted in this draft, by
        itself or with a folder that contains it."""
        while path:
            if path in self._left:
                return True
            path = folder_of(path)
        return False

    def origin(self, path: VaultPath) -> VaultPath:
        """The path on disk of a file of the draft; for a new file its own path."""
        file = self._files.get(path)
        return (file.origin or path) if file is not None else self._origins.get(path, path)

    def translate_paths(self, on_disk: Iterable[VaultPath]) -> list[VaultPath]:
        """Translates paths on disk to paths in the draft, leaving out files that are gone."""
        moved = {origin: path for path, origin in self._origins.items() if path not in self._files}
        moved |= {file.origin: file.path for file in self._files.values() if file.origin is not None}
        known = (moved.get(path, path) for path in on_disk if path in moved or not self.has_left(path))
        return [path for path in known if self.exists(path)]

    def add_known_file(self, path: VaultPath) -> None:
        """Adds a file that is on disk, whether the table knows it yet or not."""
        if self._table is None:
            self._found.append(path)
        elif path not in self._table:
            self._add(path)

    def open(self, path: VaultPath, *, expected: str = "") -> DraftFile:
        """Returns the file at `path` as it is in the draft. `expected` is the hash that the caller saw."""
        file = self._files.get(path)
        if file is None:
            origin = self._origins.get(path, path)
            if origin == path and self.has_left(path):
                raise NoteNotFound(path)
            file = DraftFile(path, origin=origin, before=self._read(origin))
            self._files[path] = file
        if expected:
            current = content_hash(file.data)
            # Later edits of the same note in a batch may state the hash from before the batch.
            if not (is_hash_of(expected, current) or is_hash_of(expected, file.before_hash)):
                raise StaleWrite(path, expected=expected, current=current)
        return file

    def open_listed(self, path: VaultPath) -> DraftFile | None:
        """Like `open`, for a file that only the index names: None if another program has just deleted it."""
        try:
            return self.open(path)
        except NoteNotFound:
            return None
        except HiddenNoteInUse as error:
            if error.gone:
                return None
            raise

    def edit(self, path: VaultPath, changes: Iterable[Change], *, expected: str = "") -> DraftFile:
        file = self.open(path, expected=expected)
        file.rewrite(apply_changes(file.text, changes))
        return file

    def create(self, path: VaultPath, data: bytes) -> DraftFile:
        """Creates a file; the caller has checked that the path is free in the draft."""
        file = DraftFile(path, origin=None, before=None)
        file.replace(data)
        self._files[path] = file
        self._add(path)
        return file

    def delete(
        self, paths: Iterable[VaultPath], *, root: VaultPath, option: TrashOption, on_disk: bool = False
    ) -> None:
        """Moves files to the trash: `root` is the file itself, or the folder that contains all of `paths`;
        `on_disk` says that the folder exists even if it contains no file."""
        expected: str | None = None
        for path in paths:
            self._remove(path)
            file = self._files.pop(path, None)
            if file is None or file.origin is not None:
                on_disk = True
                self._left.add(path)
            if path == root and file is not None and file.before is not None:
                expected = file.before_hash
        self._left.add(root)
        if on_disk:
            self._on_disk.append(TrashFile(root, option, expected))

    def move_file(self, source: VaultPath, target: VaultPath) -> None:
        """Moves the file only; the caller rewrites links."""
        self._remove(source)
        self._add(target)
        file = self._files.pop(source, None)
        on_disk = file is None or file.origin is not None
        if file is not None:
            self._put(file, target)
        if on_disk:
            expected = file.before_hash if file is not None and file.before is not None else None
            self._on_disk.append(MoveFile(source, target, expected))
            self._left.add(source)
            self._left.discard(target)
            if file is None:
                self._record_move(source, target)

    def move_folder(
        self, source: VaultPath, target: VaultPath, moves: Iterable[tuple[VaultPath, VaultPath]]
    ) -> None:
        """Moves a folder with the files in it; `moves` are those files, each with its new path."""
        on_disk = False
        for old, new in moves:
            self._remove(old)
            self._add(new)
            file = self._files.pop(old, None)
            if file is None:
                self._record_move(old, new)
            else:
                self._put(file, new)
            if file is None or file.origin is not None:
                on_disk = True
                self._left.add(old)
                self._left.discard(new)
        if on_disk or not any(is_under(p, target) for p in self._files):
            self._on_disk.append(MoveFolder(source, target))
            self._left.add(source)
            self._left.discard(target)

    def _put(self, file: DraftFile, target: VaultPath) -> None:
        file.path = target
        self._files[target] = file

    def _record_move(self, source: VaultPath, target: VaultPath) -> None:
        """Records the move of a file that has not been opened: when it is, it is read from its place on
        disk."""
        self._origins[target] = self._origins.pop(source, source)

    def _add(self, path: VaultPath) -> None:
        self._writable_table().add(path)
        if self._visible_table is not None and not self.hides(path):
            self._visible_table.add(path)

    def _remove(self, path: VaultPath) -> None:
        self._writable_table().remove(path)
        if self._visible_table is not None:
            self._visible_table.remove(path)

    def _writable_table(self) -> FileTable:
        table = self.table
        if not self._own_table:
            table = self._table = table.copy()
            self._own_table = True
        return table

    def opened_files(self) -> Iterator[DraftFile]:
        yield from self._files.values()

    def new_paths(self) -> Iterator[VaultPath]:
        """The files whose paths exist only in this draft: new ones and moved ones."""
        yield from (file.path for file in self._files.values() if file.origin != file.path)
        yield from (path for path, origin in self._origins.items() if origin != path)

    def check_properties(self, visible: Visible) -> None:
        """Raises EditRefused if the properties of a note could be read before and could not be afterwards.
        Notes that the caller does not see change only because links follow a move, and must not stop it."""
        for file in self._files.values():
            if not file.changed or not file.path.lower().endswith(".md") or not visible(file.path):
                continue
            damage = describe_damage(decode(file.before or b"").text, file.text)
            if damage:
                could, done = ("could no longer", "changed") if file.before else ("could not", "created")
                raise EditRefused(
                    f"The properties of {file.path} {could} be read, so it was not {done}. {damage}",
                    hint="Use set_property, or quote a value that contains ': ' or '#'.",
                    path=file.path,
                )

    def steps(self) -> tuple[Step, ...]:
        """The steps of one transaction: moves and deletions in the order of the operations, then writes."""
        writes = [
            WriteFile(file.path, file.data, ABSENT if file.before is None else file.before_hash)
            for file in self._files.values()
            if file.changed
        ]
        return (*self._on_disk, *writes)
