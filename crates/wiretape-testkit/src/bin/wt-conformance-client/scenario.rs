//! What the suite says about the scenario: a name, the revision of the protocol, and now and then more.

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

/// What some scenarios have to tell.
#[derive(Clone, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Context {
    /// The calls to make, where it matters which.
    #[serde(rename = "toolCalls")]
    pub(crate) tool_calls: Vec<CallToolRequestParams>,
    /// A client that the authorization server knows already.
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

    /// How a connection begins: with a handshake, or without.
    pub(crate) fn lifecycle(&self) -> ClientLifecycleMode {
        if self.version < ProtocolVersion::V_2026_07_28 {
            ClientLifecycleMode::Initialize
        } else {
            ClientLifecycleMode::Discover { preferred_versions: vec![self.version.clone()] }
        }
    }
}
