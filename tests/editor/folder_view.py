"""A vault view on a real folder, for tests of the editor side that need no index.

Reads and writes through the vault's own paths and scope; the engine's view is tested with the engine.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from vaultbridge.editor.ports import Finding, FindingsOf
from vaultbridge.errors import NoteNotFound
from vaultbridge.vault.paths import Root, VaultPath, vault_path
from vaultbridge.vault.scope import Scope


class FolderView:
    def __init__(self, folder: Path, scope: Scope | None = None) -> None:
        self._root = Root(folder)
        self.scope = scope or Scope()
        self.written: list[tuple[str, str]] = []
        self.problems: dict[str, tuple[Finding, ...]] = {}

    @property
    def name(self) -> str:
        return self._root.name

    @property
    def folder(self) -> Path:
        return self._root.folder

    def visible(self, path: VaultPath) -> bool:
        return self.scope.visible(path)

    def locate(self, path: VaultPath) -> Path:
        try:
            return self._root.locate(path)
        except NoteNotFound:
            return self._root.folder / path

    async def find(self, name: str) -> VaultPath:
        for path in (vault_path(name), vault_path(name + ".md")):
            if self.visible(path) and self.locate(path).is_file():
                return path
        raise NoteNotFound(name)

    async def read_text(self, path: VaultPath) -> str:
        self.scope.check_read(path)
        return self._root.locate(path).read_bytes().decode("utf-8")

    async def write_text(self, path: VaultPath, text: str, *, actor: str) -> None:
        self.scope.check_write(path)
        self.written.append((path, actor))
        file = self.locate(path)
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(text.encode())

    async def list_files(self, pattern: str) -> Sequence[VaultPath]:
        wanted = Scope(allow=(pattern,)) if pattern else Scope()
        files = (file for file in self.folder.rglob("*") if file.is_file())
        paths = sorted(file.relative_to(self.folder).as_posix() for file in files)
        visible = (path for path in paths if self.scope.visible(path) and wanted.visible(path))
        return [vault_path(path) for path in visible]

    async def file_count(self) -> int:
        return len(await self.list_files(""))

    async def findings(self, path: VaultPath | None) -> Sequence[FindingsOf]:
        paths = [path] if path is not None else [VaultPath(name) for name in self.problems]
        found = []
        for item in paths:
            if self.problems.get(item) and self.visible(item):
                found.append(FindingsOf(item, await self.read_text(item), self.problems[item]))
        return found
