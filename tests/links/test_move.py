"""After a move every link leads to the same file (docs/obsidian.md 4). The property test at the end is the
core of it."""

from __future__ import annotations

import json
from collections.abc import Mapping

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from support.memory_vault import PATHS, MemoryVault, make_card, renames, vaults
from vaultbridge.errors import EditRefused, NoteNotFound
from vaultbridge.links.move import MovePlan, move_folder, plan_create, plan_move, touched_keys
from vaultbridge.links.resolve import FileTable, candidate_keys
from vaultbridge.links.syntax import LinkFormat, LinkSettings

SHORTEST = LinkSettings()


def move_files(
    texts: Mapping[str, str],
    moves: Mapping[str, str],
    link_format: LinkFormat = "shortest",
    folders: Mapping[str, str] | None = None,
) -> dict[str, str]:
    vault = MemoryVault(texts)
    plan = plan_move(
        moves,
        vault.references(),
        vault.table,
        LinkSettings(link_format),
        read=vault.read,
        bases=vault.bases,
        folders=folders,
    )
    return vault.apply(plan.edits, moves).texts


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("[[old]]", "[[new]]"),
        ("![[old]]", "![[new]]"),
        ("[[old#Head#Sub|shown]]", "[[new#Head#Sub|shown]]"),
        ("[[OLD#^id]]", "[[new#^id]]"),
        ("[[old.md]]", "[[new]]"),
        ("[[ old ]]", "[[ new ]]"),
        ("a [[old]] b [[old|x]] c ![[old]] [[other]]", "a [[new]] b [[new|x]] c ![[new]] [[other]]"),
        ("[text](old.md)", "[text](new.md)"),
        ("[old](old.md)", "[new](new.md)"),
        ("[old.md](old.md)", "[new.md](new.md)"),
        ("[old](<old.md> 'a title')", "[new](<new.md> 'a title')"),
        ('[x](old.md#Some%20head "t")', '[x](new.md#Some%20head "t")'),
        ("[![i](pic.png)](old.md)", "[![i](pic.png)](new.md)"),
        ("See [old][1].\n\n[1]: old.md\n", "See [old][1].\n\n[1]: new.md\n"),
        ("[1]: <old.md> 'a title'", "[1]: <new.md> 'a title'"),
        ("   [o:x]:old.md#Some%20head (t)\n[2]: other.md", "   [o:x]:new.md#Some%20head (t)\n[2]: other.md"),
        ("[old]: old\n\n[old]", "[old]: new.md\n\n[old]"),
        ("> [1]:\n> old.md\n> \"t\"\n> text", "> [1]:\n> new.md\n> \"t\"\n> text"),
        ("- item\n\n  [1]: old.md\n", "- item\n\n  [1]: new.md\n"),
        ("[1]: old.md\r\n[2]: old.md\r\nText\r\n===\r\n", "[1]: new.md\r\n[2]: new.md\r\nText\r\n===\r\n"),
        ("```\n[1]: old.md\n```\n\n    [1]: old.md\n", "```\n[1]: old.md\n```\n\n    [1]: old.md\n"),
        ("text\n[1]: old.md\n\n[^1]: old.md", "text\n[1]: old.md\n\n[^1]: old.md"),
        ("| a |\n| - |\n| [[old\\|x]] |", "| a |\n| - |\n| [[new\\|x]] |"),
        ("`[[old]]`\n\n```\n[[old]]\n```\n", "`[[old]]`\n\n```\n[[old]]\n```\n"),
        ("text\n\n    [[old]]\n", "text\n\n    [[old]]\n"),
        ("%% [[old]] %%", "%% [[new]] %%"),
        ("# [[old]]\n", "# [[new]]\n"),
        ('---\nup: "[[old]]"\n---\n', '---\nup: "[[new]]"\n---\n'),
        ("---\nup: '[[old|o]]' # c\nlist:\n  - \"[[old#h]]\"\n---\n",
         "---\nup: '[[new|o]]' # c\nlist:\n  - \"[[new#h]]\"\n---\n"),
        ("---\nup: \"[[\\x6fld]]\"\n---\n", "---\nup: \"[[new]]\"\n---\n"),
        ("---\na: &x \"[[old]]\"\nb: *x\n---\n", "---\na: &x \"[[new]]\"\nb: *x\n---\n"),
        ("[[old]]\r\n[[old]]\r\n", "[[new]]\r\n[[new]]\r\n"),
        ("[[nothing]] [[#h]]", "[[nothing]] [[#h]]"),
    ],
)  # fmt: skip
def test_every_form_of_link_gets_the_new_name_and_keeps_the_rest(before: str, after: str) -> None:
    texts = {"old.md": "", "other.md": "", "pic.png": "", "note.md": before}
    assert move_files(texts, {"old.md": "new.md"})["note.md"] == after


def test_a_link_that_still_leads_to_its_file_is_left_alone() -> None:
    """A bare name survives a move; only links that must change use the vault's format."""
    texts = {"a/n.md": "", "s.md": "[[n]] [[a/n]]"}
    assert move_files(texts, {"a/n.md": "b/n.md"})["s.md"] == "[[n]] [[n]]"
    assert move_files(texts, {"a/n.md": "b/n.md"}, "absolute")["s.md"] == "[[n]] [[b/n]]"
    assert move_files(texts, {"a/n.md": "b/n.md"}, "relative")["s.md"] == "[[n]] [[b/n]]"


def test_the_shortest_form_is_the_full_path_when_the_name_is_not_unique() -> None:
    texts = {"a/n.md": "", "b/m.md": "", "s.md": "[[m]] [x](m.md)"}
    assert move_files(texts, {"b/m.md": "b/n.md"})["s.md"] == "[[b/n]] [x](b/n.md)"


def test_links_inside_a_moved_note_still_lead_to_their_files() -> None:
    """Dot links are relative to their note, so they change when it moves."""
    texts = {"a/n.md": "[x](../m.md) [[./k]] [[m]]", "m.md": "", "a/k.md": ""}
    assert move_files(texts, {"a/n.md": "b/c/n.md"})["b/c/n.md"] == "[x](m.md) [[k]] [[m]]"
    assert (
        move_files(texts, {"a/n.md": "b/c/n.md"}, "relative")["b/c/n.md"]
        == "[x](../../m.md) [[../../a/k]] [[m]]"
    )


def test_a_file_that_takes_over_a_name_does_not_repoint_older_links() -> None:
    texts = {"x/b.md": "", "a.md": "", "s.md": "[[b]] [[a]]"}
    assert move_files(texts, {"a.md": "b.md"})["s.md"] == "[[x/b]] [[b]]"


def test_a_link_does_not_silently_become_ambiguous() -> None:
    texts = {"p/n.md": "", "q/m.md": "", "s/s.md": "[[n]]"}
    assert move_files(texts, {"q/m.md": "q/n.md"})["s/s.md"] == "[[p/n]]"


def test_two_files_may_swap_their_names() -> None:
    texts = {"a.md": "A [[b]]", "b.md": "B [[a]]"}
    assert move_files(texts, {"a.md": "b.md", "b.md": "a.md"}) == {"b.md": "A [[a]]", "a.md": "B [[b]]"}


def test_a_folder_moves_with_all_its_files() -> None:
    texts = {
        "f/a.md": "[[f/b]] [[./b]]",
        "f/b.md": "",
        "f/p.png": "",
        "s.md": "[[f/a]] ![[f/p.png]] [x](f/b.md)",
    }
    moves = {"f/a.md": "g h/a.md", "f/b.md": "g h/b.md", "f/p.png": "g h/p.png"}
    after = move_files(texts, moves, "absolute")
    assert after["s.md"] == "[[g h/a]] ![[g h/p.png]] [x](g%20h/b.md)"
    assert after["g h/a.md"] == "[[g h/b]] [[./b]]"


def test_a_case_only_rename_touches_no_link() -> None:
    texts = {"Note.md": "", "s.md": "[[Note]] [[note]]"}
    assert move_files(texts, {"Note.md": "note.md"})["s.md"] == "[[Note]] [[note]]"


@pytest.mark.parametrize(
    ("name", "wiki", "markdown"),
    [
        ("a b.md", "[[a b]]", "[t](a%20b.md)"),
        ("a (b.md", "[[a (b]]", "[t](a%20%28b.md)"),
        ("a(b).md", "[[a(b)]]", "[t](a(b).md)"),
        ("100%.md", "[[100%]]", "[t](100%25.md)"),
        ("v1.2.md", "[[v1.2]]", "[t](v1.2.md)"),
        ("a`b.md", "[[a`b]]", "[t](a%60b.md)"),
        ("x]y.md", "[[x]y]]", "[t](x]y.md)"),
        ("x].md", "[[x].md]]", "[t](x].md)"),
        ("é😀.md", "[[é😀]]", "[t](é😀.md)"),
        ("a<b.md", "[[a<b]]", "[t](a%3Cb.md)"),
    ],
)
def test_unusual_names_are_spelled_so_that_they_are_read_back(name: str, wiki: str, markdown: str) -> None:
    texts = {"old.md": "", "s.md": "[[old]]", "m.md": "[t](old.md)"}
    after = move_files(texts, {"old.md": name})
    assert (after["s.md"], after["m.md"]) == (wiki, markdown)
    assert [r.resolved for r in MemoryVault(after).references()] == [name, name]


def test_a_name_with_a_dot_is_distinguished_from_a_file_of_that_name() -> None:
    texts = {"old.md": "", "v1.2": "", "s.md": "[[old]]"}
    assert move_files(texts, {"old.md": "v1.2.md"})["s.md"] == "[[v1.2.md]]"


def test_a_move_to_a_name_that_no_link_can_contain_is_refused() -> None:
    for new in ("LICENSE", "a#b.md"):
        with pytest.raises(EditRefused, match="No link can name"):
            move_files({"old.md": "", "s.md": "[[old]]"}, {"old.md": new})


def test_an_occupied_or_unknown_path_is_refused() -> None:
    with pytest.raises(EditRefused, match=r"'B.md' already exists"):
        move_files({"a.md": "", "B.md": ""}, {"a.md": "b.md"})
    with pytest.raises(EditRefused, match="already exists"):
        move_files({"a.md": "", "b.md": ""}, {"a.md": "c.md", "b.md": "C.md"})
    with pytest.raises(NoteNotFound):
        move_files({"a.md": ""}, {"x.md": "y.md"})


def test_a_text_other_than_the_indexed_one_is_refused() -> None:
    vault = MemoryVault({"old.md": "", "s.md": "[[old]]"})
    with pytest.raises(EditRefused, match=r"s.md no longer has the link '\[\[old\]\]' at line 1"):
        plan_move({"old.md": "new.md"}, vault.references(), vault.table, SHORTEST, read=lambda _: "x [[old]]")


def test_cards_of_a_canvas_are_rewritten_and_stay_json() -> None:
    nodes = [
        make_card("file", "1", file='f/ö"ld.md', subpath="#H"),
        make_card("text", "2", text='see [[ö"ld]] and [[ö"ld]]\n"q" [t](m.md)'),
        make_card("file", "3", file="m.md"),
    ]
    for ascii_only in (True, False):
        text = json.dumps({"nodes": nodes, "edges": [], "x": 1}, indent="\t", ensure_ascii=ascii_only)
        texts = {'f/ö"ld.md': "", "m.md": "", "b.canvas": text}
        after = move_files(texts, {'f/ö"ld.md': 'g/n\\e"w.md'})["b.canvas"]
        expected = json.loads(text)
        expected["nodes"][0]["file"] = 'g/n\\e"w.md'
        expected["nodes"][1]["text"] = 'see [[n\\e"w]] and [[n\\e"w]]\n"q" [t](m.md)'
        assert json.loads(after) == expected
        assert after.count("\n") == text.count("\n")


def test_a_card_has_the_full_path_even_if_the_name_is_enough() -> None:
    """The app looks a card's file up by its path alone."""
    text = json.dumps({"nodes": [make_card("file", "1", file="n.md")]})
    assert '"file": "x/n.md"' in move_files({"n.md": "", "b.canvas": text}, {"n.md": "x/n.md"})["b.canvas"]


def test_bases_are_rewritten_in_their_own_quoting() -> None:
    base = (
        "# [[old]] in a comment stays\n"
        "filters:\n"
        "  and:\n"
        '    - file.hasLink("old")\n'
        '    - \'file.inFolder("f/g") && x == "old"\'\n'
        '    - "link(\\"old\\") == this"\n'
        "formulas:\n"
        "  l: link('old.md', \"shown\")\n"
        '  w: contains("[[old#h|d]]")\n'
    )
    after = move_files({"f/old.md": "", "b.base": base}, {"f/old.md": "k/it's.md"}, folders={"f": "k"})[
        "b.base"
    ]
    assert after == (
        "# [[old]] in a comment stays\n"
        "filters:\n"
        "  and:\n"
        '    - file.hasLink("it\'s")\n'
        '    - \'file.inFolder("k/g") && x == "old"\'\n'
        '    - "link(\\"it\'s\\") == this"\n'
        "formulas:\n"
        "  l: link('it\\'s.md', \"shown\")\n"
        '  w: contains("[[it\'s#h|d]]")\n'
    )


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (
            '[[old]]\n```base\nfilters: file.hasLink("old")\n```\n[[old|x]]',
            '[[new name]]\n```base\nfilters: file.hasLink("new name")\n```\n[[new name|x]]',
        ),
        (
            "> [!info]\r\n> ~~~ base\r\n> filters:\r\n>   - 'file == link(\"old.md\")'\r\n> ~~~\r\n",
            "> [!info]\r\n> ~~~ base\r\n> filters:\r\n>   - 'file == link(\"new name.md\")'\r\n> ~~~\r\n",
        ),
        (
            '```base\na: link("old")\n```\n```base\nb: "[[old#h]]"\n```\n```\nlink("old") [[old]]\n```\n',
            '```base\na: link("new name")\n```\n```base\nb: "[[new name#h]]"\n```\n'
            '```\nlink("old") [[old]]\n```\n',
        ),
    ],
)
def test_a_base_in_a_note_is_rewritten_and_other_code_is_not(before: str, after: str) -> None:
    assert move_files({"old.md": "", "s.md": before}, {"old.md": "new name.md"})["s.md"] == after


def test_a_broken_base_in_a_note_does_not_stop_the_rewrite_of_others() -> None:
    text = '```base\na: [link("old")\n```\n[[old]]\n```base\nb: link("old")\n```\n'
    vault = MemoryVault({"old.md": "", "s.md": text})
    plan = plan_move(
        {"old.md": "new.md"},
        vault.references(),
        vault.table,
        SHORTEST,
        read=vault.read,
        bases=vault.bases,
    )
    assert plan.unreadable_bases == ("s.md",)
    assert vault.apply(plan.edits).texts["s.md"] == (
        '```base\na: [link("old")\n```\n[[new]]\n```base\nb: link("new")\n```\n'
    )


def test_a_base_that_is_not_yaml_is_reported_and_left_alone() -> None:
    vault = MemoryVault({"old.md": "", "b.base": 'a: [link("old")'})
    plan = plan_move({"old.md": "new.md"}, [], vault.table, SHORTEST, read=vault.read, bases=vault.bases)
    assert plan.unreadable_bases == ("b.base",) and plan.edits == {}


@pytest.mark.parametrize(
    ("folder", "expected"),
    [("f", "k"), ("F/g", "k/g"), ("/f/", "/k/"), ("ff", None), ("x/f", None), ("", None)],
)
def test_a_folder_is_moved_with_the_one_above_it(folder: str, expected: str | None) -> None:
    assert move_folder(folder, {"f": "k"}) == expected


def test_links_that_now_resolve_for_the_first_time_are_reported() -> None:
    vault = MemoryVault({"old.md": "", "s.md": "[[new]] [[old]]"})
    plan = plan_move({"old.md": "new.md"}, vault.references(), vault.table, SHORTEST, read=vault.read)
    assert [r.link.raw for r in plan.adopted] == ["[[new]]"]
    assert [r.link.raw for r in plan.rewritten] == ["[[old]]"]


def test_a_plan_for_a_new_file_lists_the_links_it_would_capture_and_pins_them() -> None:
    vault = MemoryVault({"x/n.md": "", "s.md": "[[n]] [t](n.md) [[x/n]] [[gone]]", "t.md": "nothing"})
    plan = plan_create("n.md", vault.references(), vault.table, SHORTEST, read=vault.read)
    assert [r.link.raw for r in plan.repointed] == ["[[n]]", "[t](n.md)"]
    assert vault.apply(plan.edits).texts["s.md"] == "[[x/n]] [t](x/n.md) [[x/n]] [[gone]]"
    assert list(plan.edits) == ["s.md"]
    created = plan_create("y/gone.md", vault.references(), vault.table, SHORTEST, read=vault.read)
    assert [r.link.raw for r in created.adopted] == ["[[gone]]"] and not created.repointed


def plan_for(vault: MemoryVault, moves: Mapping[str, str], link_format: LinkFormat) -> MovePlan:
    return plan_move(moves, vault.references(), vault.table, LinkSettings(link_format), read=vault.read)


@settings(max_examples=250, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(renames(), st.sampled_from(["shortest", "relative", "absolute"]))
def test_after_any_move_every_link_leads_to_the_same_file(
    case: tuple[dict[str, str], dict[str, str]], link_format: LinkFormat
) -> None:
    texts, moves = case
    vault = MemoryVault(texts)
    before = vault.references()
    plan = plan_for(vault, moves, link_format)
    after = vault.apply(plan.edits, moves).references()
    assert len(before) == len(after)
    for old, new in zip(before, after, strict=True):
        assert new.source == moves.get(old.source, old.source)
        assert (new.link.subpath, new.link.embed, new.link.kind) == (
            old.link.subpath,
            old.link.embed,
            old.link.kind,
        )
        if not old.link.markdown and old.link.kind != "markdown":
            assert new.link.display == old.link.display
        if old.resolved is None:
            assert new.link.raw == old.link.raw
        else:
            assert new.resolved == moves.get(old.resolved, old.resolved), (old.link.raw, new.link.raw)
    for path, changes in plan.edits.items():
        spans = [(link.start, link.end) for link in vault.note(path).links]
        for change in changes:
            assert any(start <= change.start and change.end <= end for start, end in spans)


@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(renames())
def test_the_references_selected_by_touched_keys_are_enough(
    case: tuple[dict[str, str], dict[str, str]],
) -> None:
    """The engine asks the index only for these."""
    texts, moves = case
    vault = MemoryVault(texts)
    keys = touched_keys([*moves, *moves.values()])
    few = [r for r in vault.references() if r.source in moves or keys & set(candidate_keys(r.link.target))]
    plan = plan_move(moves, few, vault.table, SHORTEST, read=vault.read)
    assert plan.edits == plan_for(vault, moves, "shortest").edits


@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(vaults(), PATHS, st.sampled_from(["shortest", "relative", "absolute"]))
def test_pinned_links_still_lead_to_their_files_after_a_file_is_created(
    texts: dict[str, str], path: str, link_format: LinkFormat
) -> None:
    if FileTable(texts).same_path(path):
        return
    vault = MemoryVault(texts)
    plan = plan_create(path, vault.references(), vault.table, LinkSettings(link_format), read=vault.read)
    pinned = vault.apply(plan.edits)
    pinned.texts[path] = ""
    for old, new in zip(vault.references(), pinned.references(), strict=True):
        assert new.resolved == old.resolved or (old.resolved is None and new.resolved == path)
