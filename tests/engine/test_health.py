"""What is wrong in a vault, as one scope may see it."""

from __future__ import annotations

from collections.abc import Callable

from vaultbridge.engine import Engine
from vaultbridge.engine.health import FoundProblem, health
from vaultbridge.vault.scope import Scope

MakeVault = Callable[..., Engine]


def test_problems_duplicates_and_conflicts_are_found(make_vault: MakeVault) -> None:
    engine = make_vault(
        {
            "a/N.md": "x ^b\n\ny ^b\n",
            "b/n.md": "",
            "b/N (conflicted copy 2026-01-02 101010).md": "",
            "Bad.md": "---\na: [\n---\n",
        }
    )
    found = health(engine)
    assert [(one.path, one.code) for one in found.problems] == [
        ("Bad.md", "bad-yaml"),
        ("a/N.md", "duplicate-block-id"),
    ]
    assert isinstance(found.problems[0], FoundProblem)
    assert found.count("bad-yaml", "duplicate-key") == 1
    assert found.duplicates == (("a/N.md", "b/n.md"),)
    assert [(path, conflict.original) for path, conflict in found.conflicts] == [
        ("b/N (conflicted copy 2026-01-02 101010).md", "b/N.md")
    ]


def test_hidden_notes_are_not_looked_at(make_vault: MakeVault) -> None:
    engine = make_vault({"a/N.md": "", "b/N.md": "---\na: [\n---\n"}, scope=Scope(deny=("b/",)))
    found = health(engine)
    assert (found.problems, found.duplicates, found.conflicts) == ((), (), ())


def test_a_long_look_is_told_as_it_goes(make_vault: MakeVault) -> None:
    told: list[tuple[int, int]] = []
    health(make_vault({f"N{number}.md": "" for number in range(501)}), lambda *step: told.append(step))
    assert told == [(500, 501)]
