package shop;

import dev.langchain4j.service.MemoryId;
import dev.langchain4j.service.SystemMessage;
import dev.langchain4j.service.UserMessage;
import io.quarkiverse.langchain4j.RegisterAiService;
import jakarta.enterprise.context.ApplicationScoped;

/** The agent: an AI service, as Quarkus calls it. */
@ApplicationScoped
@RegisterAiService(tools = Shop.class)
public interface Orla {
    /** Answer what a user says. */
    @SystemMessage("You are Orla, the support agent of Fjordkraft Outdoors. Use the tools; never guess. "
            + "Answer in one or two sentences.")
    String answer(@MemoryId String session, @UserMessage String said);
}
