"""Writes the pages in `docs/protocols/` from the requirements tables: what each protocol requires, and the
tests that check it.

The seed documents themselves are not part of the repository; these pages replace them.
Run by `make generate`; `test_requirements.py` fails if a page is out of date.
"""

from __future__ import annotations

import sys
import tomllib
from pathlib import Path
from typing import Any, Final

HERE: Final = Path(__file__).parent
PAGES: Final = Path("docs") / "protocols"

PROTOCOLS: Final = {
    "seed_000": ("claude-code-bridge", "Claude Code's IDE socket, as the Obsidian bridge plugin speaks it"),
    "seed_001": ("claude-code-ide", "Claude Code's IDE socket, as its protocol document describes it"),
    "seed_002": ("websocket-client", "The MCP client transport over WebSocket"),
    "seed_003": ("bridge-v1", "Bridge v1 over HTTP"),
    "seed_004": ("mcp-stdio", "MCP over standard input and output"),
    "mcp_apps": ("mcp-apps", "MCP Apps: what the extension requires of a server and its views"),
}
"""The page of each table, and its title."""


def render(table: dict[str, Any], title: str) -> str:
    rows = [
        f"# {title}",
        "",
        "Each row is one requirement of the protocol's document, in our own words, with the id that the",
        "tests refer to. Rows marked *Differs* say where we deliberately depart from the document, and why.",
        "",
        "| id | requirement | tests |",
        "|---|---|---|",
    ]
    for claim in table["claim"]:
        text = _render_cell(claim["claim"])
        if reason := claim.get("differs"):
            text += f" *Differs:* {_render_cell(reason)}"
        tests = "<br>".join(f"`{test.rpartition('/')[2]}`" for test in claim.get("tests", ()))
        rows.append(f"| `{claim['id']}` | {text} | {tests} |")
    return "\n".join(rows) + "\n"


def render_pages(root: Path) -> dict[Path, str]:
    """Every page by its place below `root`."""
    return {
        root / PAGES / f"{name}.md": render(tomllib.loads((HERE / f"{stem}.toml").read_text("utf-8")), title)
        for stem, (name, title) in PROTOCOLS.items()
    }


def _render_cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")


def main() -> int:
    for path, text in render_pages(HERE.parents[1]).items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
