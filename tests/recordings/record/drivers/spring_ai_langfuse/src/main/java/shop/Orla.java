package shop;

import java.util.List;
import java.util.UUID;
import org.springframework.ai.chat.client.ChatClient;
import org.springframework.ai.chat.client.advisor.MessageChatMemoryAdvisor;
import org.springframework.ai.chat.memory.ChatMemory;
import org.springframework.ai.chat.memory.MessageWindowChatMemory;
import org.springframework.boot.SpringApplication;
import org.springframework.boot.autoconfigure.SpringBootApplication;
import org.springframework.context.ApplicationContext;
import tools.jackson.core.type.TypeReference;
import tools.jackson.databind.json.JsonMapper;

/** Spring AI's chat client, observed as Spring does it, with what Langfuse's guide adds, exported by Spring Boot. */
@SpringBootApplication
public class Orla {
    private static final String INSTRUCTIONS =
            "You are Orla, the support agent of Fjordkraft Outdoors. Use the tools; never guess. "
                    + "Answer in one or two sentences.";

    public static void main(String[] arguments) {
        try (var context = SpringApplication.run(Orla.class, arguments)) {
            answer(context);
        } catch (RuntimeException failed) {
            failed.printStackTrace();
            System.exit(1);
        }
        // Not when the threads of the model's client have had nothing to do for a minute.
        System.exit(0);
    }

    private static void answer(ApplicationContext context) {
        var memory = MessageWindowChatMemory.builder().maxMessages(100).build();
        var agent = context.getBean(ChatClient.Builder.class)
                .defaultSystem(INSTRUCTIONS)
                .defaultTools(context.getBean(Shop.class))
                .defaultAdvisors(MessageChatMemoryAdvisor.builder(memory).build())
                .build();
        var session = "s-" + UUID.randomUUID();
        for (var turn : turns()) {
            System.out.println(agent.prompt()
                    .user(turn)
                    .advisors(advisors -> advisors.param(ChatMemory.CONVERSATION_ID, session))
                    .call()
                    .content());
        }
    }

    private static List<String> turns() {
        return JsonMapper.shared().readValue(System.getenv("KIT_TURNS"), new TypeReference<>() {});
    }
}
