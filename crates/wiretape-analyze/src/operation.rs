//! Operations: calls that belong together, such as the round trips of one request, a task and its polls, or a subscription.
//!
//! After an `input_required` result, the client sends the request again with a new id and the same `requestState`; without a
//! state, the same method, name and arguments identify it (2026-07-28, patterns/mrtr). A task is identified by its id
//! (2025-11-25, tasks); a subscription by its resource, or by the id of its `subscriptions/listen` request.

use crate::call::{Call, ObservedAt, Outcome, PendingCall};
use memchr::memmem;
use std::collections::hash_map::DefaultHasher;
use std::collections::{BTreeMap, HashMap};
use std::hash::{Hash as _, Hasher as _};
use wiretape_trace::format::Stamp;
use wiretape_trace::message::{Direction, Envelope};
use wiretape_trace::protocol::{meta_key, method};
use wiretape_trace::value::Value;

/// Why calls belong together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub enum OperationKind {
    /// The round trips of one request: the server requests input before it answers.
    RoundTrips,
    /// A task that continues after its request was answered.
    Task,
    /// Notifications until the client unsubscribes.
    Subscription,
}

impl OperationKind {
    /// The name in JSON output.
    pub fn name(self) -> &'static str {
        match self {
            OperationKind::RoundTrips => "round-trips",
            OperationKind::Task => "task",
            OperationKind::Subscription => "subscription",
        }
    }
}

/// Calls that belong together.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Operation {
    /// The number of its first call.
    pub first: u64,
    /// Why they belong together.
    pub kind: OperationKind,
    /// The method of its first call.
    pub method: String,
    /// The tool of its first call.
    pub tool: Option<String>,
    /// The number of its calls.
    pub calls: u64,
    /// The number of its notifications.
    pub news: u64,
    /// Microseconds from its first request to its end, or to its last message.
    pub duration_us: u64,
    /// Microseconds of these during which the server waited for input that it had requested, mostly from the user.
    pub person_us: u64,
    /// Whether it is complete.
    pub ended: bool,
}

/// Tracks the operations of one recording. Holds only those that are not complete.
#[derive(Debug, Default)]
pub(crate) struct OperationTracker {
    open: BTreeMap<u64, OpenOperation>,
    by_state: HashMap<Vec<u8>, u64>,
    by_request: HashMap<u64, u64>,
    by_task: HashMap<String, u64>,
    by_resource: HashMap<String, u64>,
    by_listener: HashMap<String, u64>,
    ended: Vec<Operation>,
}

#[derive(Debug)]
struct OpenOperation {
    operation: Operation,
    began: ObservedAt,
    /// When the server requested input, if it did.
    input_required_at: Option<ObservedAt>,
    /// The keys of the operation in the lookup maps, to remove them at its end.
    names: Vec<Name>,
}

#[derive(Debug, Clone)]
enum Name {
    State(Vec<u8>),
    Request(u64),
    Task(String),
    Resource(String),
    Listener(String),
}

/// What the answer to a call means for its operation; kept with the pending call.
#[derive(Debug, Default)]
pub(crate) struct Watch {
    /// The number of the operation's first call.
    pub(crate) first: Option<u64>,
    /// The fingerprint by which a retry without a state is recognized.
    request: Option<u64>,
    /// The resource that it subscribes to.
    resource: Option<String>,
    ends: bool,
}

impl OperationTracker {
    /// The operations that were completed since the last time.
    pub(crate) fn take_ended(&mut self) -> Vec<Operation> {
        std::mem::take(&mut self.ended)
    }

    /// The remaining operations: completed ones first, then the others.
    pub(crate) fn finish(mut self) -> Vec<Operation> {
        let mut all = self.take_ended();
        all.extend(self.open.into_values().map(|open| open.operation));
        all
    }

    /// Observes a request. Returns the number of the first call of its operation.
    pub(crate) fn request(
        &mut self,
        call: &mut PendingCall,
        envelope: &Envelope<'_>,
        stamp: &Stamp<'_>,
    ) -> Option<u64> {
        // All three kinds are started by the client; requests of the server belong to a call instead (`parent`).
        if call.direction() != Direction::ClientToServer {
            return None;
        }
        let params = envelope.params.unwrap_or_default();
        let mut watched = Watch::default();
        let method = std::sync::Arc::clone(call.method());
        match &*method {
            "tasks/get" | "tasks/result" | "tasks/cancel" | "tasks/update" => {
                let task = member(params, "taskId")?;
                watched.first = self.by_task.get(&*task).copied();
                // `tasks/get` and `tasks/update` are polls and changes of a task that continues.
                watched.ends = matches!(&*method, "tasks/result" | "tasks/cancel");
            }
            "resources/subscribe" => watched.resource = member(params, "uri"),
            "resources/unsubscribe" => {
                watched.first = self.by_resource.get(&*member(params, "uri")?).copied();
                watched.ends = true;
            }
            method::LISTEN => {
                let open = OpenOperation::of_request(call, OperationKind::Subscription);
                self.begin(open, Name::Listener(call.id().to_string()));
                watched.first = Some(call.number());
                watched.ends = true;
            }
            // A substring search before parsing: this runs for every request of every trace.
            _ if memmem::find(params, meta_key::PROTOCOL_VERSION.as_bytes()).is_some() => {
                self.retry(&method, params, &mut watched);
            }
            _ if memmem::find(params, b"\"task\"").is_none() => return None,
            _ => {}
        }
        let first = watched.first;
        if let Some(open) = first.and_then(|first| self.open.get_mut(&first)) {
            open.join(call.number(), stamp);
        }
        call.set_watch(watched);
        first
    }

    /// A stateless request, which may be answered with `input_required` or be a retry after one.
    fn retry(&mut self, method: &str, params: &[u8], watched: &mut Watch) {
        let Ok(params) = Value::parse(params) else { return };
        let request = fingerprint(method, params);
        watched.request = Some(request);
        watched.first = match params.get("requestState") {
            Some(state) => self.by_state.get(state.raw).copied(),
            // Without input it is a new request that happens to be equal, not a retry.
            None if params.get("inputResponses").is_some() => self.by_request.get(&request).copied(),
            None => None,
        };
    }

    /// Observes the answer to a call.
    pub(crate) fn answer(
        &mut self,
        call: &Call,
        watched: Watch,
        envelope: &Envelope<'_>,
        stamp: &Stamp<'_>,
    ) -> Option<u64> {
        if let Some(open) = watched.first.and_then(|first| self.open.get_mut(&first)) {
            open.extend_to(stamp);
        }
        let result = envelope.result.and_then(|result| Value::parse(result).ok());
        let kind = result.and_then(|result| result.get("resultType")).and_then(Value::string);
        let task = result.and_then(task_id);
        if kind.as_deref() == Some("input_required") {
            let state = result.and_then(|result| result.get("requestState"));
            let name = match (state, watched.request) {
                (Some(state), _) => Some(Name::State(state.raw.to_vec())),
                (None, request) => request.map(Name::Request),
            };
            return self.record_input_required(call, watched.first, name, stamp);
        }
        if let (Some(task), None) = (task, watched.first) {
            self.begin(OpenOperation::new(call, OperationKind::Task).extended_to(stamp), Name::Task(task));
            return Some(call.number);
        }
        // A subscription starts with its successful answer: one that was rejected is a call like any other.
        if let (Some(resource), true) = (watched.resource, result.is_some()) {
            self.begin(
                OpenOperation::new(call, OperationKind::Subscription).extended_to(stamp),
                Name::Resource(resource),
            );
            return Some(call.number);
        }
        let first = watched.first?;
        let is_task = self.open.get(&first).is_some_and(|open| open.operation.kind == OperationKind::Task);
        // A task outlives the answers to its polls; only its result or cancellation ends it.
        if watched.ends || !is_task {
            self.end(first, stamp);
        }
        Some(first)
    }

    fn record_input_required(
        &mut self,
        call: &Call,
        first: Option<u64>,
        name: Option<Name>,
        stamp: &Stamp<'_>,
    ) -> Option<u64> {
        let first = first.unwrap_or_else(|| {
            let open = OpenOperation::new(call, OperationKind::RoundTrips).extended_to(stamp);
            self.open.insert(call.number, open);
            call.number
        });
        let open = self.open.get_mut(&first)?;
        open.input_required_at = Some(ObservedAt::of(stamp));
        if let Some(name) = name {
            open.names.push(name.clone());
            self.register(name, first);
        }
        Some(first)
    }

    /// Observes a notification, which may belong to a task or a subscription.
    pub(crate) fn notification(&mut self, envelope: &Envelope<'_>, stamp: &Stamp<'_>) -> Option<u64> {
        // Most traces have no operations; this keeps notifications free of parsing.
        if self.open.is_empty() {
            return None;
        }
        let params = envelope.params?;
        let first = match envelope.method.as_deref()? {
            "notifications/tasks/status" => *self.by_task.get(&*member(params, "taskId")?)?,
            "notifications/resources/updated" if !self.by_resource.is_empty() => {
                *self.by_resource.get(&*member(params, "uri")?)?
            }
            _ if self.by_listener.is_empty() => return None,
            _ => {
                let meta = Value::parse(params).ok()?.get("_meta")?;
                let listener = meta.get(meta_key::SUBSCRIPTION_ID)?;
                // By the bytes of the id, because it may be a number or a string, and `1` and `"1"` are different
                // ids.
                *self.by_listener.get(&*String::from_utf8_lossy(listener.raw))?
            }
        };
        let open = self.open.get_mut(&first)?;
        open.operation.news += 1;
        open.extend_to(stamp);
        Some(first)
    }

    fn begin(&mut self, mut open: OpenOperation, name: Name) {
        let first = open.operation.first;
        open.names.push(name.clone());
        self.open.insert(first, open);
        self.register(name, first);
    }

    fn register(&mut self, name: Name, first: u64) {
        match name {
            Name::State(state) => self.by_state.insert(state, first),
            Name::Request(request) => self.by_request.insert(request, first),
            Name::Task(task) => self.by_task.insert(task, first),
            Name::Resource(resource) => self.by_resource.insert(resource, first),
            Name::Listener(listener) => self.by_listener.insert(listener, first),
        };
    }

    fn end(&mut self, first: u64, stamp: &Stamp<'_>) {
        let Some(mut open) = self.open.remove(&first) else { return };
        open.extend_to(stamp);
        for name in &open.names {
            match name {
                Name::State(state) => self.by_state.remove(state),
                Name::Request(request) => self.by_request.remove(request),
                Name::Task(task) => self.by_task.remove(task),
                Name::Resource(resource) => self.by_resource.remove(resource),
                Name::Listener(listener) => self.by_listener.remove(listener),
            };
        }
        self.ended.push(Operation { ended: true, ..open.operation });
    }
}

impl OpenOperation {
    fn new(call: &Call, kind: OperationKind) -> Self {
        let operation = Operation {
            first: call.number,
            kind,
            method: call.method.to_string(),
            tool: call.tool.as_deref().map(str::to_owned),
            calls: 1,
            news: 0,
            duration_us: 0,
            person_us: call.person_us,
            ended: false,
        };
        OpenOperation { operation, began: call.asked, input_required_at: None, names: Vec::new() }
    }

    fn of_request(call: &PendingCall, kind: OperationKind) -> Self {
        Self::new(&call.as_if_ended(Outcome::Pending, call.asked()), kind)
    }

    fn extended_to(mut self, stamp: &Stamp<'_>) -> Self {
        self.extend_to(stamp);
        self
    }

    fn extend_to(&mut self, stamp: &Stamp<'_>) {
        let until_now = self.began.until(ObservedAt::of(stamp)).unwrap_or(0);
        // The maximum, because lines of the two directions may be out of order by a few microseconds.
        self.operation.duration_us = self.operation.duration_us.max(until_now);
    }

    fn join(&mut self, call: u64, stamp: &Stamp<'_>) {
        if call != self.operation.first {
            self.operation.calls += 1;
        }
        if let Some(since) = self.input_required_at.take() {
            self.operation.person_us += since.until(ObservedAt::of(stamp)).unwrap_or(0);
        }
        self.extend_to(stamp);
    }
}

fn member(params: &[u8], name: &str) -> Option<String> {
    Some(Value::parse(params).ok()?.get(name)?.string()?.into_owned())
}

fn task_id(result: Value<'_>) -> Option<String> {
    let id = result.at_path(&["task", "taskId"]).or_else(|| result.get("taskId"))?;
    Some(id.string()?.into_owned())
}

/// A fingerprint that a request and its retry share.
fn fingerprint(method: &str, params: Value<'_>) -> u64 {
    let mut hasher = DefaultHasher::new();
    method.hash(&mut hasher);
    // The params that a retry repeats. `_meta`, `requestState` and `inputResponses` differ by design.
    for name in ["name", "uri", "arguments", "ref", "argument"] {
        params.get(name).map(|value| value.raw).hash(&mut hasher);
    }
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reading::{Analysis, Closed, Seen};
    use crate::testing::{message, read};

    #[derive(Default)]
    struct Operations {
        closed: Vec<String>,
        members: Vec<(u64, u64)>,
    }

    impl Analysis for Operations {
        type PerCall = ();

        fn seen(&mut self, seen: &Seen<'_, '_>, _: Option<&mut ()>) {
            self.members.extend(seen.operation.map(|first| (seen.line.line.number, first)));
        }

        fn closed(&mut self, _: &Closed<'_, '_>, (): ()) {}

        fn operation_closed(&mut self, operation: &Operation) {
            self.closed.push(describe(operation));
        }
    }

    fn operations(lines: &[String]) -> (Vec<String>, Vec<(u64, u64)>) {
        let Operations { closed, members } = read(Operations::default(), lines);
        (closed, members)
    }

    fn describe(operation: &Operation) -> String {
        let Operation { first, kind, calls, news, duration_us, person_us, ended, .. } = operation;
        let name = operation.tool.as_deref().unwrap_or(&operation.method);
        format!(
            "{first} {} {name} calls={calls} news={news} {duration_us}us person={person_us}us ended={ended}",
            kind.name()
        )
    }

    fn modern(id: u64, more: &str) -> String {
        format!(
            r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{{"name":"book","arguments":{{"a":1}},"_meta":{{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}{more}}}}}"#
        )
    }

    fn result(id: u64, result: &str) -> String {
        format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{result}}}"#)
    }

    #[test]
    fn round_trips_are_linked_by_the_exact_state() {
        let (told, members) = operations(&[
            message("in", 0, &modern(1, "")),
            message("in", 1, &modern(2, "")),
            message("out", 10, &result(1, r#"{"resultType":"input_required","requestState":"a\u0062"}"#)),
            // The same text, in other bytes, is another state.
            message("in", 20, &modern(3, r#","inputResponses":{},"requestState":"ab""#)),
            message("in", 50, &modern(4, r#","inputResponses":{},"requestState":"a\u0062""#)),
            message("out", 60, &result(4, r#"{"resultType":"complete","content":[]}"#)),
        ]);
        assert_eq!(told, ["1 round-trips book calls=2 news=0 60us person=40us ended=true"]);
        assert_eq!(members, [(3, 1), (5, 1), (6, 1)]);
    }

    #[test]
    fn round_trips_without_a_state_are_linked_by_what_is_asked() {
        let (told, _) = operations(&[
            message("in", 0, &modern(1, "")),
            message("out", 10, &result(1, r#"{"resultType":"input_required","inputRequests":{}}"#)),
            message("in", 15, &modern(2, "")),
            message("in", 30, &modern(3, r#","inputResponses":{"x":{}}"#)),
            message("out", 40, &result(3, "{}")),
        ]);
        assert_eq!(told, ["1 round-trips book calls=2 news=0 40us person=20us ended=true"]);
    }

    #[test]
    fn a_task_is_known_by_its_id() {
        let asks = |id: u64, method: &str, params: &str| {
            format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"{method}","params":{params}}}"#)
        };
        let (told, members) = operations(&[
            message("in", 0, &asks(1, "tools/call", r#"{"name":"long","task":{"ttl":1}}"#)),
            message("out", 5, &result(1, r#"{"task":{"taskId":"t","status":"working"}}"#)),
            message("in", 10, &asks(2, "tasks/get", r#"{"taskId":"t"}"#)),
            message("out", 12, &result(2, r#"{"taskId":"t","status":"working"}"#)),
            message(
                "out",
                20,
                r#"{"jsonrpc":"2.0","method":"notifications/tasks/status","params":{"taskId":"t"}}"#,
            ),
            message("in", 30, &asks(3, "tasks/result", r#"{"taskId":"t"}"#)),
            message("out", 40, &result(3, r#"{"content":[]}"#)),
        ]);
        assert_eq!(told, ["1 task long calls=3 news=1 40us person=0us ended=true"]);
        assert_eq!(members.len(), 6);
    }

    #[test]
    fn subscriptions_last_until_nobody_wants_them() {
        let asks = |id: u64, method: &str| {
            format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"{method}","params":{{"uri":"a://b"}}}}"#)
        };
        let updated =
            r#"{"jsonrpc":"2.0","method":"notifications/resources/updated","params":{"uri":"a://b"}}"#;
        let (told, _) = operations(&[
            message("in", 0, &asks(1, "resources/subscribe")),
            message("out", 1, &result(1, "{}")),
            message("out", 10, updated),
            message("out", 20, updated),
            message("in", 30, &asks(2, "resources/unsubscribe")),
            message("out", 31, &result(2, "{}")),
            message("out", 40, updated),
        ]);
        assert_eq!(told, ["1 subscription resources/subscribe calls=2 news=2 31us person=0us ended=true"]);
        let (told, _) = operations(&[
            message("in", 0, r#"{"jsonrpc":"2.0","id":7,"method":"subscriptions/listen","params":{}}"#),
            message(
                "out",
                5,
                r#"{"jsonrpc":"2.0","method":"notifications/tools/list_changed","params":{"_meta":{"io.modelcontextprotocol/subscriptionId":7}}}"#,
            ),
        ]);
        assert_eq!(told, ["1 subscription subscriptions/listen calls=1 news=1 5us person=0us ended=false"]);
    }
}
