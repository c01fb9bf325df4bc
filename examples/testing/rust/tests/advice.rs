use advice::advice;
use rmcp::model::CallToolRequestParams;
use rmcp::service::RunningService;
use rmcp::transport::TokioChildProcess;
use rmcp::{RoleClient, ServiceExt, object};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::process::Command;

const TRACE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../weather.jsonl");

/// The recorded server, played back: a replay of its own for each test.
struct Replay {
    client: RunningService<RoleClient, ()>,
    reports: TempDir,
}

impl Replay {
    async fn start(options: &[&str]) -> Replay {
        let reports = tempfile::tempdir().unwrap();
        let mut command = Command::new("wiretape");
        command.args(["replay", TRACE, "--strict", "--report"]).arg(reports.path().join("replay.json"));
        command.args(options);
        let server = TokioChildProcess::new(command).expect("wiretape is on the PATH");
        Replay { client: ().serve(server).await.unwrap(), reports }
    }

    /// Ends it, and reports what was used, unused and missed.
    async fn report(self) -> Value {
        self.client.cancel().await.unwrap();
        let report = std::fs::read(self.reports.path().join("replay.json")).unwrap();
        serde_json::from_slice::<Value>(&report).unwrap()["traces"][0].take()
    }

    /// Ends it. A miss fails the test even if the agent treats the error like a response.
    async fn end(self) {
        let report = self.report().await;
        assert_eq!(report["missed"], 0, "{:#}", report["misses"]);
    }
}

fn weather(city: &str) -> CallToolRequestParams {
    CallToolRequestParams::new("weather").with_arguments(object!({ "city": city }))
}

#[tokio::test]
async fn rain_takes_an_umbrella() {
    let replay = Replay::start(&[]).await;
    assert_eq!(advice(&replay.client, "Lisbon").await, "Take an umbrella.");
    replay.end().await;
}

#[tokio::test]
async fn the_tool_responds_as_recorded() {
    let replay = Replay::start(&[]).await;
    let result = replay.client.call_tool(weather("Oslo")).await.unwrap();
    let report = json!({ "city": "Oslo", "celsius": 18.5, "sky": "light rain" });
    assert_eq!(result.structured_content, Some(report));
    replay.end().await;
}

#[tokio::test]
async fn every_recorded_call_is_made() {
    let replay = Replay::start(&["--require-all"]).await;
    replay.client.list_all_tools().await.unwrap();
    for city in ["Lisbon", "Oslo"] {
        advice(&replay.client, city).await;
    }
    let report = replay.report().await;
    assert_eq!((&report["missed"], &report["unused"]), (&json!(0), &json!(0)), "{report:#}");
}

#[tokio::test]
async fn a_server_that_fails() {
    let replay = Replay::start(&["--fault", "tool:weather error=-32000", "--seed", "7"]).await;
    assert_eq!(advice(&replay.client, "Lisbon").await, "No forecast: look out of the window.");
    replay.end().await;
}

#[tokio::test]
async fn what_was_not_recorded_is_missed() {
    let replay = Replay::start(&[]).await;
    let error = replay.client.call_tool(weather("Graz")).await.unwrap_err();
    assert!(error.to_string().contains(r#"city was "Lisbon" and is "Graz""#), "{error}");
    assert_eq!(replay.report().await["missed"], 1);
}
