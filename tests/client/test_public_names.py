"""The names that `vaultbridge.client` exports are imported lazily, by a table that must not fall behind."""

from __future__ import annotations

import pytest

from vaultbridge import client


@pytest.mark.parametrize("name", client.__all__)
def test_every_exported_name_can_be_imported(name: str) -> None:
    assert getattr(client, name).__name__ == name


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="LineLost"):
        client.LineLost  # noqa: B018 - the access is the test
