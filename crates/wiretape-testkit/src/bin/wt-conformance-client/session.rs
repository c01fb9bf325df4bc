//! The client's session with a server.

use std::io::{self, Write};

use rmcp::model::{CallToolRequestParams, Tool};
use rmcp::service::RunningService;
use rmcp::transport::StreamableHttpClientTransport;
use rmcp::transport::streamable_http_client::StreamableHttpClientTransportConfig;
use rmcp::{ClientServiceExt, RoleClient};
use serde_json::{Map, Value, json};

use crate::Outcome;
use crate::authorization::Authorizer;
use crate::handler::{Answers, fill_in};
use crate::http::AuthorizingClient;
use crate::scenario::Scenario;

type Client = RunningService<RoleClient, Answers>;

/// Connects, lists the tools, calls them, and disconnects.
pub(crate) async fn run(url: &str, scenario: &Scenario) -> Outcome<()> {
    let http = AuthorizingClient::new(Authorizer::new(url, scenario));
    let config = StreamableHttpClientTransportConfig::with_uri(url);
    let transport = StreamableHttpClientTransport::with_client(http, config);
    let client = Answers.serve_with_lifecycle(transport, scenario.lifecycle()).await?;
    let tools = client.list_all_tools().await?;
    for call in calls(scenario, &tools) {
        make_call(&client, call).await?;
    }
    client.cancel().await?;
    Ok(())
}

/// A failing tool is reported and doesn't end the session: in some scenarios every tool fails.
async fn make_call(client: &Client, call: CallToolRequestParams) -> io::Result<()> {
    let name = call.name.clone();
    match client.call_tool(call).await {
        Ok(_) => Ok(()),
        Err(error) => writeln!(io::stderr(), "{name}: {error}"),
    }
}

fn calls(scenario: &Scenario, tools: &[Tool]) -> Vec<CallToolRequestParams> {
    if !scenario.context.tool_calls.is_empty() {
        return scenario.context.tool_calls.clone();
    }
    let call =
        |tool: &Tool| CallToolRequestParams::new(tool.name.clone()).with_arguments(arguments(tool, tools));
    tools.iter().map(call).collect()
}

fn arguments(tool: &Tool, tools: &[Tool]) -> Map<String, Value> {
    if tool.name == "json_schema_echo" {
        return echoed(tools);
    }
    fill_in(&json!(tool.input_schema), |_| None)
}

/// One scenario checks that a schema arrived unchanged, so it is sent back.
fn echoed(tools: &[Tool]) -> Map<String, Value> {
    let schema =
        tools.iter().find(|tool| tool.name == "json_schema_2020_12_tool").map(|tool| &tool.input_schema);
    Map::from_iter([("schema".to_owned(), json!(schema))])
}
