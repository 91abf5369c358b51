"""DSPy's ReAct with OpenLIT: its tool calls travel in the text of prompts and answers."""

import dspy
import openlit
from opentelemetry import trace
from shop import INSTRUCTIONS, MODEL, MODEL_URL, TOOLS, TURNS

openlit.init(application_name="orla-support", environment="test", disable_metrics=True)
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
    trace.get_tracer_provider().shutdown()
