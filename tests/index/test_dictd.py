"""English questions about notes in other languages, with the dictionaries of the program dictd."""

from __future__ import annotations

import gzip
import os
import random
from collections.abc import Callable
from pathlib import Path

import pytest

from support.dictd import write_dictionary
from support.index import Vault
from vaultbridge.index.ranking import dictd
from vaultbridge.index.ranking.dictd import find_files, open_dictionary, read_translations
from vaultbridge.index.ranking.dictionary import look_up
from vaultbridge.index.ranking.rank import rank
from vaultbridge.vault.folders import DICTIONARIES, find_dictionary_folders

Make = Callable[[dict[str, str | bytes]], Vault]

NAME = "freedict-eng-ita"

ENTRIES = [
    ("ABC", "alfabeto"),
    ("attic", "1. soffitta\n2. mansarda"),
    ("come", "avvicinarsi"),
    ("loom", "telaio meccanico"),
    ("mortgage", "mutuo <masc> [fin.] , ipoteca\n   Synonym: {loan}\n see: {rate}"),
    ("mortgage", "il mutuo"),
    ("rate", "tasso (per cento)"),
    ("roof tile", "tegola"),
    ("squirrel", "scoiattolo"),
]

NOTES: dict[str, str | bytes] = {
    "IRS.md": "Che cosa sono gli indici della banca: il tasso dei mutui che scade.\n",
    "Bosco.md": "Gli scoiattoli che sono nel bosco della valle.\n",
    "Nonna.md": "Il telaio meccanico della nonna, che sono riuscito a riparare.\n",
    "Tegole.md": "Le tegole della casa che sono rotte.\n",
    "Attic.md": "Che parola della lingua inglese: attic. Ce ne sono altre.\n",
    "Tetto.md": "La mansarda della zia, che sono andato a vedere.\n",
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = tmp_path / "dictd"
    write_dictionary(folder, NAME, ENTRIES)
    return folder


def find_first(vault: Vault, question: str, *folders: Path) -> list[str]:
    return [str(note.path) for note in rank(vault.index, question, dictionaries=folders).notes][:2]


@pytest.mark.parametrize(
    ("question", "path"),
    [
        ("what is the rate of my mortgage", "IRS.md"),
        ("rate of a mortgage", "IRS.md"),
        ("where do the squirrels live", "Bosco.md"),
        ("how did I sew with the loom", "Nonna.md"),
        ("which roof tiles are broken", "Tegole.md"),
        # No function word says that this is English, so only what no note has is looked up.
        ("squirrel", "Bosco.md"),
    ],
)
def test_an_english_question_finds_the_note(make_vault: Make, folder: Path, question: str, path: str) -> None:
    vault = make_vault(NOTES)
    assert find_first(vault, question, folder)[:1] == [path]
    assert path not in find_first(vault, question)


def test_a_word_that_a_note_has_is_looked_up_only_in_a_question_that_is_english(
    make_vault: Make, folder: Path
) -> None:
    vault = make_vault(NOTES)
    assert find_first(vault, "attic", folder) == ["Attic.md"]
    assert find_first(vault, "what is in the attic", folder) == ["Attic.md", "Tetto.md"]


def test_forms_of_one_translation_leave_room_for_the_next(make_vault: Make, tmp_path: Path) -> None:
    """The dictionary names the right word last, and the notes have many forms of the first."""
    write_dictionary(tmp_path, NAME, [("brake", "fermare , frenare , freno")])
    forms = (
        "ferma ferme fermi fermo fermai fermano fermare fermata fermate fermato fermiamo fermerai fermeremo"
    )
    vault = make_vault({"Sosta.md": f"Che cosa sono: {forms}.\n", "Bici.md": "Il freno che sono i miei.\n"})
    assert "Bici.md" in find_first(vault, "how do I fix the brake", tmp_path)


def test_our_own_list_is_used_beside_the_dictionary(make_vault: Make, folder: Path) -> None:
    """A note has the English word too, and the dictionary does not know it."""
    menu: dict[str, str | bytes] = {
        "Settings.md": "Una parola della lingua che sono: settings.\n",
        "Menu.md": "Le impostazioni della banca che sono nuove.\n",
    }
    vault = make_vault(NOTES | menu)
    assert "Menu.md" in find_first(vault, "where are the settings", folder)
    assert "Menu.md" in find_first(vault, "where are the settings")


def test_a_translation_of_several_words_is_marked_in_the_line(make_vault: Make, folder: Path) -> None:
    found = rank(make_vault(NOTES).index, "which loom was it", dictionaries=(folder,)).notes[0]
    (line,) = found.sections[0].matches
    assert [line.text[start:end] for start, end in line.spans] == ["telaio meccanico"]


@pytest.mark.parametrize(
    ("notes", "question"),
    [
        (NOTES, "che cosa sono le rate della mortgage"),
        (NOTES, "что такое ипотека"),
        ({"A.md": "The mortgage of the house is here.\n"}, "what is a mortgage"),
        ({"A.md": "Das ist der Dachboden und der Keller.\n"}, "what is in the attic"),
    ],
    ids=["Italian", "Russian", "notes in English", "notes in German"],
)
def test_other_questions_read_no_dictionary(
    make_vault: Make, folder: Path, notes: dict[str, str | bytes], question: str
) -> None:
    dictd._open.cache_clear()
    rank(make_vault(notes).index, question, dictionaries=(folder,))
    assert dictd._open.cache_info().misses == 0


def test_what_an_entry_says_besides_is_no_translation(folder: Path) -> None:
    dictionary = open_dictionary("italian", (folder,))
    assert dictionary is not None
    assert dictionary.find("mortgage") == ("mutuo", "ipoteca")
    assert dictionary.find("attic") == ("soffitta", "mansarda")
    assert dictionary.find("abc") == ("alfabeto",)
    assert dictionary.find("00databaseinfo") == ()
    assert dictionary.find("mort") == dictionary.find("zzz") == dictionary.find("") == ()
    assert look_up(dictionary.find, "mortgages") == ["mutuo", "ipoteca"]


def test_articles_and_long_explanations_are_left_out() -> None:
    entry = 'x\ndie Anlage, sich freuen; ein langer Satz der erklärt\n    "an example" - ein Beispiel'
    assert read_translations(entry, "german") == ["anlage", "freuen"]


def test_the_first_folder_with_the_dictionary_of_a_language_counts(folder: Path, tmp_path: Path) -> None:
    own = tmp_path / "own"
    write_dictionary(own, "eng-ita", [("attic", "solaio")])
    (own / "freedict-eng-deu.index").write_bytes(b"attic\tA\tB\n")
    assert find_files((own, folder)) == {"italian": own / "eng-ita.index"}
    dictionary = open_dictionary("italian", (own, folder))
    assert dictionary is not None and dictionary.find("attic") == ("solaio",)
    assert open_dictionary("german", (own, folder)) is None


def test_a_setting_names_a_folder_before_the_usual_ones() -> None:
    usual = tuple(map(Path, DICTIONARIES))
    assert find_dictionary_folders({}, platform="linux") == usual
    chosen = find_dictionary_folders({"VAULTBRIDGE_DICTIONARIES": "/srv/dicts"}, platform="darwin")
    assert chosen == (Path("/srv/dicts").absolute(), *usual)
    assert find_dictionary_folders({}, platform="win32") == ()


@pytest.mark.parametrize(
    "damaged",
    [
        b"",
        b"\x1f\x8b\x08",
        b"\x1f\x8b\x08\x0c" + b"\xff" * 40,
        b"plain text, not compressed",
        gzip.compress(b"attic /IPA/\nsoffitta\n", mtime=0),
        b"\x1f\x8b\x08\x04" + bytes(6) + b"\x0a\x00RA\x06\x00\x01\x00\x00\x00\x01\x00" + bytes(60),
    ],
    ids=["empty", "cut", "header only", "text", "in one piece", "pieces of no size"],
)
def test_a_file_in_another_format_is_no_dictionary(folder: Path, damaged: bytes) -> None:
    (folder / f"{NAME}.dict.dz").write_bytes(damaged)
    assert open_dictionary("italian", (folder,)) is None


def test_damage_anywhere_is_harmless(folder: Path, make_vault: Make) -> None:
    """Each of the two files with some bytes changed or cut off: whatever is read, nothing is raised, and a
    translation is never longer than an entry may be."""
    vault = make_vault(NOTES)
    rng = random.Random(7)
    files = [folder / f"{NAME}.index", folder / f"{NAME}.dict.dz"]
    whole = {file: file.read_bytes() for file in files}
    for _ in range(150):
        file = rng.choice(files)
        content = bytearray(whole[file])
        for _ in range(rng.randint(1, 8)):
            content[rng.randrange(len(content))] = rng.randrange(256)
        file.write_bytes(content[: rng.choice((len(content), rng.randrange(len(content))))])
        dictd._open.cache_clear()
        assert rank(vault.index, "what is the rate of my mortgage", dictionaries=(folder,)).complete
        file.write_bytes(whole[file])
    dictd._open.cache_clear()


def test_a_small_file_cannot_unpack_into_a_large_one(folder: Path) -> None:
    """An entry that says it is 16 MB long is read up to its bound, and one beyond the end is empty."""
    (folder / f"{NAME}.index").write_bytes(b"huge\tA\t///\nfar\t//////\tB\n")
    dictionary = open_dictionary("italian", (folder,))
    assert dictionary is not None
    assert len(dictionary._entries.read(0, 1 << 24)) < 1000
    assert sum(map(len, dictionary.find("huge"))) < dictd.ENTRY_BYTES
    assert dictionary.find("far") == ()


def test_an_index_that_is_too_large_is_not_read(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dictd, "INDEX_BYTES", 100)
    dictd._open.cache_clear()
    assert open_dictionary("italian", (folder,)) is None
    dictd._open.cache_clear()


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs named pipes")
def test_a_pipe_is_not_waited_for(folder: Path) -> None:
    (folder / f"{NAME}.index").unlink()
    os.mkfifo(folder / f"{NAME}.index")
    assert find_files((folder,)) == {} and open_dictionary("italian", (folder,)) is None


@pytest.mark.parametrize(
    ("language", "word", "translation"),
    [
        ("french", "difference", "difference"),
        ("german", "mortgage", "hypothek"),
        ("italian", "value", "valore"),
        ("russian", "sheet", "лист"),
        ("spanish", "boundary", "frontera"),
    ],
)
def test_the_packages_of_the_system_are_read(language: str, word: str, translation: str) -> None:
    folders = find_dictionary_folders(os.environ)
    if language not in find_files(folders):
        pytest.skip(f"no dictionary for {language} is installed")
    dictionary = open_dictionary(language, folders)
    assert dictionary is not None and translation in dictionary.find(word)
