package shop;

import com.fasterxml.jackson.core.type.TypeReference;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.agentscope.core.ReActAgent;
import io.agentscope.core.message.UserMessage;
import io.agentscope.core.model.ExecutionConfig;
import io.agentscope.core.tool.Toolkit;
import io.agentscope.core.tracing.OtelTracingMiddleware;
import io.agentscope.extensions.model.openai.OpenAIChatModel;
import io.opentelemetry.sdk.autoconfigure.AutoConfiguredOpenTelemetrySdk;
import java.util.List;

/** AgentScope's agent for Java with its own telemetry, exported to where the environment says. */
public final class Orla {
    private static final String INSTRUCTIONS =
            "You are Orla, the support agent of Fjordkraft Outdoors. Use the tools; never guess. "
                    + "Answer in one or two sentences.";

    public static void main(String[] arguments) throws Exception {
        var telemetry = AutoConfiguredOpenTelemetrySdk.builder().setResultAsGlobal().build().getOpenTelemetrySdk();
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
        var model = OpenAIChatModel.builder()
                .apiKey("none")
                .baseUrl(System.getenv("KIT_MODEL_URL") + "/v1")
                .modelName(System.getenv("KIT_MODEL"))
                .stream(false)
                .build();
        var toolkit = new Toolkit();
        toolkit.registerTool(new Shop());
        var agent = ReActAgent.builder()
                .name("orla")
                .sysPrompt(INSTRUCTIONS)
                .model(model)
                .toolkit(toolkit)
                .maxRetries(1)
                .modelExecutionConfig(ExecutionConfig.builder().maxAttempts(1).build())
                .middleware(new OtelTracingMiddleware())
                .build();
        List<String> turns = new ObjectMapper().readValue(System.getenv("KIT_TURNS"), new TypeReference<>() {});
        for (var turn : turns) {
            System.out.println(agent.call(new UserMessage(turn)).block().getTextContent());
        }
    }
}
