"""What the documents say is checked: links lead somewhere, commands and targets exist."""

from __future__ import annotations

import re
from pathlib import Path

from vaultbridge import __version__
from vaultbridge.cli.commands import COMMANDS, find_command

ROOT = Path(__file__).parents[1]
DOCUMENTS = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").glob("*.md")])
CODE = re.compile(r"```.*?```|`[^`\n]+`", re.DOTALL)


def name_page(path: Path) -> str:
    return str(path.relative_to(ROOT))


def list_in_code(document: Path, pattern: str) -> set[str]:
    return set(re.findall(pattern, "\n".join(CODE.findall(document.read_text("utf-8")))))


def test_every_link_to_a_file_leads_somewhere() -> None:
    assert not [
        f"{name_page(document)}: {target}"
        for document in DOCUMENTS
        for target in re.findall(r"\]\(([^)#\s]+)", CODE.sub("", document.read_text("utf-8")))
        if "://" not in target and not (document.parent / target).exists()
    ]


def test_every_command_named_exists() -> None:
    known = COMMANDS.keys() | {"package"}
    assert not [
        f"{name_page(document)}: {command}"
        for document in DOCUMENTS
        for command in list_in_code(document, r"\bvaultbridge ([a-z]+)\b") - known
    ]


def test_every_make_target_named_exists() -> None:
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    assert not [
        f"{name_page(document)}: {target}"
        for document in DOCUMENTS
        for target in list_in_code(document, r"\bmake ([a-z][a-z-]*)") - targets
    ]


REGISTRY = re.compile(
    r"(?:uv tool install|pipx install|pip install|uv tool upgrade|pipx upgrade|uvx|pipx run) '?vaultbridge\b"
    r"|/plugin marketplace add"
)


def test_what_only_a_release_brings_is_marked() -> None:
    """Nothing is published yet: who follows a command must not find that out from its error."""
    unmarked = []
    for document in (*DOCUMENTS, ROOT / "packaging" / "claude-plugin" / "README.md"):
        parts = re.split(r"\n(?=- |\n)", document.read_text("utf-8"))
        unmarked += [
            f"{name_page(document)}: {part}"
            for before, part in zip(["", *parts], parts, strict=False)
            if REGISTRY.search(part) and "first release" not in before + part
        ]
    assert not unmarked


def test_every_document_can_be_reached_from_the_readme() -> None:
    readme = (ROOT / "README.md").read_text("utf-8")
    assert not [doc.name for doc in (ROOT / "docs").glob("*.md") if f"docs/{doc.name}" not in readme]


def test_every_command_has_a_function_in_its_module() -> None:
    for name in COMMANDS:
        module, function = find_command(name)
        source = ROOT / "src" / f"{module.replace('.', '/')}.py"
        assert f"def {function}(argv: list[str]) -> int:" in source.read_text("utf-8"), name


def test_the_changelog_describes_this_version() -> None:
    assert f"\n## {__version__}" in (ROOT / "CHANGELOG.md").read_text("utf-8")


def test_every_route_of_the_page_is_listed() -> None:
    code = "\n".join(file.read_text("utf-8") for file in (ROOT / "src" / "vaultbridge").rglob("*.py"))
    served = {
        f"{method.upper()} {re.sub('{[a-z]+}', '*', path)}"
        for method, path in re.findall(r"^ +api\.(get|post|put|delete)\(\s*\"/([^\"]+)\"", code, re.MULTILINE)
    }
    listed = re.findall(r"`((?:GET|POST|PUT|DELETE) [^`?]+)", (ROOT / "docs" / "page.md").read_text("utf-8"))
    # A part of an address that varies is in capitals there.
    assert served == {re.sub(r"/[A-Z]+", "/*", route) for route in listed}


def test_troubleshooting_names_every_code_and_reason() -> None:
    """Also those that a part defines for itself; the client's are for programs, and stand in its own page."""
    import pkgutil
    import re
    from importlib import import_module

    import vaultbridge
    from vaultbridge import errors

    for module in pkgutil.walk_packages(vaultbridge.__path__, "vaultbridge."):
        if not module.name.startswith("vaultbridge.client") and not module.name.endswith("__main__"):
            import_module(module.name)
    text = (ROOT / "docs" / "troubleshooting.md").read_text("utf-8")
    table = text.partition("<!-- reasons")[2].partition("<!-- end of reasons -->")[0]
    found = set(re.findall(r"^\| `([A-Z_]+)` \| `([a-z-]+)` \|", table, re.MULTILINE))
    kinds = [errors.VaultbridgeError, *_list_subclasses(errors.VaultbridgeError)]
    known = {
        (kind.code, kind.reason) for kind in kinds if re.match(r"vaultbridge\.(?!client)", kind.__module__)
    }
    assert found == known


def _list_subclasses(kind: type) -> list[type]:
    return [subclass for below in kind.__subclasses__() for subclass in (below, *_list_subclasses(below))]
