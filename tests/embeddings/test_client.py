"""Requests to the endpoint: what is sent, what is accepted, and what every kind of failure says."""

from __future__ import annotations

import logging
import socket
import threading
from collections.abc import Iterator

import pytest

from support.model_server import ModelServer
from vaultbridge.embeddings.client import EmbeddingClient, EndpointFailed
from vaultbridge.embeddings.settings import EmbeddingSettings, explain_bad_url, prompts_for

KEY = "sk-very-secret-5309"


@pytest.fixture
def model() -> Iterator[ModelServer]:
    with ModelServer() as server:
        yield server


_made: list[EmbeddingClient] = []


@pytest.fixture(autouse=True)
def closed() -> Iterator[None]:
    yield
    while _made:
        _made.pop().close()


def make_settings(model: ModelServer, **options: object) -> EmbeddingSettings:
    return EmbeddingSettings(**{"url": model.url, "model": "test", **options})  # type: ignore[arg-type]


def make_client(model: ModelServer, **options: object) -> EmbeddingClient:
    _made.append(EmbeddingClient(make_settings(model, **options)))
    return _made[-1]


def test_vectors_come_in_the_order_of_the_texts(model: ModelServer) -> None:
    texts = [f"note {number}" for number in range(9)]
    assert make_client(model).embed(texts) == [model.vector(text) for text in texts]
    assert model.requests == [{"model": "test", "input": texts, "encoding_format": "float"}]


def test_vectors_without_numbers_come_in_the_order_of_the_texts(model: ModelServer) -> None:
    model.mode = "unnumbered"
    assert make_client(model).embed(["a", "b"]) == [model.vector("a"), model.vector("b")]


def test_the_address_may_name_the_endpoint_itself(model: ModelServer) -> None:
    assert len(make_client(model, url=f"{model.url}/embeddings").embed(["a"])) == 1


def test_dimensions_are_asked_for_only_where_given(model: ModelServer) -> None:
    make_client(model, dimensions=64).embed(["a"])
    assert model.requests[0]["dimensions"] == 64


def test_the_key_is_sent_as_a_bearer_token_and_never_shown(model: ModelServer) -> None:
    client = make_client(model, key=KEY)
    client.embed(["a"])
    assert model.headers[0]["Authorization"] == f"Bearer {KEY}"
    model.status = 401
    with pytest.raises(EndpointFailed) as failed:
        client.embed(["a"])
    assert str(failed.value) == "it refuses the key (HTTP 401); see key_env"
    assert KEY not in repr(make_settings(model, key=KEY))


def test_one_connection_serves_many_requests_and_survives_a_restart(model: ModelServer) -> None:
    client = make_client(model)
    client.embed(["a"])
    client.embed(["b"])
    # The server closes idle connections; the next request makes a new one.
    model.close_connections()
    client.embed(["c"])
    first, second, third = model.peers
    assert first == second != third


@pytest.mark.parametrize(
    ("mode", "why"),
    [
        ("redirect", "it redirects elsewhere (HTTP 307), which is not followed; set url to that address"),
        ("garbage", "the answer is not a list of embeddings"),
        ("one too few", "3 texts were sent and 2 vectors came back"),
        ("uneven", "the vectors of one answer differ in length, or are empty"),
        ("numbered 0 0 0", "the vectors are not numbered as the texts were sent"),
        ("numbered 0 1 1", "the vectors are not numbered as the texts were sent"),
        ("numbered 1 2 3", "the vectors are not numbered as the texts were sent"),
        ("numbered -1 1 2", "the vectors are not numbered as the texts were sent"),
    ],
)
def test_a_wrong_answer_is_explained(model: ModelServer, mode: str, why: str) -> None:
    model.mode = mode
    with pytest.raises(EndpointFailed) as failed:
        make_client(model, key=KEY).embed(["a", "b", "c"])
    assert str(failed.value) == why
    assert failed.value.permanent
    assert len(model.requests) == 1, "a redirect is not followed"


@pytest.mark.parametrize("status", [400, 413, 429, 500, 503])
def test_the_http_status_tells_whether_the_texts_were_refused(model: ModelServer, status: int) -> None:
    model.status = status
    with pytest.raises(EndpointFailed) as failed:
        make_client(model).embed(["a"])
    assert failed.value.refused is (status in (400, 413))
    assert not failed.value.permanent


def test_an_answer_without_end_is_cut_off_at_the_deadline(model: ModelServer) -> None:
    model.mode = "drip"
    with pytest.raises(EndpointFailed) as failed:
        make_client(model, timeout_seconds=0.3).embed(["a"])
    assert str(failed.value) == "no answer within 0.3 seconds"


def test_an_address_where_nothing_listens_is_named() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        settings = EmbeddingSettings(url=f"http://127.0.0.1:{taken.getsockname()[1]}/v1", model="m")
        with pytest.raises(EndpointFailed, match="nothing listens at that address"):
            EmbeddingClient(settings).embed(["a"])


def test_a_request_under_way_can_be_interrupted(model: ModelServer) -> None:
    model.hold.clear()
    client = make_client(model)
    failed: list[EndpointFailed] = []

    def ask() -> None:
        try:
            client.embed(["a"])
        except EndpointFailed as error:
            failed.append(error)

    asking = threading.Thread(target=ask)
    asking.start()
    model.wait_for(1)
    client.interrupt()
    asking.join(60)
    assert not asking.is_alive()
    assert len(failed) == 1


@pytest.mark.parametrize(
    ("url", "allow_http", "good"),
    [
        ("http://localhost:11434/v1", False, True),
        ("http://127.8.0.1:1/v1", False, True),
        ("http://[::1]:8080/v1", False, True),
        ("https://api.example/v1", False, True),
        ("http://models.example/v1", False, False),
        ("http://models.example/v1", True, True),
        ("http://192.168.1.4:8080/v1", False, False),
        ("http://localhost.evil.example/v1", False, False),
        ("ftp://localhost/v1", False, False),
        ("localhost:11434", False, False),
        ("http://user:secret@localhost/v1", False, False),
        ("http://localhost:99999/v1", False, False),
        ("http://localhost/v1?key=secret", False, False),
        ("http://[::1/v1", False, False),
        ("", False, False),
    ],
)
def test_notes_travel_readably_only_within_the_machine(url: str, allow_http: bool, good: bool) -> None:
    assert (explain_bad_url(url, allow_http=allow_http) == "") is good


def test_known_models_get_the_prompts_they_were_trained_with() -> None:
    assert prompts_for("nomic-embed-text:v1.5") == ("search_query: ", "search_document: ")
    assert prompts_for("intfloat/multilingual-e5-small") == ("query: ", "passage: ")
    assert prompts_for("text-embedding-3-small") == ("", "")
    settings = EmbeddingSettings(url="http://localhost/v1", model="nomic-embed-text", question_prompt="")
    assert settings.prompts == ("", "search_document: ")


def test_nothing_of_a_failure_reaches_the_log_but_its_reason(
    model: ModelServer, caplog: pytest.LogCaptureFixture
) -> None:
    model.status = 403
    with caplog.at_level(logging.DEBUG), pytest.raises(EndpointFailed):
        make_client(model, key=KEY).embed(["a"])
    assert KEY not in caplog.text
