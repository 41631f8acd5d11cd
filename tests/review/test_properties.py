"""Drawn changes by assistants and by others: nothing of either is lost, and nothing is written unseen."""

from __future__ import annotations

import random
import threading
from collections.abc import Callable

import pytest

from support.review import Reviewed
from support.scripts import draw_word, list_scripts
from vaultbridge.engine.operations import Append, Write
from vaultbridge.errors import InvalidArgument
from vaultbridge.markdown.edits.merge import list_changed_lines, merge_texts
from vaultbridge.review.decide import Decider, FileDecision

Make = Callable[..., Reviewed]

EXAMPLES = 60


def draw_text(rng: random.Random, end: str) -> list[str]:
    names = sorted(list_scripts())
    return [f"{draw_word(rng.choice(names), rng)} {number}{end}" for number in range(rng.randrange(12))]


def change(lines: list[str], rng: random.Random, who: str, end: str) -> list[str]:
    changed = list(lines)
    for number in range(rng.randrange(1, 4)):
        at = rng.randrange(len(changed) + 1)
        match rng.choice(["insert", "replace", "remove"]):
            case "insert":
                changed.insert(at, f"{who} {number}{end}")
            case "replace" if at < len(changed):
                changed[at] = f"{who} changed {number}{end}"
            case "remove" if at < len(changed):
                del changed[at]
    return changed


def test_an_accepted_change_is_merged_into_the_current_note(reviewed: Make) -> None:
    rng = random.Random(13)
    vault = reviewed({})
    seen_outcomes = set()
    for number in range(EXAMPLES):
        name = f"N{number}.md"
        end = rng.choice(["\n", "\r\n"])
        base = draw_text(rng, end)
        proposed, mine = change(base, rng, "robot", end), change(base, rng, "me", end)
        if not base or proposed == base:
            continue
        old, new, now = "".join(base), "".join(proposed), "".join(mine)
        vault.write(name, old)
        proposal = vault.ask(Write(note=name, content=new))
        seen = vault.read_hash(proposal)
        vault.write(name, now)
        result = vault.decider.accept(proposal, by="page", seen=seen)
        seen_outcomes.add(result.outcome)
        merged = merge_texts(old, new, now)
        if result.outcome == "shown-again":
            assert vault.read(name) == now
            assert merged is None or list_changed_lines(now, merged) != list_changed_lines(old, new)
            vault.decider.reject(proposal, by="page")
        else:
            assert vault.read(name) == merged
            if result.change:
                vault.decider.undo(proposal, by="page")
                assert vault.read(name) == now
    assert seen_outcomes == {"accepted", "shown-again"}


def test_a_person_s_text_is_merged_the_same_way(reviewed: Make) -> None:
    rng = random.Random(31)
    vault = reviewed({})
    seen_outcomes = set()
    for number in range(EXAMPLES // 2):
        name = f"N{number}.md"
        base = draw_text(rng, "\n")
        proposed, edited = change(base, rng, "robot", "\n"), change(base, rng, "person", "\n")
        mine = change(base, rng, "me", "\n")
        if not base or proposed == base or edited == base:
            continue
        old, now = "".join(base), "".join(mine)
        vault.write(name, old)
        proposal = vault.ask(Write(note=name, content="".join(proposed)))
        seen = vault.read_hash(proposal)
        vault.write(name, now)
        files = [FileDecision(path=name, text="".join(edited))]
        merged = merge_texts(old, "".join(edited), now)
        result = vault.decider.accept(proposal, by="page", seen=seen, files=files)
        seen_outcomes.add(result.outcome)
        if result.outcome == "accepted":
            assert vault.read(name) == merged
        else:
            # Its own text contradicts the note, or the assistant's has nothing left to add to it.
            assert vault.read(name) == now
    assert seen_outcomes == {"accepted", "shown-again"}


def test_of_many_deciders_one_decides(reviewed: Make) -> None:
    vault = reviewed({"A.md": "one\n"})
    number = vault.ask(Append(note="A", content="two"))
    outcomes: list[str] = []
    start = threading.Barrier(6)

    def decide(accept: bool) -> None:
        decider = Decider(vault.owner, vault.store)
        start.wait(60)
        try:
            if accept:
                outcomes.append(decider.accept(number, by="page").outcome)
            else:
                outcomes.append(decider.reject(number, by="terminal").outcome)
        except InvalidArgument as error:
            # One that comes while another decides is refused with other words than one that comes later.
            assert "is no longer waiting" in str(error) or "being reviewed by somebody else" in str(error)

    threads = [threading.Thread(target=decide, args=(odd % 2 == 0,)) for odd in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    (outcome,) = outcomes
    assert vault.read("A.md") == ("one\ntwo\n" if outcome == "accepted" else "one\n")
    assert len(vault.engine.history.changes()) == (outcome == "accepted")


@pytest.mark.parametrize("bad", ["p", "p0", "px", "q1", "12", "", "p99999999999999999999", "p1\n"])
def test_an_invalid_proposal_id_is_refused(reviewed: Make, bad: str) -> None:
    from vaultbridge.review.gate import parse_id

    vault = reviewed({})
    with pytest.raises(InvalidArgument):
        vault.decider.show(parse_id(bad))
