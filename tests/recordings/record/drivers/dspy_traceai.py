"""DSPy's ReAct with Future AGI's traceAI: its tool calls travel in the text of prompts and answers."""

import dspy
from shop import INSTRUCTIONS, MODEL, MODEL_URL, TOOLS, TURNS, provider
from traceai_dspy import DSPyInstrumentor

traces = provider()
DSPyInstrumentor().instrument(tracer_provider=traces)
dspy.configure(lm=dspy.LM(f"openai/{MODEL}", api_base=f"{MODEL_URL}/v1", cache=False, num_retries=0))
dspy.configure_cache(enable_disk_cache=False, enable_memory_cache=False)


class Orla(dspy.Signature):
    history: dspy.History = dspy.InputField()
    question: str = dspy.InputField()
    answer: str = dspy.OutputField()


agent, said = dspy.ReAct(Orla.with_instructions(INSTRUCTIONS), tools=TOOLS, max_iters=10), []
try:
    for turn in TURNS:
        done = agent(question=turn, history=dspy.History(messages=said))
        said.append({"question": turn, "answer": done.answer})
        print(done.answer)
finally:
    traces.shutdown()
