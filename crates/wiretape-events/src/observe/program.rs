//! What client and server say of themselves: in `initialize`, or in each request of the revisions without it.

use std::borrow::Cow;
use std::sync::Arc;
use wiretape_trace::value::Value;

/// What the stateless revisions call their own begins so, as it is written in a message.
const PREFIX: &[u8] = b"\"io.modelcontextprotocol/";
const CLIENT_INFO: &str = "io.modelcontextprotocol/clientInfo";
const PROTOCOL_VERSION: &str = "io.modelcontextprotocol/protocolVersion";

/// A program, as it calls itself.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Program {
    pub(crate) name: Option<String>,
    pub(crate) version: Option<String>,
    pub(crate) platform: Option<String>,
}

impl Program {
    /// The client, by the parameters of `initialize`.
    pub(crate) fn client(params: &[u8]) -> Self {
        Self::at(params, "clientInfo")
    }

    /// The server, by the result of `initialize`.
    pub(crate) fn server(result: &[u8]) -> Self {
        Self::at(result, "serverInfo")
    }

    /// The client of a stateless revision, by the parameters of any request.
    pub(crate) fn stateless_client(params: &[u8]) -> Option<Self> {
        memchr::memmem::find(params, PREFIX)?;
        let meta = Value::parse(params).ok()?.get("_meta")?;
        let info = meta.get(CLIENT_INFO);
        if info.is_none() && meta.get(PROTOCOL_VERSION).is_none() {
            return None;
        }
        Some(info.map(Program::of).unwrap_or_default())
    }

    fn at(json: &[u8], name: &str) -> Self {
        let info = Value::parse(json).ok().and_then(|value| value.get(name));
        info.map(Program::of).unwrap_or_default()
    }

    fn of(info: Value<'_>) -> Self {
        let text = |name| info.get(name).and_then(Value::string).map(Cow::into_owned);
        Program { name: text("name"), version: text("version"), platform: text("platform") }
    }
}

/// The revision that was agreed on, by the result of `initialize`.
pub(crate) fn agreed_version(result: &[u8]) -> Option<Arc<str>> {
    Some(Value::parse(result).ok()?.get("protocolVersion")?.string()?.into())
}

/// The stateless revision that a request names in its parameters.
pub(crate) fn stateless_version(params: &[u8]) -> Option<Arc<str>> {
    Some(Value::parse(params).ok()?.get("_meta")?.get(PROTOCOL_VERSION)?.string()?.into())
}
