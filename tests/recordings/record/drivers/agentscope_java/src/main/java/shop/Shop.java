package shop;

import com.fasterxml.jackson.databind.ObjectMapper;
import io.agentscope.core.tool.Tool;
import io.agentscope.core.tool.ToolParam;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;
import java.util.stream.IntStream;

/** The four tools with their log of the truth: the same as shop.py. */
public final class Shop {
    private static final Map<String, List<Map<String, Object>>> DOCS = Map.of(
            "refund policy", List.of(
                    doc("kb-17", "Refunds", 0.91,
                            "Goods may be returned within 30 days for a full refund.\nOpened \"hygiene\" items are "
                                    + "excluded; shipping (79 kr) isn't refunded. Ærlig talt: keep the receipt."),
                    doc("kb-18", "Refund timing", 0.77, "Refunds reach the card in 5–7 working days.")),
            "shipping rules", List.of(doc("kb-30", "Shipping", 0.7, "Parcels are held in snow.")),
            "full manual", List.of(doc("kb-99", "Manual", 0.5, manual())));
    private static final Map<String, Map<String, Object>> WEATHER = Map.of(
            "Oslo", ordered("city", "Oslo", "temp_c", -3, "condition", "snow"),
            "Bergen", ordered("city", "Bergen", "temp_c", 6, "condition", "rain"));
    private static final Map<String, String> BEFORE = Map.of("status", "open", "shipping_city", "Oslo");

    private static final ObjectMapper JSON = new ObjectMapper();

    private static int count;

    /** Somebody else writes the record. */
    static class RecordLocked extends RuntimeException {
        RecordLocked(String message) {
            super(message);
        }
    }

    @Tool(name = "search_docs", description = "Search the knowledge base.")
    public List<Map<String, Object>> searchDocs(
            @ToolParam(name = "query") String query, @ToolParam(name = "top_k") int top_k) {
        var found = DOCS.getOrDefault(query, List.of());
        var result = found.subList(0, Math.min(top_k, found.size()));
        log("search_docs", ordered("query", query, "top_k", top_k), result, null);
        return result;
    }

    @Tool(name = "get_weather", description = "Return the weather of a city.")
    public Map<String, Object> getWeather(@ToolParam(name = "city") String city) {
        var result = WEATHER.get(city);
        log("get_weather", ordered("city", city), result, null);
        return result;
    }

    @Tool(name = "update_record", description = "Change one field of a customer's record.")
    public Map<String, Object> updateRecord(
            @ToolParam(name = "record_id") String record_id,
            @ToolParam(name = "field") String field,
            @ToolParam(name = "value") String value) {
        var given = ordered("record_id", record_id, "field", field, "value", value);
        if (System.getenv("KIT_SCENARIO").equals("tool_error") && count == 0) {
            var error = "record " + record_id + " is locked by another writer";
            log("update_record", given, null, error);
            throw new RecordLocked(error);
        }
        var result = ordered(
                "record_id", record_id, "field", field, "before", BEFORE.get(field), "after", value, "version", 2);
        log("update_record", given, result, null);
        return result;
    }

    @Tool(name = "send_email", description = "Send an e-mail.")
    public Map<String, Object> sendEmail(
            @ToolParam(name = "to") String to,
            @ToolParam(name = "subject") String subject,
            @ToolParam(name = "body") String body) {
        var result = ordered("message_id", "m-501", "to", to, "status", "queued");
        log("send_email", ordered("to", to, "subject", subject, "body", body), result, null);
        return result;
    }

    private static synchronized void log(String tool, Map<String, Object> given, Object result, String error) {
        count += 1;
        var line = ordered(
                "kind", "tool",
                "t", System.currentTimeMillis() / 1000.0,
                "n", count,
                "tool", tool,
                "args", given,
                "result", result,
                "error", error);
        try {
            Files.writeString(
                    Path.of(System.getenv("KIT_TRUTH")),
                    JSON.writeValueAsString(line) + "\n",
                    StandardOpenOption.APPEND);
        } catch (IOException failed) {
            throw new UncheckedIOException(failed);
        }
    }

    private static Map<String, Object> doc(String id, String title, double score, String text) {
        return ordered("doc_id", id, "title", title, "score", score, "text", text);
    }

    private static String manual() {
        return IntStream.range(0, 2855)
                .mapToObj("w%05d"::formatted)
                .collect(Collectors.joining(" ", "BIGSTART ", " BIGEND"));
    }

    private static Map<String, Object> ordered(Object... pairs) {
        var made = new LinkedHashMap<String, Object>();
        for (var at = 0; at < pairs.length; at += 2) {
            made.put((String) pairs[at], pairs[at + 1]);
        }
        return made;
    }
}
