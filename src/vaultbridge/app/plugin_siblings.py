"""What plugin files share: `import _words` in one of them finds `_words.py` beside it.

Only names that begin with `_`, which no plugin file has, and only after everything else Python knows: a file
in the folder never stands in the place of a library. What was asked for is remembered, so that a change of it
can be followed. Whether a file may be run is `plugins`' to say.
"""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Callable, Sequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import ModuleType
from typing import Final

from vaultbridge.app.stamps import Stamp, stamp_of

ASKED: Final = 1000
"""How many names are remembered. Libraries ask for dozens of modules with an underscore that are nowhere;
a program that asks for ever new ones is not followed for ever."""


class Siblings(MetaPathFinder):
    """`fault` says why a file may not be run, "" when it may. Python asks from any thread."""

    def __init__(self, folder: Path, fault: Callable[[Path], str]) -> None:
        self._folder = folder
        self._fault = fault
        self._asked: dict[str, Stamp | None] = {}

    def offer(self) -> None:
        """Let Python ask from now on."""
        if self not in sys.meta_path:
            sys.meta_path.append(self)

    def withdraw(self) -> None:
        """As if it had never been asked."""
        if self in sys.meta_path:
            sys.meta_path.remove(self)
        self.forget()

    def changed(self) -> bool:
        """Whether something that was asked for is another than it was then."""
        return any(stamp_of(self._file(name)) != stamp for name, stamp in self._asked.copy().items())

    def forget(self) -> None:
        """Whoever imports one now gets it as it is now."""
        for name in list(self._asked):
            module = sys.modules.get(name)
            if module is not None and isinstance(module.__loader__, _Source):
                del sys.modules[name]
        self._asked.clear()

    def find_spec(
        self, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if not fullname.startswith("_") or "." in fullname:
            return None
        file = self._file(fullname)
        stamp = stamp_of(file)
        if len(self._asked) < ASKED:
            self._asked[fullname] = stamp
        if stamp is None:
            return None
        if fault := self._fault(file):
            raise ImportError(f"{file.name} is not loaded: {fault}")
        return importlib.util.spec_from_loader(fullname, _Source(file), origin=file.name)

    def _file(self, name: str) -> Path:
        return self._folder / f"{name}.py"


class _Source(Loader):
    """Compiled anew each time: a cached bytecode file knows changes only to the second."""

    def __init__(self, file: Path) -> None:
        self._file = file

    def exec_module(self, module: ModuleType) -> None:
        module.__file__ = str(self._file)
        exec(compile(self._file.read_bytes(), str(self._file), "exec"), module.__dict__)
