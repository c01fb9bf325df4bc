//! The SDK's handler: which requests are answered from the catalog, and which by code.

use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, CompleteRequestParams, CompleteResult,
    CompletionInfo, ContentBlock, GetPromptRequestParams, GetPromptResponse, GetPromptResult, Implementation,
    InputResponses, ListPromptsResult, ListResourceTemplatesResult, ListResourcesResult, ListToolsResult,
    PaginatedRequestParams, PromptMessage, ReadResourceRequestParams, ReadResourceResponse,
    ReadResourceResult, ResourceContents, Role, ServerCapabilities, ServerConfig, SetLevelRequestParams,
    SubscribeRequestParams, SubscriptionFilter, Tool, UnsubscribeRequestParams,
};
use rmcp::service::{RequestContext, SubscriptionContext};
use rmcp::{ErrorData, RoleServer, ServerHandler};
use serde_json::{Value, json};
use tokio::sync::broadcast;

use crate::catalog::CATALOG;
use crate::rounds::{Retry, Round, Seal};
use crate::tools;

/// A change that subscribers are notified of.
#[derive(Clone, Copy)]
pub(crate) enum Change {
    Tools,
    Prompts,
}

#[derive(Clone)]
pub(crate) struct ConformanceServer {
    changes: broadcast::Sender<Change>,
    seal: Seal,
}

impl ConformanceServer {
    pub(crate) fn new() -> Self {
        Self { changes: broadcast::Sender::new(16), seal: Seal::new() }
    }

    /// Notifies all current subscribers.
    pub(crate) fn announce(&self, change: Change) {
        // Having no subscribers is not an error.
        let _ = self.changes.send(change);
    }

    fn advance(&self, name: &str, retry: &Retry) -> Result<Option<Round>, ErrorData> {
        CATALOG.rounds.get(name).map(|rounds| self.seal.advance(name, rounds, retry)).transpose()
    }
}

fn retry(
    context: &RequestContext<RoleServer>,
    responses: Option<InputResponses>,
    state: Option<String>,
) -> Retry {
    Retry { responses, state, capabilities: context.client_capabilities().unwrap_or_default() }
}

impl ServerHandler for ConformanceServer {
    fn get_info(&self) -> ServerConfig {
        let capabilities = ServerCapabilities::builder()
            .enable_completions()
            .enable_logging()
            .enable_prompts()
            .enable_prompts_list_changed()
            .enable_resources()
            .enable_resources_subscribe()
            .enable_tools()
            .enable_tool_list_changed()
            .build();
        let name = Implementation::new("wt-conformance-server", env!("CARGO_PKG_VERSION"));
        ServerConfig::new(capabilities).with_server_info(name)
    }

    fn get_tool(&self, name: &str) -> Option<Tool> {
        CATALOG.tools.iter().find(|tool| tool.name == name).cloned()
    }

    async fn list_tools(
        &self,
        _request: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        Ok(ListToolsResult::with_all_items(CATALOG.tools.clone()))
    }

    async fn call_tool(
        &self,
        mut request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let retry = retry(&context, request.input_responses.take(), request.request_state.take());
        match self.advance(&request.name, &retry)? {
            None => Ok(tools::call(self, &request, &context).await?.into()),
            Some(Round::Ask(questions)) => Ok(questions.into()),
            Some(Round::Done(text)) => Ok(CallToolResult::success(vec![ContentBlock::text(text)]).into()),
        }
    }

    async fn list_prompts(
        &self,
        _request: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListPromptsResult, ErrorData> {
        Ok(ListPromptsResult::with_all_items(CATALOG.prompts.clone()))
    }

    async fn get_prompt(
        &self,
        request: GetPromptRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<GetPromptResponse, ErrorData> {
        let retry = retry(&context, request.input_responses, request.request_state);
        let arguments = request.arguments.unwrap_or_default();
        match self.advance(&request.name, &retry)? {
            None => prompt(&request.name, &arguments).map(Into::into),
            Some(Round::Ask(questions)) => Ok(questions.into()),
            Some(Round::Done(text)) => Ok(as_prompt(vec![ContentBlock::text(text)]).into()),
        }
    }

    async fn list_resources(
        &self,
        _request: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListResourcesResult, ErrorData> {
        Ok(ListResourcesResult::with_all_items(CATALOG.resources.clone()))
    }

    async fn list_resource_templates(
        &self,
        _request: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListResourceTemplatesResult, ErrorData> {
        Ok(ListResourceTemplatesResult::with_all_items(CATALOG.resource_templates.clone()))
    }

    async fn read_resource(
        &self,
        request: ReadResourceRequestParams,
        _context: RequestContext<RoleServer>,
    ) -> Result<ReadResourceResponse, ErrorData> {
        let uri = request.uri;
        let contents = stored(&uri).or_else(|| from_template(&uri));
        let contents = contents.ok_or_else(|| {
            ErrorData::resource_not_found("there is no such resource", Some(json!({ "uri": uri })))
        })?;
        Ok(ReadResourceResult::new(vec![contents]).into())
    }

    async fn complete(
        &self,
        request: CompleteRequestParams,
        _context: RequestContext<RoleServer>,
    ) -> Result<CompleteResult, ErrorData> {
        let values = vec![format!("{} and more", request.argument.value)];
        let completion =
            CompletionInfo::new(values).map_err(|error| ErrorData::internal_error(error, None))?;
        Ok(CompleteResult::new(completion))
    }

    async fn set_level(
        &self,
        _request: SetLevelRequestParams,
        _context: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        Ok(())
    }

    async fn subscribe(
        &self,
        _request: SubscribeRequestParams,
        _context: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        Ok(())
    }

    async fn unsubscribe(
        &self,
        _request: UnsubscribeRequestParams,
        _context: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        Ok(())
    }

    fn accepted_subscription_filter(&self, requested: &SubscriptionFilter) -> Option<SubscriptionFilter> {
        Some(requested.clone())
    }

    async fn listen(&self, subscription: SubscriptionContext) -> Result<(), ErrorData> {
        let mut changes = self.changes.subscribe();
        loop {
            let change = tokio::select! {
                () = subscription.cancelled() => return Ok(()),
                change = changes.recv() => change,
            };
            // The SDK refuses to send notifications that were not subscribed to, which is intended here.
            let _ = match change {
                Ok(Change::Tools) => subscription.sink().notify_tool_list_changed().await,
                Ok(Change::Prompts) => subscription.sink().notify_prompt_list_changed().await,
                Err(_) => continue,
            };
        }
    }
}

fn stored(uri: &str) -> Option<ResourceContents> {
    let is_it = |contents: &&ResourceContents| match contents {
        ResourceContents::TextResourceContents { uri: own, .. }
        | ResourceContents::BlobResourceContents { uri: own, .. } => own == uri,
        _ => false,
    };
    CATALOG.resource_contents.iter().find(is_it).cloned()
}

fn from_template(uri: &str) -> Option<ResourceContents> {
    let id = uri.strip_prefix("test://template/")?.strip_suffix("/data")?;
    let data = json!({ "id": id, "templateTest": true, "data": format!("Data for ID: {id}") });
    Some(ResourceContents::text(data.to_string(), uri).with_mime_type("application/json"))
}

fn prompt(name: &str, arguments: &serde_json::Map<String, Value>) -> Result<GetPromptResult, ErrorData> {
    let contents = CATALOG.prompt_contents.get(name);
    let contents =
        contents.ok_or_else(|| ErrorData::invalid_params(format!("no such prompt: {name}"), None))?;
    let contents = serde_json::from_value(filled_in(contents, arguments));
    Ok(as_prompt(contents.expect("the catalog's prompts are content, whatever the arguments")))
}

/// A copy in which every `{argument}` has become the argument's value.
fn filled_in(contents: &Value, arguments: &serde_json::Map<String, Value>) -> Value {
    match contents {
        Value::String(text) => arguments.iter().fold(text.clone(), |text, next| fill_in(&text, next)).into(),
        Value::Array(items) => items.iter().map(|item| filled_in(item, arguments)).collect(),
        Value::Object(fields) => {
            fields.iter().map(|(name, value)| (name.clone(), filled_in(value, arguments))).collect()
        }
        other => other.clone(),
    }
}

fn fill_in(text: &str, (name, value): (&String, &Value)) -> String {
    text.replace(&format!("{{{name}}}"), value.as_str().unwrap_or_default())
}

fn as_prompt(contents: Vec<ContentBlock>) -> GetPromptResult {
    GetPromptResult::new(
        contents.into_iter().map(|content| PromptMessage::new(Role::User, content)).collect(),
    )
}
