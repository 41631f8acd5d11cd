"""The fixture server of the official conformance suite, on our own core.

Its tools, resources and prompts are the ones the suite calls by name; each does what the suite's scenario
of that name expects. The same server serves the tests with foreign clients over stdio and HTTP:

    python tests/conformance/fixture.py stdio
    python tests/conformance/fixture.py http [PORT]      # prints the port it got
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any

from vaultbridge.errors import EngineFailure, InvalidArgument, NoteNotFound
from vaultbridge.protocols.mcp.provider import Context, EmptyProvider, Offer
from vaultbridge.protocols.mcp.values import (
    AudioContent,
    BlobResource,
    Completion,
    EmbeddedResource,
    ImageContent,
    InputRequest,
    Page,
    PromptArgument,
    PromptInfo,
    PromptMessage,
    PromptRef,
    PromptResult,
    PromptsChanged,
    ProviderChange,
    ResourceContents,
    ResourceInfo,
    ResourceLink,
    ResourceRef,
    ResourceUpdated,
    TemplateInfo,
    TextContent,
    TextResource,
    ToolAnnotations,
    ToolInfo,
    ToolResult,
    ToolsChanged,
)

PNG = bytes.fromhex(
    "89504e470d0a1a0a0000000d49484452000000010000000108060000001f15c489"
    "0000000d49444154789c63f8cfc0f01f00050001ff89993d1d0000000049454e44ae426082"
)
WAV = bytes.fromhex(
    "524946462600000057415645666d74201000000001000100401f0000803e00000200100064617461020000000000"
)

Tool = Callable[[dict[str, Any], Context], Awaitable[ToolResult]]
OBJECT: dict[str, Any] = {"type": "object", "properties": {}}


def make_text(text: str) -> ToolResult:
    return ToolResult((TextContent(text=text),))


def ask_form(message: str, required: bool = True, **properties: dict[str, Any]) -> InputRequest:
    schema: dict[str, Any] = {"type": "object", "properties": properties}
    schema["required"] = list(properties) if required else []
    return InputRequest("elicitation/create", {"message": message, "requestedSchema": schema})


def ask_sample(prompt: str, tokens: int = 100) -> InputRequest:
    message = {"role": "user", "content": {"type": "text", "text": prompt}}
    return InputRequest("sampling/createMessage", {"messages": [message], "maxTokens": tokens})


ROOTS = InputRequest("roots/list", {})

DEFAULTS = ask_form(
    "Please review and update the form fields with defaults",
    required=False,
    name={"type": "string", "description": "User name", "default": "John Doe"},
    age={"type": "integer", "description": "User age", "default": 30},
    score={"type": "number", "description": "User score", "default": 95.5},
    status={"type": "string", "enum": ["active", "inactive", "pending"], "default": "active"},
    verified={"type": "boolean", "description": "Verification status", "default": True},
)
ENUMS = ask_form(
    "Please select options from the enum fields",
    required=False,
    untitledSingle={"type": "string", "enum": ["option1", "option2", "option3"]},
    titledSingle={
        "type": "string",
        "oneOf": [
            {"const": f"value{n}", "title": f"{word} Option"} for n, word in ((1, "First"), (2, "Second"))
        ],
    },
    legacyEnum={
        "type": "string",
        "enum": ["opt1", "opt2", "opt3"],
        "enumNames": ["Option One", "Option Two", "Option Three"],
    },
    untitledMulti={"type": "array", "items": {"type": "string", "enum": ["option1", "option2", "option3"]}},
    titledMulti={
        "type": "array",
        "items": {"anyOf": [{"const": f"value{n}", "title": f"Choice {n}"} for n in (1, 2, 3)]},
    },
)
SCHEMA_2020_12: dict[str, Any] = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "type": "object",
    "$defs": {
        "address": {
            "$anchor": "addressDef",
            "type": "object",
            "properties": {"street": {"type": "string"}, "city": {"type": "string"}},
        }
    },
    "properties": {
        "name": {"type": "string"},
        "address": {"$ref": "#/$defs/address"},
        "contactMethod": {"type": "string", "enum": ["phone", "email"]},
        "phone": {"type": "string"},
        "email": {"type": "string"},
    },
    "allOf": [{"anyOf": [{"required": ["phone"]}, {"required": ["email"]}]}],
    "if": {"properties": {"contactMethod": {"const": "phone"}}, "required": ["contactMethod"]},
    "then": {"required": ["phone"]},
    "else": {"required": ["email"]},
    "additionalProperties": False,
}
MESSAGE_SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {"message": {"type": "string"}},
    "required": ["message"],
}
PROMPT_SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {"prompt": {"type": "string"}},
    "required": ["prompt"],
}
HEADER_SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "region": {"type": "string", "x-mcp-header": "Region"},
        "count": {"type": "integer", "x-mcp-header": "Count"},
    },
    "required": ["region"],
}


class FixtureProvider(EmptyProvider):
    def __init__(self) -> None:
        self._listeners: set[Callable[[ProviderChange], None]] = set()
        self.watched: set[str] = set()
        self.closed = False
        self.tools: dict[str, tuple[ToolInfo, Tool]] = {}
        self._extra_tools = 0
        self._extra_prompts = 0
        for name, (schema, run) in self._catalog().items():
            self.tools[name] = (
                ToolInfo(name=name, description=f"Fixture: {name}", input_schema=schema),
                run,
            )
        rich = ToolInfo(
            name="test_structured",
            title="Structured",
            description="Fixture: every member a tool can have",
            input_schema={"type": "object", "properties": {"n": {"type": "integer"}}},
            output_schema={"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]},
            annotations=ToolAnnotations(title="Structured", read_only_hint=True),
            meta={"fixture/kind": "rich"},
        )
        self.tools["test_structured"] = (rich, self._structured)

    def _catalog(self) -> dict[str, tuple[dict[str, Any], Tool]]:
        return {
            "test_simple_text": (OBJECT, self._simple_text),
            "test_image_content": (OBJECT, self._image),
            "test_audio_content": (OBJECT, self._audio),
            "test_embedded_resource": (OBJECT, self._embedded),
            "test_multiple_content_types": (OBJECT, self._mixed),
            "test_resource_link": (OBJECT, self._link),
            "test_tool_with_logging": (OBJECT, self._logging),
            "test_logging_tool": (OBJECT, self._logging),
            "test_tool_with_progress": (OBJECT, self._progress),
            "test_error_handling": (OBJECT, self._error),
            "test_sampling": (PROMPT_SCHEMA, self._sampling),
            "test_elicitation": (MESSAGE_SCHEMA, self._elicitation),
            "test_elicitation_sep1034_defaults": (OBJECT, self._defaults),
            "test_elicitation_sep1330_enums": (OBJECT, self._enums),
            "json_schema_2020_12_tool": (SCHEMA_2020_12, self._echo),
            "test_reconnection": (OBJECT, self._reconnection),
            "test_x_mcp_header": (HEADER_SCHEMA, self._echo),
            "test_missing_capability": (OBJECT, self._missing_capability),
            "test_streaming_elicitation": (OBJECT, self._streaming_elicitation),
            "test_trigger_tool_change": (OBJECT, self._change_tools),
            "test_trigger_prompt_change": (OBJECT, self._change_prompts),
            "test_trigger_resource_update": (OBJECT, self._update_resource),
            "test_echo": (OBJECT, self._echo),
            "test_wait": (OBJECT, self._wait),
            "test_crash": (OBJECT, self._crash),
            "test_invalid_argument": (OBJECT, self._invalid),
            "test_input_required_result_elicitation": (OBJECT, self._ask_name),
            "test_input_required_result_sampling": (OBJECT, self._ask_sample),
            "test_input_required_result_list_roots": (OBJECT, self._ask_roots),
            "test_input_required_result_request_state": (OBJECT, self._ask_with_state),
            "test_input_required_result_multiple_inputs": (OBJECT, self._ask_three),
            "test_input_required_result_multi_round": (OBJECT, self._ask_twice),
            "test_input_required_result_tampered_state": (OBJECT, self._ask_sealed),
            "test_input_required_result_capabilities": (OBJECT, self._ask_what_it_can),
        }

    # Tools.

    async def list_tools(self) -> Sequence[ToolInfo]:
        return [info for info, _ in self.tools.values()]

    async def call_tool(self, name: str, arguments: dict[str, Any], context: Context) -> ToolResult:
        return await self.tools[name][1](arguments, context)

    async def _simple_text(self, arguments: dict[str, Any], context: Context) -> ToolResult:
        return make_text("This is a simple text response for testing.")

    async def _image(self, arguments: dict[str, Any], context: Context) -> ToolResult:
        return ToolResult((ImageContent(data=PNG, mime_type="image/png"),))

    async def _audio(self, arguments: dict[str, Any], context: Context) -> ToolResult:
        return ToolResult((AudioContent(data=WAV, mime_type="audio/wav"),))

    async def _embedded(self, arguments: dict[str, Any], context: Context) -> ToolResult:
        inner = TextResource(
            uri="test://embedded-resource",
            mime_type="text/plain",
            text="This is an embedded resource content.",
        )
        return ToolResult((EmbeddedResource(resource=inner),))

    async def _mixed(self, arguments: dict[str, Any], context: Context) -> ToolResult:
        inner = TextResource(
            uri="test://mixed-content-resource",
            mime_type="application/json",
            text='{"test":"data","value":123}',
        )
        return ToolResult(
            (
                TextContent(text="Multiple content types test:"),
                ImageContent(data=PNG, mime_type="image/png"),
                EmbeddedResource(resource=inner),
            )
        )

    async def _link(self, arguments: dict[str, Any], context: Context) -> ToolResult:
        return ToolResult((ResourceLink(uri="test://static-text", name="static-text", title="Static text"),))

    async def _structured(self, arguments: dict[str, Any], context: Context) -> ToolResult:
        if "n" not in arguments:
            raise EngineFailure("There is no n.", hint="Give n.")
        return ToolResult((TextContent(text=f'{{"n":{arguments["n"]}}}'),), structured={"n": arguments["n"]})

    async def _logging(self, arguments: dict[str, Any], context: Context) -> ToolResult:
        for line in ("Tool execution started", "Tool processing data", "Tool execution completed"):
            context.log("info", line, "fixture")
            await asyncio.sleep(0)
        return make_text("Tool with logging executed successfully")

    async def _progress(self, arguments: dict[str, Any], context: Context) -> ToolResult:
        for done in (0, 50, 100):
            context.progress(done, 100, f"Completed step {done} of 100")
            # Work takes time: the TypeScript client drops progress that arrives in one read with the answer,
            # and on a busy machine it may read the last one late.
            await asyncio.sleep(0.01 if done < 100 else 0.4)
        return make_text("done")

    async def _error(self, arguments: dict[str, Any], context: Context) -> ToolResult:
        raise EngineFailure("This tool intentionally returns an error for testing")

    async def _crash(self, arguments: dict[str, Any], context: Context) -> ToolResult:
        raise ZeroDivisionError("a secret detail")

    async def _invalid(self, arguments: dict[str, Any], context: Context) -> ToolResult:
        raise InvalidArgument("must be a number, not a string.", argument="count", hint="Give a number.")

    async def _echo(self, arguments: dict[str, Any], context: Context) -> ToolResult:
        return make_text(repr(arguments))

    async def _wait(self, arguments: dict[str, Any], context: Context) -> ToolResult:
        """Waits until it is cancelled or times out."""
        await asyncio.Event().wait()
        raise AssertionError("nobody sets that event")

    async def _sampling(self, arguments: dict[str, Any], context: Context) -> ToolResult:
        answer = (await context.ask({"sample": ask_sample(str(arguments.get("prompt", "")))}))["sample"]
        return make_text(f"LLM response: {answer.get('content', {}).get('text', 'no text')}")

    async def _elicitation(self, arguments: dict[str, Any], context: Context) -> ToolResult:
        schema = {
            "type": "object",
            "properties": {"response": {"type": "string", "description": "User's response"}},
            "required": ["response"],
        }
        params = {"message": str(arguments.get("message", "")), "requestedSchema": schema}
        answer = (await context.ask({"input": InputRequest("elicitation/create", params)}))["input"]
        return make_text(f"User response: action={answer['action']}, content={answer.get('content', {})}")

    async def _defaults(self, arguments: dict[str, Any], context: Context) -> ToolResult:
        return make_text(f"Elicitation completed: {(await context.ask({'form': DEFAULTS}))['form']}")

    async def _enums(self, arguments: dict[str, Any], context: Context) -> ToolResult:
        return make_text(f"Elicitation completed: {(await context.ask({'form': ENUMS}))['form']}")

    async def _reconnection(self, arguments: dict[str, Any], context: Context) -> ToolResult:
        context.release_stream()
        await asyncio.sleep(0.1)
        return make_text("Reconnection test completed successfully.")

    async def _missing_capability(self, arguments: dict[str, Any], context: Context) -> ToolResult:
        await context.ask({"sample": ask_sample("anything")})
        return make_text("Success")

    async def _streaming_elicitation(self, arguments: dict[str, Any], context: Context) -> ToolResult:
        context.progress(50, 100, "half")
        answer = (await context.ask({"confirm": ask_form("Go on?", ok={"type": "boolean"})}))["confirm"]
        return make_text(f"Streaming complete: {answer}")

    async def _change_tools(self, arguments: dict[str, Any], context: Context) -> ToolResult:
        self._extra_tools += 1
        name = f"test_added_{self._extra_tools}"
        self.tools[name] = (ToolInfo(name=name, description="Added", input_schema=OBJECT), self._echo)
        self._announce(ToolsChanged())
        return make_text("Mutation triggered")

    async def _change_prompts(self, arguments: dict[str, Any], context: Context) -> ToolResult:
        self._extra_prompts += 1
        self._announce(PromptsChanged())
        return make_text("Mutation triggered")

    async def _update_resource(self, arguments: dict[str, Any], context: Context) -> ToolResult:
        self._announce(ResourceUpdated("test://watched-resource"))
        return make_text("Updated")

    # Tools that ask (2026-07-28: more than one round).

    async def _ask_name(self, arguments: dict[str, Any], context: Context) -> ToolResult:
        answer = (await context.ask({"user_name": ask_form("What is your name?", name={"type": "string"})}))[
            "user_name"
        ]
        return make_text(f"Hello, {_get_field(answer, 'name')}!")

    async def _ask_sample(self, arguments: dict[str, Any], context: Context) -> ToolResult:
        answer = (await context.ask({"sample_request": ask_sample("What is the capital of France?")}))[
            "sample_request"
        ]
        return make_text(f"Sampling result: {answer.get('content', {}).get('text')}")

    async def _ask_roots(self, arguments: dict[str, Any], context: Context) -> ToolResult:
        answer = (await context.ask({"roots_request": ROOTS}))["roots_request"]
        return make_text(f"Found {len(answer.get('roots', []))} root(s)")

    async def _ask_with_state(self, arguments: dict[str, Any], context: Context) -> ToolResult:
        request = {"confirm": ask_form("Please confirm", ok={"type": "boolean"})}
        await context.ask(request, state={"kind": "request-state"})
        if context.state != {"kind": "request-state"}:
            raise EngineFailure("The state is missing.")
        return make_text("state-ok: requestState validated")

    async def _ask_three(self, arguments: dict[str, Any], context: Context) -> ToolResult:
        answers = await context.ask(
            {
                "user_name": ask_form("What is your name?", name={"type": "string"}),
                "greeting": ask_sample("Generate a greeting", 50),
                "client_roots": ROOTS,
            },
            state={"kind": "multiple-inputs"},
        )
        name, greeting = (
            _get_field(answers["user_name"], "name"),
            answers["greeting"].get("content", {}).get("text"),
        )
        return make_text(
            f"Name: {name}; Greeting: {greeting}; Roots: {len(answers['client_roots'].get('roots', []))}"
        )

    async def _ask_twice(self, arguments: dict[str, Any], context: Context) -> ToolResult:
        first = await context.ask(
            {"step1": ask_form("Step 1: What is your name?", name={"type": "string"})}, state={"round": 1}
        )
        second = await context.ask(
            {"step2": ask_form("Step 2: What is your favorite color?", color={"type": "string"})},
            state={"round": 2},
        )
        name, color = _get_field(first["step1"], "name"), _get_field(second["step2"], "color")
        return make_text(f"Multi-round complete for {name} who likes {color}")

    async def _ask_sealed(self, arguments: dict[str, Any], context: Context) -> ToolResult:
        await context.ask(
            {"confirm": ask_form("Please confirm", ok={"type": "boolean"})}, state={"kind": "tamper"}
        )
        return make_text("integrity-ok: state verified")

    async def _ask_what_it_can(self, arguments: dict[str, Any], context: Context) -> ToolResult:
        requests: dict[str, InputRequest] = {}
        if context.supports("elicitation"):
            requests["elicit_input"] = ask_form("Elicitation input", value={"type": "string"})
        if context.supports("sampling"):
            requests["sample_input"] = ask_sample("Sample request", 50)
        if not requests:
            return make_text("No supported capabilities declared")
        return make_text(
            f"capabilities-ok: received {','.join(await context.ask(requests, state={'kind': 'c'}))}"
        )

    # Resources.

    async def list_resources(self, cursor: str) -> Page[ResourceInfo]:
        if cursor == "":
            first = ResourceInfo(
                uri="test://static-text",
                name="static-text",
                title="Static Text Resource",
                description="A static text resource for testing",
                mime_type="text/plain",
            )
            second = ResourceInfo(uri="test://static-binary", name="static-binary", mime_type="image/png")
            return Page((first, second), "page-2")
        if cursor == "page-2":
            return Page((ResourceInfo(uri="test://watched-resource", name="watched-resource"),))
        raise InvalidArgument("is not a cursor of this list.", argument="cursor")

    async def list_templates(self, cursor: str) -> Page[TemplateInfo]:
        return Page(
            (TemplateInfo(uri_template="test://template/{id}/data", name="template", title="Template"),)
        )

    async def read_resource(self, uri: str, context: Context) -> Sequence[ResourceContents]:
        if uri == "test://static-binary":
            return [BlobResource(uri=uri, mime_type="image/png", blob=PNG)]
        if uri == "test://static-text":
            text = "This is the content of the static text resource."
            return [TextResource(uri=uri, mime_type="text/plain", text=text)]
        if uri == "test://watched-resource":
            return [TextResource(uri=uri, mime_type="text/plain", text="Watched resource content")]
        if uri.startswith("test://template/") and uri.endswith("/data"):
            id_ = uri.removeprefix("test://template/").removesuffix("/data")
            text = f'{{"id":"{id_}","templateTest":true,"data":"Data for ID: {id_}"}}'
            return [TextResource(uri=uri, mime_type="application/json", text=text)]
        raise NoteNotFound(uri, what="resource")

    async def watch_resource(self, uri: str) -> None:
        if not uri.startswith("test://"):
            raise NoteNotFound(uri, what="resource")
        self.watched.add(uri)

    async def unwatch_resource(self, uri: str) -> None:
        self.watched.discard(uri)

    # Prompts and completion.

    async def list_prompts(self, cursor: str) -> Page[PromptInfo]:
        return Page(
            (
                PromptInfo(
                    name="test_simple_prompt", title="Simple", description="A simple prompt without arguments"
                ),
                PromptInfo(
                    name="test_prompt_with_arguments",
                    description="A prompt with required arguments",
                    arguments=(
                        PromptArgument(name="arg1", description="First test argument", required=True),
                        PromptArgument(name="arg2", description="Second test argument", required=True),
                    ),
                ),
                PromptInfo(
                    name="test_prompt_with_embedded_resource",
                    description="A prompt that embeds a resource",
                    arguments=(PromptArgument(name="resourceUri", required=True),),
                ),
                PromptInfo(name="test_prompt_with_image", description="A prompt with an image"),
                PromptInfo(name="test_input_required_result_prompt", description="A prompt that asks"),
                *(
                    PromptInfo(name=f"test_added_{n}", description="Added")
                    for n in range(self._extra_prompts)
                ),
            )
        )

    async def get_prompt(self, name: str, arguments: dict[str, str], context: Context) -> PromptResult:
        match name:
            case "test_simple_prompt":
                return _make_prompt(TextContent(text="This is a simple prompt for testing."))
            case "test_prompt_with_arguments":
                first, second = (_get_argument(arguments, key) for key in ("arg1", "arg2"))
                return _make_prompt(
                    TextContent(text=f"Prompt with arguments: arg1='{first}', arg2='{second}'")
                )
            case "test_prompt_with_embedded_resource":
                inner = TextResource(
                    uri=_get_argument(arguments, "resourceUri"),
                    mime_type="text/plain",
                    text="Embedded resource content for testing.",
                )
                return _make_prompt(
                    EmbeddedResource(resource=inner),
                    TextContent(text="Please process the embedded resource above."),
                )
            case "test_prompt_with_image":
                return _make_prompt(
                    ImageContent(data=PNG, mime_type="image/png"),
                    TextContent(text="Please analyze the image above."),
                )
            case "test_input_required_result_prompt":
                request = ask_form("What context should the prompt use?", context={"type": "string"})
                answer = (await context.ask({"user_context": request}))["user_context"]
                return _make_prompt(TextContent(text=f"Prompt with context: {_get_field(answer, 'context')}"))
        raise InvalidArgument(f"There is no prompt {name!r}.", argument="name")

    async def complete(
        self, ref: PromptRef | ResourceRef, argument: str, value: str, others: Mapping[str, str]
    ) -> Completion:
        words = ("paris", "park", "party", *sorted(others.values()))
        return Completion(tuple(word for word in words if word.startswith(value)))

    # Changes.

    def subscribe(self, listener: Callable[[ProviderChange], None]) -> Callable[[], None]:
        self._listeners.add(listener)
        return lambda: self._listeners.discard(listener)

    async def close(self) -> None:
        self.closed = True

    def _announce(self, change: ProviderChange) -> None:
        for listener in tuple(self._listeners):
            listener(change)


def _make_prompt(*contents: Any) -> PromptResult:
    return PromptResult(tuple(PromptMessage("user", content) for content in contents))


def _get_argument(arguments: dict[str, str], name: str) -> str:
    if name not in arguments:
        raise InvalidArgument(f"{name} is missing.", argument=name)
    return arguments[name]


def _get_field(answer: dict[str, Any], name: str) -> Any:
    content = answer.get("content")
    return content.get(name, "unknown") if isinstance(content, dict) else "unknown"


OFFER = Offer(
    name="fixture",
    title="Fixture",
    version="1.0.0",
    description="The conformance fixture",
    instructions="Call anything.",
    resources=True,
    subscriptions=True,
    prompts=True,
    completions=True,
)


async def make_provider() -> FixtureProvider:
    return FixtureProvider()


def _run_stdio() -> int:
    from vaultbridge.protocols.mcp.dialect import mcp_dialect
    from vaultbridge.protocols.mcp.server import McpServer
    from vaultbridge.protocols.mcp.stdio import serve_stdio

    server = McpServer(OFFER, make_provider)
    return serve_stdio(mcp_dialect(server, honours_exit=True), at_end=server.close)


def _run_http(port: int) -> int:
    from aiohttp import web

    from vaultbridge.protocols.http.guard import HostGuard
    from vaultbridge.protocols.mcp.http.endpoint import add_mcp_routes
    from vaultbridge.protocols.mcp.server import McpServer

    async def serve() -> None:
        app = web.Application()
        add_mcp_routes(app, McpServer(OFFER, make_provider), guard=HostGuard())
        runner = web.AppRunner(app)
        await runner.setup()
        site = web.TCPSite(runner, "127.0.0.1", port)
        await site.start()
        print(runner.addresses[0][1], flush=True)
        await asyncio.Event().wait()

    asyncio.run(serve())
    return 0


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["stdio"]:
            sys.exit(_run_stdio())
        case ["http", *rest]:
            sys.exit(_run_http(int(rest[0]) if rest else 0))
        case _:
            sys.exit("usage: fixture.py stdio | http [PORT]")
