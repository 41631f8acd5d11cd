"""Finding a note by name before the index knows it: by walking the vault.

A first build of a large vault takes seconds, and an assistant's first call names a note. Slower than the
index by far, and without aliases and close names; used only while the index is incomplete.
"""

from __future__ import annotations

from collections.abc import Callable

from vaultbridge.errors import AmbiguousName
from vaultbridge.links.resolve import FileTable, Resolved, file_name, name_key, resolve
from vaultbridge.vault.paths import Root, VaultPath
from vaultbridge.vault.walk import Entry, walk


def find_unindexed(root: Root, name: str, visible: Callable[[str], bool]) -> VaultPath | None:
    """The file that a wikilink of this text would find, None when there is none. Raises AmbiguousName when
    several folders have one."""
    target = name.strip().removeprefix("[[").removesuffix("]]").partition("|")[0].partition("#")[0].strip()
    found = walk(root)
    table = FileTable(entry.path for entry in found if isinstance(entry, Entry) and visible(entry.path))
    match resolve(target, "", table):
        case Resolved(path=path):
            wanted = name_key(target).removesuffix(".md")
            same = table.paths_named(name_key(file_name(path)))
            fitting = sorted(p for p in same if name_key(p).removesuffix(".md").endswith(wanted)) or [path]
            if len(fitting) > 1:
                raise AmbiguousName(name, tuple(fitting))
            return VaultPath(fitting[0])
        case _:
            return None
