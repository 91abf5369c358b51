/** Koog's agent with its own feature for OpenTelemetry. */
package shop

import ai.koog.agents.chatMemory.feature.ChatMemory
import ai.koog.agents.core.agent.AIAgent
import ai.koog.agents.core.tools.ToolRegistry
import ai.koog.agents.core.tools.reflect.asTools
import ai.koog.agents.features.opentelemetry.feature.OpenTelemetry
import ai.koog.http.client.ktor.KtorKoogHttpClient
import ai.koog.prompt.executor.clients.openai.OpenAIClientSettings
import ai.koog.prompt.executor.clients.openai.OpenAILLMClient
import ai.koog.prompt.executor.clients.openai.OpenAIModels
import ai.koog.prompt.executor.llms.MultiLLMPromptExecutor
import io.opentelemetry.exporter.otlp.http.trace.OtlpHttpSpanExporter
import java.util.UUID
import kotlin.system.exitProcess
import kotlinx.coroutines.runBlocking
import kotlinx.serialization.json.Json

private const val INSTRUCTIONS =
    "You are Orla, the support agent of Fjordkraft Outdoors. Use the tools; never guess. " +
        "Answer in one or two sentences."

fun main() {
    val client =
        OpenAILLMClient(
            "none",
            OpenAIClientSettings(baseUrl = System.getenv("KIT_MODEL_URL")),
            KtorKoogHttpClient.Factory(),
        )
    val orla =
        AIAgent(
            promptExecutor = MultiLLMPromptExecutor(client),
            llmModel = OpenAIModels.Chat.GPT4oMini,
            toolRegistry = ToolRegistry { tools(Shop().asTools()) },
            systemPrompt = INSTRUCTIONS,
            id = "orla",
            maxIterations = 50,
        ) {
            install(ChatMemory)
            install(OpenTelemetry) {
                setServiceInfo("orla-support", "1.4.2", "fjordkraft")
                addSpanExporter(
                    OtlpHttpSpanExporter.builder()
                        .setEndpoint("${System.getenv("OTEL_EXPORTER_OTLP_ENDPOINT")}/v1/traces")
                        .build()
                )
                // Messages, arguments and results.
                setVerbose(true)
            }
        }
    val session = "s-${UUID.randomUUID()}"
    val code =
        try {
            runBlocking {
                for (turn in Json.decodeFromString<List<String>>(System.getenv("KIT_TURNS"))) {
                    println(orla.run(turn, session))
                }
                orla.close()
            }
            0
        } catch (failed: Exception) {
            failed.printStackTrace()
            runBlocking { orla.close() }
            1
        }
    // A service runs on; its exporter sends every few seconds, and nothing of its own waits for that at the end.
    Thread.sleep(8000)
    exitProcess(code)
}
