package shop;

import io.micrometer.common.KeyValue;
import io.micrometer.observation.Observation;
import io.micrometer.observation.ObservationFilter;
import java.util.List;
import java.util.Objects;
import java.util.stream.Stream;
import org.springframework.ai.chat.observation.ChatModelObservationContext;
import org.springframework.ai.content.Content;
import org.springframework.ai.observation.ObservabilityHelper;
import org.springframework.stereotype.Component;

/** Adds prompt and answer to the span of a model call, by the names that Langfuse's guide to Spring AI gives them. */
@Component
class Contents implements ObservationFilter {
    @Override
    public Observation.Context map(Observation.Context context) {
        if (context instanceof ChatModelObservationContext call) {
            call.addHighCardinalityKeyValue(
                    KeyValue.of("gen_ai.prompt", joined(call.getRequest().getInstructions().stream())));
            if (call.getResponse() != null) {
                var answers = call.getResponse().getResults().stream().map(result -> result.getOutput());
                call.addHighCardinalityKeyValue(KeyValue.of("gen_ai.completion", joined(answers)));
            }
        }
        return context;
    }

    private static String joined(Stream<? extends Content> contents) {
        List<String> texts = contents
                .map(Content::getText)
                .filter(Objects::nonNull)
                .filter(text -> !text.isBlank())
                .toList();
        return ObservabilityHelper.concatenateStrings(texts);
    }
}
