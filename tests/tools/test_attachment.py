"""`attachment`."""

from __future__ import annotations

import base64

import pytest

from support.tools import Small, ToolHarness
from vaultbridge.errors import InvalidArgument, InvalidPath, NoteNotFound, PermissionDenied
from vaultbridge.tools.attachment import FILE_BYTES
from vaultbridge.tools.base.answer import Answer, FilePart, ImagePart
from vaultbridge.vault.scope import Scope

SVG = '<svg xmlns="http://www.w3.org/2000/svg"/>'


def encode(data: bytes) -> str:
    return base64.b64encode(data).decode()


def test_a_picture_is_returned_as_an_image(sample: ToolHarness) -> None:
    answer = sample.call("attachment", name="m81-sketch.png")
    data = (sample.folder / "Attachments/m81-sketch.png").read_bytes()
    assert answer == Answer((ImagePart(data, "image/png", "sample-vault", "Attachments/m81-sketch.png"),))
    assert answer.text == ""


def test_other_files_are_returned_as_bytes(small: Small) -> None:
    harness = small({"d.pdf": b"%PDF", "i.bmp": b"BM"})
    assert harness.call("attachment", path="d.pdf").content == (
        FilePart(b"%PDF", "application/pdf", "vault", "d.pdf"),
    )
    assert isinstance(harness.call("attachment", name="i.bmp").content[0], FilePart), "assistants see no BMP"


def test_text_files_are_returned_as_text_in_pages(small: Small) -> None:
    harness = small({"t.csv": "a,b\n1,2\n", "i.svg": SVG})
    assert harness.text("attachment", name="t.csv") == "[t.csv]\na,b\n1,2\n"
    assert (
        harness.text("attachment", name="t.csv", max_chars=5)
        == "[t.csv | cut at 4]\na,b\n[cut; continue with start=4]"
    )
    assert harness.text("attachment", name="t.csv", start=4) == "[t.csv]\n1,2\n"
    assert harness.text("attachment", name="i.svg").endswith(SVG)


def test_info_returns_size_and_type_without_content(sample: ToolHarness) -> None:
    assert sample.text("attachment", action="info", name="m81-sketch.png") == (
        "Attachments/m81-sketch.png  image/png  2506 bytes  linked from 4 notes"
    )


def test_a_new_file_goes_to_the_attachment_folder_and_its_link_is_returned(sample: ToolHarness) -> None:
    data = sample.data("add_attachment", name="star.png", data=encode(b"star"), note="Algol")
    assert {key: data[key] for key in ("path", "link", "bytes")} == {
        "path": "Attachments/star.png",
        "link": "![[star.png]]",
        "bytes": 4,
    }
    assert (sample.folder / "Attachments/star.png").read_bytes() == b"star"
    again = sample.data("add_attachment", name="star.png", data=encode(b"other"))
    assert again["path"] == "Attachments/star 1.png"
    assert sample.data("add_attachment", name="x/y.bin", data=encode(b"1"))["path"] == "x/y.bin"
    sample.data("undo")
    assert not (sample.folder / "x/y.bin").exists()


def test_a_folder_beside_the_note_is_honoured(small: Small) -> None:
    harness = small({".obsidian/app.json": '{"attachmentFolderPath":"./img"}', "f/N.md": ""})
    assert harness.data("add_attachment", name="a.png", data=encode(b"a"), note="N")["path"] == "f/img/a.png"


def test_wrong_calls_are_named(small: Small) -> None:
    harness = small({"d.pdf": b"x" * 100, "N.md": ""})

    def catch_argument(tool: str = "attachment", /, **arguments: object) -> str:
        named: str = harness.catch_refusal(InvalidArgument, tool, **arguments).argument
        return named

    assert catch_argument() == "name"
    assert catch_argument(name="d.pdf", max_bytes=99) == "max_bytes"
    assert catch_argument(name="d.pdf", max_bytes=FILE_BYTES + 1) == "max_bytes"
    assert catch_argument("add_attachment", name="a.png") == "data"
    for data in ("not base64!", "Ünter", "日本", "QQ=", "\x00"):
        assert catch_argument("add_attachment", name="a.png", data=data) == "data"
    assert catch_argument("add_attachment", name="a.md", data=encode(b"a")) == "name"
    assert catch_argument("add_attachment", name="noending", data=encode(b"a")) == "name"
    assert catch_argument("add_attachment", name="a.png", data="") == "data"
    assert catch_argument(action="steal", name="d.pdf") == "action"
    harness.catch_refusal(NoteNotFound, "attachment", name="q.png")
    harness.catch_refusal(NoteNotFound, "add_attachment", name="a.png", data=encode(b"a"), note="Q")
    harness.catch_refusal(InvalidPath, "add_attachment", name="../a.png", data=encode(b"a"))


def test_a_file_too_large_for_a_message_is_refused(small: Small) -> None:
    harness = small({})
    too_much = "A" * (FILE_BYTES * 4 // 3 + 8)
    assert (
        harness.catch_refusal(InvalidArgument, "add_attachment", name="a.bin", data=too_much).argument
        == "data"
    )


def test_a_hidden_file_is_missing_and_its_name_cannot_be_probed(small: Small) -> None:
    harness = small({"f/s.png": b"s"}, scope=Scope(deny=("f/s.png",)))
    harness.catch_refusal(NoteNotFound, "attachment", name="f/s.png")
    with pytest.raises(PermissionDenied):
        harness.call("add_attachment", name="f/s.png", data=encode(b"x"))


@pytest.mark.parametrize(
    ("data", "stored"),
    [
        ("data:image/png;base64,c3Rhcg==", b"star"),
        ("data:image/png;name=a.png;base64,c3Rhcg%3D%3D", b"star"),
        ("DATA:;BASE64,c3Rhcg==", b"star"),
        ("data:image/svg+xml,%3Csvg/%3E", b"<svg/>"),
    ],
)
def test_a_data_uri_is_taken_as_it_is(small: Small, data: str, stored: bytes) -> None:
    harness = small({})
    assert harness.data("add_attachment", name="star.png", data=data)["bytes"] == len(stored)
    assert harness.files()["star.png"] == stored


@pytest.mark.parametrize(
    "data", ["data:image/png;base64,*", "data:,", "data:image/png;base64,", "data:image/png"]
)
def test_a_broken_data_uri_is_refused(small: Small, data: str) -> None:
    refused = small({}).catch_refusal(InvalidArgument, "add_attachment", name="star.png", data=data)
    assert refused.argument == "data"


def test_an_attachment_is_shown_at_the_end_of_its_note_in_the_same_call(small: Small) -> None:
    harness = small({"Home/House.md": "# House\n", "Home/star.png": b"old"})
    data = harness.data(
        "add_attachment", name="pics/star.png", data=encode(b"star"), note="House", embed=True
    )
    text = harness.text("read_note", name="House", raw=True)
    assert text == f"# House\n{data['link']}\n"
    assert "pics/star.png" in data["link"]
    assert [file["path"] for file in data["files"]] == ["Home/House.md"]
    harness.call("undo")
    assert harness.text("read_note", name="House", raw=True) == "# House\n"
    harness.catch_refusal(NoteNotFound, "attachment", name="pics/star.png")


def test_an_attachment_is_not_shown_unless_that_is_asked_for_and_a_note_is_named(small: Small) -> None:
    harness = small({"House.md": "# House\n"})
    refused = harness.catch_refusal(
        InvalidArgument, "add_attachment", name="a.png", data=encode(b"a"), embed=True
    )
    assert refused.argument == "note"
    harness.catch_refusal(NoteNotFound, "attachment", name="a.png")
    harness.call("add_attachment", name="a.png", data=encode(b"a"), note="House", embed=False)
    assert harness.text("read_note", name="House", raw=True) == "# House\n"
