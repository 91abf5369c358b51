"""No framework: OpenAI's API over plain HTTP, with spans as the GenAI conventions describe them, made by hand."""

import json
import urllib.error
import urllib.request

from opentelemetry.trace import StatusCode
from shop import CHAT_TOOLS, INSTRUCTIONS, MODEL, MODEL_URL, SESSION, TOOLS, TURNS, RecordLocked, provider

traces = provider()
tracer = traces.get_tracer("shop.agent")
tools = {tool.__name__: tool for tool in TOOLS}
history = []


def ask_model():
    messages = [{"role": "system", "content": INSTRUCTIONS}, *history]
    body = json.dumps({"model": MODEL, "messages": messages, "tools": CHAT_TOOLS}).encode()
    url = f"{MODEL_URL}/v1/chat/completions"
    request = urllib.request.Request(url, body, {"Content-Type": "application/json"})
    about = {
        "gen_ai.operation.name": "chat",
        "gen_ai.provider.name": "openai",
        "gen_ai.request.model": MODEL,
        "gen_ai.system_instructions": json.dumps([{"type": "text", "content": INSTRUCTIONS}]),
        "gen_ai.input.messages": json.dumps([in_parts(message) for message in history]),
    }
    with tracer.start_as_current_span(f"chat {MODEL}", attributes=about) as span:
        with urllib.request.urlopen(request, timeout=30) as reply:
            answer = json.load(reply)
        said = answer["choices"][0]["message"]
        span.set_attribute("gen_ai.response.model", answer["model"])
        span.set_attribute("gen_ai.output.messages", json.dumps([in_parts(said)]))
        span.set_attribute("gen_ai.usage.input_tokens", answer["usage"]["prompt_tokens"])
        span.set_attribute("gen_ai.usage.output_tokens", answer["usage"]["completion_tokens"])
        return said


def in_parts(message):
    if message["role"] == "tool":
        response = {
            "type": "tool_call_response",
            "id": message["tool_call_id"],
            "response": message["content"],
        }
        return {"role": "tool", "parts": [response]}
    parts = [{"type": "text", "content": message["content"]}] if message["content"] else []
    for call in message.get("tool_calls", ()):
        arguments = json.loads(call["function"]["arguments"])
        name = call["function"]["name"]
        parts.append({"type": "tool_call", "id": call["id"], "name": name, "arguments": arguments})
    return {"role": message["role"], "parts": parts}


def run(call):
    name, arguments = call["function"]["name"], call["function"]["arguments"]
    about = {
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.name": name,
        "gen_ai.tool.call.id": call["id"],
        "gen_ai.tool.call.arguments": arguments,
    }
    with tracer.start_as_current_span(f"execute_tool {name}", attributes=about) as span:
        try:
            result = json.dumps(tools[name](**json.loads(arguments)))
            span.set_attribute("gen_ai.tool.call.result", result)
        except RecordLocked as error:
            span.set_status(StatusCode.ERROR, str(error))
            span.set_attribute("error.type", type(error).__name__)
            result = f"Error: {error}"
    return {"role": "tool", "tool_call_id": call["id"], "content": result}


def answer(question):
    history.append({"role": "user", "content": question})
    about = {
        "gen_ai.operation.name": "invoke_agent",
        "gen_ai.agent.name": "orla",
        "gen_ai.conversation.id": SESSION,
    }
    with tracer.start_as_current_span("invoke_agent orla", attributes=about):
        while True:
            said = ask_model()
            history.append(said)
            if not said.get("tool_calls"):
                return said["content"]
            history.extend(map(run, said["tool_calls"]))


try:
    for turn in TURNS:
        print(answer(turn))
finally:
    traces.shutdown()
