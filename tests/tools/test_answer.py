"""What a tool returns."""

from __future__ import annotations

from vaultbridge.tools.attachment import SHOWN_IMAGES
from vaultbridge.tools.base.answer import Answer, ImagePart, TextPart, answer_data, answer_text
from vaultbridge.vault.file_types import media_type


def test_reading_answers_in_text_alone() -> None:
    assert answer_text("hi") == Answer((TextPart("hi"),), None, changed=False)


def test_changing_answers_in_the_contracts_envelope() -> None:
    answer = answer_data({"path": "ä.md"})
    assert answer.text == '{"success":true,"data":{"path":"ä.md"}}'
    assert answer.data == {"success": True, "data": {"path": "ä.md"}}
    assert answer.changed
    assert not answer_data({}, changed=False).changed


def test_the_text_of_an_answer_leaves_pictures_out() -> None:
    assert Answer((TextPart("a"), ImagePart(b"", "image/png", "v", "p.png"), TextPart("b"))).text == "a\nb"


def test_media_types_by_suffix() -> None:
    assert media_type("a/b.PNG") == "image/png"
    assert media_type("x.md") == "text/markdown"
    assert media_type("noending") == "application/octet-stream"
    # A name without a dot has no suffix, whatever it says.
    assert [media_type(name) for name in ("png", "a.png/md")] == ["application/octet-stream"] * 2
    assert media_type("i.jpg") in SHOWN_IMAGES
