"""A client that looks for OAuth gets an answer that says what there is instead."""

from __future__ import annotations

import pytest

from server.conftest import Serving

METADATA = {"client_name": "a client", "redirect_uris": ["http://localhost:9/callback"]}


@pytest.mark.parametrize("config", ["", "[tokens]\nrequired = true\n"])
async def test_an_attempt_to_register_is_answered_with_how_to_use_tokens(
    serving: Serving, config: str
) -> None:
    async with serving(config) as served:
        async with served.http.post(f"{served.url}/register", json=METADATA) as response:
            assert response.status == 404
            found = await response.json()
        assert "vaultbridge token make" in found["message"]
        # The official clients show their person this member, and nothing else of a refusal.
        assert found["error_description"] == found["message"]
        for place in ("oauth-protected-resource", "oauth-authorization-server", "openid-configuration"):
            assert await served.status(f"/.well-known/{place}") == 404
