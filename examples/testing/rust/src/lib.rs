//! The code under test: gets the weather and advises what to take.

use rmcp::model::CallToolRequestParams;
use rmcp::{Peer, RoleClient, object};

pub async fn advice(server: &Peer<RoleClient>, city: &str) -> &'static str {
    let weather = CallToolRequestParams::new("weather").with_arguments(object!({ "city": city }));
    let Ok(result) = server.call_tool(weather).await else {
        return "No forecast: look out of the window.";
    };
    let report = result.structured_content.unwrap_or_default();
    let rain = report["sky"].as_str().is_some_and(|sky| sky.contains("rain"));
    if rain { "Take an umbrella." } else { "Leave the umbrella at home." }
}
