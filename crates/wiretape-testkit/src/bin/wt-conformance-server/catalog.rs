//! What the server has to offer, read from `catalog.json`: the lists that clients see, and every answer that is the
//! same each time.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use rmcp::model::{
    ContentBlock, ElicitRequestParams, InputRequests, Prompt, Resource, ResourceContents, ResourceTemplate,
    Tool,
};
use serde::Deserialize;

/// The catalog of this server, parsed once.
pub(crate) static CATALOG: LazyLock<Catalog> = LazyLock::new(|| {
    serde_json::from_str(include_str!("catalog.json"))
        .expect("catalog.json is compiled in and valid for the SDK")
});

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct Catalog {
    pub(crate) tools: Vec<Tool>,
    /// What a tool always returns.
    pub(crate) tool_contents: BTreeMap<String, Vec<ContentBlock>>,
    /// What a tool asks the user while it works, where servers may ask.
    pub(crate) forms: BTreeMap<String, ElicitRequestParams>,
    /// What a tool or prompt wants to know before it completes, where servers may not ask.
    pub(crate) rounds: BTreeMap<String, Rounds>,
    pub(crate) resources: Vec<Resource>,
    pub(crate) resource_contents: Vec<ResourceContents>,
    pub(crate) resource_templates: Vec<ResourceTemplate>,
    pub(crate) prompts: Vec<Prompt>,
    /// What a prompt holds; `{argument}` stands for an argument's value.
    pub(crate) prompt_contents: BTreeMap<String, serde_json::Value>,
}

/// Questions in rounds: those of one are asked together, and the next comes when all are answered.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct Rounds {
    /// Whether the client carries the number of the round.
    #[serde(default)]
    pub(crate) keeps_state: bool,
    pub(crate) rounds: Vec<InputRequests>,
}
