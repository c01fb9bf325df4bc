//! The client's answers to requests of a server: the user accepts every default, and the model repeats its prompt.

use rmcp::model::{
    ClientCapabilities, ClientConfig, CreateMessageRequestParams, CreateMessageResult, ElicitRequestParams,
    ElicitResult, ElicitationAction, Implementation, SamplingMessage,
};
use rmcp::service::RequestContext;
use rmcp::{ClientHandler, ErrorData, RoleClient};
use serde_json::{Map, Value, json};

pub(crate) struct Answers;

impl ClientHandler for Answers {
    fn get_info(&self) -> ClientConfig {
        let capabilities = ClientCapabilities::builder().enable_elicitation().enable_sampling().build();
        ClientConfig::new(
            capabilities,
            Implementation::new("wt-conformance-client", env!("CARGO_PKG_VERSION")),
        )
    }

    async fn create_elicitation(
        &self,
        request: ElicitRequestParams,
        _context: RequestContext<RoleClient>,
    ) -> Result<ElicitResult, ErrorData> {
        Ok(ElicitResult::new(ElicitationAction::Accept).with_content(defaults(&json!(request))))
    }

    async fn create_message(
        &self,
        request: CreateMessageRequestParams,
        _context: RequestContext<RoleClient>,
    ) -> Result<CreateMessageResult, ErrorData> {
        let answer = SamplingMessage::assistant_text(format!("You said {}", json!(request.messages)));
        Ok(CreateMessageResult::new(answer, "parrot".into()))
    }
}

/// A value for each property of the form: its default, or else something of its type if it is required.
fn defaults(request: &Value) -> Value {
    let schema = &request["requestedSchema"];
    Value::Object(fill_in(schema, |property| property.get("default").cloned()))
}

/// An object that fits a schema, with the value that `known` returns for a property, or a made-up value if it is
/// required.
pub(crate) fn fill_in(schema: &Value, known: impl Fn(&Value) -> Option<Value>) -> Map<String, Value> {
    let Some(properties) = schema["properties"].as_object() else {
        return Map::new();
    };
    let required =
        |name: &str| schema["required"].as_array().is_some_and(|names| names.contains(&json!(name)));
    let value = |name: &String, property: &Value| {
        known(property).or_else(|| required(name).then(|| made_up(property)))
    };
    let filled =
        properties.iter().filter_map(|(name, property)| Some((name.clone(), value(name, property)?)));
    filled.collect()
}

fn made_up(property: &Value) -> Value {
    match property["type"].as_str() {
        Some("integer" | "number") => json!(1),
        Some("boolean") => json!(true),
        Some("array") => json!([]),
        Some("object") => json!({}),
        _ => json!("test"),
    }
}
