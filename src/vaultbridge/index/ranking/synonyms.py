"""Everyday words of English that people use for the same thing, and its two spellings. Pure: no I/O.

People ask for a picture where the note says image. Each line is one thing; the words of a line stand in for
each other at a small weight. It holds common words alone: the words of a trade mean what they say."""

from __future__ import annotations

from functools import lru_cache
from typing import Final

_GROUPS: Final = """
image picture photo photograph illustration
delete remove erase discard
restore recover undo
combine merge join unite
split divide separate extract
copy duplicate clone
move transfer relocate migrate
shortcut hotkey
folder directory
file document
begin start launch
finish complete end
change modify edit alter adjust customize
settings preferences options configuration
link reference connection
refer link mention cite
search find query
table grid spreadsheet
diagram chart graph flowchart
formula equation
math mathematics mathematical
calculate compute
video movie film
sound audio voice
speak talk record
website site webpage
address url domain
publish release
share collaborate
protect secure security
dangerous risk unsafe harmful
password passphrase
money payment price cost
refund reimburse
buy purchase
discount reduction
phone mobile smartphone
computer device machine
screen display monitor
window pane
layout arrangement arrange
hide collapse fold
show display
tag label keyword
favorite bookmark star
journal diary
task todo
quickly fast rapid
problem issue error bug
fix repair mend solve troubleshoot
help support assist
person people user
team group
company business organization
work job
version revision
history past
previous former old
import migrate
internet web online
server cloud
theme appearance style look
large big
small little
command action
terminal console shell
program application app software
plugin extension addon
number count
title heading header
outline contents
quote citation
comment annotation
language translation
summary overview
summarize condense
jump navigate go
type write enter
copy backup
car automobile vehicle
house home building
doctor physician
illness disease sickness
child kid
city town
country nation
ship boat
river stream
war conflict battle
king monarch ruler
food meal dish
holiday vacation
shop store
street road
occupation profession
author writer
student pupil
teacher instructor
law rule regulation
kill murder
die death
born birth
marry marriage wedding
inhabitants population residents
located situated
famous known
speech talk lecture
visitor guest
illuminate lamp light
insect bug
flower blossom bloom
"""

_SPELLINGS: Final = (("our", "or"), ("is", "iz"), ("ys", "yz"), ("tre", "ter"), ("ogue", "og"), ("ll", "l"))
"""British and American."""


@lru_cache(1)
def _load() -> dict[str, tuple[str, ...]]:
    found: dict[str, tuple[str, ...]] = {}
    for line in _GROUPS.strip().splitlines():
        words = line.split()
        for word in words:
            others = (other for other in words if other != word)
            found[word] = tuple(dict.fromkeys((*found.get(word, ()), *others)))
    return found


def find_synonyms(words: set[str]) -> tuple[str, ...]:
    """Returns words for the same thing as any of the forms of a word."""
    known = _load()
    return tuple(dict.fromkeys(other for word in sorted(words) for other in known.get(word, ())))


def respell(word: str) -> set[str]:
    """Returns the other spellings that a word may have; most of them no word at all."""
    return {
        word.replace(old, new)
        for pair in _SPELLINGS
        for old, new in (pair, pair[::-1])
        if old in word and len(word) > len(old) + 2
    } - {word}
