"""Google's Gen AI client wrapped by LangSmith, in a loop whose agent and tools are traced functions; exported as OTLP."""

from google import genai
from google.genai import types
from langsmith import traceable
from langsmith.run_trees import get_cached_client
from langsmith.wrappers import wrap_gemini
from shop import INSTRUCTIONS, MODEL, MODEL_URL, SESSION, TOOLS, TURNS, RecordLocked, provider

traces = provider()
client = wrap_gemini(genai.Client(api_key="none", http_options=types.HttpOptions(base_url=MODEL_URL)))
config = types.GenerateContentConfig(
    system_instruction=INSTRUCTIONS,
    tools=[
        types.Tool(
            function_declarations=[
                types.FunctionDeclaration.from_callable_with_api_option(callable=t, api_option="GEMINI_API")
                for t in TOOLS
            ]
        )
    ],
)
traced = {tool.__name__: traceable(run_type="tool")(tool) for tool in TOOLS}
contents = []


def run(call):
    try:
        response = {"result": traced[call.name](**call.args)}
    except RecordLocked as error:
        response = {"error": str(error)}
    return types.Part(function_response=types.FunctionResponse(id=call.id, name=call.name, response=response))


@traceable(name="orla")
def answer(question):
    contents.append(types.Content(role="user", parts=[types.Part(text=question)]))
    while True:
        reply = client.models.generate_content(model=MODEL, contents=contents, config=config)
        contents.append(reply.candidates[0].content)
        if not reply.function_calls:
            return reply.text
        contents.append(types.Content(role="user", parts=[run(call) for call in reply.function_calls]))


try:
    for turn in TURNS:
        print(answer(turn, langsmith_extra={"metadata": {"session_id": SESSION}}))
finally:
    get_cached_client().flush()
    traces.shutdown()
