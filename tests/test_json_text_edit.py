from __future__ import annotations

import json

from hypothesis import given, settings
from hypothesis import strategies as st

from vaultbridge.json_text import (
    FieldValue,
    JsonArray,
    JsonObject,
    delete_entries,
    encode_json,
    scan_json,
    update_members,
)
from vaultbridge.markdown.edits.change import apply_changes

KEYS = st.sampled_from("abcdef")
FIELDS = st.one_of(st.none(), st.integers(), st.text(max_size=3))


def test_json_is_written_without_blanks_and_without_unicode_escapes() -> None:
    assert encode_json({"a": [1, "é\n"]}) == '{"a":[1,"é\\n"]}'


@settings(deadline=None)
@given(
    st.dictionaries(KEYS, st.integers(), min_size=1),
    st.dictionaries(KEYS, FIELDS),
    st.sampled_from([None, 2]),
)
def test_members_are_set_added_and_removed(
    before: dict[str, int], fields: dict[str, FieldValue], indent: int | None
) -> None:
    before["id"] = 0  # one that always stays, as in every card
    text = json.dumps(before, indent=indent)
    tree = scan_json(text)
    assert isinstance(tree, JsonObject)
    after = json.loads(apply_changes(text, update_members(tree, fields)))
    expected = {**before, **fields}
    assert after == {key: value for key, value in expected.items() if value is not None}


@settings(deadline=None)
@given(st.integers(0, 8), st.sets(st.integers(0, 7)), st.sampled_from([None, "\t"]))
def test_any_entries_are_deleted_with_their_commas(count: int, places: set[int], indent: str | None) -> None:
    items = list(range(count))
    text = json.dumps(items, indent=indent)
    tree = scan_json(text)
    assert isinstance(tree, JsonArray)
    going = [place for place in places if place < count]
    changes = delete_entries([(item.start, item.end) for item in tree.items], going, tree)
    assert json.loads(apply_changes(text, changes)) == [item for item in items if item not in going]
