//! What clickhouse-rs reads: one line for each check, its name and what came, divided by a tab.

use std::fmt::Display;
use std::future::Future;
use std::time::{Duration, Instant};

use clickhouse::{Client, Compression, Row, error::Error};
use serde::Deserialize;

#[derive(Row, Deserialize)]
struct Run {
    run_id: String,
}

#[derive(Row, Deserialize)]
struct Numbered {
    number: u64,
    text: String,
}

async fn check<T: Display>(name: &str, asked: impl Future<Output = Result<T, Error>>) {
    match asked.await {
        Ok(got) => println!("{name}\t{}", got.to_string().replace('\n', "\\n")),
        Err(error) => println!("{name}\tFAILED: {error}"),
    }
}

async fn checks(client: &Client, how: &str) {
    check(&format!("{how}: rows of a view"), async {
        let runs = client.query("SELECT ?fields FROM runs ORDER BY run_id").fetch_all::<Run>().await?;
        Ok(runs.iter().filter(|run| !run.run_id.is_empty()).count())
    })
    .await;
    check(&format!("{how}: 300,000 rows"), async {
        let mut rows = client
            .query("SELECT number, toString(number) AS text FROM numbers(300000)")
            .fetch::<Numbered>()?;
        let mut count = 0;
        while let Some(row) = rows.next().await? {
            if row.number.to_string() == row.text {
                count += 1;
            }
        }
        Ok(count)
    })
    .await;
    check(&format!("{how}: .param()"), async {
        client
            .query("SELECT concat({text:String}, toString({number:UInt32}), toString({list:Array(UInt8)}))")
            .param("text", "it's \\ \n ✓ ")
            .param("number", 7)
            .param("list", vec![1u8, 2])
            .fetch_one::<String>()
            .await
    })
    .await;
    check(&format!("{how}: .bind()"), async {
        client.query("SELECT concat(?, toString(?))").bind("it's ").bind(7).fetch_one::<String>().await
    })
    .await;
    check(&format!("{how}: an error"), async {
        match client.query("SELECT nope").fetch_one::<u8>().await {
            Err(Error::BadResponse(text)) => Ok(text.chars().take(8).collect::<String>()),
            Err(error) => Ok(format!("another: {error}")),
            Ok(_) => Ok("none".into()),
        }
    })
    .await;
    check(&format!("{how}: an error in the middle"), async {
        let mut rows = client
            .query("SELECT number, toString(throwIf(number = 3000000)) AS text FROM numbers(4000000)")
            .fetch::<Numbered>()?;
        loop {
            match rows.next().await {
                Ok(Some(_)) => (),
                Ok(None) => return Ok("none".into()),
                Err(Error::BadResponse(text)) => return Ok(text.chars().take(9).collect::<String>()),
                Err(error) => return Ok(format!("another: {error}")),
            }
        }
    })
    .await;
    check(&format!("{how}: a query that is given up"), async {
        let began = Instant::now();
        let asked = client.query("SELECT count() FROM numbers(1000000000000)").fetch_one::<u64>();
        let given_up = tokio::time::timeout(Duration::from_millis(500), asked).await.is_err();
        Ok(given_up && began.elapsed() < Duration::from_secs(5))
    })
    .await;
}

#[tokio::main(flavor = "current_thread")]
async fn main() {
    let address = std::env::args().nth(1).expect("the address of the SQL port");
    let client = Client::default().with_url(format!("http://{address}")).with_database("retrospan");
    checks(&client.clone().with_compression(Compression::Lz4), "lz4").await;
    checks(&client.clone().with_compression(Compression::None), "plain").await;
    check("a long parameter", async {
        let long = "x".repeat(200_000);
        client.query("SELECT length({text:String})").param("text", long).fetch_one::<u64>().await
    })
    .await;
    check("with_setting", async {
        client
            .clone()
            .with_setting("max_execution_time", "5")
            .query("SELECT toUInt64(getSetting('max_execution_time'))")
            .fetch_one::<u64>()
            .await
    })
    .await;
}
