"""DSPy's ReAct followed by LangWatch, over a tracer provider of one's own."""

import os
import time

import dspy
import langwatch
from shop import INSTRUCTIONS, MODEL, MODEL_URL, SESSION, TOOLS, TURNS, provider

traces = provider()
langwatch.setup(api_key="none", endpoint_url="http://127.0.0.1:9", tracer_provider=traces)
dspy.configure(lm=dspy.LM(f"openai/{MODEL}", api_base=f"{MODEL_URL}/v1", cache=False, num_retries=0))
dspy.configure_cache(enable_disk_cache=False, enable_memory_cache=False)


class Orla(dspy.Signature):
    history: dspy.History = dspy.InputField()
    question: str = dspy.InputField()
    answer: str = dspy.OutputField()


agent, said = dspy.ReAct(Orla.with_instructions(INSTRUCTIONS), tools=TOOLS, max_iters=10), []


@langwatch.trace(name="orla")
def answer(question):
    langwatch.get_current_trace().autotrack_dspy()
    langwatch.get_current_trace().update(metadata={"thread_id": SESSION})
    return agent(question=question, history=dspy.History(messages=said)).answer


try:
    for turn in TURNS:
        said.append({"question": turn, "answer": answer(turn)})
        print(said[-1]["answer"])
finally:
    time.sleep(2)
    os._exit(0)  # LangWatch's own exporter would try long to reach its service
