"""The frameworks that are recorded and have to be built: of Java, Kotlin, Go and Rust, by name."""

from __future__ import annotations

from recordings.record.framework import EVERY, GEMINI, WITH_BIG, Framework

BUILT: dict[str, Framework] = {
    "agentscope-java": Framework(
        (
            "io.agentscope:agentscope-core",
            "io.opentelemetry:opentelemetry-exporter-otlp",
        ),
        "agentscope_java/pom.xml",
        settings={"OTEL_METRICS_EXPORTER": "none", "OTEL_LOGS_EXPORTER": "none"},
    ),
    "genkit-go": Framework(
        ("github.com/firebase/genkit/go", "go.opentelemetry.io/otel/sdk"),
        "genkit_go/go.mod",
        request_model=GEMINI,
        response_model=GEMINI,
    ),
    "google-adk-java": Framework(
        ("com.google.adk:google-adk", "io.opentelemetry:opentelemetry-exporter-otlp"),
        "adk_java/pom.xml",
        EVERY,
        GEMINI,
        GEMINI,
        settings={"OTEL_METRICS_EXPORTER": "none", "OTEL_LOGS_EXPORTER": "none"},
    ),
    "koog": Framework(
        ("ai.koog:koog-agents-jvm", "io.opentelemetry:opentelemetry-exporter-otlp"), "koog_agent/pom.xml"
    ),
    "openai-java-otel": Framework(
        ("com.openai:openai-java", "io.opentelemetry.instrumentation:opentelemetry-openai-java-1.1"),
        "openai_java_otel/pom.xml",
        WITH_BIG,
        settings={"OTEL_METRICS_EXPORTER": "none", "OTEL_LOGS_EXPORTER": "otlp"},
    ),
    "quarkus-langchain4j": Framework(
        ("io.quarkiverse.langchain4j:quarkus-langchain4j-openai", "io.quarkus:quarkus-opentelemetry"),
        "quarkus_agent/pom.xml",
        WITH_BIG,
    ),
    "rig": Framework(("rig", "opentelemetry-otlp", "tracing-opentelemetry"), "rig_agent/Cargo.toml"),
    "spring-ai-langfuse": Framework(
        (
            "org.springframework.ai:spring-ai-starter-model-openai",
            "org.springframework.boot:spring-boot-starter-opentelemetry",
            "io.micrometer:micrometer-tracing-bridge-otel",
            "io.opentelemetry:opentelemetry-sdk",
        ),
        "spring_ai_langfuse/pom.xml",
        WITH_BIG,
    ),
}
