"""Changing one link to name another file, wherever it is."""

from __future__ import annotations

import json

import pytest

from support.memory_vault import make_card
from vaultbridge.canvas.parse import parse_canvas
from vaultbridge.errors import EditRefused
from vaultbridge.links.syntax import Rewrite, retarget
from vaultbridge.markdown.edits.change import apply_changes
from vaultbridge.markdown.parse import parse


def apply_retarget(text: str, rewrite: Rewrite, *, canvas: bool = False) -> str:
    note = parse_canvas(text) if canvas else parse(text)
    return apply_changes(text, retarget("s.md", text, note.links[0], rewrite))


def test_only_the_named_part_changes() -> None:
    assert apply_retarget("x [[a#b|c]] y", Rewrite(target="n")) == "x [[n#b|c]] y"
    assert apply_retarget("x [[a#b|c]] y", Rewrite(subpath="#n")) == "x [[a#n|c]] y"
    assert apply_retarget("x [[a|c]] y", Rewrite(subpath="#n")) == "x [[a#n|c]] y"
    assert apply_retarget("[a b](a%20b.md#c 't')", Rewrite(target="x y.md", subpath="#d e")) == (
        "[a b](x%20y.md#d%20e 't')"
    )


def test_a_display_that_repeats_the_old_name_changes_and_keeps_its_size() -> None:
    rewrite = Rewrite(target="n.png", shown=(("a.png", "n.png"), ("a", "n")))
    assert apply_retarget("![a.png|100x20](a.png)", rewrite) == "![n.png|100x20](n.png)"
    assert apply_retarget("[a](a.png)", rewrite) == "[n](n.png)"
    assert apply_retarget("[A a](a.png)", rewrite) == "[A a](n.png)"
    assert apply_retarget("[[a.png|a]]", rewrite) == "[[n.png|a]]"


def test_quotes_in_a_name_are_escaped_by_the_propertys_quoting() -> None:
    rewrite = Rewrite(target='it\'s "x" \\')
    assert apply_retarget("---\nk: '[[a|b]]'\n---\n", rewrite) == "---\nk: '[[it''s \"x\" \\|b]]'\n---\n"
    assert apply_retarget('---\nk: "[[a|b]]"\n---\n', rewrite) == '---\nk: "[[it\'s \\"x\\" \\\\|b]]"\n---\n'
    assert (
        apply_retarget("---\nk: |-\n  [[a]]\n---\n", Rewrite(target="it's"))
        == "---\nk: |-\n  [[it's]]\n---\n"
    )


def test_a_text_card_is_edited_inside_its_json_string() -> None:
    inner = '\u00e9 "[[a]]"\n\\[[a]] `[[a]]` [[a|b]]'
    node = make_card("text", "1", text=inner)
    text = json.dumps({"nodes": [node]})
    after = apply_retarget(text, Rewrite(target='n"'), canvas=True)
    assert json.loads(after)["nodes"][0]["text"] == '\u00e9 "[[n"]]"\n\\[[a]] `[[a]]` [[a|b]]'


def test_a_link_that_is_not_where_it_was_is_refused() -> None:
    link = parse("[[a]]").links[0]
    with pytest.raises(EditRefused, match="no longer has"):
        retarget("s.md", "x[[a]]", link, Rewrite(target="n"))
    text = json.dumps({"nodes": [make_card("file", "1", file="a.md")]})
    held = parse_canvas(text).links[0]
    with pytest.raises(EditRefused, match="no longer has"):
        retarget("s.canvas", text[:-1], held, Rewrite(subpath="#x"))
    with pytest.raises(EditRefused, match="no longer has"):
        retarget("s.canvas", "{}", held, Rewrite(card_path="b.md"))
