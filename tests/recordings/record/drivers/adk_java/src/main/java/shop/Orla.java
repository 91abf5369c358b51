package shop;

import com.fasterxml.jackson.core.type.TypeReference;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.google.adk.agents.LlmAgent;
import com.google.adk.models.Gemini;
import com.google.adk.runner.InMemoryRunner;
import com.google.adk.tools.FunctionTool;
import com.google.genai.Client;
import com.google.genai.types.Content;
import com.google.genai.types.HttpOptions;
import com.google.genai.types.Part;
import io.opentelemetry.sdk.autoconfigure.AutoConfiguredOpenTelemetrySdk;
import java.util.List;
import java.util.UUID;
import java.util.concurrent.ConcurrentHashMap;

/** Google's Agent Development Kit for Java with its own spans, exported to where the environment says. */
public final class Orla {
    private static final String INSTRUCTIONS =
            "You are Orla, the support agent of Fjordkraft Outdoors. Use the tools; never guess. "
                    + "Answer in one or two sentences.";
    private static final String TRIAGE =
            "You are the triage agent. Hand over to orla for anything about the weather.";

    public static void main(String[] arguments) throws Exception {
        var telemetry = AutoConfiguredOpenTelemetrySdk.initialize().getOpenTelemetrySdk();
        var code = 0;
        try {
            answer();
        } catch (RuntimeException failed) {
            failed.printStackTrace();
            code = 1;
        } finally {
            telemetry.close();
        }
        System.exit(code);
    }

    private static void answer() throws Exception {
        var options = HttpOptions.builder().baseUrl(System.getenv("KIT_MODEL_URL")).build();
        var client = Client.builder().apiKey("none").httpOptions(options).build();
        var model = new Gemini(System.getenv("KIT_MODEL"), client);
        var agent = LlmAgent.builder()
                .name("orla")
                .model(model)
                .instruction(INSTRUCTIONS)
                .description("Knows the weather.")
                .tools(
                        FunctionTool.create(Shop.class, "searchDocs"),
                        FunctionTool.create(Shop.class, "getWeather"),
                        FunctionTool.create(Shop.class, "updateRecord"),
                        FunctionTool.create(Shop.class, "sendEmail"))
                .build();
        if (System.getenv("KIT_SCENARIO").equals("handoff")) {
            agent = LlmAgent.builder().name("triage").model(model).instruction(TRIAGE).subAgents(agent).build();
        }
        var runner = new InMemoryRunner(agent, "orla_app");
        var session = runner.sessionService()
                .createSession("orla_app", "u-1", new ConcurrentHashMap<>(), "s-" + UUID.randomUUID())
                .blockingGet();
        List<String> turns = new ObjectMapper().readValue(System.getenv("KIT_TURNS"), new TypeReference<>() {});
        for (var turn : turns) {
            var asked = Content.builder().role("user").parts(Part.fromText(turn)).build();
            runner.runAsync("u-1", session.id(), asked)
                    .blockingForEach(event -> System.out.println(event.stringifyContent()));
        }
    }
}
