package shop;

import com.fasterxml.jackson.core.type.TypeReference;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.openai.client.OpenAIClient;
import com.openai.client.okhttp.OpenAIOkHttpClient;
import com.openai.core.JsonValue;
import com.openai.models.FunctionDefinition;
import com.openai.models.FunctionParameters;
import com.openai.models.chat.completions.ChatCompletionCreateParams;
import com.openai.models.chat.completions.ChatCompletionFunctionTool;
import com.openai.models.chat.completions.ChatCompletionToolMessageParam;
import io.opentelemetry.instrumentation.openai.v1_1.OpenAITelemetry;
import io.opentelemetry.sdk.autoconfigure.AutoConfiguredOpenTelemetrySdk;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** OpenAI's client in a loop of one's own, with OpenTelemetry's instrumentation, exported to where the environment says. */
public final class Orla {
    private static final String INSTRUCTIONS =
            "You are Orla, the support agent of Fjordkraft Outdoors. Use the tools; never guess. "
                    + "Answer in one or two sentences.";
    private static final ObjectMapper JSON = new ObjectMapper();

    public static void main(String[] arguments) throws Exception {
        var telemetry = AutoConfiguredOpenTelemetrySdk.initialize().getOpenTelemetrySdk();
        var client = OpenAITelemetry.builder(telemetry)
                .setCaptureMessageContent(true)
                .build()
                .wrap(OpenAIOkHttpClient.builder()
                        .apiKey("none")
                        .baseUrl(System.getenv("KIT_MODEL_URL") + "/v1")
                        .maxRetries(0)
                        .build());
        var code = 0;
        try {
            answer(client);
        } catch (RuntimeException failed) {
            failed.printStackTrace();
            code = 1;
        } finally {
            telemetry.close();
        }
        System.exit(code);
    }

    private static void answer(OpenAIClient client) throws Exception {
        var params = ChatCompletionCreateParams.builder()
                .model(System.getenv("KIT_MODEL"))
                .addSystemMessage(INSTRUCTIONS)
                .addTool(tool("search_docs", "Search the knowledge base.", "query", "string", "top_k", "integer"))
                .addTool(tool("get_weather", "Return the weather of a city.", "city", "string"))
                .addTool(tool(
                        "update_record",
                        "Change one field of a customer's record.",
                        "record_id", "string", "field", "string", "value", "string"))
                .addTool(tool(
                        "send_email", "Send an e-mail.", "to", "string", "subject", "string", "body", "string"));
        List<String> turns = JSON.readValue(System.getenv("KIT_TURNS"), new TypeReference<>() {});
        for (var turn : turns) {
            params.addUserMessage(turn);
            while (true) {
                var said = client.chat().completions().create(params.build()).choices().get(0).message();
                params.addMessage(said);
                var calls = said.toolCalls().orElse(List.of());
                if (calls.isEmpty()) {
                    System.out.println(said.content().orElse(""));
                    break;
                }
                for (var call : calls) {
                    var function = call.asFunction();
                    params.addMessage(ChatCompletionToolMessageParam.builder()
                            .toolCallId(function.id())
                            .content(run(function.function().name(), function.function().arguments()))
                            .build());
                }
            }
        }
    }

    private static String run(String name, String arguments) throws Exception {
        Map<String, Object> given = JSON.readValue(arguments, new TypeReference<>() {});
        try {
            return JSON.writeValueAsString(switch (name) {
                case "search_docs" -> Shop.searchDocs(text(given, "query"), (Integer) given.getOrDefault("top_k", 2));
                case "get_weather" -> Shop.getWeather(text(given, "city"));
                case "update_record" ->
                    Shop.updateRecord(text(given, "record_id"), text(given, "field"), text(given, "value"));
                default -> Shop.sendEmail(text(given, "to"), text(given, "subject"), text(given, "body"));
            });
        } catch (Shop.RecordLocked locked) {
            return "Error: " + locked.getMessage();
        }
    }

    private static String text(Map<String, Object> given, String name) {
        return (String) given.get(name);
    }

    private static ChatCompletionFunctionTool tool(String name, String description, String... types) {
        var properties = new LinkedHashMap<String, Object>();
        for (var at = 0; at < types.length; at += 2) {
            properties.put(types[at], Map.of("type", types[at + 1]));
        }
        var parameters = FunctionParameters.builder()
                .putAdditionalProperty("type", JsonValue.from("object"))
                .putAdditionalProperty("properties", JsonValue.from(properties))
                .putAdditionalProperty("required", JsonValue.from(List.copyOf(properties.keySet())))
                .build();
        var function = FunctionDefinition.builder().name(name).description(description).parameters(parameters).build();
        return ChatCompletionFunctionTool.builder().function(function).build();
    }
}
