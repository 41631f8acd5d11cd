"""Questions in plain words: which notes and sections come first, and what nobody may learn from a rank."""

from __future__ import annotations

import random
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from support.index import Vault
from support.scripts import draw_words
from vaultbridge.errors import InvalidArgument
from vaultbridge.index.ranking import candidates, forms
from vaultbridge.index.ranking.question import is_plain, read_question
from vaultbridge.index.ranking.rank import RANKED_NOTES, RankedPage, rank
from vaultbridge.index.ranking.views import ExtraView
from vaultbridge.index.store.database import Index
from vaultbridge.index.sync import Synchronizer

Make = Callable[[dict[str, str | bytes]], Vault]


def list_paths(page: RankedPage) -> list[str]:
    return [str(note.path) for note in page.notes]


@pytest.mark.parametrize("query", ["a b", "well-known thing", "what is it?", "and/or", "#1 place", "a: b"])
def test_plain_words_are_plain(query: str) -> None:
    assert is_plain(query)


@pytest.mark.parametrize(
    "query",
    [
        '"a b"',
        "a OR b",
        "-a b",
        "(a b)",
        "/a+/",
        "[done:true]",
        "tag:#a",
        "#tag",
        "[[A]]",
        "file:a",
        "",
        "a)",
    ],
)
def test_the_query_language_is_not_plain(query: str) -> None:
    assert not is_plain(query)


def test_a_note_with_some_of_the_words_is_found(make_vault: Make) -> None:
    vault = make_vault({"Workspaces.md": "Keep several window layouts.", "Sync.md": "Copies your notes."})
    page = rank(vault.index, "how do I keep different window arrangements for different tasks")
    assert list_paths(page) == ["Workspaces.md"]
    assert (page.total, page.with_all_words) == (1, 0)
    assert page.notes[0].missing == ("different", "arrangements", "tasks")


@pytest.mark.parametrize(
    ("question", "text"),
    [
        ("arranging windows", "The window arrangement."),
        ("Wie viele Häuser stehen in der Straße", "Ein Haus. Die Straßen."),
        ("Где находятся большие города?", "Большой город стоит на реке."),
        ("¿Qué organizaciones están presentes?", "La organización está aquí."),
        ("Ποιες είναι οι μεγάλες πόλεις;", "Η πόλη είναι μεγάλη."),
        ("Kitaplar nerede?", "Bu bir kitap ve masa."),
    ],
)
def test_other_forms_of_a_word_are_found(make_vault: Make, question: str, text: str) -> None:
    vault = make_vault({"A.md": text, "B.md": "Nothing of that."})
    assert list_paths(rank(vault.index, question))[0] == "A.md"


def test_the_word_itself_comes_before_its_forms(make_vault: Make) -> None:
    vault = make_vault({"A.md": "We organize it.", "B.md": "We organized it.", "C.md": "We organizing it."})
    assert list_paths(rank(vault.index, "organized"))[0] == "B.md"
    assert len(list_paths(rank(vault.index, "organized"))) == 3


def test_everyday_synonyms_count_a_little(make_vault: Make) -> None:
    english = "The house is of stone and the roof is of straw. "
    files: dict[str, str | bytes] = {"A.md": english + "Resize an image.", "B.md": english + "Its colour."}
    vault = make_vault({**files, "C.md": english + "Nothing."})
    page = rank(vault.index, "how do I shrink a picture")
    assert list_paths(page) == ["A.md"]
    assert page.notes[0].missing == ("shrink", "picture"), "another word is not the word"
    assert page.with_all_words == 0
    assert list_paths(rank(vault.index, "what is the color")) == ["B.md"]


@pytest.mark.parametrize(
    ("question", "text", "found"),
    [
        ("slideshows", "Make a presentation of it.", True),
        ("endless", "An infinite one.", True),
        ("my laptop", "Two devices.", True),
        ("my devices", "Two laptops.", False),
    ],
)
def test_synonyms_are_found_in_any_form_and_wider_words_for_narrower_ones(
    make_vault: Make, question: str, text: str, found: bool
) -> None:
    english = "The house is of stone and the roof is of straw. "
    vault = make_vault({"A.md": english + text, "B.md": english})
    assert list_paths(rank(vault.index, question)) == (["A.md"] if found else [])


ENGLISH = "The house is of stone and the roof is of straw. "
GERMAN = "Das Haus ist aus Stein und das Dach ist aus Stroh. "


@pytest.mark.parametrize(
    ("question", "usual", "text"),
    [
        ("wie kann ich meine Dateien wiederherstellen", ENGLISH, "Restore a file."),
        ("où sont stockées mes données", ENGLISH, "It stores data."),
        ("как изменить шрифт", ENGLISH, "Choose a font."),
        ("raccourci", ENGLISH, "A hotkey."),
        ("wo werden die Dateien gespeichert", ENGLISH, "It stores each file."),
        ("Fensteranordnungen", ENGLISH, "The layout of a window."),
        ("wie ändere ich die Ordnernamen", ENGLISH, "Change the name of a folder."),
        ("not şablonu nasıl eklenir", ENGLISH, "Add a template."),
        ("как вставить шаблон", ENGLISH, "Insert a template."),
        ("як змінити шрифт", ENGLISH, "Choose a font."),
        ("كيف أغير لغة التطبيق", ENGLISH, "The language of the app."),
        ("怎么添加别名", ENGLISH, "Add an alias."),
        ("怎么备份", ENGLISH, "Make a backup."),
        ("フォルダを削除するには", ENGLISH, "Deleting folders."),
        ("플러그인 설치 방법", ENGLISH, "Install a plugin."),
        ("how do I rename my folders", GERMAN, "Einen Ordner umbenennen."),
        ("comment renommer mes dossiers", GERMAN, "Einen Ordner umbenennen."),
    ],
)
def test_a_question_in_another_language_finds_common_words(
    make_vault: Make, question: str, usual: str, text: str
) -> None:
    vault = make_vault({"A.md": usual + text, "B.md": usual, "C.md": usual + "42"})
    page = rank(vault.index, question)
    assert list_paths(page) == ["A.md"]
    assert page.with_all_words == 0, "a translation is not the word"


def test_one_word_of_another_script_tells_the_language_of_a_question(make_vault: Make) -> None:
    vault = make_vault({"A.md": ENGLISH + "A font.", "B.md": ENGLISH, "C.md": ENGLISH + "как 42"})
    assert list_paths(rank(vault.index, "как выбрать шрифт")) == ["A.md"], "как is how"
    assert list_paths(rank(vault.index, "war stone")) != [], (
        "war is German for was, but the notes are in English"
    )


def test_more_notes_than_are_ranked_are_not_counted_as_if_they_were_all(make_vault: Make) -> None:
    vault = make_vault({f"{number:04}.md": "needle" for number in range(RANKED_NOTES)})
    page = rank(vault.index, "needle", limit=1)
    assert (page.total, page.more) == (RANKED_NOTES, False)
    vault.write({"Last.md": "needle"})
    vault.sync_all()
    for page in (rank(vault.index, "needle", limit=1), rank(vault.index, "needle", limit=1, offset=999)):
        assert (page.total, page.more, len(page.notes)) == (1000, True, 1)
    seen = rank(vault.limit("0007.md"), "needle")
    assert (seen.total, seen.more) == (1000, False), "what is hidden is not counted"


@pytest.mark.parametrize(
    ("question", "named"),
    [
        ("what is a comet?", "Comet.md"),
        ("Tell me about the matrix", "The Matrix.md"),
        ("was ist ein Komet?", "Komet.md"),
        ("how heavy is a comet", None),
        ("comet of the year", None),
    ],
)
def test_a_note_with_the_name_that_is_asked_about_comes_first(
    make_vault: Make, question: str, named: str | None
) -> None:
    talk = "A comet, a matrix, ein Komet, the year: how heavy is a comet or the matrix? "
    others = {f"All of comet, Komet and matrix {number}.md": talk * 9 for number in range(9)}
    vault = make_vault({**others, "Comet.md": "x", "Komet.md": "x", "The Matrix.md": "x", "Year.md": "x"})
    first = rank(vault.index, question, explain=True).notes[0]
    assert (first.path == named) == (named is not None)
    assert ("exact name" in first.views) == (named is not None)


def test_a_short_name_with_a_word_of_the_question_says_more_than_a_long_one(make_vault: Make) -> None:
    text = "Feeding takes an hour."
    vault = make_vault({"A zebra seen from the old bridge.md": text, "Zebra.md": text})
    assert list_paths(rank(vault.index, "feeding a zebra")) == [
        "Zebra.md",
        "A zebra seen from the old bridge.md",
    ]


def test_a_contracted_verb_is_a_function_word(make_vault: Make) -> None:
    vault = make_vault({"A.md": ENGLISH + "It does not start.", "B.md": ENGLISH + "We won the race."})
    assert list_paths(rank(vault.index, "why won't it start")) == ["A.md"]
    assert list_paths(rank(vault.index, "why won’t it start")) == ["A.md"]
    assert list_paths(rank(vault.index, "who won")) == ["B.md"]
    assert list_paths(rank(vault.index, "won't"))[0] == "B.md", "unless there is nothing else"


def test_hidden_notes_have_no_say_in_the_language_of_a_vault(make_vault: Make) -> None:
    """A word is translated into the language of the notes that one sees, whatever the others are in."""
    english = {f"{name}.md": ENGLISH + "Make a backup." for name in "ABC"}
    german = {f"German/{name}.md": GERMAN + "Ein Ordner." for name in "ABCDEFGHI"}
    vault = make_vault({**english, **german})

    def ask(question: str, *, in_german: bool) -> list[str]:
        limited = vault.limit(allow=["German/"]) if in_german else vault.limit("German/")
        return list_paths(rank(limited, question))

    assert list_paths(rank(vault.index, "怎么备份")) == [], "most notes are in German"
    assert ask("怎么备份", in_german=False) == list(english)
    assert ask("dossier", in_german=True) == list(german)
    assert ask("dossier", in_german=False) == []


@pytest.mark.parametrize(
    "question", ["wie kann ich meine Dateien löschen", "löschen", "怎么删除", "comment supprimer"]
)
def test_a_synonym_is_found_when_no_note_has_the_translation(make_vault: Make, question: str) -> None:
    vault = make_vault({"A.md": ENGLISH + "Erase and discard it.", "B.md": ENGLISH})
    assert list_paths(rank(vault.index, question)) == ["A.md"]


def test_a_word_that_a_note_has_is_not_translated(make_vault: Make) -> None:
    files: dict[str, str | bytes] = {f"{name}.md": ENGLISH + "A file to restore." for name in "ABC"}
    vault = make_vault({**files, "D.md": GERMAN + "Eine Datei wiederherstellen."})
    assert list_paths(rank(vault.index, "wie kann ich eine Datei wiederherstellen")) == ["D.md"]
    assert list_paths(rank(vault.index, "ファイル")) == ["A.md", "B.md", "C.md"]


@pytest.mark.parametrize(
    ("question", "text"),
    [
        ("who wrote the letter", "He writes a letter."),
        ("written by hand", "Write it by hand."),
        ("what the children saw", "A child sees it."),
    ],
)
def test_irregular_forms_of_a_word_are_found(make_vault: Make, question: str, text: str) -> None:
    english = "The house is of stone and the roof is of straw. "
    vault = make_vault({"A.md": english + text, "B.md": english})
    page = rank(vault.index, question)
    assert list_paths(page) == ["A.md"]
    assert page.notes[0].missing == ()


@pytest.mark.parametrize(
    "question",
    ["resposne of the lens", "respose", "responnse", "rexponse", "Обсерваторя", "παρατηρητηιρο"],
)
def test_a_mistyped_word_finds_the_word_that_was_meant(make_vault: Make, question: str) -> None:
    vault = make_vault({"A.md": "A response. Обсерватория. Παρατηρητήριο.", "B.md": "Nothing."})
    assert list_paths(rank(vault.index, question)) == ["A.md"]


def test_a_word_that_is_only_near_is_still_missing(make_vault: Make) -> None:
    vault = make_vault({"A.md": "A response.", "B.md": "Responces."})
    page = rank(vault.index, "resposne")
    assert (list_paths(page), page.with_all_words) == (["A.md"], 0)
    assert page.notes[0].missing == ("resposne",)
    assert list_paths(rank(vault.index, "responce")) == ["B.md"], "a longer word has it whole"


WHOLE = "quokkasaurus"
VARIANTS = {
    "the word itself": "quokkasauruz",
    "one that begins with it": "quokkasauruzes",
    "one with it inside": "unquokkasauruz",
    "one that is near too": "quokkasaurur",
    "many that begin with it": " ".join(
        f"quokkasauruz{first}{second}" for first in "abcdefgh" for second in "abcdefgh"
    ),
}


@pytest.mark.parametrize("hidden", VARIANTS.values(), ids=VARIANTS)
@pytest.mark.parametrize("shown", [WHOLE, "quokkasauruzzy", "xquokkasauruz"])
def test_a_hidden_word_does_not_block_a_replacement_for_a_missing_one(
    make_vault: Make, hidden: str, shown: str
) -> None:
    vault = make_vault({"A.md": f"A {shown} here.", "Hidden/B.md": hidden})
    page = rank(vault.limit("Hidden/"), "quokkasauruz")
    assert list_paths(page) == ["A.md"]
    assert page.notes[0].missing == (
        () if shown == "xquokkasauruz" or shown.endswith("zzy") else ("quokkasauruz",)
    )


def test_hidden_forms_of_a_word_do_not_displace_visible_ones(make_vault: Make) -> None:
    english = "The house is of stone and the roof is of straw. "
    letters = "abcdefghijklmnopqrstuvwxyz"
    hidden = " ".join(f"decor{first}{second}" for first in letters for second in letters)
    files: dict[str, str | bytes] = {"A.md": english + "A decoration of it.", "B.md": english}
    vault = make_vault({**files, "Hidden/C.md": hidden})
    page = rank(vault.limit("Hidden/"), "decorating")
    assert list_paths(page) == ["A.md"]


@pytest.mark.parametrize("seed", range(6))
def test_words_of_hidden_notes_do_not_change_a_question(make_vault: Make, seed: int) -> None:
    """Words that hold a question together count when no note has another. A hidden note is none."""
    words = draw_words(seed, 16)
    vault = make_vault({"A.md": "what is where", "Hidden/B.md": "\n".join(words)})
    for word in words:
        page = rank(vault.limit("Hidden/"), f"what is {word}")
        assert list_paths(page) == ["A.md"], ascii(word)


@pytest.mark.parametrize("question", ["lihgt bulb", "dight", "cat", "1985", "moth5"])
def test_short_words_first_letters_and_numbers_are_taken_as_typed(make_vault: Make, question: str) -> None:
    vault = make_vault({"A.md": "night cut 1986 moths", "B.md": "Nothing."})
    assert list_paths(rank(vault.index, question)) == []


def test_words_next_to_each_other_rank_above_words_further_apart(make_vault: Make) -> None:
    vault = make_vault(
        {
            "A.md": "A red thing, seen below a kite, and more.",
            "B.md": "A thing seen below, a red kite, and more.",
        }
    )
    assert list_paths(rank(vault.index, "red kite")) == ["B.md", "A.md"]


def test_overlapping_pieces_of_one_word_are_not_close_words(make_vault: Make) -> None:
    vault = make_vault({"A.md": "新建文件夹。", "B.md": "文件和木夹。"})
    page = rank(vault.index, "文件夹", explain=True)
    assert list_paths(page)[0] == "A.md"
    assert "closeness" not in page.notes[0].views
    assert "closeness" in rank(vault.index, "文件 木夹", explain=True).notes[0].views


def test_the_name_of_a_note_belongs_to_each_of_its_sections(make_vault: Make) -> None:
    text = "# Why\nIt pays.\n# Schedule\nEach night at two.\n"
    vault = make_vault({"Backups.md": text, "Patrols.md": text})
    first, second = rank(vault.index, "what is the schedule of the backups", explain=True).notes
    assert (first.path, first.sections[0].heading) == ("Backups.md", "Schedule")
    assert first.views["section"] > 1.5 * second.views["section"]


def test_a_note_in_the_language_of_the_question_comes_first(make_vault: Make) -> None:
    italian = "Questo è il file che si apre con il programma. "
    spanish = "Este es el archivo que se abre con el programa. "
    german = "Das ist die Datei, die man mit dem Programm öffnet. "
    vault = make_vault(
        {
            "it.md": italian + "Recupero, nota.",
            "es.md": spanish * 3 + "Aquí se ve la nota.",
            **{f"{number}.md": german for number in range(3)},
        }
    )
    page = rank(vault.index, "¿cómo se ve una nota que ya no está?", explain=True)
    assert list_paths(page) == ["es.md", "it.md"]
    assert "language" in page.notes[0].views
    assert "language" not in page.notes[1].views


def test_a_word_like_never_counts_less(make_vault: Make) -> None:
    vault = make_vault({"A.md": "We never, never stop.", "B.md": "A list of all that is uploaded at night."})
    assert list_paths(rank(vault.index, "what is never uploaded")) == ["B.md", "A.md"]
    assert list_paths(rank(vault.index, "never")) == ["A.md"]


def test_text_around_a_link_counts_for_its_target(make_vault: Make) -> None:
    files: dict[str, str | bytes] = {"Workspaces.md": "A plugin.", "Log.md": "Nothing.", "Zoo.md": "Animals."}
    files["Tabs.md"] = "Tabs.\n\nYou restore window layouts with [[Workspaces]].\n\n[[Log]] and [[Zoo]].\n"
    vault = make_vault(files)
    assert list_paths(rank(vault.index, "restore window layouts")) == ["Tabs.md", "Workspaces.md"]
    hidden = rank(vault.limit("Tabs.md"), "restore window layouts")
    assert list_paths(hidden) == [], "what a hidden note says tells nothing"


def test_a_section_is_known_by_its_heading_and_by_the_links_to_it(make_vault: Make) -> None:
    """A section says what to do, and often only its heading or a link to it says what for."""
    steps = "Open the menu and choose Connect. Wait until everything is there.\n"
    sync = (
        "# Sync\nSync keeps all vaults on a device in sync. A second vault? See [[#Vaults]].\n\n"
        f"## Begin\nTo begin to sync a device, sync it. {steps}\n## Another device\nSync. {steps}\n"
        f"## Vaults\nSync. {steps}\n## Elsewhere\nSync. {steps}"
    )
    vault = make_vault(
        {"Sync.md": sync, "FAQ.md": "The tablet is told in [[Sync#^x]], [[Sync#Elsewhere]].\n"}
    )

    def find_best(question: str) -> list[str]:
        page = rank(vault.index, question, sections_per_note=2)
        note = next(note for note in page.notes if note.path == "Sync.md")
        return [section.heading.rpartition(" > ")[2] for section in note.sections]

    assert find_best("sync another device")[0] == "Another device"
    assert "Vaults" in find_best("sync a second vault")
    assert find_best("sync a tablet")[0] == "Elsewhere"


def test_each_view_reports_its_share(make_vault: Make) -> None:
    vault = make_vault({"A.md": "quartz and granite", "B.md": "quartz"})
    note = rank(vault.index, "quartz granite", explain=True).notes[0]
    assert note.path == "A.md"
    assert set(note.views) == {"words", "forms", "section", "rare words", "closeness"}
    assert sum(note.views.values()) == pytest.approx(note.score)
    assert rank(vault.index, "quartz").notes[0].views == {}


def test_a_view_of_the_caller_joins_the_ranking(make_vault: Make) -> None:
    vault = make_vault({"A.md": "quartz", "B.md": "one\n# Two\nthree", "Hidden.md": "x", "pic.png": b""})
    view = ExtraView(
        "model", (("B.md", 3, 0.8), ("Hidden.md", 1, 0.9), ("pic.png", 1, 1.0), ("Gone.md", 1, 1.0))
    )
    page = rank(vault.limit("Hidden.md"), "quartz", extra_views=[view], explain=True)
    assert sorted(list_paths(page)) == ["A.md", "B.md"]
    (found,) = [note for note in page.notes if note.path == "B.md"]
    assert set(found.views) == {"model"}
    assert found.sections[0].heading == "Two"


@pytest.mark.parametrize(
    ("question", "text"),
    [
        ("如何同步我的笔记", "在设备之间同步笔记。"),
        ("ノートを同期する方法は何ですか", "端末の間でノートを同期します。"),
        ("노트를 어떻게 동기화합니까", "여러 기기에서 노트 동기화를 켭니다."),
        ("ฉันจะซิงค์บันทึกของฉันได้อย่างไร", "ซิงค์บันทึกระหว่างอุปกรณ์"),
    ],
)
def test_scripts_without_spaces_are_searched_by_their_own_units(
    make_vault: Make, question: str, text: str
) -> None:
    vault = make_vault({"A.md": text, "B.md": "别的 ほか 다른 อื่น"})
    page = rank(vault.index, question)
    assert list_paths(page)[0] == "A.md"
    assert page.notes[0].missing == ()
    assert page.notes[0].sections[0].matches[0].spans


def test_the_best_section_is_named_with_its_lines(make_vault: Make) -> None:
    text = "intro\n# Trees\nOak and ash.\n## Care\nWater the saplings weekly.\nMore.\n# Stones\nGranite.\n"
    vault = make_vault({"Garden.md": text})
    (note,) = rank(vault.index, "water saplings").notes
    (section,) = note.sections
    assert (section.heading, section.line, section.end_line) == ("Trees > Care", 4, 6)
    (match,) = section.matches
    assert (match.line, [match.text[slice(*span)] for span in match.spans]) == (5, ["Water", "saplings"])


def test_function_words_alone_are_answered(make_vault: Make) -> None:
    vault = make_vault({"A.md": "to be or not to be", "B.md": "stone"})
    assert list_paths(rank(vault.index, "to be or not")) == ["A.md"]


def test_whole_words_come_before_longer_ones(make_vault: Make) -> None:
    vault = make_vault(
        {"Arta.md": "A town. Arta.", "Article.md": "An article.", "Painting.md": "It is an art."}
    )
    assert list_paths(rank(vault.index, "art"))[0] == "Painting.md"
    assert list_paths(rank(vault.index, "articl")) == ["Article.md"]


def test_the_note_of_that_name_comes_first(make_vault: Make) -> None:
    vault = make_vault(
        {"Moon.md": "A body.", "Log.md": "moon moon moon moon", "Selene.md": "---\naliases: [Luna]\n---\n"}
    )
    assert list_paths(rank(vault.index, "Moon"))[0] == "Moon.md"
    assert list_paths(rank(vault.index, "luna")) == ["Selene.md"]


def test_hidden_notes_are_neither_ranked_nor_counted(make_vault: Make) -> None:
    vault = make_vault({"A.md": "quartz", "Hidden/B.md": "quartz quartz"})
    page = rank(vault.limit("Hidden/"), "quartz")
    assert (list_paths(page), page.total, page.with_all_words) == (["A.md"], 1, 1)


def test_pages_follow_each_other(make_vault: Make) -> None:
    vault = make_vault({f"{number}.md": "quartz " * (number + 1) for number in range(7)})
    whole = list_paths(rank(vault.index, "quartz"))
    assert [
        path
        for start in range(0, 7, 3)
        for path in list_paths(rank(vault.index, "quartz", limit=3, offset=start))
    ] == whole


@pytest.mark.parametrize(
    "arguments", [{"limit": -1}, {"limit": 10_000}, {"offset": -1}, {"sections_per_note": 51}]
)
def test_numbers_out_of_bounds_are_refused(empty_vault: Vault, arguments: dict[str, int]) -> None:
    with pytest.raises(InvalidArgument):
        rank(empty_vault.index, "a", **arguments)  # type: ignore[arg-type]


@pytest.mark.parametrize("seed", range(12))
def test_a_word_of_any_script_is_found(make_vault: Make, seed: int) -> None:
    words = [word for word in draw_words(seed, 12) if read_question(word).units]
    vault = make_vault({f"{number}.md": f"before {word} after" for number, word in enumerate(words)})
    for number, word in enumerate(words):
        page = rank(vault.index, f"{word} xyzzy", limit=50)
        assert f"{number}.md" in list_paths(page), word


@pytest.mark.parametrize("question", ["", "   ", "?!", "\ud800", "a" * 5000, "\x00", "quartz\n\ngranite"])
def test_odd_questions_are_answered(make_vault: Make, question: str) -> None:
    vault = make_vault({"A.md": "stone"})
    assert list_paths(rank(vault.index, question)) == []


def test_the_words_of_a_canvas_file_format_do_not_rank(make_vault: Make) -> None:
    card = '{"id":"a","type":"file","file":"Plan.md","x":0,"y":0,"width":9,"height":9,"color":"1"}'
    text = '{"id":"b","type":"text","text":"the harbour at night","x":0,"y":0,"width":9,"height":9}'
    vault = make_vault(
        {
            **{f"Board {number}.canvas": f'{{"nodes":[{card},{card}],"edges":[]}}' for number in range(20)},
            "Words.canvas": f'{{"nodes":[{text}],"edges":[]}}',
            "Server.md": "Where the file of the server is.",
            "Other.md": "Nothing.",
        }
    )
    for question in ("file server", "file", "which file", "file width color"):
        assert list_paths(rank(vault.index, question))[0] == "Server.md", question
    assert list_paths(rank(vault.index, "harbour night"))[0] == "Words.canvas"


def test_words_in_very_many_notes_rank_by_names_and_headings(
    make_vault: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With the limit lowered to what a test can write: names and headings first, then notes with all words,
    and a caller who may see only the last note still finds it."""
    monkeypatch.setattr(candidates, "MANY_NOTES", 4)
    monkeypatch.setattr(candidates, "FEW_NOTES", 2)
    files: dict[str, str | bytes] = {f"{number:02}.md": "granite" for number in range(12)}
    files |= {f"{number:02}.md": "granite and quartz" for number in range(12, 24)}
    vault = make_vault({**files, "Granite.md": "A stone.", "99.md": "quartz\n# Granite\n"})
    assert list_paths(rank(vault.index, "granite"))[0] == "Granite.md"
    assert "99.md" in list_paths(rank(vault.index, "granite"))
    both = rank(vault.index, "granite quartz", limit=4)
    assert all(note.missing == () for note in both.notes)
    assert both.with_all_words >= 4
    assert list_paths(rank(vault.limit(allow=["23.md"]), "granite")) == ["23.md"]


@pytest.mark.parametrize("question", ["granite", "granite quartz", "granite basalt", "quartz basalt shale"])
def test_words_in_very_many_notes_rank_as_if_hidden_notes_did_not_exist(
    make_vault: Make, monkeypatch: pytest.MonkeyPatch, question: str
) -> None:
    """The limits are lowered to what a test can write. Hidden notes come first in the index, so that they
    would use up every limit."""
    monkeypatch.setattr(candidates, "MANY_NOTES", 4)
    monkeypatch.setattr(candidates, "FEW_NOTES", 2)
    monkeypatch.setattr(candidates, "ENOUGH_NOTES", 3)
    hidden = {f"0 hidden/{number:02}.md": "granite quartz basalt\n# Granite\n" for number in range(9)}
    notes: dict[str, str | bytes] = {f"{number:02}.md": "granite" for number in range(12)}
    notes |= {f"{number:02}.md": "granite and quartz" for number in range(12, 24)}
    notes |= {f"{number:02}.md": "basalt" + " quartz" * (number % 2) for number in range(24, 27)}
    vault = make_vault({**hidden, **notes, "Granite.md": "A stone.", "99.md": "quartz\n# Granite\n"})
    limited = rank(vault.limit("0 hidden/"), question, limit=50)
    for path in hidden:
        vault.remove(path)
    vault.sync_all()
    alone = rank(vault.index, question, limit=50)
    assert limited.notes == alone.notes
    assert (limited.total, limited.with_all_words, limited.more) == (
        alone.total,
        alone.with_all_words,
        alone.more,
    )


def test_notes_are_found_by_a_synonym_that_most_of_them_contain(
    make_vault: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(candidates, "MANY_NOTES", 3)
    vault = make_vault({f"{number}.md": "The image of a house is here." for number in range(5)})
    assert list_paths(rank(vault.index, "a picture of it")) == ["0.md", "1.md", "2.md"]


def test_stems_found_at_the_same_time_do_not_disturb_each_other() -> None:
    """A stemmer has one word in hand; the interpreter switches threads as often as it can."""
    words = [f"{word}{ending}" for word in ("arrang", "organiz", "notic", "relat") for ending in ENDINGS]
    right = {word: forms.stem_word("english", word) for word in words}
    wrong: list[str] = []

    def find() -> None:
        wrong.extend(word for word in words if forms.stem_word("english", word) != right[word])

    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        for _ in range(10):
            forms.stem_word.cache_clear()
            threads = [threading.Thread(target=find) for _ in range(4)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
    finally:
        sys.setswitchinterval(interval)
    assert wrong == []


ENDINGS = ("e", "es", "ed", "ing", "ement", "ements", "er", "ers", "able", "ably", "ation", "ations")


def test_a_single_ideograph_finds_the_word_that_a_note_puts_beside_it(make_vault: Make) -> None:
    vault = make_vault(
        {"A.md": "跑步之前先热身五分钟，慢慢活动膝盖", "B.md": "跑步后全身酸痛几天恢复", "C.md": "跑道"}
    )
    page = rank(vault.index, "跑步以后疼多少天")
    assert list_paths(page) == ["B.md", "A.md"], "and no note that has nothing else"
    assert page.notes[0].missing == ()
    assert list_paths(rank(vault.index, "痛")) == ["B.md"], "alone it is a word"


def test_a_pair_across_the_border_of_a_function_word_is_part_of_no_word(make_vault: Make) -> None:
    vault = make_vault({"A.md": "日志应该怎么写", "B.md": "考试之前要刷题"})
    assert list_paths(rank(vault.index, "考试前应该怎么刷题"))[0] == "B.md"
    assert list_paths(rank(vault.index, "应该怎么")) == ["A.md"], "if there is nothing else"


def test_ideographs_of_japanese_and_korean_syllables_are_not_words() -> None:
    for text in ("設定を変更する方法", "설정을 변경하는 방법"):
        assert not any(unit.faint for unit in read_question(text).units)


def test_the_order_in_which_notes_came_makes_no_difference(make_vault: Make, tmp_path: Path) -> None:
    """Many have the same preliminary score, and only some of those are read or ranked."""
    draw = random.Random(3)
    words = [f"w{number}" for number in range(12)]
    notes = {
        f"n{number}.md": f"{' '.join(draw.choices(words, k=4))} [[n{draw.randrange(300)}]]".encode()
        for number in range(300)
    }
    later = draw.sample(sorted(notes), 150)
    vault = make_vault({path: text for path, text in notes.items() if path not in later})
    vault.write({path: notes[path] for path in later})
    vault.sync_all()
    (tmp_path / "another").mkdir()
    rebuilt = Index.open(tmp_path / "another")
    Synchronizer(vault.root, rebuilt).sync_all()
    for question in ("w1", "w2 w3", "w4 w5 w6", "what of w7", "w8 w9 w10 w11 w1"):
        first, second = (rank(index, question, limit=60) for index in (vault.index, rebuilt))
        assert list_paths(first) == list_paths(second), question
        assert [note.score for note in first.notes] == [note.score for note in second.notes]
        assert (first.total, first.with_all_words) == (second.total, second.with_all_words)
    rebuilt.close()


def test_the_address_of_a_heading_that_is_a_link_says_nothing_of_its_section(make_vault: Make) -> None:
    """Of two sections with the same text, the one whose heading says the word comes first, and not the one
    whose heading only leads to a page with the word in its address."""
    text = (
        "# Notes\n\n"
        "## [Install](https://example.org/lantern-lantern-lantern)\n\nThe lantern needs a package.\n\n"
        "## [The lantern](https://example.org/page)\n\nThe lantern needs a package.\n"
    )
    (note,) = rank(make_vault({"A.md": text}).index, "lantern", sections_per_note=3).notes
    assert [section.line for section in note.sections] == [7, 3]


def test_one_ideograph_of_a_question_is_no_word_of_another_language(make_vault: Make) -> None:
    """Our list has 火 for fire, but 火车 is a train."""
    vault = make_vault(
        {"Fire.md": "How to light a fire, and the fire itself.\n", "Train.md": "The train is late.\n"}
    )
    assert [str(note.path) for note in rank(vault.index, "火车").notes] == ["Train.md"]
