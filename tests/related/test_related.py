"""What is offered is not linked yet; taking the offer links it and changes no other byte."""

from __future__ import annotations

import random
import re
import unicodedata
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from support.files import write_vault
from support.scripts import draw_words
from support.tools import NOW
from vaultbridge.engine import DirectEngine
from vaultbridge.engine.related.edits import convert_edit
from vaultbridge.engine.related.find import Related, find_related, find_related_to_text
from vaultbridge.engine.related.vault_wide import look_over_vault
from vaultbridge.errors import StaleWrite
from vaultbridge.vault.paths import VaultPath
from vaultbridge.vault.scope import Scope
from vaultbridge.vault.write.trash import Trash

Open = Callable[..., DirectEngine]


@pytest.fixture
def opened(tmp_path: Path) -> Iterator[Open]:
    engines: list[DirectEngine] = []

    def make(
        files: dict[str, str | bytes], *, scope: Scope | None = None, name: str = "vault"
    ) -> DirectEngine:
        engine = DirectEngine(
            write_vault(tmp_path / name, files),
            cache=tmp_path / f"cache {len(engines)}",
            trash=Trash({"HOME": str(tmp_path / "home")}),
            scope=scope or Scope(),
            clock=NOW.timestamp,
        )
        engines.append(engine)
        return engine

    yield make
    for engine in engines:
        engine.close()


def list_related(engine: DirectEngine, name: str, limit: int = 60) -> dict[str, Related]:
    return {related.path: related for related in find_related(engine, engine.find(name), limit=limit).rows}


def list_linked_pairs(engine: DirectEngine) -> set[tuple[str, str]]:
    pairs = set()
    for indexed in engine.queries.notes():
        for to in indexed.resolved:
            if to is not None:
                pairs |= {(indexed.file.path, to), (to, indexed.file.path)}
    return pairs


def read_contents(engine: DirectEngine) -> dict[str, bytes]:
    folder = engine.root.folder
    return {place.relative_to(folder).as_posix(): place.read_bytes() for place in folder.rglob("*.md")}


def draw_vault(seed: int) -> dict[str, str | bytes]:
    """Notes named by words of every script, which mention and link each other in all kinds of places."""
    rng = random.Random(seed)
    words = [word for word in draw_words(seed, 24) if re.fullmatch(r"[^\\/:*?\"<>|#^\[\].%`$\s'!]+", word)]
    names = [*list(dict.fromkeys(word for word in words if len(word) > 1))[:14], "Night sky", "C++", "Log 7"]
    places = (
        "We saw {} at night.", "- [ ] ask about {} today", "> said {} twice, {}",
        "| {} | 1 |\n| - | - |\n| x | {} |",
        "`{}` is code", "```\n{}\n```", "# {}", "[[{}]]", "[{}](https://example.org)", "**{}**, and {}?",
        "{}", "    {}", "%%{}%%", "https://example.org/{}", "1. {}\n2. {}", "text ^{}", "#tag {} ^b1",
        "[[{}|so]]",
    )  # fmt: skip
    files: dict[str, str | bytes] = {}
    for number, name in enumerate(names):
        lines = []
        for _ in range(rng.randint(0, 5)):
            mentioned = rng.choice(names)
            lines.append(rng.choice(places).replace("{}", mentioned))
        end = rng.choice(("\n", "\r\n"))
        text = end.join("\n\n".join(lines).split("\n")) + rng.choice(("", end))
        if rng.random() < 0.3:
            text = f"---{end}aliases: [alias{number}]{end}---{end}{text}"
        folder = rng.choice(("", "", "A/", "A/B/"))
        files[unicodedata.normalize("NFC", f"{folder}{name}.md")] = text.encode("utf-8", "surrogatepass")
    if rng.random() < 0.5:
        form = rng.choice(("shortest", "relative", "absolute"))
        style = rng.choice(("true", "false"))
        files[".obsidian/app.json"] = f'{{"newLinkFormat": "{form}", "useMarkdownLinks": {style}}}'
    return files


@pytest.mark.parametrize("seed", range(4))
def test_an_offer_makes_the_link_and_changes_nothing_else(opened: Open, seed: int) -> None:
    engine = opened(draw_vault(seed))
    offers = 0
    for path in sorted(read_contents(engine)):
        before = list_linked_pairs(engine)
        for related in find_related(engine, VaultPath(path), limit=2).rows:
            assert related.path != path
            assert (path, related.path) not in before, "nothing offered is linked already"
            assert related.reasons
            assert related.edit is not None
            offers += 1
            files = read_contents(engine)
            source, target = (path, related.path) if related.edit["name"] == path else (related.path, path)
            outcome = engine.apply([convert_edit(related.edit)])
            assert [file.path for file in outcome.files] == [related.edit["name"]] == [source]
            after = read_contents(engine)
            assert {name: after[name] for name in files if name != source} == {
                name: files[name] for name in files if name != source
            }
            assert_only_added(files[source].decode(), after[source].decode(), related.edit)
            assert (source, target) in list_linked_pairs(engine)
            assert related.path not in list_related(engine, path)
            engine.undo(int(outcome.change_id))
            assert read_contents(engine) == files
    assert offers > 5


def assert_only_added(before: str, after: str, edit: dict[str, str]) -> None:
    """The text is the one before with something inserted, and what was replaced is still there to read."""
    if edit["op"] == "append":
        first = next(
            (at for at, (a, b) in enumerate(zip(before, after, strict=False)) if a != b), len(before)
        )
        rest = before[first:]
        assert after.endswith(rest)
        assert after[: len(after) - len(rest)].startswith(before[:first])
        return
    at = before.find(edit["old"])
    assert before.find(edit["old"], at + 1) < 0
    assert after == before[:at] + edit["new"] + before[at + len(edit["old"]) :]


def test_a_mention_is_linked_where_it_stands(opened: Open) -> None:
    engine = opened(
        {
            "Ada Lovelace.md": "---\naliases: [Countess]\n---\nwrote programs",
            "Log.md": "# Ada Lovelace\n`Ada Lovelace` met the countess.\nThen the countess left.\n",
        }
    )
    related = list_related(engine, "Log")["Ada Lovelace.md"]
    assert related.reasons[0] == "mentioned at line 2: `Ada Lovelace` met the countess."
    assert related.edit is not None
    assert {key: related.edit[key] for key in ("op", "name", "old", "new")} == {
        "op": "replace_text",
        "name": "Log.md",
        "old": "met the countess",
        "new": "met the [[Ada Lovelace|countess]]",
    }
    other = list_related(engine, "Ada Lovelace")["Log.md"]
    assert other.reasons[0] == "mentions this at Log.md:2"
    assert other.edit == related.edit


def test_an_offer_is_refused_when_the_note_has_changed(opened: Open) -> None:
    engine = opened({"Moth.md": "x", "Log.md": "A moth came."})
    edit = list_related(engine, "Log")["Moth.md"].edit
    assert edit is not None
    (engine.root.folder / "Log.md").write_text("A moth came. And went.")
    with pytest.raises(StaleWrite):
        engine.apply([convert_edit(edit)])


def test_in_a_table_the_bar_is_escaped(opened: Open) -> None:
    engine = opened({"Moth.md": "x", "T.md": "| what |\n| --- |\n| a moth |\n\nA moth | here.\n"})
    edit = list_related(engine, "T")["Moth.md"].edit
    assert edit is not None
    assert edit["new"] == "a [[Moth\\|moth]]"
    engine.apply([convert_edit(edit)])
    assert ("T.md", "Moth.md") in list_linked_pairs(engine)


def test_shared_neighbours_and_rare_words_are_reasons(opened: Open) -> None:
    engine = opened(
        {
            "A.md": "[[Hub]] about zygomorphic orchids",
            "B.md": "[[Hub]] more zygomorphic orchids",
            "Hub.md": "",
            **{f"Other {n}.md": f"plain words number {n}" for n in range(8)},
        }
    )
    related = list_related(engine, "A")["B.md"]
    assert related.reasons == ("shared neighbours: Hub", "shared words: zygomorphic, orchids, hub")
    assert related.edit is not None
    assert (related.edit["op"], related.edit["content"], related.edit["heading"]) == (
        "append",
        "- [[B]]",
        "Related",
    )
    engine.apply([convert_edit(related.edit)])
    assert (engine.root.folder / "A.md").read_text().endswith("\n## Related\n\n- [[B]]")


def test_a_list_of_related_notes_that_exists_is_used(opened: Open) -> None:
    text = "zygomorphic orchids\n\n## Siehe auch\n\n- [[Hub]]\n\n## Ende\n"
    engine = opened({"A.md": text, "B.md": "zygomorphic orchids", "Hub.md": ""})
    edit = list_related(engine, "A")["B.md"].edit
    assert edit is not None
    engine.apply([convert_edit(edit)])
    assert "- [[Hub]]\n- [[B]]\n\n## Ende" in (engine.root.folder / "A.md").read_text()


@pytest.mark.parametrize("seed", range(3))
def test_hidden_notes_neither_appear_nor_count(opened: Open, seed: int) -> None:
    """With some notes hidden, everything is as if they did not exist."""
    rng = random.Random(seed)
    files = draw_vault(seed)
    notes = [path for path in files if path.endswith(".md")]
    hidden = {f"Secret/{number}": path for number, path in enumerate(rng.sample(notes, len(notes) // 3))}
    kept = {path: data for path, data in files.items() if path not in hidden.values()}
    whole = kept | {f"Secret/{path.rpartition('/')[2]}": files[path] for path in hidden.values()}
    narrow = opened(whole, scope=Scope(deny=("Secret/",)), name="narrow")
    bare = opened(kept, name="bare")
    for path in kept:
        if path.endswith(".md"):
            found = find_related(narrow, VaultPath(path), limit=60)
            assert found == find_related(bare, VaultPath(path), limit=60)
    one, other = look_over_vault(narrow, limit=60), look_over_vault(bare, limit=60)
    assert set(map(str, one.links)) == set(map(str, other.links))
    assert (one.homeless, one.duplicates, one.total) == (other.homeless, other.duplicates, other.total)


def test_a_text_gets_notes_and_what_to_write(opened: Open) -> None:
    engine = opened({"Night sky.md": "stars over the observatory", "B.md": "bread"})
    found = find_related_to_text(engine, "Under the night sky we saw the observatory.").rows
    assert [related.path for related in found] == ["Night sky.md"]
    assert found[0].edit == {"old": "night sky", "new": "[[Night sky|night sky]]"}


def test_the_whole_vault_has_missing_links_orphans_and_duplicates(opened: Open) -> None:
    same = "The same long text about beekeeping in winter, with hives, wax and honey in the attic. " * 3
    engine = opened(
        {
            "Index.md": "[[Bees]] [[Wax]]",
            "Bees.md": "Bees need a quiet hive. See the Apiary plan.",
            "Apiary plan.md": "[[Index]] where the hives stand",
            "Wax.md": "[[Index]]",
            "Copy 1.md": same,
            "Sub/Copy 2.md": same + "One more sentence.",
            "Lonely.md": "qwxz",
        }
    )
    look = look_over_vault(engine)
    assert (look.looked, look.total) == (7, 7)
    best = look.links[0]
    assert (best.source, best.target) == ("Bees.md", "Apiary plan.md")
    assert best.edit is not None
    assert best.edit["new"] == "[[Apiary plan]]"
    placed = {suggestion.target: suggestion for suggestion in look.orphans}
    assert placed["Apiary plan.md"].source == "Bees.md"
    assert placed["Apiary plan.md"].edit == best.edit
    assert "Lonely.md" in look.homeless
    assert [(pair.path, pair.other) for pair in look.duplicates] == [("Copy 1.md", "Sub/Copy 2.md")]
    for suggestion in (*look.links, *look.orphans):
        assert suggestion.edit is not None
        assert suggestion.edit["name"] == suggestion.source, (
            "the link is written in the note that it leads from"
        )
        outcome = engine.apply([convert_edit(suggestion.edit)], dry_run=True)
        assert outcome.files


def test_a_look_continues_where_the_last_one_ended(opened: Open, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("vaultbridge.engine.related.vault_wide.NOTES_LOOKED", 3)
    engine = opened({f"Note {n}.md": f"text {n}" for n in range(7)})
    looks = [look_over_vault(engine, offset=offset) for offset in (0, 3, 6)]
    assert [(look.offset, look.looked, look.total) for look in looks] == [(0, 3, 7), (3, 3, 7), (6, 1, 7)]


def test_one_common_word_relates_nothing(opened: Open) -> None:
    """Two words do, and so does one that hardly any note has if the note is about little else."""
    others: dict[str, str | bytes] = {
        f"{number}.md": f"A list with entry {number}.\n" for number in range(20)
    }
    files: dict[str, str | bytes] = {
        "Lists.md": "A list.\n",
        "Shopping.md": "A list of quinces.\n",
        "Quinces.md": "Some quinces.\n",
        "Garden list.md": "A list of seedlings for the terrace.\n",
        "Terrace.md": "The seedlings on the terrace.\n",
    }
    engine = opened({**others, **files})
    assert list_related(engine, "Lists") == {}
    assert set(list_related(engine, "Shopping")) == {"Quinces.md"}
    assert set(list_related(engine, "Garden list")) == {"Terrace.md"}


def test_one_word_of_a_sixth_of_the_notes_relates_nothing(opened: Open) -> None:
    """It is not so common that it says nothing, and supports other reasons; alone it is none."""
    files: dict[str, str | bytes] = {
        f"{number}.md": f"{'Сад' if number % 6 == 0 else 'Дом'} слово{number} вещь{number}.\n"
        for number in range(60)
    }
    files["Мост.md"] = "Сад камень гранит опора.\n"
    files["Пруд.md"] = "Сад камень кувшинка берег.\n"
    assert set(list_related(opened(files), "Мост")) == {"Пруд.md"}


@pytest.mark.parametrize("text", ["list", "entry of a list", "Lists"])
def test_a_short_text_finds_what_a_search_finds(text: str, opened: Open) -> None:
    """Its words may all be common, which is no reason to find nothing."""
    files: dict[str, str | bytes] = {f"{number}.md": f"A list with entry {number}.\n" for number in range(20)}
    engine = opened(files, scope=Scope(deny=("7.md",)))
    searched = [note.path for note in engine.queries.rank(text, limit=60).notes]
    page = find_related_to_text(engine, text, limit=60)
    assert [related.path for related in page.rows] == searched
    assert len(searched) == 19
    assert page.rows[0].reasons[0].startswith("found at line 1: A list with entry")
