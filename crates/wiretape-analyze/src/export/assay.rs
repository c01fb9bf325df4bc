//! `assay-v2`: an episode of steps and tool calls, one object a line. Every member is always there, in the same order, and the
//! same trace gives the same bytes.

use super::json::{optional, raw, string};
use super::{ExportFormat, ExportOptions, Exporter, Survey};
use crate::call::{Call, CallTracker, Observed};
use std::collections::{BTreeMap, HashMap};
use std::io::{self, Write};
use wiretape_trace::format::{Line, Message, Record};
use wiretape_trace::message::{Direction, Envelope, Id, MessageKind};
use wiretape_trace::value::Value;

pub(super) static ASSAY_V2: ExportFormat = ExportFormat {
    name: "assay-v2",
    about: "episodes of steps and tool calls",
    make: |options, survey| Box::new(Assay::new(options, survey)),
};

struct Assay {
    options: ExportOptions,
    discovery: super::Discovery,
    start_ms: i64,
    /// The latest time so far: what is written never runs backwards.
    now_ms: i64,
    /// The time that the message itself gives.
    said_ms: Option<i64>,
    steps: u64,
    tracker: CallTracker,
    /// Calls that have no answer yet, in the order of their requests.
    waiting: BTreeMap<u64, ToolCall>,
    by_id: HashMap<Id<'static>, u64>,
    final_output: Option<String>,
}

/// A call of a tool.
struct ToolCall {
    step: u64,
    at_ms: i64,
    name: String,
    args: String,
}

/// What became of a call.
struct Ending<'a> {
    at_ms: i64,
    result: &'a str,
    error: Option<&'a str>,
}

impl Assay {
    fn new(options: &ExportOptions, survey: &Survey) -> Self {
        // Where nobody gave a time, none is made up.
        let start_ms = survey.first_ms.unwrap_or(0);
        Assay {
            options: options.clone(),
            discovery: survey.discovery,
            start_ms,
            now_ms: start_ms,
            said_ms: None,
            steps: 0,
            tracker: CallTracker::new(),
            waiting: BTreeMap::new(),
            by_id: HashMap::new(),
            final_output: None,
        }
    }

    fn message(&mut self, line: u64, message: &Message<'_>, out: &mut dyn Write) -> io::Result<()> {
        self.said_ms = message.stamp.wall_ms();
        self.now_ms = self.now_ms.max(self.said_ms.unwrap_or(i64::MIN));
        let mut observed = Vec::new();
        self.tracker.observe_message(line, message, |_, envelope, what| observed.push((envelope, what)));
        for (envelope, what) in observed {
            match envelope.kind {
                MessageKind::Request | MessageKind::Notification
                    if message.dir.known() == Some(Direction::ClientToServer) =>
                {
                    self.request(&envelope, out)?;
                }
                MessageKind::Response if message.dir.known() == Some(Direction::ServerToClient) => {
                    self.response(&envelope, &what, out)?;
                }
                _ => {}
            }
        }
        Ok(())
    }

    fn request(&mut self, envelope: &Envelope<'_>, out: &mut dyn Write) -> io::Result<()> {
        match envelope.method.as_deref() {
            Some("tools/list") => {
                let meta = meta_of(envelope.id.as_ref());
                self.step("tools/list", Some("{}"), &meta, out).map(|_| ())
            }
            Some("tools/call") => self.call(envelope, out),
            _ => Ok(()),
        }
    }

    fn call(&mut self, envelope: &Envelope<'_>, out: &mut dyn Write) -> io::Result<()> {
        let name = envelope.name.as_deref().unwrap_or("unknown_tool").to_owned();
        let params = envelope.params.and_then(|params| Value::parse(params).ok());
        let args = params.and_then(|params| params.get("arguments"));
        let args = args.map_or_else(|| "null".to_owned(), |args| raw(args.raw).into_owned());
        let id = envelope.id.as_ref().map(text_of);
        let meta = meta_of(envelope.id.as_ref());
        let step = self.step(&name, None, &meta, out)?;
        let call = ToolCall { step, at_ms: self.said_ms.unwrap_or(self.now_ms), name, args };
        match id {
            Some(id) => {
                self.by_id.insert(Id::String(id.into()), step);
                self.waiting.insert(step, call);
                Ok(())
            }
            // Nobody will answer it, and nobody was asked to.
            None => self.tool_call(&call, &Ending { at_ms: self.now_ms, result: "null", error: None }, out),
        }
    }

    fn response(
        &mut self,
        envelope: &Envelope<'_>,
        observed: &Observed,
        out: &mut dyn Write,
    ) -> io::Result<()> {
        let Some(outcome) = envelope.result.or(envelope.error) else { return Ok(()) };
        let outcome = raw(outcome).into_owned();
        if let Observed::Answer(call) = observed {
            match call.method.as_str() {
                "tools/list" => self.list(envelope, out)?,
                "tools/call" => self.answer(call, envelope, &outcome, out)?,
                _ => {}
            }
        }
        self.final_output = Some(outcome);
        Ok(())
    }

    fn answer(
        &mut self,
        answered: &Call,
        envelope: &Envelope<'_>,
        outcome: &str,
        out: &mut dyn Write,
    ) -> io::Result<()> {
        let id = answered.id.as_ref().map(|id| Id::String(text_of(id).into()));
        let step = id.and_then(|id| self.by_id.remove(&id));
        let Some(call) = step.and_then(|step| self.waiting.remove(&step)) else { return Ok(()) };
        let at_ms = self.now_ms;
        if envelope.error.is_some() {
            let result = format!("{{\"error\":{outcome}}}");
            self.tool_call(&call, &Ending { at_ms, result: &result, error: Some("mcp_error") }, out)
        } else {
            self.tool_call(&call, &Ending { at_ms, result: outcome, error: None }, out)
        }
    }

    fn list(&mut self, envelope: &Envelope<'_>, out: &mut dyn Write) -> io::Result<()> {
        let result = envelope.result.and_then(|result| Value::parse(result).ok());
        let Some(tools) = result.and_then(|result| result.get("tools")) else { return Ok(()) };
        let mut listed = Vec::new();
        tools.elements(|tool| {
            let text = |name: &str| tool.get(name).and_then(Value::string);
            let schema = tool.get("inputSchema").or_else(|| tool.get("input_schema"));
            listed.push(format!(
                "{{\"name\":{},\"description\":{},\"input_schema\":{},\"tool_identity\":null}}",
                string(text("name").as_deref().unwrap_or("unknown")),
                optional(text("description").as_deref()),
                schema.map_or("null".into(), |schema| raw(schema.raw)),
            ));
        });
        let content = format!("{{\"tools\":[{}]}}", listed.join(","));
        self.step("tools/list.result", Some(&content), &meta_of(envelope.id.as_ref()), out).map(|_| ())
    }

    fn step(
        &mut self,
        name: &str,
        content: Option<&str>,
        meta: &str,
        out: &mut dyn Write,
    ) -> io::Result<u64> {
        let (episode, step, now) = (string(&self.options.episode_id), self.steps, self.now_ms);
        self.steps += 1;
        writeln!(
            out,
            "{{\"type\":\"step\",\"episode_id\":{episode},\"step_id\":\"step_{step:03}\",\"idx\":{step},\"timestamp\":{now},\
             \"kind\":\"tool\",\"name\":{},\"content\":{},\"content_sha256\":null,\"truncations\":[],\"meta\":{meta}}}",
            string(name),
            optional(content),
        )?;
        Ok(step)
    }

    fn tool_call(&self, call: &ToolCall, ending: &Ending<'_>, out: &mut dyn Write) -> io::Result<()> {
        let (episode, step) = (string(&self.options.episode_id), call.step);
        writeln!(
            out,
            "{{\"type\":\"tool_call\",\"episode_id\":{episode},\"step_id\":\"step_{step:03}\",\"timestamp\":{},\
             \"tool_name\":{},\"call_index\":0,\"args\":{},\"args_sha256\":null,\"result\":{},\"result_sha256\":null,\
             \"error\":{},\"truncations\":[]}}",
            ending.at_ms,
            string(&call.name),
            call.args,
            ending.result,
            optional(ending.error),
        )
    }
}

impl Exporter for Assay {
    fn begin(&mut self, out: &mut dyn Write) -> io::Result<()> {
        let episode = string(&self.options.episode_id);
        let discovery = self.discovery;
        let kind = if discovery.is_visible() { "www_authenticate" } else { "unknown" };
        let test = self.options.test_id.as_deref().map(|id| format!(",\"test_id\":{}", string(id)));
        writeln!(
            out,
            "{{\"type\":\"episode_start\",\"episode_id\":{episode},\"timestamp\":{},\"input\":{{\"prompt\":{}}},\
             \"meta\":{{\"source\":\"mcp_import\",\"episode_id\":{episode},\"mcp\":{{\"authorization_discovery\":\
             {{\"visible\":{},\"source_kind\":\"{kind}\",\"resource_metadata_visible\":{},\
             \"authorization_servers_visible\":false,\"scope_challenge_visible\":{}}}}}{}}}}}",
            self.start_ms,
            string(&self.options.prompt),
            discovery.is_visible(),
            discovery.resource_metadata,
            discovery.scope,
            test.unwrap_or_default(),
        )
    }

    fn line(&mut self, line: &Line<'_>, out: &mut dyn Write) -> io::Result<()> {
        match &line.record {
            Record::Meta(meta) => self.tracker.observe_meta(meta),
            Record::Message(message) => self.message(line.number, message, out)?,
            _ => {}
        }
        Ok(())
    }

    fn finish(&mut self, out: &mut dyn Write) -> io::Result<()> {
        for call in std::mem::take(&mut self.waiting).into_values() {
            let ending = Ending { at_ms: call.at_ms, result: "null", error: Some("timeout/no_response") };
            self.tool_call(&call, &ending, out)?;
        }
        writeln!(
            out,
            "{{\"type\":\"episode_end\",\"episode_id\":{},\"timestamp\":{},\"outcome\":null,\"final_output\":{}}}",
            string(&self.options.episode_id),
            self.now_ms,
            optional(self.final_output.as_deref()),
        )
    }
}

fn meta_of(id: Option<&Id<'_>>) -> String {
    format!("{{\"jsonrpc_id\":{}}}", optional(id.map(text_of).as_deref()))
}

/// An id's text; numbers and strings are not told apart here.
fn text_of(id: &Id<'_>) -> String {
    let (Id::String(text) | Id::Number(text)) = id;
    text.clone().into_owned()
}
