"""A query and a draft ask once whether the index is up to date, whatever they need from it."""

from __future__ import annotations

import pytest

from vaultbridge.engine import Engine
from vaultbridge.engine.operations import Append, Move
from vaultbridge.vault.scope import Scope

from .conftest import MakeVault

FILES: dict[str, str | bytes] = {
    "Hub.md": "needle",
    **{f"n{number}.md": "needle [[Hub]]" for number in range(3)},
    "Private/x.md": "[[Hub]]",
    "All.base": "filters: file.hasLink('Hub')\nviews: []\n",
}


def count_asked(engine: Engine) -> list[str]:
    """`ensure_fresh` reports each time that it is called."""
    asked: list[str] = []
    ensure_fresh = engine.index_sync.ensure_fresh

    def count() -> None:
        asked.append("fresh?")
        ensure_fresh()

    engine.index_sync.ensure_fresh = count  # type: ignore[method-assign]
    return asked


@pytest.mark.parametrize("scope", [Scope(), Scope(deny=("Private/",))], ids=["everything", "a scope"])
def test_the_index_is_asked_once(make_vault: MakeVault, scope: Scope) -> None:
    engine = make_vault(FILES, scope=scope)
    engine.queries.search("needle")
    asked = count_asked(engine)
    for expected, act in (
        (1, lambda: engine.queries.search("needle")),
        (1, lambda: engine.queries.rank("needle")),
        (1, lambda: engine.queries.backlinks(engine.find("Hub"))),
        (1, lambda: engine.queries.neighbourhood(engine.find("Hub"), 2)),
        (1, lambda: engine.apply([Move(note="Hub", to="Moved")], dry_run=True)),
        (1, lambda: engine.apply([Move(note="Hub", to="Moved")])),
        (0, lambda: engine.apply([Append(note="Moved", content="x")])),
    ):
        asked.clear()
        act()
        assert len(asked) == expected
