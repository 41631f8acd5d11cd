"""Which changes wait, and for whom: `review/gate.py` and `review/policy.py`."""

from __future__ import annotations

import shutil
import sqlite3
import threading
from collections.abc import Callable
from contextlib import closing
from functools import partial
from pathlib import Path

import pytest
from msgspec.structs import replace

from support.review import QuietCaller, Reviewed
from vaultbridge.engine import DirectEngine
from vaultbridge.engine.operations import (
    Append,
    Create,
    Delete,
    Move,
    RenameTag,
    ReplaceSection,
    ReplaceText,
    Write,
)
from vaultbridge.engine.operations.base import Operation
from vaultbridge.engine.outcome import Outcome
from vaultbridge.engine.plan import Plan
from vaultbridge.errors import ChangeRejected, EngineFailure, InvalidArgument
from vaultbridge.review.loss import MANY_FILES
from vaultbridge.review.policy import ChangePending, Review
from vaultbridge.review.store import WAITING_PROPOSALS, WAITING_SECONDS, ReviewStore, store_of
from vaultbridge.vault.paths import VaultPath
from vaultbridge.vault.scope import Scope
from vaultbridge.vault.write.trash import Trash

Make = Callable[..., Reviewed]

FILES = {
    "A.md": "# A\n\none\ntwo\n",
    "F/B.md": "[[A]] #tag\n",
    **{f"T{number}.md": "#wide text\n" for number in range(MANY_FILES + 1)},
}

DESTRUCTIVE: list[tuple[Operation, str]] = [
    (Delete(note="A"), "delete"),
    (Delete(note="F/"), "delete"),
    (Create(note="A", content="new", overwrite=True), "overwrite"),
    (Write(note="A", content="new"), "overwrite"),
    (ReplaceText(note="A", old="# A\n\none\ntwo\n", new="gone\n"), "overwrite"),
    (Move(note="F/", to="G"), "folder"),
    (RenameTag(tag="wide", to="narrow"), "many files"),
]

HARMLESS: list[Operation] = [
    Append(note="A", content="x"),
    Create(note="New", content="x"),
    ReplaceText(note="A", old="one", new="ONE"),
    Move(note="A", to="Z"),
    RenameTag(tag="tag", to="other"),
]


@pytest.mark.parametrize(("operation", "why"), DESTRUCTIVE, ids=lambda value: str(value)[:30])
def test_a_destructive_change_waits(reviewed: Make, operation: Operation, why: str) -> None:
    vault = reviewed(FILES)
    number = vault.ask(operation, review="destructive")
    assert vault.store.get(number).why == why
    assert vault.engine.history.changes() == []


@pytest.mark.parametrize(
    "replaced",
    [
        Write(note="Z", content="text that is new\n"),
        Create(note="./Z", content="text that is new\n", overwrite=True),
        ReplaceText(note="Z", old="#wide text\n", new="gone\n"),
    ],
    ids=lambda value: type(value).__name__,
)
def test_a_note_that_moves_first_is_not_replaced_without_review(reviewed: Make, replaced: Operation) -> None:
    """As it was found: a batch got around `destructive` by moving the note before it replaced the text."""
    vault = reviewed(FILES)
    with pytest.raises(ChangePending) as pending:
        vault.apply(Move(note="T1", to="./Z"), replaced, review="destructive")
    assert vault.store.get(int(pending.value.facts["id"][1:])).why == "overwrite"
    assert vault.read("T1.md") == FILES["T1.md"]
    again = vault.apply(Move(note="T1", to="./Z"), Append(note="Z", content="x"), review="destructive")
    assert again.change_id


@pytest.mark.parametrize("operation", HARMLESS, ids=lambda value: str(value)[:30])
def test_a_harmless_change_waits_only_if_all_do(reviewed: Make, operation: Operation) -> None:
    vault = reviewed(FILES)
    number = vault.ask(operation, review="all")
    assert vault.store.get(number).why == "all"
    assert vault.apply(operation, review="destructive").change_id


def test_with_review_off_nothing_is_stored(reviewed: Make) -> None:
    vault = reviewed(FILES)
    for operation in (*HARMLESS[:3], DESTRUCTIVE[0][0]):
        assert vault.apply(operation, review="off").change_id
    assert not vault.store.exists


def test_a_dry_run_is_free(reviewed: Make) -> None:
    vault = reviewed(FILES)
    change = vault.engine.apply([Append(note="A", content="x")]).change_id
    gated = vault.with_gate("all")
    assert gated.apply([Delete(note="A")], dry_run=True).dry_run
    assert gated.undo(int(change), dry_run=True).dry_run
    assert vault.store.waiting() == ()
    assert vault.read("A.md").endswith("x\n")


def test_the_strictest_policy_counts(reviewed: Make) -> None:
    vault = reviewed(FILES)
    vault.store.set_policy("all")
    vault.ask(Append(note="A", content="x"), review="off")
    vault.store.set_policy("off")
    vault.ask(Delete(note="A"), review="destructive")
    assert vault.apply(Append(note="A", content="y"), review="off").change_id


def test_with_nobody_to_ask_the_answer_says_how_a_person_decides(reviewed: Make) -> None:
    vault = reviewed(FILES)
    with pytest.raises(ChangePending) as pending:
        vault.apply(Append(note="A", content="x"))
    facts = pending.value.facts
    assert (facts["status"], facts["id"]) == ("pending", "p1")
    assert facts["files"] == [{"path": "A.md", "change": "changed"}]
    for words in (
        "Nobody can be asked right now",
        "`vaultbridge page`",
        "`vaultbridge diffs`",
        'history with id "p1"',
    ):
        assert words in facts["message"]


def test_a_call_waits_for_the_editor_that_is_open(reviewed: Make) -> None:
    vault = reviewed(FILES)
    vault.store.set_present(1)
    done: list[object] = []
    gated = vault.with_gate("all", wait=60)
    call = threading.Thread(
        target=lambda: done.append(gated.apply([Append(note="A", content="x")], actor="robot"))
    )
    added = threading.Event()
    vault.store.listen(added.set)
    call.start()
    assert added.wait(60)
    (proposal,) = vault.store.waiting()
    vault.decider.accept(proposal.number, by="page")
    call.join(60)
    (outcome,) = done
    assert outcome == vault.store.outcome(proposal.number)
    assert vault.engine.history.changes()[0].actor == "robot"


def test_after_the_wait_the_call_is_pending(reviewed: Make) -> None:
    vault = reviewed(FILES)
    vault.store.set_present(1)
    with pytest.raises(ChangePending) as pending:
        vault.with_gate("all", wait=0.01).apply([Append(note="A", content="x")])
    for words in ("has not decided yet", "`vaultbridge page`"):
        assert words in pending.value.facts["message"]


def test_a_rejection_says_why(reviewed: Make) -> None:
    vault = reviewed(FILES)
    number = vault.ask(Append(note="A", content="x"))
    caller = QuietCaller()
    caller.asked = f"p{number}"
    vault.decider.reject(number, by="page", reason="use the other note")
    with pytest.raises(ChangeRejected, match="They say: use the other note"):
        vault.apply(Append(note="A", content="x"), caller=caller)


def test_a_client_that_can_ask_its_user_does_so(reviewed: Make) -> None:
    vault = reviewed(FILES)
    caller = QuietCaller(["accept"])
    assert vault.apply(Append(note="A", content="three"), caller=caller).change_id
    (message,) = caller.messages
    assert "robot wants to change your vault (append): A.md (changed)" in message
    assert "`vaultbridge page`" in message
    assert "+three" in message
    with pytest.raises(ChangeRejected):
        vault.apply(Delete(note="A"), caller=QuietCaller(["reject"]))
    with pytest.raises(ChangePending):
        vault.apply(Delete(note="A"), caller=QuietCaller(["cancel"]))


def test_a_client_is_not_asked_while_an_editor_is_open(reviewed: Make) -> None:
    vault = reviewed(FILES)
    vault.store.set_present(1)
    caller = QuietCaller(["accept"])
    with pytest.raises(ChangePending):
        vault.with_gate("all", caller, wait=0.01).apply([Append(note="A", content="x")])
    assert caller.messages == []


def test_a_client_is_asked_again_when_the_note_changed(reviewed: Make) -> None:
    vault = reviewed(FILES)
    texts = ["# A\n\nmine\ntwo\n"]

    def change() -> None:
        if texts:
            vault.write("A.md", texts.pop())

    caller = QuietCaller(["accept", "reject"], before=change)
    with pytest.raises(ChangeRejected):
        vault.apply(Write(note="A", content="# A\n\nrobot\ntwo\n"), caller=caller)
    assert len(caller.messages) == 2
    assert "-mine" in caller.messages[1]


def test_waiting_changes_are_bounded_in_number_and_age(reviewed: Make) -> None:
    vault = reviewed(FILES)
    for number in range(WAITING_PROPOSALS):
        vault.ask(Create(note=f"New {number}"))
    with pytest.raises(InvalidArgument, match=f"{WAITING_PROPOSALS} changes are already waiting.* no room"):
        vault.apply(Create(note="One more"))
    later = ReviewStore(vault.engine.state, clock=lambda: vault.store.get(1).at + WAITING_SECONDS + 60)
    try:
        assert later.get(1).status == "expired"
        assert later.waiting() == ()
    finally:
        later.close()


def test_waiting_changes_are_bounded_in_size(reviewed: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("vaultbridge.review.store.STORED_BYTES", 20_000)
    vault = reviewed(FILES)
    vault.ask(Create(note="Small", content="x" * 1000))
    with pytest.raises(InvalidArgument, match="no room"):
        vault.apply(Create(note="Large", content="x" * 20_000))
    assert not (vault.folder / "Large.md").exists()


def test_a_proposal_of_a_killed_decider_waits_again(reviewed: Make) -> None:
    vault = reviewed(FILES)
    number = vault.ask(Append(note="A", content="x"))
    assert vault.store.claim(number)
    assert not vault.store.claim(number)
    with closing(sqlite3.connect(vault.engine.state / "review.sqlite", isolation_level=None)) as db:
        db.execute("UPDATE proposals SET decider = 2147483646")
    assert vault.decider.accept(number, by="page").outcome == "accepted"


@pytest.mark.parametrize("policy", ["destructive", None])
@pytest.mark.parametrize("readable", [True, False])
def test_damaged_proposals_are_reported_and_keep_or_tighten_the_policy(
    reviewed: Make, policy: Review | None, readable: bool
) -> None:
    vault = reviewed(FILES)
    asked = [vault.ask(Append(note="A", content=text)) for text in ("x", "y")]
    vault.store.set_policy(policy)
    vault.store.close()
    file = vault.engine.state / "review.sqlite"
    if readable:
        with closing(sqlite3.connect(file, isolation_level=None)) as db:
            db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
            (page,) = db.execute("SELECT rootpage FROM sqlite_master WHERE name = 'proposals'").fetchone()
        data = bytearray(file.read_bytes())
        data[(page - 1) * 4096 : page * 4096] = bytes(4096)
        file.write_bytes(data)
        with pytest.raises(EngineFailure, match="could not be used"):
            vault.store.get(asked[0])
    else:
        file.write_bytes(b"not a database" * 100)
    for tail in ("-wal", "-shm"):
        Path(f"{file}{tail}").unlink(missing_ok=True)
    assert vault.store.waiting() == ()
    assert vault.store.policy == (policy if readable else "all")
    (notice,) = vault.engine.history.list_notices()
    assert "kept as review.damaged-1.sqlite" in notice
    assert ("every change is reviewed" in notice) is not readable
    with pytest.raises(InvalidArgument, match="no proposal"):
        vault.store.get(asked[0])
    vault.store.set_policy("all")
    assert vault.ask(Append(note="A", content="x")) > asked[-1], "no number is given twice"
    assert vault.engine.read_bytes(VaultPath("A.md")) == FILES["A.md"].encode()


def test_a_newer_versions_proposals_are_not_used_and_not_put_aside(reviewed: Make) -> None:
    vault = reviewed(FILES)
    vault.ask(Append(note="A", content="x"))
    vault.store.close()
    file = vault.engine.state / "review.sqlite"
    with closing(sqlite3.connect(file, isolation_level=None)) as db:
        db.execute("PRAGMA user_version = 1")
    with pytest.raises(EngineFailure, match="A newer version"):
        vault.apply(Append(note="A", content="y"))
    assert vault.engine.read_bytes(VaultPath("A.md")) == FILES["A.md"].encode()
    assert list(vault.engine.state.glob("*damaged*")) == []


def test_a_policy_without_any_proposal_is_not_forgotten_with_its_file(reviewed: Make) -> None:
    """Only the number of the last proposal told that there had been a file."""
    vault = reviewed(FILES)
    vault.store.set_policy("all")
    vault.store.close()
    for file in vault.engine.state.glob("review.sqlite*"):
        file.unlink()
    assert vault.store.policy == "all"
    assert vault.store.get(vault.ask(Append(note="A", content="x"), review="off")).why == "all"
    (notice,) = vault.engine.history.list_notices()
    assert "every change is reviewed" in notice


@pytest.mark.parametrize("statement", ["value = 'a\x7fl'", "value = x'616c6c'", "name = 'reviev'"])
def test_a_policy_that_is_not_known_reviews_every_change(reviewed: Make, statement: str) -> None:
    """As when a byte of it has flipped, which SQLite does not notice."""
    vault = reviewed(FILES)
    vault.store.set_policy("destructive")
    vault.store.close()
    with closing(sqlite3.connect(vault.engine.state / "review.sqlite", isolation_level=None)) as db:
        db.execute(f"UPDATE settings SET {statement}")
    assert vault.store.policy == "all"
    assert vault.ask(Append(note="A", content="x"), review="off")
    vault.store.set_policy("off")
    assert vault.store.policy == "off"
    assert vault.apply(Append(note="A", content="x"), review="off").change_id


@pytest.mark.parametrize(
    "statement",
    [
        "body = substr(body, 1, length(body) - 9)",
        "body = x'c1'",
        "rows = '[{\"path\": 1}]'",
        "rows = x'a3a3'",
        "decided = '{'",
    ],
)
def test_a_proposal_that_cannot_be_decoded_is_damage_and_hinders_no_other(
    reviewed: Make, statement: str
) -> None:
    """Every later proposal failed with the decoder's own error, and nothing ever repaired it."""
    vault = reviewed(FILES)
    first = vault.ask(Append(note="A", content="x"))
    vault.store.set_policy("destructive")
    vault.store.close()
    with closing(sqlite3.connect(vault.engine.state / "review.sqlite", isolation_level=None)) as db:
        db.execute(f"UPDATE proposals SET {statement}")
    with pytest.raises(EngineFailure, match="could not be used"):
        vault.apply(Append(note="A", content="y"))
    assert vault.ask(Append(note="A", content="y")) > first
    assert vault.store.policy == "destructive"
    (notice,) = vault.engine.history.list_notices()
    assert "kept as review.damaged-1.sqlite" in notice


def test_a_table_whose_column_has_lost_its_name_is_damage(reviewed: Make) -> None:
    vault = reviewed(FILES)
    vault.ask(Append(note="A", content="x"))
    vault.store.close()
    with closing(sqlite3.connect(vault.engine.state / "review.sqlite", isolation_level=None)) as db:
        db.execute("ALTER TABLE proposals RENAME COLUMN decided TO decidee")
    with pytest.raises(EngineFailure, match="could not be used"):
        vault.apply(Append(note="A", content="y"))
    assert vault.ask(Append(note="A", content="y"))


def test_a_flipped_bit_that_makes_the_proposals_read_only_is_damage(reviewed: Make) -> None:
    vault = reviewed(FILES)
    vault.ask(Append(note="A", content="x"))
    vault.store.set_policy("destructive")
    vault.store.close()
    file = vault.engine.state / "review.sqlite"
    data = bytearray(file.read_bytes())
    data[18] ^= 4
    file.write_bytes(data)
    assert vault.ask(Append(note="A", content="y"))
    assert vault.store.policy == "destructive"
    (notice,) = vault.engine.history.list_notices()
    assert "kept as review.damaged-1.sqlite" in notice


def test_a_proposal_whose_operations_cannot_be_decoded_can_still_be_rejected(reviewed: Make) -> None:
    vault = reviewed(FILES)
    number = vault.ask(Append(note="A", content="x"))
    proposal = vault.store.get(number)
    assert proposal.body is not None
    spoilt = replace(proposal.body, operations=b"\x91\xc1")
    assert vault.store.replace_body(number, proposal.body, spoilt, proposal.rows)
    vault.write("A.md", "changed\n")
    for ask in (vault.decider.show, partial(vault.decider.accept, by="page")):
        with pytest.raises(EngineFailure, match="cannot be read any more"):
            ask(number)
    assert vault.decider.reject(number, by="page").outcome == "rejected"


def test_a_deleted_state_folder_gives_no_number_again_and_lets_nothing_through(
    reviewed: Make,
) -> None:
    """The numbers began at 1 again, so `undo` with a number from before reverted another change, and the
    policy was forgotten."""
    vault = reviewed(FILES)
    made = [int(vault.apply(Append(note="A", content=f"{n}"), review="off").change_id) for n in range(5)]
    vault.store.set_policy("all")
    asked = vault.ask(Append(note="A", content="x"), review="off")
    state = vault.engine.state
    vault.close()
    shutil.rmtree(state)
    engine = vault.open(Scope())
    try:
        store = store_of(engine)
        assert store.policy == "all"
        notices = " ".join(engine.history.list_notices())
        assert "The journal was gone" in notices and "every change is reviewed" in notices
        with pytest.raises(InvalidArgument, match="was lost"):
            engine.undo(made[0])
        assert int(engine.apply([Append(note="A", content="y")]).change_id) > made[-1]
        vault.engine, vault.store = engine, store
        assert vault.ask(Append(note="A", content="z"), review="off") > asked
    finally:
        engine.close()


def test_a_change_that_became_destructive_when_it_was_drafted_again_waits(reviewed: Make) -> None:
    """The section gets a long text after the change was judged and before it is written."""
    vault = reviewed({"A.md": "# Top\n\n## Sub\n\nold\n"})
    saved = "# Top\n\n## Sub\n\n" + " ".join(f"word{number}" for number in range(400)) + "\n"

    class SavedFirst(DirectEngine):
        def carry_out(self, plan: Plan, *, actor: str = "") -> Outcome:
            vault.write("A.md", saved)
            return super().carry_out(plan, actor=actor)

    home = str(vault.base / "home")
    with SavedFirst(vault.folder, cache=vault.base / "cache", trash=Trash({"HOME": home})) as engine:
        vault.engine.close()
        vault.engine = engine
        number = vault.ask(ReplaceSection(note="A", heading="Sub", content="new"), review="destructive")
    assert vault.store.get(number).why == "loss"
    assert vault.read("A.md") == saved
