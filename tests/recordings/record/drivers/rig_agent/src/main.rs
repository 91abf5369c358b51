//! rig's agent with its own spans, exported to where the environment says.

mod shop;

use std::{env, error::Error};

use opentelemetry::trace::TracerProvider;
use opentelemetry_otlp::SpanExporter;
use opentelemetry_sdk::{Resource, trace::SdkTracerProvider};
use rig::{
    core::{providers::openai::OpenAI, tool::ToolContext},
    prelude::*,
};
use serde_json::{Map, Value, json};
use shop::{Change, Email, Place, RecordLocked, Search, get_weather, search_docs, send_email, update_record};
use tracing_subscriber::layer::SubscriberExt;

const INSTRUCTIONS: &str = "You are Orla, the support agent of Fjordkraft Outdoors. Use the tools; never guess. \
Answer in one or two sentences.";

fn schema(fields: &[(&str, &str)]) -> Value {
    let properties: Map<String, Value> =
        fields.iter().map(|(name, kind)| (name.to_string(), json!({"type": kind}))).collect();
    let required: Vec<&str> = fields.iter().map(|(name, _)| *name).collect();
    json!({"type": "object", "properties": properties, "required": required})
}

macro_rules! tool {
    ($kind:ident, $function:ident, $given:ty, $about:literal, $fields:expr) => {
        struct $kind;

        impl Tool for $kind {
            const NAME: &'static str = stringify!($function);
            type Args = $given;
            type Output = Value;
            type Error = RecordLocked;

            fn description(&self) -> String {
                $about.into()
            }

            fn parameters(&self) -> Value {
                schema($fields)
            }

            async fn call(&self, _: &mut ToolContext, given: $given) -> Result<Value, RecordLocked> {
                $function(given)
            }
        }
    };
}

tool!(SearchDocs, search_docs, Search, "Search the knowledge base.", &[("query", "string"), ("top_k", "integer")]);
tool!(GetWeather, get_weather, Place, "Return the weather of a city.", &[("city", "string")]);
tool!(
    UpdateRecord,
    update_record,
    Change,
    "Change one field of a customer's record.",
    &[("record_id", "string"), ("field", "string"), ("value", "string")]
);
tool!(
    SendEmail,
    send_email,
    Email,
    "Send an e-mail.",
    &[("to", "string"), ("subject", "string"), ("body", "string")]
);

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let exporter = SpanExporter::builder().with_http().build()?;
    let provider = SdkTracerProvider::builder()
        .with_batch_exporter(exporter)
        .with_resource(Resource::builder().build())
        .build();
    let layer = tracing_opentelemetry::layer().with_tracer(provider.tracer("orla"));
    tracing::subscriber::set_global_default(tracing_subscriber::registry().with(layer))?;
    let answered = answer().await;
    provider.shutdown()?;
    answered
}

async fn answer() -> Result<(), Box<dyn Error>> {
    let agent = AgentBuilder::new(OpenAI::from_env()?.completion(env::var("KIT_MODEL")?))
        .name("orla")
        .preamble(INSTRUCTIONS)
        .record_content_telemetry(true)
        .tool(SearchDocs)
        .tool(GetWeather)
        .tool(UpdateRecord)
        .tool(SendEmail)
        .build();
    let mut history: Vec<Message> = vec![];
    let turns: Vec<String> = serde_json::from_str(&env::var("KIT_TURNS")?)?;
    for turn in turns {
        let done = agent.prompt(turn).history(history.clone()).max_turns(10).await?;
        println!("{done}");
        history.extend(done.messages);
    }
    Ok(())
}
