//! The tools with behavior: they elicit, sample, log, report progress or trigger notifications.

use std::time::Duration;

use rmcp::model::{
    CallToolRequestParams, CallToolResult, ClientCapabilities, ContentBlock, CreateMessageRequestParams,
    ElicitRequestParams, LoggingLevel, LoggingMessageNotificationParam, ProgressNotificationParam,
    SamplingMessage,
};
use rmcp::service::{RequestContext, ServiceError};
use rmcp::{ErrorData, RoleServer};
use serde_json::{Value, json};
use tokio::time::sleep;

use crate::catalog::CATALOG;
use crate::handler::{Change, ConformanceServer};

/// The pause between two notifications, so that they arrive one by one.
const PAUSE: Duration = Duration::from_millis(50);

/// Runs a tool that answers in one round.
pub(crate) async fn call(
    server: &ConformanceServer,
    request: &CallToolRequestParams,
    context: &RequestContext<RoleServer>,
) -> Result<CallToolResult, ErrorData> {
    if let Some(contents) = CATALOG.tool_contents.get(request.name.as_ref()) {
        return Ok(CallToolResult::success(contents.clone()));
    }
    if let Some(form) = CATALOG.forms.get(request.name.as_ref()) {
        return elicit(form.clone(), request, context).await;
    }
    match request.name.as_ref() {
        "test_error_handling" => {
            let text = ContentBlock::text("This tool intentionally returns an error for testing");
            Ok(CallToolResult::error(vec![text]))
        }
        "test_tool_with_logging" => log_while_working(context).await,
        "test_logging_tool" => log_if_asked_to(context).await,
        "test_tool_with_progress" => report_progress(context).await,
        "test_sampling" => sample(request, context).await,
        "test_missing_capability" => require_sampling(context),
        "test_trigger_tool_change" => announce(server, Change::Tools),
        "test_trigger_prompt_change" => announce(server, Change::Prompts),
        "test_custom_header" | "json_schema_2020_12_tool" => done(&json!(request.arguments).to_string()),
        name => Err(ErrorData::invalid_params(format!("no such tool: {name}"), None)),
    }
}

fn done(text: &str) -> Result<CallToolResult, ErrorData> {
    Ok(CallToolResult::success(vec![ContentBlock::text(text)]))
}

fn failed(error: &ServiceError) -> Result<CallToolResult, ErrorData> {
    Ok(CallToolResult::error(vec![ContentBlock::text(error.to_string())]))
}

fn argument<'a>(request: &'a CallToolRequestParams, name: &str) -> Result<&'a str, ErrorData> {
    let value = request.arguments.as_ref().and_then(|arguments| arguments.get(name)).and_then(Value::as_str);
    value.ok_or_else(|| ErrorData::invalid_params(format!("the argument {name} is missing"), None))
}

async fn log(context: &RequestContext<RoleServer>, text: &str) {
    let message = LoggingMessageNotificationParam::new(LoggingLevel::Info, json!(text));
    // Fails only if the client has disconnected.
    let _ = context.peer.notify_logging_message(message).await;
}

async fn log_while_working(context: &RequestContext<RoleServer>) -> Result<CallToolResult, ErrorData> {
    for text in ["Tool execution started", "Tool processing data", "Tool execution completed"] {
        log(context, text).await;
        sleep(PAUSE).await;
    }
    done("Logged three messages")
}

async fn log_if_asked_to(context: &RequestContext<RoleServer>) -> Result<CallToolResult, ErrorData> {
    if context.meta.log_level().is_some() {
        log(context, "Tool execution started").await;
    }
    done("Logged as much as was asked for")
}

async fn report_progress(context: &RequestContext<RoleServer>) -> Result<CallToolResult, ErrorData> {
    for progress in [0.0, 50.0, 100.0] {
        if let Some(token) = context.meta.get_progress_token() {
            let progress = ProgressNotificationParam::new(token, progress).with_total(100.0);
            let _ = context.peer.notify_progress(progress).await;
        }
        sleep(PAUSE).await;
    }
    done("Told its progress")
}

async fn sample(
    request: &CallToolRequestParams,
    context: &RequestContext<RoleServer>,
) -> Result<CallToolResult, ErrorData> {
    let message = SamplingMessage::user_text(argument(request, "prompt")?);
    match context.peer.create_message(CreateMessageRequestParams::new(vec![message], 100)).await {
        Ok(answer) => done(&format!("LLM response: {}", json!(answer.message.content))),
        Err(error) => failed(&error),
    }
}

async fn elicit(
    mut form: ElicitRequestParams,
    request: &CallToolRequestParams,
    context: &RequestContext<RoleServer>,
) -> Result<CallToolResult, ErrorData> {
    if let (ElicitRequestParams::FormElicitationParams { message, .. }, Ok(wanted)) =
        (&mut form, argument(request, "message"))
    {
        wanted.clone_into(message);
    }
    match context.peer.create_elicitation(form).await {
        Ok(answer) => done(&format!(
            "Elicitation completed: action={}, content={}",
            json!(answer.action),
            json!(answer.content)
        )),
        Err(error) => failed(&error),
    }
}

fn require_sampling(context: &RequestContext<RoleServer>) -> Result<CallToolResult, ErrorData> {
    if context.client_capabilities().is_some_and(|capabilities| capabilities.sampling.is_some()) {
        return done("The client can sample");
    }
    let wanted = ClientCapabilities::builder().enable_sampling().build();
    Err(ErrorData::missing_required_client_capability(wanted))
}

fn announce(server: &ConformanceServer, change: Change) -> Result<CallToolResult, ErrorData> {
    server.announce(change);
    done("Announced")
}
