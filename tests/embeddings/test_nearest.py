"""Passages, their vectors on disk, and which of them are nearest."""

from __future__ import annotations

import random
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from vaultbridge.embeddings.nearest import Nearest
from vaultbridge.embeddings.passages import NOTE_PASSAGES, PASSAGE_CHARS, cut_passages, is_wordless
from vaultbridge.embeddings.store import VectorStore, quantize
from vaultbridge.markdown.parse import parse

texts = st.lists(
    st.one_of(
        st.text(max_size=300),
        st.sampled_from(
            ["# One", "## Two", "", "---", "```\ncode\n```", "- item", "wort " * 500, "字" * 2000]
        ),
    ),
    max_size=12,
).map("\n".join)


@given(texts)
def test_passages_hold_the_text_once_and_in_order(text: str) -> None:
    note = parse(text)
    passages = cut_passages(text, note, "Title")
    body = text[note.properties.end if note.properties else 0 :]
    joined = "".join(passage.text.partition("\n\n")[2] for passage in passages)
    if len(passages) < NOTE_PASSAGES:
        # Only blanks, and stretches without a letter or digit, may be missing.
        assert [c for c in joined if c.isalnum()] == [c for c in body if c.isalnum()]
    assert all(not is_wordless(passage.text.partition("\n\n")[2]) for passage in passages)
    assert [passage.line for passage in passages] == sorted(passage.line for passage in passages)
    assert all(len(passage.text.partition("\n\n")[2]) <= PASSAGE_CHARS for passage in passages)


def test_a_passage_names_its_title_and_headings() -> None:
    long = "Words about bees. " * 20
    text = f"---\nsecret: yes\n---\n{long}\n# Hive\n{long}\n## Queen\n{long}\n# Honey\n{long}"
    heads = [passage.text.partition("\n\n")[0] for passage in cut_passages(text, parse(text), "Bees")]
    assert heads == ["Bees", "Bees > Hive", "Bees > Hive > Queen", "Bees > Honey"]
    assert "secret" not in "".join(passage.text for passage in cut_passages(text, parse(text), "Bees"))


def draw_vector(rng: random.Random, dimensions: int) -> list[float]:
    return [rng.gauss(0, 1) for _ in range(dimensions)]


def compute_cosine(first: list[float], second: list[float]) -> float:
    norm = sum(a * a for a in first) ** 0.5 * sum(b * b for b in second) ** 0.5
    return sum(a * b for a, b in zip(first, second, strict=True)) / norm


def make_store(tmp_path: Path, vectors: dict[str, list[float]]) -> VectorStore:
    store = VectorStore(tmp_path)
    store.claim("print")
    for path, vector in vectors.items():
        store.put_vectors([(path.encode(), quantize(vector))])
        assert store.put_note(path, "hash", [(1, path.encode())])
    return store


def test_the_nearest_are_those_of_the_exact_cosine(tmp_path: Path) -> None:
    rng = random.Random(4)
    vectors = {f"{number}.md": draw_vector(rng, 96) for number in range(400)}
    question = [a + 0.8 * b for a, b in zip(vectors["7.md"], draw_vector(rng, 96), strict=True)]
    store = make_store(tmp_path, vectors)
    found = Nearest(store).find(question, limit=10)
    exact = sorted(vectors, key=lambda path: -compute_cosine(question, vectors[path]))[:10]
    assert [near.path for near in found[:3]] == exact[:3]
    for near in found:
        assert near.score == pytest.approx(compute_cosine(question, vectors[near.path]), abs=0.01)
    store.close()


def test_what_a_caller_may_not_see_neither_appears_nor_takes_a_place(tmp_path: Path) -> None:
    rng = random.Random(5)
    near = draw_vector(rng, 64)
    vectors = {f"Secret/{number}.md": [x + rng.gauss(0, 0.05) for x in near] for number in range(900)}
    vectors |= {f"{number}.md": draw_vector(rng, 64) for number in range(5)}
    store = make_store(tmp_path, vectors)
    found = Nearest(store).find(near, limit=5, visible=lambda path: not path.startswith("Secret/"))
    assert sorted(passage.path for passage in found) == [f"{number}.md" for number in range(5)]
    store.close()


def test_a_reader_follows_what_another_process_writes(tmp_path: Path) -> None:
    rng = random.Random(6)
    vectors = {f"{number}.md": draw_vector(rng, 32) for number in range(20)}
    store = make_store(tmp_path, vectors)
    other = VectorStore(tmp_path)
    reader = Nearest(other)
    assert reader.find(vectors["3.md"], limit=1)[0].path == "3.md"
    store.drop_notes(["3.md"])
    store.put_vectors([(b"new", quantize(vectors["3.md"]))])
    store.put_note("4.md", "changed", [(9, b"new")])
    assert [(passage.path, passage.line) for passage in reader.find(vectors["3.md"], limit=1)] == [
        ("4.md", 9)
    ]
    store.tidy()
    store.drop_notes([f"{number}.md" for number in range(20)])
    store.tidy()
    assert reader.find(vectors["3.md"], limit=1) == []
    assert store.counts() == (0, 0)
    store.close()
    other.close()


def test_a_deleted_or_damaged_file_is_made_again(tmp_path: Path) -> None:
    store = make_store(tmp_path, {"a.md": [1.0, 2.0]})
    reader = Nearest(store)
    assert len(reader.find([1.0, 2.0], limit=1)) == 1
    store.file.unlink()
    assert reader.find([1.0, 2.0], limit=1) == []
    store.close()
    store.file.write_bytes(b"this is no database at all" * 100)
    again = VectorStore(tmp_path)
    assert again.counts() == (0, 0)
    again.close()


def test_a_file_of_another_program_is_not_read(tmp_path: Path) -> None:
    store = VectorStore(tmp_path)
    with closing(sqlite3.connect(store.file)) as db, db:
        db.execute("CREATE TABLE mine (x)")
    assert store.counts() == (0, 0)
    store.close()


@given(st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=40))
@example([1e-320, -5e-324])
@example([1e308, -1e308, 1e-308])
def test_a_quantized_vector_keeps_its_direction(vector: list[float]) -> None:
    small = quantize(vector)
    if not any(vector):
        assert small.data == b""
        return
    numbers = memoryview(small.data).cast("b").tolist()
    largest = max(map(abs, vector))
    assert len(numbers) == len(vector)
    for number, exact in zip(numbers, vector, strict=True):
        assert abs(number / 127 - exact / largest) <= 0.5 / 127 + 1e-9
