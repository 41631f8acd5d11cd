"""English beyond its stemmer: everyday words for the same thing, irregular forms, the two spellings. Pure: no
I/O.

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

_IRREGULAR: Final = """
arise arose arisen
awake awoke awoken
become became
begin began begun
bend bent
bind bound
bite bit bitten
bleed bled
blow blew blown
break broke broken
breed bred
bring brought
build built
buy bought
catch caught
choose chose chosen
come came
creep crept
deal dealt
dig dug
draw drew drawn
dream dreamt
drink drank drunk
drive drove driven
eat ate eaten
fall fell fallen
feed fed
feel felt
fight fought
find found
flee fled
fly flew flown
forbid forbade forbidden
forget forgot forgotten
forgive forgave forgiven
freeze froze frozen
give gave given
go went gone
grow grew grown
hang hung
hear heard
hide hid hidden
hold held
keep kept
know knew known
lay laid
lead led
leave left
lend lent
lie lay lain
light lit
lose lost
make made
mean meant
meet met
overwrite overwrote overwritten
pay paid
rewrite rewrote rewritten
ride rode ridden
ring rang rung
rise rose risen
run ran
say said
see saw seen
seek sought
sell sold
send sent
shake shook shaken
shine shone
shoot shot
show shown
shrink shrank shrunk
sing sang sung
sink sank sunk
sit sat
sleep slept
slide slid
speak spoke spoken
spend spent
spin spun
stand stood
steal stole stolen
stick stuck
strike struck
swear swore sworn
sweep swept
swim swam swum
swing swung
take took taken
teach taught
tear tore torn
tell told
think thought
throw threw thrown
understand understood
undo undid undone
wake woke woken
wear wore worn
weave wove woven
win won
wind wound
withdraw withdrew withdrawn
write wrote written
child children
man men
woman women
foot feet
tooth teeth
mouse mice
goose geese
person people
life lives
knife knives
leaf leaves
half halves
wolf wolves
shelf shelves
index indices
matrix matrices
vertex vertices
criterion criteria
phenomenon phenomena
medium media
datum data
analysis analyses
crisis crises
"""
"""Forms of one word that no stemmer brings together."""

_SPELLINGS: Final = (("our", "or"), ("is", "iz"), ("ys", "yz"), ("tre", "ter"), ("ogue", "og"), ("ll", "l"))
"""British and American."""


@lru_cache(2)
def _load(groups: str) -> dict[str, tuple[str, ...]]:
    found: dict[str, tuple[str, ...]] = {}
    for line in groups.strip().splitlines():
        words = line.split()
        for word in words:
            others = (other for other in words if other != word)
            found[word] = tuple(dict.fromkeys((*found.get(word, ()), *others)))
    return found


def find_synonyms(words: set[str]) -> tuple[str, ...]:
    """Returns words for the same thing as any of the forms of a word."""
    return _find_others(_GROUPS, words)


def find_irregular_forms(words: set[str]) -> tuple[str, ...]:
    """Returns irregular forms of the word that has these regular ones: wrote and written for write."""
    return _find_others(_IRREGULAR, words)


def _find_others(groups: str, words: set[str]) -> tuple[str, ...]:
    known = _load(groups)
    return tuple(dict.fromkeys(other for word in sorted(words) for other in known.get(word, ())))


def respell(word: str) -> set[str]:
    """Returns the other spellings that a word may have; most of them no word at all."""
    return {
        word.replace(old, new)
        for pair in _SPELLINGS
        for old, new in (pair, pair[::-1])
        if old in word and len(word) > len(old) + 2
    } - {word}
