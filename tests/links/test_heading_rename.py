"""Renames of headings and blocks, with every link to them."""

from __future__ import annotations

import json

import pytest

from support.memory_vault import MemoryVault, make_card
from vaultbridge.errors import EditRefused
from vaultbridge.links.heading_rename import plan_block_rename, plan_heading_rename


def rename_heading(texts: dict[str, str], path: str, heading: str, new: str) -> dict[str, str]:
    vault = MemoryVault(texts)
    plan = plan_heading_rename(
        path, texts[path], vault.note(path), heading, new, vault.references(), read=vault.read
    )
    return vault.apply(plan.edits).texts


def test_every_link_to_the_heading_is_rewritten() -> None:
    cards = [
        make_card("file", "1", file="n.md", subpath="#Old head"),
        make_card("text", "2", text='"[[n#Old head]]"'),
    ]
    canvas = json.dumps({"nodes": cards})
    texts = {
        "n.md": "# Old head\n[[#Old head]] [[n#old   HEAD|x]]\n## Sub\n",
        "s.md": '---\nup: "[[n#Old head]]"\n---\n'
        "[x](n.md#Old%20head) ![[n#Old head#Sub]] [[n#Sub]] `[[n#Old head]]`",
        "other.md": "# Old head\n[[#Old head]]",
        "b.canvas": canvas,
    }
    after = rename_heading(texts, "n.md", "Old head", "New: one")
    assert after["n.md"] == "# New: one\n[[#New one]] [[n#New one|x]]\n## Sub\n"
    assert after["s.md"] == (
        '---\nup: "[[n#New one]]"\n---\n[x](n.md#New%20one) ![[n#New one#Sub]] [[n#Sub]] `[[n#Old head]]`'
    )
    assert after["other.md"] == texts["other.md"]
    assert after["b.canvas"] == canvas.replace("Old head", "New one")


def test_a_link_leads_only_to_the_first_of_two_equal_headings() -> None:
    texts = {"n.md": "# A\n## X\n# B\n## X\n", "s.md": "[[n#X]] [[n#B#X]]"}
    assert rename_heading(texts, "n.md", "B#X", "Y")["s.md"] == "[[n#X]] [[n#B#Y]]"
    assert rename_heading(texts, "n.md", "A#X", "Y")["s.md"] == "[[n#Y]] [[n#B#X]]"


def test_a_link_that_would_lead_to_another_heading_gets_the_path() -> None:
    texts = {"n.md": "# A\n## X\n# B\n## Y\n", "s.md": "[[n#Y]]"}
    assert rename_heading(texts, "n.md", "X", "Y")["s.md"] == "[[n#B#Y]]"
    assert (
        rename_heading({**texts, "s.md": "[[n#Y]] [[n#X]]"}, "n.md", "Y", "X")["s.md"] == "[[n#B#X]] [[n#X]]"
    )


def test_a_rename_that_would_redirect_links_to_another_heading_is_refused() -> None:
    texts = {"n.md": "# X\n# Y\n", "s.md": "[[n#Y]]"}
    with pytest.raises(EditRefused, match="links to 'Y' would lead to another heading"):
        rename_heading(texts, "n.md", "X", "Y")


def test_a_heading_that_keeps_its_name_changes_nothing() -> None:
    texts = {"n.md": "# X\n", "s.md": "[[n#X]]"}
    assert rename_heading(texts, "n.md", "X", "X") == texts


def test_every_link_to_a_block_is_rewritten() -> None:
    texts = {
        "n.md": "para ^old\n\n[[#^OLD]]\n\nother ^oldest\n",
        "s.md": "[[n#^old|x]] ![[n#^oldest]] [b](n.md#^old) [[n#old]]",
    }
    vault = MemoryVault(texts)
    plan = plan_block_rename(
        "n.md", texts["n.md"], vault.note("n.md"), "^Old", "new-1", vault.references(), read=vault.read
    )
    after = vault.apply(plan.edits).texts
    assert after["n.md"] == "para ^new-1\n\n[[#^new-1]]\n\nother ^oldest\n"
    assert after["s.md"] == "[[n#^new-1|x]] ![[n#^oldest]] [b](n.md#^new-1) [[n#old]]"
    assert len(plan.rewritten) == 3
