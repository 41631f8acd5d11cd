"""What the stemmer does not know of English: everyday synonyms, irregular forms, British and American
spelling. Pure: no I/O.

People ask for a picture where the note says image. Words between two commas are synonyms and replace each
other at a small weight. The lists contain only common words, because technical terms are used exactly."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import Final

_GROUPS: Final = """
image picture photo photograph illustration, screenshot capture, delete remove erase discard trash,
restore recover undo revert, combine merge join unite consolidate, split divide separate extract,
copy duplicate clone replicate, move transfer relocate migrate, shortcut hotkey keybinding keystroke,
folder directory subfolder, file document, begin start launch, finish complete end,
change modify edit alter adjust customize, settings preferences options configuration setup,
link reference connection hyperlink, refer link mention cite, search find query lookup,
table grid spreadsheet, row record entry, cell field column, diagram chart graph flowchart,
formula equation expression, math mathematics mathematical arithmetic, calculate compute,
video movie film clip, sound audio voice, speak talk record, website site webpage homepage,
address url domain, publish release, share collaborate, protect secure security,
dangerous risk unsafe harmful, password passphrase, money payment price cost fee, refund reimburse,
buy purchase order, discount reduction rebate, free gratis, phone mobile smartphone,
computer device machine, screen display monitor, window pane, layout arrangement arrange,
hide collapse fold conceal, show display reveal, tag label keyword hashtag category,
favorite bookmark star pin, journal diary, daily day everyday, task todo checklist checkbox,
quickly fast rapid speed, slow lag performance, problem issue error bug fault,
fix repair mend solve troubleshoot resolve, help support assist, person people user,
team group colleague coworker, company business organization enterprise firm, work job employment,
version revision, history past, previous former old earlier, import migrate, export save,
internet web online, server cloud, theme appearance style look skin, large big huge, small little tiny,
command action, terminal console shell, program application app software tool,
plugin extension addon module, number count amount, title heading header, outline contents,
quote citation quotation, comment annotation remark, language translation locale,
summary overview abstract, summarize condense, jump navigate go, type write enter, copy backup,
rename retitle, name title, open launch, close quit exit, download fetch, upload send, install setup,
uninstall remove, update upgrade, enable activate, disable deactivate, allow permit,
forbid deny block prevent, approve accept confirm, reject decline refuse, cancel abort,
create make add new, insert embed include, paste insert, attach attachment, template boilerplate snippet,
slide presentation slideshow deck, canvas whiteboard board, infinite endless unlimited, sidebar panel,
toolbar ribbon, tab page, bar strip, menu dropdown, button icon, cursor caret, select choose pick,
highlight mark emphasize, bold strong, italic slanted, color colour tint, font typeface, dark night,
light bright, background wallpaper, zoom enlarge magnify, print printer, scan ocr, draw sketch,
write compose author, read view, preview peek, hover mouse, drag drop, click press tap, scroll swipe,
keyboard keys, list enumeration, bullet item, order sort rank, filter narrow, random arbitrary chance,
unique distinct, same identical, similar alike, different various, compare difference diff,
match correspond, replace substitute, convert transform, format formatting, paragraph passage text,
sentence phrase, word term, letter character, line row, footnote endnote, glossary dictionary terminology,
index catalogue, map atlas, location place position, path route, date day calendar, time hour clock,
today current, tomorrow upcoming, recent latest newest, deadline due, schedule plan,
remind reminder notification alert, message notice, warning caution, information info detail,
data information, property metadata attribute field, frontmatter yaml metadata, parameter argument,
variable placeholder, function method, script macro, code source, loop iterate repeat, condition if,
database base, store save keep, storage space, limit maximum quota, minimum least, size dimension,
width breadth, height tall, length duration, weight mass, speed velocity, account profile login,
login signin sign, logout signout, register signup subscribe, subscription plan membership,
license permission, invoice bill receipt, tax vat, student education school, teacher instructor tutor,
charity nonprofit, commercial business, private confidential personal, public visible,
anonymous unidentified, privacy confidentiality, encrypt encryption cipher, decrypt unlock, lock secure,
key token secret, certificate tls, authentication login, authenticator verification, attack hack,
virus malware, safe secure trustworthy, trust reliable, backup snapshot, sync synchronize synchronization,
conflict clash, connect link join, disconnect unlink, connection network, offline disconnected,
online connected, remote distant, local nearby, host hosting server, region location, proxy gateway,
firewall network, browser chrome, email mail, chat conversation, forum community, contact reach,
feedback suggestion, report complain, rule policy guideline, conduct behaviour behavior,
translate translation, contribute contribution donate, donate sponsor, developer programmer,
beta preview early, stable release, changelog release, experiment test try, sandbox playground,
example sample demo, tutorial guide instructions manual, learn study, explain describe,
understand comprehend, question ask, answer reply respond, begin introduction, beginner novice newcomer,
expert advanced, basic simple elementary, easy simple, difficult hard, automatic automatically,
manual manually, everywhere global, hierarchy tree nested, parent ancestor, child descendant,
relation relationship connection, neighbor neighbour adjacent, cluster group, node vertex,
alias synonym nickname, permalink url, redirect forward, visitor guest reader, traffic visits analytics,
statistics analytics metrics, logo brand, navigation menu, sitemap navigation, tablet ipad, iphone ios,
laptop computer, desktop computer, linux ubuntu, widget gadget, voice speech, microphone record,
camera photo, music song, podcast episode, book novel, article essay paper, literature bibliography,
reference bibliography, author writer, researcher scientist, science research, experiment trial,
result outcome, cause reason, effect consequence, advantage benefit, disadvantage drawback,
increase grow rise, decrease shrink fall decline, improve enhance, damage harm, destroy ruin,
build construct, discover find, invent create, happen occur, stop halt cease, continue resume proceed,
pause suspend, wait delay, hurry rush, need require, want desire wish, try attempt, succeed success,
fail failure, win victory, lose defeat, lost missing, missing absent, empty blank, full complete,
broken corrupt damaged, duplicate redundant, unused orphan, obsolete deprecated, archive store,
car automobile vehicle, truck lorry, airplane aircraft plane, train railway, bicycle bike,
house home building, apartment flat, room chamber, kitchen cooking, garden yard, doctor physician,
hospital clinic, medicine drug, illness disease sickness, pain ache, child kid, baby infant, mother mum,
father dad, wife spouse husband, city town, village hamlet, country nation, capital seat,
government administration, president leader, king monarch ruler, parliament legislature, election vote,
law rule regulation legislation, court tribunal, crime offence offense, police officer, prison jail,
army military, soldier troop, war conflict battle, weapon gun, peace treaty, religion faith,
church cathedral, god deity, ship boat vessel, sea ocean, river stream, lake pond, mountain hill,
forest wood, island isle, desert arid, weather climate, rain rainfall, storm hurricane, earthquake quake,
fire blaze, earth world globe, planet world, star sun, animal creature, bird fowl, dog hound, insect bug,
flower blossom bloom, tree wood, food meal dish, drink beverage, bread loaf, meat beef, fruit berry,
holiday vacation, trip journey travel, hotel inn, shop store, street road, bridge crossing,
airport airfield, station stop, money currency, bank lender, rich wealthy, poor impoverished,
job occupation profession, salary wage pay, boss manager, meeting appointment, speech talk lecture,
kill murder, die death, born birth, age old, marry marriage wedding, inhabitants population residents,
located situated, famous known, beautiful pretty, strange odd, angry mad, happy glad, sad unhappy,
smart clever intelligent, illuminate lamp light, clothes clothing, shoe boot, game play, player athlete,
football soccer, champion winner, actor actress performer, singer musician, band group, painter artist,
painting picture, museum gallery, language tongue, nickname alias, agenda schedule, appointment event,
clipboard copy, default standard, symbol sign emoji, abbreviation acronym short, chapter section part,
section heading, appendix supplement, caption legend, thumbnail preview, gallery album cards, cover banner,
kanban board, timeline chronology, spelling spellcheck, grammar syntax, punctuation comma,
capital uppercase, lowercase small, indent nest, margin border, fullscreen maximize, minimize shrink,
stack pile, divider separator, transparent translucent, animation motion, mute silent, volume loudness,
battery power, memory ram, disk drive, crash freeze, boot startup, permission access, administrator admin,
owner possessor, member participant, invite invitation, role position, follow subscribe, publish blog,
newsletter mailing, advertisement ad, popular common, rare uncommon, typical usual,
necessary essential required, optional voluntary, possible feasible, impossible unable, correct right,
wrong incorrect, true real, false untrue, exact precise, approximate roughly, total sum, average mean,
percent percentage, half partial, double twice, first initial, last final, next following, above over,
below under, inside within, outside external, front ahead, behind rear, left port, near close, far distant,
method way approach, process procedure, step stage, goal aim objective, idea thought concept, opinion view,
decision choice, proposal suggestion, agreement contract, budget funds, expense spending, income revenue,
profit gain, debt loan, insurance coverage, rent lease, recipe cooking, ingredient component,
exercise workout, sleep rest, dream vision, health wellbeing, diet nutrition, doctor medical,
therapy treatment, habit routine, mood emotion feeling, fear anxiety, love affection, friend companion,
enemy foe, birthday anniversary, gift present, party celebration, toy game, engine motor,
fuel petrol gasoline, electricity electric power, energy power, steel iron metal, gold golden, stone rock,
glass window, wood timber, water liquid, air atmosphere, gas vapor, heat warmth, cold chill,
dangerous hazardous, poison toxic, gene dna, cell biology, brain neural mind, heart cardiac,
blood bleeding, bone skeleton, skin dermal, eye vision, ear hearing, tooth dental, evolution evolve,
species kind, ancient antique, modern contemporary, medieval middle, century era, dynasty reign,
empire kingdom, colony settlement, revolution uprising, independence sovereignty, slavery slave,
border boundary frontier, province state region, county district, mayor governor, minister secretary,
queen empress, prince heir, nobility aristocracy, peasant farmer, worker laborer, factory plant,
industry manufacturing, trade commerce, export trade, harbor harbour port, castle fortress, tower spire,
palace mansion, tomb grave, statue sculpture, poem poetry verse, play drama, opera musical, dance ballet,
award prize, record album, broadcast air, television tv, radio wireless, newspaper press, magazine journal,
editor publisher, university college, degree diploma, exam test, theory hypothesis, proof evidence,
observation measurement, telescope observatory, rocket spacecraft, satellite moon, astronaut cosmonaut
"""
"""Everyday synonyms, in groups: each word can replace the others."""

_NARROWER: Final = """
laptop phone smartphone tablet computer pc mac > device devices, ipad iphone android smartphone > mobile,
png jpg jpeg photo picture screenshot pdf > attachment image, mp3 recording > audio, mp4 youtube > video,
colleague coworker friend somebody > collaborate share,
pay paid cost price expensive > payment subscription license, cheaper less > discount,
boss office company > commercial, insult harass abuse rude > conduct,
crash freeze stuck hang > troubleshoot problem,
lost deleted vanished gone accidentally > recovery recover restore,
overwrote overwritten yesterday older > version history, colour color font > appearance theme,
coworkers colleagues family > shared team, minutes protocol > meeting, notepad page > note,
typing typed > write type, doctor nurse > hospital
"""
"""Words that can be replaced by others, but not the other way round: a question about a laptop may mean any
device."""

_IRREGULAR: Final = """
arise arose arisen, awake awoke awoken, become became, begin began begun, bend bent, bind bound,
bite bit bitten, bleed bled, blow blew blown, break broke broken, breed bred, bring brought, build built,
buy bought, catch caught, choose chose chosen, come came, creep crept, deal dealt, dig dug,
draw drew drawn, dream dreamt, drink drank drunk, drive drove driven, eat ate eaten, fall fell fallen,
feed fed, feel felt, fight fought, find found, flee fled, fly flew flown, forbid forbade forbidden,
forget forgot forgotten, forgive forgave forgiven, freeze froze frozen, give gave given, go went gone,
grow grew grown, hang hung, hear heard, hide hid hidden, hold held, keep kept, know knew known, lay laid,
lead led, leave left, lend lent, lie lay lain, light lit, lose lost, make made, mean meant, meet met,
overwrite overwrote overwritten, pay paid, rewrite rewrote rewritten, ride rode ridden, ring rang rung,
rise rose risen, run ran, say said, see saw seen, seek sought, sell sold, send sent, shake shook shaken,
shine shone, shoot shot, show shown, shrink shrank shrunk, sing sang sung, sink sank sunk, sit sat,
sleep slept, slide slid, speak spoke spoken, spend spent, spin spun, stand stood, steal stole stolen,
stick stuck, strike struck, swear swore sworn, sweep swept, swim swam swum, swing swung, take took taken,
teach taught, tear tore torn, tell told, think thought, throw threw thrown, understand understood,
undo undid undone, wake woke woken, wear wore worn, weave wove woven, win won, wind wound,
withdraw withdrew withdrawn, write wrote written, child children, man men, woman women, foot feet,
tooth teeth, mouse mice, goose geese, person people, life lives, knife knives, leaf leaves, half halves,
wolf wolves, shelf shelves, index indices, matrix matrices, vertex vertices, criterion criteria,
phenomenon phenomena, medium media, datum data, analysis analyses, crisis crises
"""
"""Irregular forms of words, which no stemmer finds."""

_SPELLINGS: Final = (("our", "or"), ("is", "iz"), ("ys", "yz"), ("tre", "ter"), ("ogue", "og"), ("ll", "l"))
"""British and American spellings."""


Stem = Callable[[str], str]

_BEGINNING: Final = 3
"""How many first letters words with the same stem share, so that few stems need to be compared."""


@lru_cache(1)
def _load_synonyms() -> dict[str, dict[str, tuple[str, ...]]]:
    """Returns the synonyms of each word, grouped by the word's first letters."""
    leads: dict[str, list[str]] = {}
    for group in _list_groups(_GROUPS):
        for word in group:
            leads.setdefault(word, []).extend(other for other in group if other != word)
    for line in _NARROWER.split(","):
        narrow, _, wide = line.partition(">")
        for word in narrow.split():
            leads.setdefault(word, []).extend(wide.split())
    found: dict[str, dict[str, tuple[str, ...]]] = {}
    for word, others in leads.items():
        found.setdefault(word[:_BEGINNING], {})[word] = tuple(dict.fromkeys(others))
    return found


@lru_cache(1)
def _load_irregular() -> dict[str, tuple[str, ...]]:
    return {
        word: tuple(other for other in group if other != word)
        for group in _list_groups(_IRREGULAR)
        for word in group
    }


def _list_groups(text: str) -> Iterator[list[str]]:
    return (group.split() for group in text.split(","))


def find_synonyms(words: set[str], stem: Stem) -> tuple[str, ...]:
    """Returns the synonyms of a word, given some of its forms, whichever form the lists have."""
    known = _load_synonyms()
    stems = {stem(word) for word in words}
    found = [
        other
        for beginning in sorted({word[:_BEGINNING] for word in words})
        for word, others in known.get(beginning, {}).items()
        if word in words or stem(word) in stems
        for other in others
    ]
    return tuple(other for other in dict.fromkeys(found) if stem(other) not in stems)


def find_irregular_forms(words: set[str]) -> tuple[str, ...]:
    """Returns the irregular forms of the word that has these regular forms: wrote and written for write."""
    known = _load_irregular()
    return tuple(dict.fromkeys(other for word in sorted(words) for other in known.get(word, ())))


def respell(word: str) -> set[str]:
    """Returns spellings that the word may have in British or American English; most of them are not words."""
    return {
        word.replace(old, new)
        for pair in _SPELLINGS
        for old, new in (pair, pair[::-1])
        if old in word and len(word) > len(old) + 2
    } - {word}
