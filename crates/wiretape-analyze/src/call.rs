//! Where a request meets its response.
//!
//! Ids are paired per direction: the server's request 2 is not the client's request 2. The first response to a
//! request binds; a later one is an orphan. A request that takes the id of one that is still open abandons the
//! older one. Ids are compared as written: `1`, `1.0` and `"1"` are three ids. In imported traces they are compared by
//! their text, for not every program that wrote a transcript kept numbers and strings apart.

use std::collections::HashMap;
use wiretape_trace::format::{Message, Meta, Stamp};
use wiretape_trace::message::{Direction, Envelope, Id, MessageKind, payloads};

/// A request, and what became of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Call {
    /// Who asked.
    pub direction: Direction,
    /// The request's id; `None` if it has none that an answer could repeat.
    pub id: Option<Id<'static>>,
    /// The request's method; empty if that was not a string.
    pub method: String,
    /// The tool that a `tools/call` is for.
    pub tool: Option<String>,
    /// Where the request stands.
    pub request: Place,
    /// Where the response stands, if there is one.
    pub response: Option<Place>,
    /// Microseconds from request to response, if that is known.
    ///
    /// It is taken from the lines' `us` where both have one, and from the milliseconds of `t` otherwise. The two
    /// pipes of a server are read side by side, so `us` may run backwards by a little: that is 0. A wall clock
    /// that ran backwards says nothing: that is unknown.
    pub latency_us: Option<u64>,
    /// What became of it.
    pub outcome: Outcome,
    /// The size of the request's payload.
    pub request_bytes: u64,
    /// The size of the response's payload, if there is one.
    pub response_bytes: Option<u64>,
}

/// A line of a trace.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Place {
    /// Counts the lines of the file from 1.
    pub line: u64,
    /// The line's sequence number, if it has one.
    pub seq: Option<u64>,
}

/// What became of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Outcome {
    /// It has a result.
    Ok,
    /// It has a result that says `isError`: the tool failed.
    ToolError,
    /// It has an error: the protocol failed.
    ProtocolError {
        /// `error.code`, if that is an integer.
        code: Option<i64>,
    },
    /// There was no response when the trace ended.
    Pending,
    /// There can't be a response: its id was taken by a later request, or it has none that can be repeated.
    Abandoned,
}

impl Outcome {
    /// What a response says of itself.
    pub fn of_response(response: &Envelope<'_>) -> Self {
        if response.error.is_some() {
            Outcome::ProtocolError { code: response.error_code }
        } else if response.is_error {
            Outcome::ToolError
        } else {
            Outcome::Ok
        }
    }

    /// Its name, for other programs.
    pub fn name(self) -> &'static str {
        match self {
            Outcome::Ok => "ok",
            Outcome::ToolError => "tool-error",
            Outcome::ProtocolError { .. } => "protocol-error",
            Outcome::Pending => "no-response",
            Outcome::Abandoned => "abandoned",
        }
    }

    /// Whether it failed, by the tool's fault or the protocol's.
    pub fn is_error(self) -> bool {
        matches!(self, Outcome::ToolError | Outcome::ProtocolError { .. })
    }

    /// Whether there is no response.
    pub fn is_unanswered(self) -> bool {
        matches!(self, Outcome::Pending | Outcome::Abandoned)
    }
}

/// What a payload means to the calls around it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Observed {
    /// A request, open from now on; an older one under the same id is thereby abandoned.
    Request {
        /// The call that will not be answered: the older one, or this one if it has no usable id.
        abandoned: Option<Box<Call>>,
    },
    /// The response that completes a call.
    Answer(Box<Call>),
    /// A response that nobody waits for.
    Orphan,
    /// Neither a request nor a response, or of unknown direction.
    Other,
}

impl Observed {
    /// The call that came to its end here, if one did.
    pub fn closed(&self) -> Option<&Call> {
        match self {
            Observed::Request { abandoned } => abandoned.as_deref(),
            Observed::Answer(call) => Some(call),
            Observed::Orphan | Observed::Other => None,
        }
    }
}

/// Pairs the requests and responses of one recording.
///
/// It holds the open calls and nothing else, so its memory is bounded by them.
///
/// ```
/// use wiretape_analyze::call::{CallTracker, Observed, Outcome};
/// use wiretape_trace::format::{Record, parse_line};
/// use wiretape_trace::message::Envelope;
///
/// let trace = [
///     &br#"{"dir":"in","us":5,"raw":{"jsonrpc":"2.0","id":1,"method":"ping"}}"#[..],
///     br#"{"dir":"out","us":47,"raw":{"jsonrpc":"2.0","id":1,"result":{}}}"#,
/// ];
/// let mut tracker = CallTracker::new();
/// let mut closed = Vec::new();
/// for (line, bytes) in (1..).zip(trace) {
///     if let Record::Message(message) = parse_line(bytes) {
///         tracker.observe_message(line, &message, |_, _, observed| closed.extend(observed.closed().cloned()));
///     }
/// }
/// assert_eq!((closed[0].outcome, closed[0].latency_us), (Outcome::Ok, Some(42)));
/// assert!(tracker.finish().is_empty());
/// ```
#[derive(Debug, Default)]
pub struct CallTracker {
    open: HashMap<(Direction, Id<'static>), Open>,
    requests: u64,
    by_text: bool,
}

#[derive(Debug)]
struct Open {
    call: Call,
    /// Counts the requests of the recording.
    ordinal: u64,
    us: Option<u64>,
    wall_ms: Option<i64>,
}

impl CallTracker {
    /// A tracker at the start of a recording.
    pub fn new() -> Self {
        Self::default()
    }

    /// Says where the messages come from; to be called before they are told.
    pub fn observe_meta(&mut self, meta: &Meta) {
        self.by_text = meta.imported.is_some();
    }

    /// An id as it is compared, and as calls have it.
    pub fn key(&self, id: Id<'_>) -> Id<'static> {
        match id.into_owned() {
            Id::Number(text) if self.by_text => Id::String(text),
            id => id,
        }
    }

    /// How many calls are open.
    pub fn open_calls(&self) -> usize {
        self.open.len()
    }

    /// Takes the next message; `each` is told of its payload, or of each payload of a batch.
    pub fn observe_message<'a>(
        &mut self,
        line: u64,
        message: &Message<'a>,
        mut each: impl FnMut(&'a [u8], Envelope<'a>, Observed),
    ) {
        let direction = message.dir.known();
        for raw in payloads(message.raw) {
            let envelope = Envelope::scan(raw);
            let observed = match direction {
                Some(direction) => self.observe(line, &message.stamp, direction, raw.len(), &envelope),
                None => Observed::Other,
            };
            each(raw, envelope, observed);
        }
    }

    /// Takes the next payload, which is `bytes` long.
    pub fn observe(
        &mut self,
        line: u64,
        stamp: &Stamp<'_>,
        direction: Direction,
        bytes: usize,
        envelope: &Envelope<'_>,
    ) -> Observed {
        let place = Place { line, seq: stamp.seq };
        match envelope.kind {
            MessageKind::Request => self.request(place, stamp, direction, bytes as u64, envelope),
            MessageKind::Response => self.response(place, stamp, direction, bytes as u64, envelope),
            _ => Observed::Other,
        }
    }

    /// The calls that are still open when the recording ends, in the order of their requests.
    pub fn finish(self) -> Vec<Call> {
        let mut open: Vec<Open> = self.open.into_values().collect();
        open.sort_unstable_by_key(|open| open.ordinal);
        open.into_iter().map(|open| open.call).collect()
    }

    fn request(
        &mut self,
        place: Place,
        stamp: &Stamp<'_>,
        direction: Direction,
        bytes: u64,
        envelope: &Envelope<'_>,
    ) -> Observed {
        let id = envelope.id.clone().map(|id| self.key(id));
        let call = Call {
            direction,
            id: id.clone(),
            method: envelope.method.as_deref().unwrap_or_default().to_owned(),
            tool: envelope.tool().map(str::to_owned),
            request: place,
            response: None,
            latency_us: None,
            outcome: Outcome::Pending,
            request_bytes: bytes,
            response_bytes: None,
        };
        self.requests += 1;
        let abandoned = match id {
            Some(id) => {
                let open = Open { call, ordinal: self.requests, us: stamp.us, wall_ms: stamp.wall_ms() };
                self.open.insert((direction, id), open).map(|older| older.call)
            }
            None => Some(call),
        };
        let abandoned = abandoned.map(|call| Box::new(Call { outcome: Outcome::Abandoned, ..call }));
        Observed::Request { abandoned }
    }

    fn response(
        &mut self,
        place: Place,
        stamp: &Stamp<'_>,
        direction: Direction,
        bytes: u64,
        envelope: &Envelope<'_>,
    ) -> Observed {
        let Some(id) = envelope.id.clone() else { return Observed::Orphan };
        let key = self.key(id);
        let Some(open) = self.open.remove(&(direction.reverse(), key)) else {
            return Observed::Orphan;
        };
        Observed::Answer(Box::new(Call {
            response: Some(place),
            latency_us: open.latency_us(stamp),
            outcome: Outcome::of_response(envelope),
            response_bytes: Some(bytes),
            ..open.call
        }))
    }
}

impl Open {
    fn latency_us(&self, response: &Stamp<'_>) -> Option<u64> {
        if let (Some(from), Some(to)) = (self.us, response.us) {
            return Some(to.saturating_sub(from));
        }
        let ms = response.wall_ms()?.checked_sub(self.wall_ms?)?;
        u64::try_from(ms).ok()?.checked_mul(1000)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{for_each_message, message};
    use proptest::prelude::*;

    /// Each call in the order in which it came to its end, orphans as `orphan`.
    fn calls(lines: &[String]) -> Vec<String> {
        let mut tracker = CallTracker::new();
        let mut told = Vec::new();
        for_each_message(lines, |line, message| {
            tracker.observe_message(line, message, |_, _, observed| match observed {
                Observed::Orphan => told.push(format!("{line} orphan")),
                other => told.extend(other.closed().map(describe)),
            });
        });
        told.extend(tracker.finish().iter().map(describe));
        told
    }

    fn describe(call: &Call) -> String {
        let id = call.id.as_ref().map_or("-".to_owned(), ToString::to_string);
        let arrow = if call.direction == Direction::ClientToServer { '→' } else { '←' };
        let answer = call.response.map_or("-".to_owned(), |place| place.line.to_string());
        format!(
            "{} {arrow} {} {id} {:?} {answer} {:?}",
            call.request.line,
            call.tool.as_deref().unwrap_or(&call.method),
            call.outcome,
            call.latency_us
        )
    }

    fn check(lines: &[String], expected: &[&str]) {
        assert_eq!(calls(lines), expected);
    }

    const PING: &str = r#"{"jsonrpc":"2.0","id":2,"method":"ping"}"#;
    const PONG: &str = r#"{"jsonrpc":"2.0","id":2,"result":{}}"#;

    #[test]
    fn ids_are_paired_per_direction() {
        check(
            &[
                message("in", 10, PING),
                message("out", 20, PING),
                message("out", 35, PONG),
                message("in", 70, PONG),
            ],
            &["1 → ping 2 Ok 3 Some(25)", "2 ← ping 2 Ok 4 Some(50)"],
        );
    }

    #[test]
    fn a_response_in_its_requests_own_direction_is_an_orphan() {
        check(&[message("in", 0, PING), message("in", 1, PONG)], &["2 orphan", "1 → ping 2 Pending - None"]);
    }

    #[test]
    fn the_first_response_binds() {
        check(
            &[message("in", 0, PING), message("out", 1, PONG), message("out", 2, PONG)],
            &["1 → ping 2 Ok 2 Some(1)", "3 orphan"],
        );
    }

    #[test]
    fn an_id_used_again_while_open_abandons_the_older() {
        check(
            &[message("in", 0, PING), message("in", 5, PING), message("out", 9, PONG)],
            &["1 → ping 2 Abandoned - None", "2 → ping 2 Ok 3 Some(4)"],
        );
    }

    #[test]
    fn a_request_that_nobody_can_answer_is_abandoned_at_once() {
        check(
            &[
                message("in", 0, r#"{"jsonrpc":"2.0","id":null,"method":"ping"}"#),
                message("out", 1, r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"?"}}"#),
            ],
            &["1 → ping - Abandoned - None", "2 orphan"],
        );
    }

    #[test]
    fn ids_are_compared_as_written() {
        check(
            &[message("in", 0, PING), message("out", 1, r#"{"jsonrpc":"2.0","id":2.0,"result":{}}"#)],
            &["2 orphan", "1 → ping 2 Pending - None"],
        );
        check(
            &[
                message("in", 0, r#"{"jsonrpc":"2.0","id":"\u0061","method":"ping"}"#),
                message("out", 1, r#"{"jsonrpc":"2.0","id":"a","result":{}}"#),
            ],
            &[r#"1 → ping "a" Ok 2 Some(1)"#],
        );
    }

    #[test]
    fn failures_of_tool_and_protocol_are_told_apart() {
        let call = r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"add"}}"#;
        check(
            &[
                message("in", 0, call),
                message("out", 1, r#"{"jsonrpc":"2.0","id":1,"result":{"isError":true}}"#),
                message("in", 2, call),
                message("out", 3, r#"{"jsonrpc":"2.0","id":1,"error":{"code":-32602,"message":"no"}}"#),
            ],
            &["1 → add 1 ToolError 2 Some(1)", "3 → add 1 ProtocolError { code: Some(-32602) } 4 Some(1)"],
        );
    }

    #[test]
    fn each_payload_of_a_batch_counts() {
        check(
            &[
                message("in", 0, &format!(r#"[{PING},{{"jsonrpc":"2.0","id":3,"method":"tools/list"}}]"#)),
                message("out", 8, &format!(r#"[{{"jsonrpc":"2.0","id":3,"result":{{}}}}, {PONG}]"#)),
            ],
            &["1 → tools/list 3 Ok 2 Some(8)", "1 → ping 2 Ok 2 Some(8)"],
        );
    }

    #[test]
    fn latency_falls_back_to_wall_time_and_is_never_negative() {
        let at = |dir, t: &str, us: &str, raw| format!(r#"{{"t":"{t}","dir":"{dir}"{us},"raw":{raw}}}"#);
        let one = "2026-05-12T23:00:00.100Z";
        let two = "2026-05-12T23:00:00.250Z";
        check(
            &[at("in", one, r#","us":7"#, PING), at("out", two, "", PONG)],
            &["1 → ping 2 Ok 2 Some(150000)"],
        );
        check(&[at("in", two, "", PING), at("out", one, "", PONG)], &["1 → ping 2 Ok 2 None"]);
        check(&[at("in", "noon", "", PING), at("out", one, "", PONG)], &["1 → ping 2 Ok 2 None"]);
        check(
            &[at("in", two, r#","us":7"#, PING), at("out", one, r#","us":3"#, PONG)],
            &["1 → ping 2 Ok 2 Some(0)"],
        );
    }

    #[test]
    fn other_directions_are_left_alone() {
        check(&[message("event", 0, PING), message("out", 1, PONG)], &["2 orphan"]);
    }

    proptest! {
        #[test]
        fn nothing_panics_and_every_request_ends_once(
            picks in proptest::collection::vec((0usize..3, 0usize..8, any::<u32>()), 0..60),
        ) {
            let directions = ["in", "out", "event"];
            let payloads = [
                PING, PONG,
                r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"x"}}"#,
                r#"{"jsonrpc":"2.0","id":1,"error":{"code":1,"message":""}}"#,
                r#"{"id":null,"method":7}"#, r#"[{"id":2,"method":"a/b"},{"id":2,"method":"a/b"},[]]"#, "[]", "3",
            ];
            let lines: Vec<String> = picks
                .iter()
                .map(|&(dir, raw, us)| message(directions[dir], u64::from(us), payloads[raw]))
                .collect();
            let requests: usize = picks
                .iter()
                .filter(|pick| pick.0 < 2)
                .map(|pick| match pick.1 { 0 | 2 | 4 => 1, 5 => 2, _ => 0 })
                .sum();
            let told = calls(&lines);
            prop_assert_eq!(told.iter().filter(|call| !call.ends_with("orphan")).count(), requests);
        }
    }
}
