package shop

import ai.koog.agents.core.tools.annotations.LLMDescription
import ai.koog.agents.core.tools.annotations.Tool
import ai.koog.agents.core.tools.reflect.ToolSet
import java.io.File
import kotlinx.serialization.json.JsonArray
import kotlinx.serialization.json.JsonElement
import kotlinx.serialization.json.JsonNull
import kotlinx.serialization.json.JsonObject
import kotlinx.serialization.json.JsonPrimitive

/** Somebody else writes the record. */
class RecordLocked(message: String) : Exception(message)

/** The four tools with their log of the truth: the same as shop.py. */
@Suppress("LocalVariableName", "ktlint")
class Shop : ToolSet {
    private var count = 0

    @Tool("search_docs")
    @LLMDescription("Search the knowledge base.")
    fun searchDocs(query: String, top_k: Int): JsonElement =
        log(
            "search_docs",
            record("query" to query, "top_k" to top_k),
            JsonArray((DOCS[query] ?: emptyList()).take(top_k)),
        )

    @Tool("get_weather")
    @LLMDescription("Return the weather of a city.")
    fun getWeather(city: String): JsonElement =
        log("get_weather", record("city" to city), WEATHER.getValue(city))

    @Tool("update_record")
    @LLMDescription("Change one field of a customer's record.")
    fun updateRecord(record_id: String, field: String, value: String): JsonElement {
        val given = record("record_id" to record_id, "field" to field, "value" to value)
        if (System.getenv("KIT_SCENARIO") == "tool_error" && count == 0) {
            return log("update_record", given, JsonNull, "record $record_id is locked by another writer")
        }
        val before = mapOf("status" to "open", "shipping_city" to "Oslo")[field]
        return log(
            "update_record",
            given,
            record("record_id" to record_id, "field" to field, "before" to before, "after" to value, "version" to 2),
        )
    }

    @Tool("send_email")
    @LLMDescription("Send an e-mail.")
    fun sendEmail(to: String, subject: String, body: String): JsonElement =
        log(
            "send_email",
            record("to" to to, "subject" to subject, "body" to body),
            record("message_id" to "m-501", "to" to to, "status" to "queued"),
        )

    @Synchronized
    private fun log(tool: String, given: JsonObject, result: JsonElement, error: String? = null): JsonElement {
        count += 1
        val line =
            JsonObject(
                mapOf(
                    "kind" to JsonPrimitive("tool"),
                    "t" to JsonPrimitive(System.currentTimeMillis() / 1000.0),
                    "n" to JsonPrimitive(count),
                    "tool" to JsonPrimitive(tool),
                    "args" to given,
                    "result" to result,
                    "error" to JsonPrimitive(error),
                )
            )
        File(System.getenv("KIT_TRUTH")).appendText("$line\n")
        if (error != null) throw RecordLocked(error)
        return result
    }

    private companion object {
        val DOCS =
            mapOf(
                "refund policy" to
                    listOf(
                        doc(
                            "kb-17",
                            "Refunds",
                            0.91,
                            "Goods may be returned within 30 days for a full refund.\n" +
                                "Opened \"hygiene\" items are excluded; shipping (79 kr) isn't refunded. " +
                                "Ærlig talt: keep the receipt.",
                        ),
                        doc("kb-18", "Refund timing", 0.77, "Refunds reach the card in 5–7 working days."),
                    ),
                "shipping rules" to listOf(doc("kb-30", "Shipping", 0.7, "Parcels are held in snow.")),
            )
        val WEATHER =
            mapOf(
                "Oslo" to record("city" to "Oslo", "temp_c" to -3, "condition" to "snow"),
                "Bergen" to record("city" to "Bergen", "temp_c" to 6, "condition" to "rain"),
            )

        fun doc(id: String, title: String, score: Double, text: String) =
            record("doc_id" to id, "title" to title, "score" to score, "text" to text)

        fun record(vararg pairs: Pair<String, Any?>) =
            JsonObject(
                pairs.associate { (name, value) ->
                    name to if (value is Number) JsonPrimitive(value) else JsonPrimitive(value as String?)
                }
            )
    }
}
