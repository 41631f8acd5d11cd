"""The list of words near in meaning: what it holds, and what it does to a question."""

from __future__ import annotations

import gzip
from collections.abc import Callable

from support.index import Vault
from vaultbridge.index.ranking.forms import stem_word
from vaultbridge.index.ranking.rank import rank
from vaultbridge.index.ranking.synonyms import _NEIGHBOURS, find_neighbours

Make = Callable[[dict[str, str | bytes]], Vault]


def test_the_list_is_in_order_small_and_has_words_only() -> None:
    packed = _NEIGHBOURS.read_bytes()
    assert len(packed) < 600_000
    lines = gzip.decompress(packed).decode("ascii").splitlines()
    stems = [line.split()[0] for line in lines]
    assert len(lines) > 20_000 and stems == sorted(set(stems))
    for line in lines:
        stem, *others = line.split()
        assert 1 <= len(others) <= 6
        assert all(other.isalpha() and other.islower() for other in others)
        assert stem not in {stem_word("english", other) for other in others}


def test_every_form_of_a_word_has_the_same_neighbours() -> None:
    assert "lawn" in find_neighbours(stem_word("english", "garden"))
    assert find_neighbours(stem_word("english", "gardens")) == find_neighbours(stem_word("english", "garden"))
    for stem in ("", "zzzz", "aaa", "garde", "gardens gardening"):
        assert find_neighbours(stem) == []


NOTES: dict[str, str | bytes] = {
    "Tenants.md": "The tenants of the flat signed a lease for the year, and the rental is due.\n",
    "Bakery.md": "The bread of the day is on the shelf, and the oven is hot for the year.\n",
    "Landlord.md": "The landlord is a friend.\n",
    **{f"Note {number}.md": f"The thing of the day is number {number}.\n" for number in range(20)},
}


def test_a_note_without_the_word_is_found_below_those_that_have_it(make_vault: Make) -> None:
    page = rank(make_vault(NOTES).index, "what does the landlord want")
    assert [str(note.path) for note in page.notes][:2] == ["Landlord.md", "Tenants.md"]
    assert "Bakery.md" not in [str(note.path) for note in page.notes]


def test_a_note_with_a_neighbour_still_lacks_the_word(make_vault: Make) -> None:
    page = rank(make_vault(NOTES).index, "what does the landlord want")
    assert "landlord" in {str(note.path): note.missing for note in page.notes}["Tenants.md"]


def test_neighbours_of_words_are_for_english_alone(make_vault: Make) -> None:
    german: dict[str, str | bytes] = {
        "Garten.md": "Der Garten ist schön und die Rosen blühen.\n",
        "Lawn.md": "Die Wörter lawn und backyard sind englisch, und das ist der Punkt.\n",
        "Rest.md": "Das ist der Rest und nicht mehr.\n",
    }
    page = rank(make_vault(german).index, "wie ist der garden")
    assert "Lawn.md" not in [str(note.path) for note in page.notes]


def test_a_word_of_the_question_is_no_neighbour_of_another(make_vault: Make) -> None:
    """Each is in the list of the other, and a note with one of them must not count as having both."""
    assert "quartz" in find_neighbours("granit") and "granite" in find_neighbours("quartz")
    vault = make_vault({"Both.md": "quartz and granite", "One.md": "quartz", "Many.md": "quartz " * 9})
    page = rank(vault.index, "quartz granite")
    assert str(page.notes[0].path) == "Both.md"
