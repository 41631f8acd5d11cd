"""The data of the graph: against the links that each note has, and a vault without what is hidden."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest

from server.callers import open_page_api
from server.conftest import Served, Serving, build_index, make_environ
from support.files import write_vault
from vaultbridge.server.wiring import open_engine
from vaultbridge.web.api import graph as graph_api

WORDS = ["Plan", "Überblick", "会議", "Заметка", "β-test", "🌱 Seed", "नोट", "Żółw"]
FOLDERS = ["", "Projects/", "Private/", "Archiv/Älteres/"]


def make_notes(seed: int, count: int = 40) -> dict[str, str | bytes]:
    """A vault with links within and between folders, to attachments, and to names that no file has."""
    draw = random.Random(seed)
    paths = sorted(
        {f"{draw.choice(FOLDERS)}{draw.choice(WORDS)} {draw.randrange(12)}.md" for _ in range(count)}
    )
    files: dict[str, str | bytes] = {"Pictures/sketch.png": b"\x89PNG"}
    for path in paths:
        lines = []
        for _ in range(draw.randrange(6)):
            target = draw.choice(paths)
            name = target.rpartition("/")[2].removesuffix(".md")
            lines.append(
                draw.choice([f"[[{name}]]", f"[[{target}]]", f"![[{name}]]", "[[Nobody]]", "![[sketch.png]]"])
            )
        lines.append(draw.choice(["", "#garden", "#garden/Beet #日本"]))
        files[path] = "\n".join(lines) + "\n"
    return files


def name_edges(graph: dict[str, Any]) -> set[tuple[str, str]]:
    path, edges = graph["nodes"]["path"], graph["edges"]
    return {(path[source], path[target]) for source, target in zip(edges[::2], edges[1::2], strict=True)}


def read_degrees(graph: dict[str, Any]) -> dict[str, int]:
    return dict(zip(graph["nodes"]["path"], graph["nodes"]["degree"], strict=True))


def compute_expected(folder: Path) -> set[tuple[str, str]]:
    """The links of each note, asked one by one."""
    with open_engine(folder, environ=make_environ(folder.parent)) as engine:
        notes = [file.path for file in engine.queries.files() if file.path.endswith(".md")]
        return {
            (note, link.resolved)
            for note in notes
            for link in engine.queries.outgoing(note)
            if link.resolved and link.resolved.endswith(".md") and link.resolved != note
        }


def prepare(folder: Path, files: dict[str, str | bytes]) -> Path:
    write_vault(folder, files)
    build_index(folder)
    return folder


@pytest.mark.parametrize("seed", range(3))
async def test_the_graph_has_every_note_and_every_link(serving: Serving, tmp_path: Path, seed: int) -> None:
    folder = prepare(tmp_path / "Notes", make_notes(seed))
    wanted = compute_expected(folder)
    assert wanted
    async with serving("", "Notes") as served:
        graph = await open_page_api(served).get("/graph")
        assert graph["complete"] and graph["cut"] == "" and graph["root"] is None
        nodes = graph["nodes"]
        assert set(nodes["path"]) == {path for path in make_notes(seed) if path.endswith(".md")}
        assert (
            name_edges(graph) == wanted and len(graph["edges"]) == 2 * len(wanted) == 2 * graph["totalEdges"]
        )
        assert read_degrees(graph) == {path: sum(path in pair for pair in wanted) for path in nodes["path"]}
        folders = [graph["folders"][place] for place in nodes["folder"]]
        assert folders == [path.rpartition("/")[0] for path in nodes["path"]]
        for path, tags in zip(nodes["path"], nodes["tags"], strict=True):
            text = make_notes(seed)[path]
            shown = {graph["tags"][tag] for tag in tags}
            assert {"#garden/Beet", "#日本"} <= shown if "#garden/Beet" in str(text) else "#日本" not in shown
        more = await open_page_api(served).get("/graph", attachments=1, unresolved=1)
        kinds = dict(zip(more["nodes"]["path"], more["nodes"]["kind"], strict=True))
        assert kinds["Pictures/sketch.png"] == 2 and kinds["Nobody"] == 3
        naming = {path for path, text in make_notes(seed).items() if "[[Nobody]]" in str(text)}
        assert {source for source, target in name_edges(more) if target == "Nobody"} == naming


@pytest.mark.parametrize("seed", range(3))
async def test_a_limited_token_sees_the_graph_of_a_vault_without_what_is_hidden(
    serving: Serving, tmp_path: Path, seed: int
) -> None:
    files = make_notes(seed)
    prepare(tmp_path / "Notes", files)
    prepare(
        tmp_path / "Public", {path: text for path, text in files.items() if not path.startswith("Private/")}
    )
    async with serving("", "Notes", "Public") as served:
        _, secret = served.tokens.make("narrow", deny=("Private/",))
        options = {"attachments": 1, "unresolved": 1}
        narrow = await open_page_api(served).with_token(secret).get("/graph", vault="Notes", **options)
        public = await open_page_api(served).get("/graph", vault="Public", **options)
        assert name_edges(narrow) == name_edges(public) and read_degrees(narrow) == read_degrees(public)
        assert narrow["folders"] == public["folders"] and narrow["tags"] == public["tags"]
        assert narrow["totalNodes"] == public["totalNodes"]


async def walk(served: Served, note: str, depth: int) -> set[str]:
    graph = await open_page_api(served).get("/graph", note=note, depth=depth)
    assert graph["nodes"]["path"][graph["root"]] == note
    return set(graph["nodes"]["path"])


async def test_around_a_note_are_those_so_many_links_away(
    serving: Serving, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    chain = {f"N{place}.md": f"[[N{place + 1}]]\n" for place in range(9)} | {"N9.md": "", "Alone.md": ""}
    prepare(tmp_path / "Notes", chain)
    async with serving("", "Notes") as served:
        assert await walk(served, "N4.md", 1) == {"N3.md", "N4.md", "N5.md"}
        assert await walk(served, "N4.md", 3) == {f"N{place}.md" for place in range(1, 8)}
        assert await walk(served, "Alone.md", 5) == {"Alone.md"}
        api = open_page_api(served)
        assert await api.catch_refusal("/graph", params={"note": "Nowhere"}) == (404, "FILE_NOT_FOUND")
        for depth in ("0", "6", "-1", "x"):
            status = await api.catch_refusal("/graph", params={"note": "N1", "depth": depth})
            assert status == (400, "INVALID_PARAMS")
        monkeypatch.setattr(graph_api, "AROUND", 4)
        cut = await api.get("/graph", note="N4", depth=3)
        assert len(cut["nodes"]["path"]) == 4 and cut["cut"].startswith("The nearest 4 are shown")
        monkeypatch.setattr(graph_api, "NODES", 3)
        (served.vault / "N1.md").write_text("[[N2]] [[N5]]\n")
        cut = await api.until(lambda: _cut(api))
        assert len(cut["nodes"]["path"]) == 3 and cut["totalNodes"] == 11
        assert cut["cut"].startswith("The 3 best linked of 11 are shown")
        assert {"N2.md", "N5.md"} & set(cut["nodes"]["path"])


async def _cut(api: Any) -> Any:
    graph = await api.get("/graph")
    return graph if graph["cut"] else None


async def test_an_unchanged_graph_is_not_sent_again_and_a_changed_one_is(
    serving: Serving, tmp_path: Path
) -> None:
    prepare(tmp_path / "Notes", {"A.md": "[[B]]\n", "B.md": ""})
    async with serving("", "Notes") as served:
        url, token = f"{served.url}/page/api/graph", served.listening.page.partition("#token=")[2]
        headers = {"Authorization": f"Bearer {token}"}
        async with served.http.get(url, headers=headers) as first:
            tag = first.headers["ETag"]
        async with served.http.get(url, headers={**headers, "If-None-Match": tag}) as second:
            assert second.status == 304 and await second.read() == b""
        await served.call("create_note", name="C", content="[[A]]\n")
        async with served.http.get(url, headers={**headers, "If-None-Match": tag}) as third:
            assert third.status == 200
            assert name_edges(await third.json()) == {("A.md", "B.md"), ("C.md", "A.md")}
