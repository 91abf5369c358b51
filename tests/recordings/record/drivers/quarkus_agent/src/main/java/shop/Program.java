package shop;

import com.fasterxml.jackson.core.type.TypeReference;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.quarkus.runtime.QuarkusApplication;
import io.quarkus.runtime.annotations.QuarkusMain;
import jakarta.enterprise.context.control.ActivateRequestContext;
import jakarta.inject.Inject;
import java.util.List;
import java.util.UUID;

/** Quarkus with LangChain4j, traced by Quarkus' own OpenTelemetry. */
@QuarkusMain
public class Program implements QuarkusApplication {
    @Inject
    Orla orla;

    @Override
    @ActivateRequestContext
    public int run(String... arguments) throws Exception {
        var turns = new ObjectMapper().readValue(System.getenv("KIT_TURNS"), new TypeReference<List<String>>() {});
        var session = "s-" + UUID.randomUUID();
        for (var turn : turns) {
            System.out.println(orla.answer(session, turn));
        }
        return 0;
    }
}
