/** What every driver in JavaScript has: the same as shop.py. */
import { appendFileSync } from "node:fs";
import { randomUUID } from "node:crypto";

export const INSTRUCTIONS =
  "You are Orla, the support agent of Fjordkraft Outdoors. Use the tools; never guess. " +
  "Answer in one or two sentences.";
export const TRIAGE =
  "You are the triage agent. Hand over to orla for anything about the weather.";
export const MODEL = process.env.KIT_MODEL;
export const MODEL_URL = process.env.KIT_MODEL_URL;
export const SCENARIO = process.env.KIT_SCENARIO;
export const TURNS = JSON.parse(process.env.KIT_TURNS);
export const SESSION = `s-${randomUUID()}`;

const DOCS = {
  "refund policy": [
    {
      doc_id: "kb-17",
      title: "Refunds",
      score: 0.91,
      text:
        'Goods may be returned within 30 days for a full refund.\nOpened "hygiene" items are excluded; ' +
        "shipping (79 kr) isn't refunded. Ærlig talt: keep the receipt.",
    },
    {
      doc_id: "kb-18",
      title: "Refund timing",
      score: 0.77,
      text: "Refunds reach the card in 5–7 working days.",
    },
  ],
  "shipping rules": [
    { doc_id: "kb-30", title: "Shipping", score: 0.7, text: "Parcels are held in snow." },
  ],
  "full manual": [
    {
      doc_id: "kb-99",
      title: "Manual",
      score: 0.5,
      text: `BIGSTART ${Array.from({ length: 2855 }, (_, n) => `w${String(n).padStart(5, "0")}`).join(" ")} BIGEND`,
    },
  ],
};
const WEATHER = {
  Oslo: { city: "Oslo", temp_c: -3, condition: "snow" },
  Bergen: { city: "Bergen", temp_c: 6, condition: "rain" },
};
const BEFORE = { status: "open", shipping_city: "Oslo" };
let count = 0;

/** Somebody else writes the record. */
export class RecordLocked extends Error {
  name = "RecordLocked";
}

function log(tool, args, result, error = null) {
  count += 1;
  const line = { kind: "tool", t: Date.now() / 1000, n: count, tool, args, result, error };
  appendFileSync(process.env.KIT_TRUTH, JSON.stringify(line) + "\n");
  if (error) throw new RecordLocked(error);
  return result;
}

/** Name → description, types of the arguments, and what it does with them. */
export const TOOLS = {
  search_docs: {
    description: "Search the knowledge base.",
    types: { query: "string", top_k: "integer" },
    run: ({ query, top_k }) =>
      log("search_docs", { query, top_k }, (DOCS[query] ?? []).slice(0, top_k)),
  },
  get_weather: {
    description: "Return the weather of a city.",
    types: { city: "string" },
    run: ({ city }) => log("get_weather", { city }, WEATHER[city]),
  },
  update_record: {
    description: "Change one field of a customer's record.",
    types: { record_id: "string", field: "string", value: "string" },
    run: ({ record_id, field, value }) => {
      const args = { record_id, field, value };
      if (SCENARIO === "tool_error" && count === 0)
        return log("update_record", args, null, `record ${record_id} is locked by another writer`);
      return log("update_record", args, {
        record_id,
        field,
        before: BEFORE[field],
        after: value,
        version: 2,
      });
    },
  },
  send_email: {
    description: "Send an e-mail.",
    types: { to: "string", subject: "string", body: "string" },
    run: ({ to, subject, body }) =>
      log("send_email", { to, subject, body }, { message_id: "m-501", to, status: "queued" }),
  },
};
