"""A vault with a model: what is sent, what never is, and what happens when the model fails or changes."""

from __future__ import annotations

import json
import logging
import random
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from support.files import write_vault
from support.model_server import SECONDS, ModelServer
from support.scripts import draw_words
from support.waiting import wait_until
from vaultbridge.embeddings.embeddings import Embeddings
from vaultbridge.embeddings.sender import PROBE
from vaultbridge.embeddings.settings import EmbeddingSettings
from vaultbridge.engine import DirectEngine
from vaultbridge.engine.operations import Append, Move
from vaultbridge.engine.operations.base import Operation
from vaultbridge.vault.scope import Scope
from vaultbridge.vault.write.trash import Trash

NOTES: dict[str, str | bytes] = {
    "Bees.md": "Honey comes from the hive in summer.",
    "Ships.md": "A harbour with sails and anchors.",
    "Empty.md": "   \n\n---\n\n***\n",
    "Bread.md": "---\ntags: [x]\n---\nFlour, water and salt.",
}

Open = Callable[..., DirectEngine]


@pytest.fixture
def model() -> Iterator[ModelServer]:
    with ModelServer() as server:
        yield server


@pytest.fixture
def opened(tmp_path: Path, model: ModelServer) -> Iterator[Open]:
    """`opened(files, …)` opens the vault, indexed, with its notes being sent unless `start` is False."""
    engines: list[DirectEngine] = []

    def make(
        files: dict[str, str | bytes] | None = None,
        *,
        scope: Scope | None = None,
        start: bool = True,
        **options: object,
    ) -> DirectEngine:
        settings = EmbeddingSettings(
            **{"url": model.url, "model": "test", "wait_ms": 10_000, **options}  # type: ignore[arg-type]
        )
        engine = DirectEngine(
            write_vault(tmp_path / "vault", files or {}),
            cache=tmp_path / "cache",
            trash=Trash({"HOME": str(tmp_path / "home")}),
            scope=scope or Scope(),
            embeddings=settings,
        )
        engines.append(engine)
        engine.index_sync.refresh()
        if start:
            engine.start_embeddings()
        return engine

    yield make
    for engine in engines:
        engine.close()


def get_embeddings(engine: DirectEngine) -> Embeddings:
    assert engine.embeddings is not None
    return engine.embeddings


def wait_until_sent(engine: DirectEngine) -> Embeddings:
    """The vault's embeddings, when all is sent."""
    assert get_embeddings(engine).wait_sent(SECONDS), get_embeddings(engine).status()
    return get_embeddings(engine)


def change(engine: DirectEngine, *operations: Operation) -> None:
    """Change notes, and wait until the index knows."""
    assert engine.apply(operations).files
    engine.queries.fresh_status()


def rank_paths(engine: DirectEngine, question: str) -> list[str]:
    ranked = wait_until_sent(engine).rank(question, limit=5)
    assert ranked.problem == ""
    return [near.path for near in ranked.passages]


def without_probe(model: ModelServer) -> list[str]:
    return [text for text in model.texts if PROBE not in text]


def test_a_question_finds_the_passage_with_its_meaning(opened: Open) -> None:
    engine = opened(NOTES)
    assert rank_paths(engine, "summer honey hive")[0] == "Bees.md"
    assert rank_paths(engine, "water flour salt")[0] == "Bread.md"
    status = get_embeddings(engine).status()
    assert (status.notes, status.vectors, status.left, status.problem) == (4, 3, 0, "")


def test_questions_and_passages_have_prompts_of_their_own_and_blanks_stay(
    opened: Open, model: ModelServer
) -> None:
    model.prompts = ("Q: ", "P: ")
    engine = opened(NOTES, question_prompt="Q: ", passage_prompt="P: ")
    assert rank_paths(engine, "anchors")[0] == "Ships.md"
    assert model.texts[-1] == "Q: anchors"
    assert sorted(without_probe(model)[:-1]) == [
        "P: Bees\n\nHoney comes from the hive in summer.",
        "P: Bread\n\nFlour, water and salt.",
        "P: Ships\n\nA harbour with sails and anchors.",
    ]


def test_what_is_private_is_never_sent(opened: Open, model: ModelServer) -> None:
    rng = random.Random(12)
    secrets = draw_words(3, 30)
    files: dict[str, str | bytes] = {
        ".obsidian/app.json": json.dumps({"userIgnoreFilters": ["Ignored/"]}),
        "Public.md": "plain words",
    }
    places = ("Denied", "Ignored", "Diary", "Work/Diary")
    for number, word in enumerate(secrets):
        files[f"{rng.choice(places)}/{number}.md"] = f"secret{number} {word}"
    engine = opened(files, scope=Scope(deny=("Denied/",)), private=("Diary/", "Work/Diary"))
    wait_until_sent(engine)
    assert without_probe(model) == ["Public\n\nplain words"]


DIARY: dict[str, str | bytes] = {"Public.md": "plain words", "Diary/1.md": "secret one"}
EXCLUDED = json.dumps({"userIgnoreFilters": ["Diary/"]})


@pytest.mark.parametrize(
    "broken",
    ["", '{"userIgnoreFilters": ["Dia', "\0" * 20, '{"userIgnoreFilters": ["Diary/", "/(a+)+/"]}'],
    ids=["empty", "half written", "zeros", "with a filter that cannot be used"],
)
def test_nothing_is_sent_while_it_is_not_known_what_is_excluded(
    opened: Open, model: ModelServer, broken: str
) -> None:
    engine = opened({**DIARY, ".obsidian/app.json": broken})
    embeddings = get_embeddings(engine)
    wait_until(lambda: embeddings.status().problem)
    assert "which notes are excluded" in embeddings.status().problem
    assert "app.json" in embeddings.status().problem or "filter" in embeddings.status().problem
    assert model.texts == []
    write_vault(engine.root.folder, {".obsidian/app.json": EXCLUDED})
    wait_until_sent(engine)
    assert without_probe(model) == ["Public\n\nplain words"]
    assert embeddings.status().problem == ""


def test_the_excluded_notes_stay_excluded_while_the_app_saves_its_settings(
    opened: Open, model: ModelServer
) -> None:
    engine = opened({**DIARY, ".obsidian/app.json": EXCLUDED})
    wait_until_sent(engine)
    write_vault(engine.root.folder, {".obsidian/app.json": ""})
    change(engine, Append(note="Diary/1", content="more"), Append(note="Public", content="more"))
    wait_until_sent(engine)
    assert not [text for text in model.texts if "secret" in text]
    assert without_probe(model)[-1].endswith("more")


def test_a_note_that_becomes_private_is_forgotten(tmp_path: Path, opened: Open, model: ModelServer) -> None:
    engine = opened(NOTES)
    assert rank_paths(engine, "honey")[0] == "Bees.md"
    engine.close()
    narrow = opened(private=("Bees.md",))
    assert "Bees.md" not in rank_paths(narrow, "honey")
    assert get_embeddings(narrow).status().notes == 3
    before = len(model.requests)
    change(narrow, Append(note="Bees", content="more honey"))
    narrow.close()
    assert len(model.requests) == before


def test_only_what_changed_is_sent_again(opened: Open, model: ModelServer) -> None:
    long = "Old words that stay as they are. " * 10
    engine = opened({"A.md": f"# One\n{long}\n# Two\n{long}second"})
    wait_until_sent(engine)
    first = len(without_probe(model))
    change(engine, Append(note="A", content="newest thought"))
    wait_until_sent(engine)
    again = without_probe(model)[first:]
    assert len(again) == 1
    assert again[0].endswith("newest thought")
    change(engine, Move(note="A", to="Deep/Folder/"))
    wait_until_sent(engine)
    assert len(without_probe(model)) == first + 1
    assert rank_paths(engine, "newest thought")[0] == "Deep/Folder/A.md"


def test_several_processes_send_once_and_all_may_ask(opened: Open, model: ModelServer) -> None:
    first = opened(NOTES)
    wait_until_sent(first)
    asked = len(model.requests)
    second, reader = opened(), opened(start=False)
    assert [near.path for near in get_embeddings(second).rank("anchors sails", limit=1).passages] == [
        "Ships.md"
    ]
    assert [near.path for near in get_embeddings(reader).rank("anchors sails", limit=1).passages] == [
        "Ships.md"
    ]
    assert [text for request in model.requests[asked:] for text in request["input"]] == ["anchors sails"] * 2


def test_another_length_of_vectors_makes_all_again(
    opened: Open, model: ModelServer, caplog: pytest.LogCaptureFixture
) -> None:
    engine = opened(NOTES)
    wait_until_sent(engine)
    model.dimensions = 32
    with caplog.at_level(logging.WARNING):
        change(engine, Append(note="Bees", content="queen"))
        assert rank_paths(engine, "queen honey")[0] == "Bees.md"
    assert "32 numbers now instead of 64" in caplog.text
    assert get_embeddings(engine).status().vectors == 3


def test_another_model_under_the_same_name_is_noticed(
    opened: Open, model: ModelServer, caplog: pytest.LogCaptureFixture
) -> None:
    engine = opened(NOTES)
    wait_until_sent(engine)
    engine.close()
    model.seed = b"another model"
    again = opened({"New.md": "something to send"})
    with caplog.at_level(logging.WARNING):
        assert rank_paths(again, "honey hive")[0] == "Bees.md"
    assert "answers differently than before" in caplog.text


def test_another_name_is_another_model(opened: Open, model: ModelServer) -> None:
    engine = opened(NOTES)
    wait_until_sent(engine)
    engine.close()
    other = opened(model="other", start=False)
    assert (
        get_embeddings(other).rank("honey", limit=5).problem
        == "no note has been embedded with this model yet"
    )
    other.start_embeddings()
    assert rank_paths(other, "honey")[0] == "Bees.md"
    assert {request["model"] for request in model.requests} == {"test", "other"}


def test_a_failing_endpoint_is_left_alone_and_then_used_again(
    opened: Open, model: ModelServer, caplog: pytest.LogCaptureFixture
) -> None:
    model.status = 503
    with caplog.at_level(logging.WARNING):
        engine = opened(NOTES)
        model.wait_for(1)
        assert engine.queries.search("honey").total == 1
        ranked = get_embeddings(engine).rank("honey", limit=5)
        assert ranked.problem == "it failed (HTTP 503)"
    asked = len(model.requests)
    assert get_embeddings(engine).rank("honey", limit=5).problem == "it failed (HTTP 503)"
    assert get_embeddings(engine).rank("other", limit=5).problem == "it failed (HTTP 503)"
    # Within the pause nobody asks again, neither for questions nor for passages.
    assert len(model.requests) == asked
    model.status = 200
    wait_until_sent(engine)
    assert get_embeddings(engine).status().vectors == 3


def test_a_slow_endpoint_delays_nothing(opened: Open, model: ModelServer) -> None:
    engine = opened(NOTES)
    wait_until_sent(engine)
    model.hold.clear()
    asked = len(model.requests)
    narrow = opened(start=False, wait_ms=20)
    assert get_embeddings(narrow).rank("honey", limit=5).problem == "the endpoint did not answer in time"
    change(engine, Append(note="Bees", content="wax"))
    assert engine.queries.search("wax").total == 1
    model.wait_for(asked + 2)
    model.hold.set()
    wait_until_sent(engine)
    # The late vector is kept when it comes: the question is not sent again.
    assert any(get_embeddings(narrow).rank("honey", limit=5).passages for _ in range(3000))
    assert model.texts.count("honey") == 1


def test_a_passage_that_is_refused_does_not_stop_the_others(opened: Open, model: ModelServer) -> None:
    model.refused_above = 200
    files: dict[str, str | bytes] = {f"{n}.md": f"short words {n}" for n in range(6)}
    files["Long.md"] = "many words " * 60
    files["Half.md"] = "half as many words " * 12
    engine = opened(files, batch=8)
    wait_until_sent(engine)
    status = get_embeddings(engine).status()
    assert (status.notes, status.vectors, status.problem) == (8, 8, "")
    ranked = get_embeddings(engine).rank("half as many words short", limit=20)
    assert {near.path for near in ranked.passages} == files.keys() - {"Long.md"}


def test_an_endpoint_that_refuses_everything_gives_nothing_up(opened: Open, model: ModelServer) -> None:
    model.status = 400
    engine = opened(NOTES)
    model.wait_for(2)
    model.status = 200
    assert rank_paths(engine, "honey")[0] == "Bees.md"


def test_a_model_that_is_too_slow_for_a_batch_gets_smaller_ones(opened: Open, model: ModelServer) -> None:
    model.most_texts = 3
    engine = opened({f"{n}.md": f"words of note {n}" for n in range(9)}, batch=8, timeout_seconds=0.4)
    wait_until_sent(engine)
    assert get_embeddings(engine).status().vectors == 9
    assert next(len(request["input"]) for request in model.requests if PROBE not in request["input"][0]) == 8
    assert max(len(request["input"]) for request in model.requests[-3:]) <= 3


def test_without_its_key_nothing_is_sent(opened: Open, model: ModelServer) -> None:
    engine = opened(NOTES, key_env="MY_KEY")
    assert get_embeddings(engine).status().problem == "the environment variable MY_KEY is not set"
    assert (
        get_embeddings(engine).rank("honey", limit=1).problem == "the environment variable MY_KEY is not set"
    )
    engine.close()
    assert model.requests == []


def test_a_caller_sees_only_its_own_notes(opened: Open) -> None:
    engine = opened(NOTES)
    wait_until_sent(engine)
    narrow = opened(scope=Scope(deny=("Bees.md",)), start=False)
    ranked = get_embeddings(narrow).rank(
        "honey hive summer", limit=5, visible=narrow.queries.shown_in_views()
    )
    assert ranked.passages
    assert "Bees.md" not in {near.path for near in ranked.passages}


def test_the_file_of_vectors_may_be_deleted(opened: Open, model: ModelServer) -> None:
    engine = opened(NOTES)
    wait_until_sent(engine)
    (engine.cache / "embeddings.sqlite3").unlink()
    get_embeddings(engine).start()(None)
    assert rank_paths(engine, "honey hive")[0] == "Bees.md"


def test_closing_does_not_wait_for_the_endpoint(opened: Open, model: ModelServer) -> None:
    model.hold.clear()
    engine = opened(NOTES)
    model.wait_for(1)
    engine.close()
    assert not model.hold.is_set()


def test_a_question_without_a_common_word_is_answered_by_meaning(opened: Open, model: ModelServer) -> None:
    """The model that serves this test knows one synonym: it reads bees for apiculture."""
    model.prompts = ()
    model.synonyms = {"apiculture": "honey hive"}
    engine = opened(NOTES)
    wait_until_sent(engine)
    page = engine.queries.rank("apiculture", explain=True)
    assert page.notes[0].path == "Bees.md"
    assert page.notes[0].views["meaning"] > 0
    narrow = opened(scope=Scope(deny=("Bees.md",)), start=False)
    assert "Bees.md" not in {note.path for note in narrow.queries.rank("apiculture").notes}
    model.status = 500
    assert engine.queries.rank("sails", explain=True).notes[0].path == "Ships.md"
    assert get_embeddings(engine).status().problem == "it failed (HTTP 500)"
