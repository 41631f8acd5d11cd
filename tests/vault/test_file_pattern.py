"""Patterns that select files: what each form finds, for drawn names of any script."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vaultbridge.errors import InvalidArgument
from vaultbridge.vault.scope import compile_file_pattern

NAMES = st.text(
    st.characters(exclude_categories=("Cs", "Cc"), exclude_characters="/*,{}[]?"), min_size=1, max_size=12
).filter(lambda name: name == name.strip() and name not in (".", ".."))


@given(st.lists(NAMES, max_size=3), NAMES)
def test_a_file_is_found_by_its_name_its_path_and_its_folder(folders: list[str], name: str) -> None:
    path = "/".join([*folders, name])
    assert compile_file_pattern(name)(path)
    assert compile_file_pattern(f"/{path}")(path)
    assert compile_file_pattern(f"**/{name}")(path)
    assert compile_file_pattern("*")(path)
    assert compile_file_pattern("/".join([*folders, ""]))(path)
    assert compile_file_pattern(f"/{name}")(path) is (not folders)
    if folders:
        assert compile_file_pattern("/".join([*folders, "*"]))(path)
        assert not compile_file_pattern("/".join([*folders, name, ""]))(path)


@given(NAMES, NAMES, NAMES)
def test_one_star_stays_in_its_folder(top: str, inner: str, name: str) -> None:
    assert not compile_file_pattern(f"{top}/*")(f"{top}/{inner}/{name}")
    assert compile_file_pattern(f"{top}/**")(f"{top}/{inner}/{name}")


@pytest.mark.parametrize("pattern", ["*" * 40, "x" * 600, "../*"])
def test_a_bad_pattern_names_its_argument(pattern: str) -> None:
    with pytest.raises(InvalidArgument) as refused:
        compile_file_pattern(pattern)
    assert refused.value.argument == "pattern"
