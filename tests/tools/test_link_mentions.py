"""`link_mentions`: every place that mentions a note becomes a link to it, and nothing else changes."""

from __future__ import annotations

from support.tools import Small
from vaultbridge.errors import EditRefused

KILN = {"Solar kiln.md": "---\naliases: [sun oven]\n---\nDries wood. A Solar kiln is warm.\n"}


def test_every_mention_in_other_notes_becomes_a_link(small: Small) -> None:
    harness = small(
        {
            **KILN,
            "A.md": "The Solar kiln, and again the solar kiln.\n",
            "B.md": "We have a sun oven.\n",
            "C.md": "Nothing here.\n",
        }
    )
    data = harness.data("edit_note", op="link_mentions", name="Solar kiln")
    assert data["files"] == [{"path": "A.md", "links": 2}, {"path": "B.md", "links": 1}]
    assert harness.read("A.md") == "The [[Solar kiln]], and again the [[Solar kiln|solar kiln]].\n"
    assert harness.read("B.md") == "We have a [[Solar kiln|sun oven]].\n"
    assert harness.read("Solar kiln.md") == KILN["Solar kiln.md"]
    assert harness.rows("links", name="Solar kiln")[-1] == "(backlinks: 3)"


def test_what_is_no_mention_stays_as_it_is(small: Small) -> None:
    others = {
        "Solar kiln permit.md": "x\n",
        "A.md": "The Solar kiln permit, `Solar kiln`, [[Solar kiln]], https://a.b/Solar kiln\n# Solar kiln\n",
        "B.md": "---\ntitle: Solar kiln\n---\n    Solar kiln\n",
        "C.md": "A Solar kiln.\n",
    }
    harness = small({**KILN, **others})
    harness.data("edit_note", op="link_mentions", name="Solar kiln")
    for path, text in others.items():
        assert harness.read(path) == text.replace("A Solar kiln.", "A [[Solar kiln]]."), path


def test_many_mentions_in_one_note_are_all_linked(small: Small) -> None:
    harness = small({"Ada.md": "a\n", "L.md": "".join(f"{n}: Ada came, Ada went.\n" for n in range(12))})
    assert harness.data("edit_note", op="link_mentions", name="Ada")["files"] == [
        {"path": "L.md", "links": 24}
    ]


def test_without_mentions_or_with_a_shared_name_it_says_why(small: Small) -> None:
    harness = small({"A b.md": "x", "f/Same.md": "x", "g/Same.md": "y", "L.md": "Same here.\n"})
    refused = harness.catch_refusal(EditRefused, "edit_note", op="link_mentions", name="A b")
    assert "No other note mentions A b.md" in str(refused)
    refused = harness.catch_refusal(EditRefused, "edit_note", op="link_mentions", name="f/Same")
    assert "another note has the same name" in str(refused)


def test_mentions_of_a_note_that_the_same_batch_changes(small: Small) -> None:
    harness = small({**KILN, "A.md": "x\n", "B.md": "A Solar kiln.\n"})
    operations = [
        {"op": "append", "name": "B", "content": "Solar kiln too."},
        {"op": "link_mentions", "name": "Solar kiln"},
    ]
    harness.data("batch", operations=operations)
    assert harness.read("B.md") == "A [[Solar kiln]].\n[[Solar kiln]] too.\n"
