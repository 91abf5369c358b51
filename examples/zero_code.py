"""An agent without Retrospan: it uses OpenTelemetry, and a variable sends its spans here.

    OTEL_TRACES_EXPORTER=retrospan opentelemetry-instrument python examples/zero_code.py

`opentelemetry-instrument` comes with `pip install opentelemetry-distro`. Frameworks that the program imports get
their hooks as well.
"""

from __future__ import annotations

import json

from opentelemetry import trace

tracer = trace.get_tracer("weather.agent")


def forecast(city: str) -> dict[str, object]:
    with tracer.start_as_current_span("execute_tool forecast") as span:
        span.set_attribute("gen_ai.operation.name", "execute_tool")
        span.set_attribute("gen_ai.tool.name", "forecast")
        span.set_attribute("gen_ai.tool.call.arguments", json.dumps({"city": city}))
        result: dict[str, object] = {"city": city, "degrees": 21}
        span.set_attribute("gen_ai.tool.call.result", json.dumps(result))
        return result


def main() -> None:
    with tracer.start_as_current_span("invoke_agent weather") as span:
        span.set_attribute("gen_ai.operation.name", "invoke_agent")
        span.set_attribute("gen_ai.agent.name", "weather")
        print(f"It has {forecast('Paris')['degrees']} degrees in Paris.")


if __name__ == "__main__":
    main()
