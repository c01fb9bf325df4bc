//! The scenario as the suite describes it in the environment: a name, the protocol revision, and sometimes a context.

use std::env;

use rmcp::ClientLifecycleMode;
use rmcp::model::{CallToolRequestParams, ProtocolVersion};
use serde::Deserialize;
use serde_json::Value;

use crate::Outcome;

#[derive(Clone)]
pub(crate) struct Scenario {
    pub(crate) name: String,
    version: ProtocolVersion,
    pub(crate) context: Context,
}

/// Further parameters of some scenarios.
#[derive(Clone, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Context {
    /// The calls to make; if empty, every tool is called.
    #[serde(rename = "toolCalls")]
    pub(crate) tool_calls: Vec<CallToolRequestParams>,
    /// A client that is already registered at the authorization server.
    pub(crate) client_id: Option<String>,
    pub(crate) client_secret: Option<String>,
}

impl Scenario {
    pub(crate) fn from_environment() -> Outcome<Self> {
        let version = env::var("MCP_CONFORMANCE_PROTOCOL_VERSION")?;
        Ok(Self {
            name: env::var("MCP_CONFORMANCE_SCENARIO")?,
            version: serde_json::from_value(Value::String(version))?,
            context: match env::var("MCP_CONFORMANCE_CONTEXT") {
                Ok(context) => serde_json::from_str(&context)?,
                Err(_) => Context::default(),
            },
        })
    }

    /// How a connection begins: with `initialize`, or without since revision 2026-07-28.
    pub(crate) fn lifecycle(&self) -> ClientLifecycleMode {
        if self.version < ProtocolVersion::V_2026_07_28 {
            ClientLifecycleMode::Initialize
        } else {
            ClientLifecycleMode::Discover { preferred_versions: vec![self.version.clone()] }
        }
    }
}
