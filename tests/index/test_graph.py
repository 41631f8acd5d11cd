"""Backlinks, unresolved links, orphans and dead ends of a small vault, with and without a scope."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from support.index import Vault
from vaultbridge.index.graph import LinkGraph
from vaultbridge.links.graph import LinkPath, both_ways, neighbourhood, shortest_path
from vaultbridge.vault.paths import VaultPath

MakeVault = Callable[[dict[str, str | bytes]], Vault]

FILES: dict[str, str | bytes] = {
    "a.md": '---\nup: "[[b]]"\n---\n[[c#H|see]] ![[pic.png]]\n[x](c.md) [[Ghost]] [[ghost]]',
    "b.md": "[[#own]] [[c]]",
    "c.md": "no links",
    "alone.md": "[[#self]]",
    "secret/s.md": "[[c]] [[Phantom]] [[a]]",
    "to-secret.md": "[[s]]",
    "board.canvas": '{"nodes":[{"id":"1","type":"file","file":"a.md","x":0,"y":0,"width":1,"height":1}],'
    '"edges":[]}',
    "pic.png": b"",
    "unused.png": b"",
}


@pytest.fixture
def graph(make_vault: MakeVault) -> LinkGraph:
    return LinkGraph(make_vault(FILES).index)


@pytest.fixture
def scoped(make_vault: MakeVault) -> LinkGraph:
    return LinkGraph(make_vault(FILES).limit("secret/"))


def p(path: str) -> VaultPath:
    return VaultPath(path)


def test_backlinks_include_every_link_with_its_line_and_kind(graph: LinkGraph) -> None:
    found = [(link.source, link.line, link.raw, link.kind, link.embed) for link in graph.backlinks(p("c.md"))]
    assert found == [
        ("a.md", 4, "[[c#H|see]]", "wiki", False),
        ("a.md", 5, "[x](c.md)", "markdown", False),
        ("b.md", 1, "[[c]]", "wiki", False),
        ("secret/s.md", 1, "[[c]]", "wiki", False),
    ]
    assert [(link.kind, link.embed) for link in graph.backlinks(p("pic.png"))] == [("wiki", True)]
    assert [link.kind for link in graph.backlinks(p("b.md"))] == ["property", "wiki"]
    assert {link.source: link.kind for link in graph.backlinks(p("a.md"))}["board.canvas"] == "canvas"
    assert graph.backlinks(p("missing.md")) == []


def test_outgoing_links_have_the_file_that_they_lead_to(graph: LinkGraph) -> None:
    found = [(link.target, link.subpath, link.resolved) for link in graph.outgoing(p("a.md"))]
    assert found == [
        ("b", "", "b.md"),
        ("c", "#H", "c.md"),
        ("pic.png", "", "pic.png"),
        ("c.md", "", "c.md"),
        ("Ghost", "", None),
        ("ghost", "", None),
    ]


def test_for_a_caller_a_link_to_a_hidden_file_leads_to_the_visible_one_of_that_name(
    make_vault: MakeVault,
) -> None:
    vault = make_vault({"secret/x.md": "", "far/away/x.md": "", "n.md": "[[x]]", "secret/s.md": "[[x]]"})
    scoped = LinkGraph(vault.limit("secret/"))
    assert [link.resolved for link in scoped.outgoing(p("n.md"))] == ["far/away/x.md"]
    assert [(link.source, link.raw) for link in scoped.backlinks(p("far/away/x.md"))] == [("n.md", "[[x]]")]
    whole = LinkGraph(vault.index)
    assert [link.resolved for link in whole.outgoing(p("n.md"))] == ["secret/x.md"]
    assert [link.source for link in whole.backlinks(p("secret/x.md"))] == ["n.md", "secret/s.md"]
    assert whole.backlinks(p("far/away/x.md")) == []


def test_a_link_is_ambiguous_until_only_one_file_has_the_name(make_vault: MakeVault) -> None:
    vault = make_vault({"n.md": "[[x]]", "a/x.md": "", "b/x.md": ""})
    graph = LinkGraph(vault.index)
    assert [(link.resolved, link.ambiguous) for link in graph.outgoing(p("n.md"))] == [("a/x.md", True)]
    vault.remove("b/x.md")
    vault.sync_all()
    assert [(link.resolved, link.ambiguous) for link in graph.outgoing(p("n.md"))] == [("a/x.md", False)]


def test_unresolved_targets_are_grouped_ignoring_case(graph: LinkGraph) -> None:
    found = [(missing.target, missing.count, missing.sources) for missing in graph.unresolved().rows]
    assert found == [("Ghost", 2, ("a.md",)), ("Phantom", 1, ("secret/s.md",))]


def test_orphans_and_dead_ends_do_not_count_links_to_oneself(graph: LinkGraph) -> None:
    assert list(graph.orphans().rows) == ["alone.md", "board.canvas", "to-secret.md"]
    assert list(graph.orphans(attachments=True).rows) == [
        "alone.md",
        "board.canvas",
        "to-secret.md",
        "unused.png",
    ]
    assert list(graph.dead_ends().rows) == ["alone.md", "c.md"]


def test_a_hidden_note_links_to_nothing_and_is_linked_by_nobody(scoped: LinkGraph) -> None:
    assert {link.source for link in scoped.backlinks(p("c.md"))} == {"a.md", "b.md"}
    assert [link.resolved for link in scoped.outgoing(p("to-secret.md"))] == [None]
    assert [(missing.target, missing.sources) for missing in scoped.unresolved().rows] == [
        ("Ghost", ("a.md",)),
        ("s", ("to-secret.md",)),
    ]
    assert "secret/s.md" not in scoped.orphans().rows


def test_walks_use_the_neighbours_of_one_transaction(make_vault: MakeVault) -> None:
    vault = make_vault({"a.md": "[[b]]", "b.md": "[[c]]", "c.md": "", "secret/s.md": "[[a]] [[c]]"})
    index = vault.limit("secret/")
    graph = LinkGraph(index)
    with index.reading() as db:
        ways = both_ways(graph.neighbours(db, incoming=False), graph.neighbours(db, incoming=True))
        assert neighbourhood("a.md", ways, depth=2).distances == {"a.md": 0, "b.md": 1, "c.md": 2}
        assert shortest_path("c.md", "a.md", ways) == LinkPath(("c.md", "b.md", "a.md"))


def test_an_ignored_note_is_in_no_view_but_its_links_are_there(make_vault: MakeVault) -> None:
    vault = make_vault(FILES)
    vault.ignore("secret/")
    graph = LinkGraph(vault.index)
    assert "secret/s.md" in {link.source for link in graph.backlinks(p("c.md"))}
    assert [link.resolved for link in graph.outgoing(p("to-secret.md"))] == ["secret/s.md"]
    assert [missing.target for missing in graph.unresolved().rows] == ["Ghost"]
    assert graph.unresolved_count() == (2, 1)
    assert "secret/s.md" not in {*graph.orphans().rows, *graph.dead_ends().rows}
    with vault.index.reading() as db:
        assert list(graph.neighbours(db, incoming=True)("c.md")) == ["a.md", "b.md"]


def test_a_note_that_only_an_ignored_one_links_to_is_an_orphan_but_used(make_vault: MakeVault) -> None:
    vault = make_vault({"a.md": "", "pic.png": b"", "b.png": b"", "Old/x.md": "[[a]] ![[pic.png]]"})
    graph = LinkGraph(vault.index)
    for filters, orphans in (((), ["Old/x.md"]), (("Old/",), ["a.md"]), ((), ["Old/x.md"])):
        vault.ignore(*filters)
        assert list(graph.orphans().rows) == orphans
        assert graph.unused_files() == {"Old/x.md", "b.png"}
