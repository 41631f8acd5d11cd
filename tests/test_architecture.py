"""The order of the parts, enforced by a test because Python does not enforce one.

It is read from the picture in ARCHITECTURE.md: an import goes down it, never up.
"""

from __future__ import annotations

import ast
import functools
import graphlib
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from support.first_answers import FIRST_MODULES

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src" / "vaultbridge"

PICTURE = (ROOT / "ARCHITECTURE.md").read_text("utf-8").split("```")[1]

ORDER = [
    *(
        part
        for line in reversed(PICTURE.splitlines())
        if re.match(r" \w", line)
        for part in reversed(re.findall(r" (\w+)(?:/|\.py)", line.split("   ")[0]))
    ),
    "__main__",
]
"""The parts from the bottom of the picture to the top: a part may import itself and what stands before it."""

MODEL = {"markdown", "canvas", "links", "vault", "index", "bases", "engine", "tools"}
"""The parts that know what a vault is."""

KNOWS_ONLY = {
    "jsonrpc": {"errors", "limits"},
    "client": {
        "errors",
        "limits",
        "system",
        "jsonrpc",
        "protocols.mcp.versions",
        "protocols.claude_ide.lock_files",
    },
}
"""Parts that programs outside this project may use: they know far less than their place would allow. The
client finds Claude Code's servers by their lock files, which have one reader, and asks the system who is
alive."""

NAMES_ONLY = {"tools.suggestions"}
"""What only compares names of tools, for an answer to one that does not exist."""

KNOWS_NO_VAULT = ("protocols", "protocols.http", "protocols.websocket", "protocols.mcp", "protocols.mcp.http")
"""Packages whose own modules move and order messages, and give them no meaning in a vault."""

SHARED = {"http", "websocket"}
"""The folders in `protocols/` that several protocols use. Every other folder is a protocol."""

PROTOCOLS = sorted({init.parent.name for init in (SOURCE / "protocols").glob("*/__init__.py")} - SHARED)

MAY_USE = {"claude_ide": {"mcp"}, "bridge_v1": {"mcp"}, "editor": {"claude_ide"}}
"""Which protocol may use which other: Claude Code's socket and Bridge v1 offer what MCP offers, and the
editor socket shows who is connected to Claude Code's and accepts its token."""

PURE = {"markdown", "canvas", "links", "bases", "jsonrpc", "json_text"}
DOES_IO = {
    "asyncio",
    "os",
    "pathlib",
    "time",
    "sqlite3",
    "socket",
    "threading",
    "subprocess",
    "tempfile",
    "shutil",
    "aiohttp",
}

MAY_BE_LATE = {
    ("client.transport", "client.sdk"): "only with the official SDK, which is an extra",
    ("embeddings.user_model", "embeddings.embeddings"): "few people have a model, and HTTP takes 10 ms",
    ("engine", "engine.direct"): "the engine needs the rest of its package",
    ("engine", "engine.engine"): "the engine needs the rest of its package",
    ("engine.direct", "engine.drafting.planning"): "a command that only reads drafts nothing",
    ("engine.late_index", "engine.index_sync"): "a command that reads a note by its path needs no index",
    ("engine.late_index", "engine.queries"): "a command that reads a note by its path needs no index",
    ("engine.queries", "index.ranking.rank"): "only questions in plain words are ranked",
    ("server.config.model", "server.config.check"): "checks what the model defines",
    ("vault.folders", "vault.write.state_move"): "moves the journal, which is in one of the folders",
}
"""Imports within functions, and why. Besides these there are the commands, which are found by name and load
only what they use, and what is loaded after the first answers of `stdio` (`FIRST_MODULES`)."""

MODULE_LINES = 520
"""Past this a module has more than one duty."""

SPLINTER_LINES = 60
"""Below this a module that only one module beside it uses is a part of that one."""

FOLDER_MODULES = 20
"""A folder with more is a list nobody reads. Most hold a dozen; the tools have about one module each."""


@functools.cache
def parse_module(file: Path) -> ast.Module:
    return ast.parse(file.read_text("utf-8"))


def list_imports(file: Path, *, loading: bool = False) -> Iterator[tuple[str, int]]:
    """What a module imports, and where; with `loading`, only what it imports when it is loaded itself."""
    tree = parse_module(file)
    for node in _walk_loaded(tree) if loading else ast.walk(tree):
        if isinstance(node, ast.Import):
            for name in node.names:
                yield name.name, node.lineno
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{name_place(file, node.lineno)}: a relative import hides where it leads"
            if node.module and node.module.startswith("vaultbridge"):
                for name in node.names:
                    yield f"{node.module}.{name.name}", node.lineno
            elif node.module:
                yield node.module, node.lineno


def name_place(file: Path, line: int) -> str:
    return f"{file.relative_to(ROOT)}:{line}"


def name_module(file: Path) -> str:
    return ".".join(file.relative_to(SOURCE).with_suffix("").parts).removesuffix(".__init__")


def name_part(file: Path) -> str:
    return name_module(file).split(".")[0]


def is_within(name: str, parts: set[str]) -> bool:
    return any(name == part or name.startswith(f"{part}.") for part in parts)


def _walk_loaded(node: ast.AST) -> Iterator[ast.AST]:
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef):
            continue
        if isinstance(child, ast.If) and ast.unparse(child.test) == "TYPE_CHECKING":
            continue
        yield child
        yield from _walk_loaded(child)


def list_typing_imports(file: Path) -> Iterator[tuple[str, int]]:
    """What a module imports only for type checkers."""
    for node in ast.walk(parse_module(file)):
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
            for part in node.body:
                if isinstance(part, ast.ImportFrom) and part.module:
                    for name in part.names:
                        yield f"{part.module}.{name.name}".removeprefix("vaultbridge."), part.lineno


def list_our_imports(file: Path, *, loading: bool = False) -> Iterator[tuple[str, int]]:
    for name, line in list_imports(file, loading=loading):
        if name.startswith("vaultbridge.") and name != "vaultbridge.__version__":
            yield name.removeprefix("vaultbridge."), line


FILES = sorted(f for f in SOURCE.rglob("*.py") if f.parent != SOURCE or f.name != "__init__.py")


def test_imports_go_down_the_picture() -> None:
    wrong = []
    for file in FILES:
        part = name_part(file)
        assert part in ORDER, f"{part} is not in the picture in ARCHITECTURE.md"
        allowed = KNOWS_ONLY.get(part, set(ORDER[: ORDER.index(part)])) | {part}
        rule = "KNOWS_ONLY lists what it may use" if part in KNOWS_ONLY else "ARCHITECTURE.md draws it above"
        for name, line in list_our_imports(file):
            if not is_within(name, allowed):
                wrong.append(f"{name_place(file, line)}: {part} may not import {name}: {rule}")
    assert not wrong


def test_no_modules_need_each_other_to_load() -> None:
    """The picture gives no order within a part. There is still one in which its modules can be read."""
    modules = {name_module(file) for file in FILES}
    graph = {
        name_module(file): {
            target
            for name, _ in list_our_imports(file, loading=True)
            for target in (name, name.rpartition(".")[0])
            if target in modules and target != name_module(file)
        }
        for file in FILES
        if file.name != "__init__.py"
    }
    try:
        graphlib.TopologicalSorter(graph).prepare()
    except graphlib.CycleError as error:
        pytest.fail("these modules import each other: " + " <- ".join(error.args[1]))


def test_imports_stand_at_the_top() -> None:
    modules = {name_module(file) for file in FILES}
    late = set()
    for file in FILES:
        module = name_module(file)
        loaded = set(list_our_imports(file, loading=True))
        first = f"vaultbridge.{module}" in FIRST_MODULES
        for name, line in set(list_our_imports(file)) - loaded - set(list_typing_imports(file)):
            target = name if name in modules else name.rpartition(".")[0]
            outside = first and f"vaultbridge.{target}" not in FIRST_MODULES
            if not outside and name_part(file) not in ("cli", "__main__"):
                late.add((module, target, name_place(file, line)))
    assert not [place for module, target, place in late if (module, target) not in MAY_BE_LATE]
    assert not MAY_BE_LATE.keys() - {(module, target) for module, target, _ in late}, "no longer late"


def test_modules_that_move_messages_know_no_vault() -> None:
    assert not [
        f"{name_place(file, line)}: moves messages and may not import {name}, which knows what a vault is"
        for file in FILES
        if name_module(file).rpartition(".")[0] in KNOWS_NO_VAULT
        for name, line in list_our_imports(file)
        if is_within(name, MODEL) and not is_within(name, NAMES_ONLY)
    ]


def test_a_protocol_uses_only_the_others_it_may() -> None:
    assert not [
        f"{name_place(file, line)}: not in MAY_USE: {name}"
        for protocol in PROTOCOLS
        for file in (SOURCE / "protocols" / protocol).rglob("*.py")
        for name, line in list_our_imports(file)
        if is_within(
            name,
            {f"protocols.{other}" for other in PROTOCOLS if other not in MAY_USE.get(protocol, ())}
            - {f"protocols.{protocol}"},
        )
    ]


def test_what_protocols_share_uses_none_of_them() -> None:
    assert not [
        f"{name_place(file, line)}: what protocols share may not import {name}"
        for file in FILES
        if name_module(file).startswith("protocols.") and name_module(file).split(".")[1] not in PROTOCOLS
        for name, line in list_our_imports(file)
        if is_within(name, {f"protocols.{protocol}" for protocol in PROTOCOLS})
    ]


def test_every_part_is_in_the_picture() -> None:
    parts = {name_part(file) for file in FILES}
    assert parts - set(ORDER) == set(), "not in the picture in ARCHITECTURE.md"
    assert set(ORDER) - parts == set(), "in the picture, but not in src/vaultbridge"


def test_the_pure_parts_do_no_io() -> None:
    assert not [
        f"{name_place(file, line)}: {name_part(file)} is pure and may not import {name}"
        for file in FILES
        if name_part(file) in PURE
        for name, line in list_imports(file)
        if name.split(".")[0] in DOES_IO
    ]


def test_a_module_has_one_duty() -> None:
    lines = {name_module(file): len(file.read_text("utf-8").splitlines()) for file in FILES}
    assert not {module: count for module, count in lines.items() if count > MODULE_LINES}


def test_no_module_is_a_splinter_of_its_only_user() -> None:
    """Splinters hide a design as well as giants do."""
    users: dict[str, set[str]] = {name_module(file): set() for file in FILES}
    for file in FILES:
        for name, _ in list_our_imports(file):
            for target in (name, name.rpartition(".")[0]):
                if target in users and target != name_module(file):
                    users[target].add(name_module(file))
    splinters = [
        f"{name_module(file)}, used by {user}"
        for file in FILES
        if file.name != "__init__.py" and len(file.read_text("utf-8").splitlines()) <= SPLINTER_LINES
        for user in users[name_module(file)]
        if len(users[name_module(file)]) == 1
        and user != "tools.standard"  # It lists the tools.
        and user.rpartition(".")[0] == name_module(file).rpartition(".")[0]
    ]
    assert not splinters


def test_a_folder_can_be_read_at_a_glance() -> None:
    for folder in {file.parent for file in FILES}:
        names = sorted(path.stem for path in folder.glob("*.py") if path.stem != "__init__")
        assert len(names) <= FOLDER_MODULES, f"{folder.name}: {names}"


def test_no_pattern_repeats_a_group_possessively() -> None:
    """Python 3.11.0 to 3.11.4 match such patterns wrongly (cpython gh-106052), and we promise 3.11."""
    possessive = re.compile(r"(?<![\\(])\)(?:[*+?]|\{\d*,?\d*\})\+|\(\?>")
    assert not [
        f"{name_place(file, node.lineno)}: {node.value}"
        for file in FILES
        for node in ast.walk(parse_module(file))
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and possessive.search(node.value)
    ]


def test_no_test_imports_another() -> None:
    """A changed test would break others, which its path does not name. What several need is in a module
    beside them, or in `tests/support/`."""
    tests = sorted((ROOT / "tests").rglob("*.py"))
    names = {file.stem for file in tests if file.stem.startswith("test_")}
    line = re.compile(r"^[ \t]*(?:from ([\w.]+) )?import (\([^)]*\)|.*)", re.MULTILINE)
    assert not [
        f"{file.relative_to(ROOT)}: {match[0]}"
        for file in tests
        for match in line.finditer(file.read_text("utf-8"))
        if names.intersection(re.findall(r"\w+", f"{match[1]} {match[2]}"))
    ]
