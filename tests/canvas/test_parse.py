from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from vaultbridge.canvas.parse import (
    MAX_PROBLEMS,
    Canvas,
    FileCard,
    GroupCard,
    LinkCard,
    OtherCard,
    Rectangle,
    TextCard,
    parse_canvas,
    read_canvas,
)

CANVAS = """{
\t"nodes":[
\t\t{"id":"00000000000000a1","type":"group","label":"Plan","x":-20,"y":-20,"width":600,"height":400,\
"color":"4"},
\t\t{"id":"00000000000000a2","type":"text",\
"text":"See [[Telescope#Mount|the mount]] and ![[sky.png]]\\n#todo/now [m](Log%201.md) `[[no]]`",\
"x":0,"y":0,"width":260,"height":60,"plugin":{"k":1}},
\t\t{"id":"00000000000000a3","type":"file","file":"Notes/Größe.md","subpath":"#Heading","x":300,\
"y":0,"width":260,"height":60.5},
\t\t{"id":"00000000000000a4","type":"link","url":"https://example.org/","x":0,"y":500,"width":260,\
"height":60},
\t\t{"id":"00000000000000a5","type":"shape","x":0,"y":700,"width":10,"height":10}
\t],
\t"edges":[
\t\t{"id":"00000000000000e1","fromNode":"00000000000000a2","fromSide":"right",\
"toNode":"00000000000000a3","toSide":"left","label":"needs"},
\t\t{"id":"00000000000000e2","fromNode":"00000000000000a3","toNode":"00000000000000a4",\
"fromEnd":"arrow","toEnd":"none","color":"#ff0000"}
\t],
\t"metadata":{"version":"1.0"}
}"""


def test_cards_and_edges_are_read_as_what_they_are() -> None:
    canvas = read_canvas(CANVAS)
    assert canvas.problems == ()
    group, text, file, link, other = canvas.cards
    assert isinstance(group, GroupCard)
    assert (group.label, group.color, group.box) == ("Plan", "4", Rectangle(-20, -20, 600, 400))
    assert isinstance(text, TextCard)
    assert text.text.splitlines()[0] == "See [[Telescope#Mount|the mount]] and ![[sky.png]]"
    assert isinstance(file, FileCard)
    assert (file.file, file.subpath, file.box.bottom) == ("Notes/Größe.md", "#Heading", 60.5)
    assert isinstance(link, LinkCard)
    assert link.url == "https://example.org/"
    assert isinstance(other, OtherCard)
    assert other.type == "shape"
    first, second = canvas.edges
    assert (first.from_side, first.to_side, first.from_end, first.to_end, first.label) == (
        "right",
        "left",
        "none",
        "arrow",
        "needs",
    )
    assert (second.from_end, second.to_end, second.color) == ("arrow", "none", "#ff0000")


def test_unknown_keys_are_preserved() -> None:
    canvas = read_canvas(CANVAS)
    assert canvas.root is not None and canvas.root.get("metadata") is not None
    assert canvas.cards[1].json.get("plugin") is not None


def test_a_file_card_is_a_link_whose_span_is_the_string_of_its_path() -> None:
    (link,) = [link for link in parse_canvas(CANVAS).links if link.kind == "canvas"]
    assert (link.target, link.subpath, link.embed, link.card) == (
        "/Notes/Größe.md",
        "#Heading",
        True,
        "00000000000000a3",
    )
    assert CANVAS[link.start : link.end] == link.raw == '"Notes/Größe.md"'
    assert link.line == 5


def test_links_and_tags_of_a_text_card_have_the_span_of_its_whole_string() -> None:
    note = parse_canvas(CANVAS)
    links = [link for link in note.links if link.kind != "canvas"]
    assert [(link.raw, link.target, link.subpath, link.display, link.embed, link.kind) for link in links] == [
        ("[[Telescope#Mount|the mount]]", "Telescope", "#Mount", "the mount", False, "wiki"),
        ("![[sky.png]]", "sky.png", "", None, True, "wiki"),
        ("[m](Log%201.md)", "Log 1.md", "", "m", False, "markdown"),
    ]
    for link in links:
        assert json.loads(CANVAS[link.start : link.end]).startswith("See [[")
        assert (link.line, link.card) == (4, "00000000000000a2")
    (tag,) = note.tags
    assert (tag.name, tag.line, tag.start) == ("todo/now", 4, links[0].start)


@pytest.mark.parametrize("text", ["", "  \n", "{}", '{"nodes":[],"edges":[]}', '{"nodes":null}'])
def test_an_empty_canvas_is_a_canvas(text: str) -> None:
    canvas = read_canvas(text)
    assert (canvas.cards, canvas.edges, canvas.problems, canvas.readable) == ((), (), (), True)


@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        ('{\n"nodes":[\n', 3, "not valid JSON"),
        ("[]", 1, "should be a JSON object"),
        ('{"nodes":{}}', 1, "nodes should be an array"),
        ('{"nodes":[\n5]}', 2, "An entry of nodes should be an object"),
        ('{"nodes":[\n{"id":"a","type":"text"}]}', 2, "A card needs an id"),
        ('{"nodes":[{"id":"a","type":"text","x":0,"y":0,"width":"1","height":1}]}', 1, "A card needs"),
        ('{"nodes":[{"id":"a","type":"text","x":0,"y":0,"width":1,"height":1}]}', 1, "card a has no text"),
        ('{"nodes":[{"id":"a","type":"link","x":0,"y":0,"width":1,"height":1}]}', 1, "card a has no url"),
        ('{"edges":[\n\n{"id":"a","fromNode":"b"}]}', 3, "An edge needs"),
    ],
)
def test_what_is_wrong_is_reported_with_its_line(text: str, line: int, message: str) -> None:
    (problem,) = parse_canvas(text).problems
    assert (problem.code, problem.line) == ("bad-canvas", line)
    assert message in problem.message


def test_the_number_of_reported_problems_is_bounded() -> None:
    assert len(read_canvas('{"nodes":[' + ",".join("5" * 500) + "]}").problems) == MAX_PROBLEMS


@settings(deadline=None)
@given(st.text(alphabet='{}[],:"nodestypx id0\n', max_size=60))
def test_any_text_gives_a_canvas(text: str) -> None:
    assert isinstance(read_canvas(text), Canvas)
    parse_canvas(text)
