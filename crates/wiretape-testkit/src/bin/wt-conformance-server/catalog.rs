//! The server's definitions, read from `catalog.json`: the lists that clients see, and every constant answer.

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
    /// The constant results, by tool.
    pub(crate) tool_contents: BTreeMap<String, Vec<ContentBlock>>,
    /// The form that a tool asks the user to fill in during its call, by tool. Only in revisions with server
    /// requests.
    pub(crate) forms: BTreeMap<String, ElicitRequestParams>,
    /// The questions that a tool or prompt returns before it completes, by name. For revisions without server
    /// requests.
    pub(crate) rounds: BTreeMap<String, Rounds>,
    pub(crate) resources: Vec<Resource>,
    pub(crate) resource_contents: Vec<ResourceContents>,
    pub(crate) resource_templates: Vec<ResourceTemplate>,
    pub(crate) prompts: Vec<Prompt>,
    /// The contents of each prompt; `{argument}` is replaced by an argument's value.
    pub(crate) prompt_contents: BTreeMap<String, serde_json::Value>,
}

/// Questions in rounds: those of a round are asked together, and the next round follows when all are answered.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct Rounds {
    /// Whether the number of the round is sent along as state for the client to return.
    #[serde(default)]
    pub(crate) keeps_state: bool,
    pub(crate) rounds: Vec<InputRequests>,
}
