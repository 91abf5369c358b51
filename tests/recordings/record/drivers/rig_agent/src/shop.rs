//! The four tools with their log of the truth: the same as shop.py.

use std::{
    env,
    fs::OpenOptions,
    io::Write,
    sync::Mutex,
    time::{SystemTime, UNIX_EPOCH},
};

use serde::Deserialize;
use serde_json::{Value, json};

/// Somebody else writes the record.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct RecordLocked(String);

static COUNT: Mutex<u32> = Mutex::new(0);

fn log(tool: &str, args: Value, result: Value, error: Option<String>) -> Result<Value, RecordLocked> {
    let mut count = COUNT.lock().unwrap();
    *count += 1;
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs_f64();
    let line = json!({"kind": "tool", "t": now, "n": *count, "tool": tool, "args": args, "result": result,
        "error": error});
    let mut file = OpenOptions::new().append(true).open(env::var("KIT_TRUTH").unwrap()).unwrap();
    writeln!(file, "{line}").unwrap();
    error.map_or(Ok(result), |why| Err(RecordLocked(why)))
}

#[derive(Deserialize)]
pub struct Search {
    query: String,
    top_k: usize,
}

pub fn search_docs(given: Search) -> Result<Value, RecordLocked> {
    let known = match given.query.as_str() {
        "refund policy" => vec![
            json!({"doc_id": "kb-17", "title": "Refunds", "score": 0.91,
                "text": "Goods may be returned within 30 days for a full refund.\nOpened \"hygiene\" items are \
excluded; shipping (79 kr) isn't refunded. Ærlig talt: keep the receipt."}),
            json!({"doc_id": "kb-18", "title": "Refund timing", "score": 0.77,
                "text": "Refunds reach the card in 5–7 working days."}),
        ],
        "shipping rules" => {
            vec![json!({"doc_id": "kb-30", "title": "Shipping", "score": 0.7, "text": "Parcels are held in snow."})]
        }
        _ => vec![],
    };
    let found: Vec<Value> = known.into_iter().take(given.top_k).collect();
    log("search_docs", json!({"query": given.query, "top_k": given.top_k}), json!(found), None)
}

#[derive(Deserialize)]
pub struct Place {
    city: String,
}

pub fn get_weather(given: Place) -> Result<Value, RecordLocked> {
    let (temp_c, condition) = if given.city == "Oslo" { (-3, "snow") } else { (6, "rain") };
    let result = json!({"city": given.city, "temp_c": temp_c, "condition": condition});
    log("get_weather", json!({"city": given.city}), result, None)
}

#[derive(Deserialize)]
pub struct Change {
    record_id: String,
    field: String,
    value: String,
}

pub fn update_record(given: Change) -> Result<Value, RecordLocked> {
    let args = json!({"record_id": given.record_id, "field": given.field, "value": given.value});
    if env::var("KIT_SCENARIO").unwrap() == "tool_error" && *COUNT.lock().unwrap() == 0 {
        let why = format!("record {} is locked by another writer", given.record_id);
        return log("update_record", args, Value::Null, Some(why));
    }
    let before = if given.field == "status" { "open" } else { "Oslo" };
    let result = json!({"record_id": given.record_id, "field": given.field, "before": before,
        "after": given.value, "version": 2});
    log("update_record", args, result, None)
}

#[derive(Deserialize)]
pub struct Email {
    to: String,
    subject: String,
    body: String,
}

pub fn send_email(given: Email) -> Result<Value, RecordLocked> {
    let args = json!({"to": given.to, "subject": given.subject, "body": given.body});
    log("send_email", args, json!({"message_id": "m-501", "to": given.to, "status": "queued"}), None)
}
