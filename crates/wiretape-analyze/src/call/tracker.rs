//! Pairs requests and responses as they come.

use super::open::Open;
use super::{Asked, Call, Observed, Outcome, Place};
use std::collections::hash_map::Entry;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;
use wiretape_trace::format::{Exchange, HttpContext, Message, Meta, Record, Stamp};
use wiretape_trace::message::{Direction, Envelope, Id, MessageKind, payloads};
use wiretape_trace::value::Value;

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
///     tracker.observe_record(line, &parse_line(bytes), |_, _, observed| closed.extend(observed.closed().cloned()));
/// }
/// assert_eq!((closed[0].outcome, closed[0].latency_us), (Outcome::Ok, Some(42)));
/// assert_eq!(tracker.finish().count(), 0);
/// ```
#[derive(Debug, Default)]
pub struct CallTracker {
    /// The calls that are open, by number: those that the client asked, and those that the server asked.
    open: [BTreeMap<u64, Box<Open>>; 2],
    /// Their numbers: by id, by the exchange that they came in, by progress token.
    ids: HashMap<Key, Numbers>,
    exchanges: HashMap<u64, BTreeSet<u64>>,
    tokens: HashMap<(Direction, Id<'static>), u64>,
    requests: u64,
    by_text: bool,
    /// The session that was named last, for most messages belong to the same.
    session: Option<Arc<str>>,
}

type Key = (Direction, Option<Arc<str>>, Id<'static>);

/// The open calls with one id: one, but where several clients without a session share a trace.
#[derive(Debug)]
enum Numbers {
    One(u64),
    Several(BTreeSet<u64>),
}

impl Numbers {
    fn last(&self) -> Option<u64> {
        match self {
            Numbers::One(number) => Some(*number),
            Numbers::Several(numbers) => numbers.last().copied(),
        }
    }

    fn add(&mut self, number: u64) {
        match self {
            Numbers::One(other) => *self = Numbers::Several(BTreeSet::from([*other, number])),
            Numbers::Several(numbers) => drop(numbers.insert(number)),
        }
    }

    /// Takes one out, and says whether there is none left.
    fn remove(&mut self, number: u64) -> bool {
        match self {
            Numbers::One(other) => *other == number,
            Numbers::Several(numbers) => {
                numbers.remove(&number);
                numbers.is_empty()
            }
        }
    }
}

/// Where a payload comes from.
struct Source<'s> {
    place: Place,
    stamp: &'s Stamp<'s>,
    direction: Direction,
    session: Option<Arc<str>>,
    exchange: Option<u64>,
    bytes: u64,
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
        self.open.iter().map(BTreeMap::len).sum()
    }

    /// The open call of this number.
    pub fn open_call(&self, number: u64) -> Option<&Call> {
        self.open.iter().find_map(|open| open.get(&number)).map(|open| &open.call)
    }

    /// The number of the client's call during which the server says something: that of the same HTTP exchange, else the one
    /// that was opened last and is still open.
    pub fn during(&self, message: &Message<'_>) -> Option<u64> {
        let in_exchange = message.http.and_then(exchange_of).and_then(|exchange| self.last_in(exchange));
        in_exchange.or_else(|| self.last_of_client())
    }

    fn last_in(&self, exchange: u64) -> Option<u64> {
        self.exchanges.get(&exchange).and_then(BTreeSet::last).copied()
    }

    fn last_of_client(&self) -> Option<u64> {
        self.open[side(Direction::ClientToServer)].last_key_value().map(|(number, _)| *number)
    }

    /// Takes the next record; `each` is told of the payloads of a message. Returns the calls that an HTTP exchange ended.
    pub fn observe_record<'a>(
        &mut self,
        line: u64,
        record: &Record<'a>,
        each: impl FnMut(&'a [u8], Envelope<'a>, Observed),
    ) -> Vec<Call> {
        match record {
            Record::Meta(meta) => self.observe_meta(meta),
            Record::Message(message) => self.observe_message(line, message, each),
            Record::Http(exchange) => return self.observe_exchange(line, exchange),
            _ => {}
        }
        Vec::new()
    }

    /// Takes the next message; `each` is told of its payload, or of each payload of a batch.
    pub fn observe_message<'a>(
        &mut self,
        line: u64,
        message: &Message<'a>,
        mut each: impl FnMut(&'a [u8], Envelope<'a>, Observed),
    ) {
        let Some(direction) = message.dir.known() else {
            payloads(message.raw).into_iter().for_each(|raw| each(raw, Envelope::scan(raw), Observed::Other));
            return;
        };
        let mut source = Source {
            place: Place { line, seq: message.stamp.seq },
            stamp: &message.stamp,
            direction,
            session: self.session_of(message),
            exchange: message.http.and_then(exchange_of),
            bytes: 0,
        };
        for raw in payloads(message.raw) {
            let envelope = Envelope::scan(raw);
            source.bytes = raw.len() as u64;
            let observed = self.observe(&source, &envelope);
            each(raw, envelope, observed);
        }
    }

    fn session_of(&mut self, message: &Message<'_>) -> Option<Arc<str>> {
        let name = message.session.as_deref()?;
        if self.session.as_deref() != Some(name) {
            self.session = Some(Arc::from(name));
        }
        self.session.clone()
    }

    /// Takes the next word on an HTTP exchange. Returns the calls that it ended: those that failed by a status.
    pub fn observe_exchange(&mut self, line: u64, exchange: &Exchange<'_>) -> Vec<Call> {
        if self.exchanges.is_empty() {
            return Vec::new();
        }
        let context = HttpContext::parse(exchange.http);
        if let Some(before) = context.again {
            let session = exchange.session.as_deref().map(Arc::from);
            self.carry_over(before, context.x, session.as_ref());
        }
        let Some(ended) = context.ended.as_deref() else { return Vec::new() };
        let numbers = self.exchanges.get(&context.x).cloned().unwrap_or_default();
        let status = context.response.as_ref().map(|response| response.status);
        match (ended, status) {
            ("client-closed" | "stopped", _) => self.doom(&numbers, Outcome::Disconnected),
            // The server could not be reached, or broke off: what the client was told is the proxy's own.
            ("unreachable" | "refused" | "upstream-closed" | "too-large", status) => {
                self.doom(&numbers, Outcome::HttpError { status: status.unwrap_or(502) });
            }
            ("timeout", _) => self.doom(&numbers, Outcome::TimedOut),
            (_, Some(status)) if status >= 400 => {
                let place = Place { line, seq: exchange.stamp.seq };
                let bytes = context.response_body.as_ref().map(|body| body.bytes);
                let failed = |open: Box<Open>| open.failed(place, &exchange.stamp, status, bytes);
                return numbers.iter().filter_map(|number| self.close(*number)).map(failed).collect();
            }
            _ => {}
        }
        Vec::new()
    }

    /// An exchange sends again what another has sent: from now on its calls are that one's, in that one's session. So what the
    /// first was answered, a 405 or a 404, ends none of them.
    fn carry_over(&mut self, before: u64, now: u64, session: Option<&Arc<str>>) {
        let Some(numbers) = self.exchanges.remove(&before) else { return };
        for number in &numbers {
            let Some(open) = self.open_mut(*number) else { continue };
            open.exchange = Some(now);
            let old = std::mem::replace(&mut open.call.session, session.cloned());
            let Some(id) = open.call.id.clone() else { continue };
            let direction = open.call.direction;
            let old = (direction, old, id.clone());
            if self.ids.get_mut(&old).is_some_and(|numbers| numbers.remove(*number)) {
                self.ids.remove(&old);
            }
            match self.ids.entry((direction, session.cloned(), id)) {
                Entry::Occupied(mut numbers) => numbers.get_mut().add(*number),
                Entry::Vacant(place) => {
                    place.insert(Numbers::One(*number));
                }
            }
        }
        self.exchanges.entry(now).or_default().extend(numbers);
    }

    fn doom(&mut self, numbers: &BTreeSet<u64>, fate: Outcome) {
        for number in numbers {
            if let Some(open) = self.open_mut(*number) {
                open.fate = open.fate.or(Some(fate));
            }
        }
    }

    fn observe(&mut self, source: &Source<'_>, envelope: &Envelope<'_>) -> Observed {
        match envelope.kind {
            MessageKind::Request => self.request(source, envelope),
            MessageKind::Response => self.response(source, envelope),
            MessageKind::Notification => match envelope.method.as_deref() {
                Some("notifications/progress") => self.progress(source, envelope),
                Some("notifications/cancelled") => self.cancellation(source, envelope),
                _ => Observed::Other,
            },
            _ => Observed::Other,
        }
    }

    /// The calls that are still open when the recording ends, in the order of their requests.
    pub fn finish(self) -> impl Iterator<Item = Call> {
        let [mut open, mut of_server] = self.open;
        open.append(&mut of_server);
        open.into_values().map(|open| open.unanswered(Outcome::Pending))
    }

    /// The calls that are open, as they would be if the recording ended now.
    pub fn as_if_ended(&self) -> impl Iterator<Item = Call> {
        self.open.iter().flat_map(BTreeMap::values).map(|open| open.as_if_ended(Outcome::Pending))
    }

    fn request(&mut self, source: &Source<'_>, envelope: &Envelope<'_>) -> Observed {
        self.requests += 1;
        let number = self.requests;
        let method = envelope.method.as_deref().unwrap_or_default();
        let id = envelope.id.clone().map(|id| self.key(id));
        let call = Call {
            number,
            direction: source.direction,
            id: id.clone(),
            session: source.session.clone(),
            method: method.to_owned(),
            tool: envelope.tool().map(str::to_owned),
            request: source.place,
            asked: Asked::of(source.stamp),
            response: None,
            latency_us: None,
            outcome: Outcome::Pending,
            request_bytes: source.bytes,
            response_bytes: None,
            parent: self.parent(source, method),
            nested: 0,
            progress: 0,
            cancelled: None,
            person_us: 0,
            client_us: 0,
            elsewhere: false,
        };
        let Some(id) = id else {
            let call = Call { outcome: Outcome::Abandoned, ..call };
            return Observed::Request { number, abandoned: Some(Box::new(call)) };
        };
        let abandoned = self.begin(source, call, id, envelope);
        Observed::Request { number, abandoned: abandoned.map(Box::new) }
    }

    /// Opens a call; returns the one that had its id.
    fn begin(
        &mut self,
        source: &Source<'_>,
        call: Call,
        id: Id<'static>,
        envelope: &Envelope<'_>,
    ) -> Option<Call> {
        let key = (source.direction, source.session.clone(), id);
        let older =
            self.ids.get(&key).and_then(Numbers::last).filter(|older| self.shares_ids(*older, source));
        let older = older.and_then(|number| self.close(number));
        let number = call.number;
        let token = envelope.progress_token.clone().map(Id::into_owned);
        if let Some(token) = token.clone() {
            self.tokens.insert((source.direction, token), number);
        }
        if let Some(exchange) = source.exchange {
            self.exchanges.entry(exchange).or_default().insert(number);
        }
        match self.ids.entry(key) {
            Entry::Occupied(mut numbers) => numbers.get_mut().add(number),
            Entry::Vacant(place) => {
                place.insert(Numbers::One(number));
            }
        }
        let open = Open::new(call, source.exchange, token);
        self.open[side(source.direction)].insert(number, Box::new(open));
        older.map(|open| Call { outcome: Outcome::Abandoned, ..open.call })
    }

    /// Takes a call out of those that are open.
    fn close(&mut self, number: u64) -> Option<Box<Open>> {
        let mut open = self.open.iter_mut().find_map(|open| open.remove(&number))?;
        if let Some(id) = open.call.id.take() {
            let key = (open.call.direction, open.call.session.take(), id);
            if self.ids.get_mut(&key).is_some_and(|numbers| numbers.remove(number)) {
                self.ids.remove(&key);
            }
            (open.call.session, open.call.id) = (key.1, Some(key.2));
        }
        if let Some(token) = open.token.clone() {
            let token = (open.call.direction, token);
            if self.tokens.get(&token) == Some(&number) {
                self.tokens.remove(&token);
            }
        }
        if let Some(exchange) = open.exchange
            && let Some(numbers) = self.exchanges.get_mut(&exchange)
        {
            numbers.remove(&number);
            if numbers.is_empty() {
                self.exchanges.remove(&exchange);
            }
        }
        Some(open)
    }

    /// Whether an open call and a new request can't both have an id. Without a session, those who send requests in
    /// exchanges of their own may be different clients.
    fn shares_ids(&self, older: u64, source: &Source<'_>) -> bool {
        let exchange = self.open[side(source.direction)].get(&older).and_then(|open| open.exchange);
        source.session.is_some() || exchange.is_none() || exchange == source.exchange
    }

    fn open_mut(&mut self, number: u64) -> Option<&mut Open> {
        self.open.iter_mut().find_map(|open| open.get_mut(&number)).map(Box::as_mut)
    }

    /// The call during which the server asks something; it is told of that.
    fn parent(&mut self, source: &Source<'_>, method: &str) -> Option<u64> {
        if source.direction != Direction::ServerToClient || method == "ping" {
            return None;
        }
        let number = match source.exchange {
            Some(exchange) => self.last_in(exchange),
            None => self.last_of_client(),
        }?;
        self.open_mut(number)?.nested_begins(method, source.stamp);
        Some(number)
    }

    fn response(&mut self, source: &Source<'_>, envelope: &Envelope<'_>) -> Observed {
        let asker = source.direction.reverse();
        let by_id = envelope.id.clone().and_then(|id| self.asked(asker, source, id));
        let Some(number) = by_id.or_else(|| self.refused(source, envelope)) else { return Observed::Orphan };
        let Some(open) = self.close(number) else { return Observed::Orphan };
        if let Some(parent) = open.call.parent.and_then(|parent| self.open_mut(parent)) {
            parent.nested_ends(&open.call.method, source.stamp);
        }
        let call = open.answered(source.place, source.stamp, source.bytes, source.exchange, envelope);
        Observed::Answer(Box::new(call))
    }

    /// The call that an error answers by being all that there is in its exchange: servers that refuse a request before they
    /// read it can't repeat its id.
    fn refused(&self, source: &Source<'_>, envelope: &Envelope<'_>) -> Option<u64> {
        let numbers = self.exchanges.get(&source.exchange?)?;
        let is_alone = envelope.error.is_some() && numbers.len() == 1;
        numbers.first().copied().filter(|_| is_alone && source.direction == Direction::ServerToClient)
    }

    /// The number of the open call with this id. A session is given to `initialize` by its answer, so that the request has
    /// none yet; and where only one side's messages name it, the other side's are its too.
    fn asked(&self, asker: Direction, source: &Source<'_>, id: Id<'_>) -> Option<u64> {
        let mut key = (asker, source.session.clone(), self.key(id));
        self.with_key(&key, source.exchange).or_else(|| {
            key.1 = if source.session.is_some() { None } else { self.session.clone() };
            self.with_key(&key, source.exchange)
        })
    }

    /// Of several, the one in this exchange is meant; else the one that was opened last.
    fn with_key(&self, key: &Key, exchange: Option<u64>) -> Option<u64> {
        let numbers = self.ids.get(key)?;
        let Numbers::Several(several) = numbers else { return numbers.last() };
        let in_exchange = exchange.and_then(|exchange| self.exchanges.get(&exchange));
        let meant = in_exchange.and_then(|numbers| numbers.iter().find(|number| several.contains(number)));
        meant.copied().or_else(|| numbers.last())
    }

    fn progress(&mut self, source: &Source<'_>, envelope: &Envelope<'_>) -> Observed {
        let token =
            envelope.progress_token.clone().map(|token| (source.direction.reverse(), token.into_owned()));
        let of = token.and_then(|token| self.tokens.get(&token).copied());
        if let Some(open) = of.and_then(|number| self.open_mut(number)) {
            open.call.progress += 1;
        }
        Observed::Progress { of }
    }

    /// Who asked may say that nothing need be answered any more.
    fn cancellation(&mut self, source: &Source<'_>, envelope: &Envelope<'_>) -> Observed {
        let params = envelope.params.and_then(|params| Value::parse(params).ok());
        let id = params.and_then(|params| params.get("requestId")).and_then(id_of);
        let of = id.and_then(|id| self.asked(source.direction, source, id));
        if let Some(open) = of.and_then(|number| self.open_mut(number)) {
            let reason = params.and_then(|params| params.get("reason")).and_then(Value::string);
            open.fate = Some(match reason {
                Some(reason) if tells_of_time(&reason) => Outcome::TimedOut,
                _ => Outcome::Cancelled,
            });
            open.call.cancelled = Some(source.place);
        }
        Observed::Cancellation { of }
    }
}

fn side(direction: Direction) -> usize {
    match direction {
        Direction::ClientToServer => 0,
        Direction::ServerToClient => 1,
    }
}

fn id_of(value: Value<'_>) -> Option<Id<'_>> {
    match value.string() {
        Some(text) => Some(Id::String(text)),
        None if value.is_number() => Some(Id::Number(String::from_utf8_lossy(value.raw))),
        None => None,
    }
}

/// Whether a reason to cancel is that it took too long. Clients say so in words of their own, and in no other way.
fn tells_of_time(reason: &str) -> bool {
    let reason = reason.to_ascii_lowercase();
    ["timed out", "timeout", "time out", "deadline"].iter().any(|words| reason.contains(words))
}

/// The number of the exchange that a line's `http` tells of. It stands first where this program wrote it.
fn exchange_of(http: &[u8]) -> Option<u64> {
    if let Some(rest) = http.strip_prefix(b"{\"x\":") {
        let digits = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
        return std::str::from_utf8(&rest[..digits]).ok()?.parse().ok();
    }
    let x = Value::parse(http).ok()?.get("x")?;
    std::str::from_utf8(x.raw).ok()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{for_each_message, for_each_record, message};
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
        told.extend(tracker.finish().map(|call| describe(&call)));
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

    /// A line of a session, in an exchange.
    fn http(dir: &str, us: u64, session: Option<&str>, x: u64, raw: &str) -> String {
        let session = session.map(|session| format!(r#","session":"{session}""#)).unwrap_or_default();
        format!(r#"{{"dir":"{dir}","us":{us}{session},"http":{{"x":{x}}},"raw":{raw}}}"#)
    }

    #[test]
    fn ids_are_paired_per_session() {
        check(
            &[
                http("in", 0, Some("a"), 1, PING),
                http("in", 1, Some("b"), 2, PING),
                http("out", 5, Some("b"), 2, PONG),
                http("out", 9, Some("a"), 1, PONG),
                http("out", 9, Some("c"), 3, PONG),
            ],
            &["2 → ping 2 Ok 3 Some(4)", "1 → ping 2 Ok 4 Some(9)", "5 orphan"],
        );
    }

    #[test]
    fn a_session_that_one_side_names_is_the_others_too() {
        check(
            &[
                http("in", 0, None, 1, r#"{"jsonrpc":"2.0","id":1,"method":"initialize"}"#),
                http("out", 1, Some("a"), 1, r#"{"jsonrpc":"2.0","id":1,"result":{}}"#),
                http("in", 2, Some("a"), 2, PING),
                http("out", 3, None, 2, PONG),
            ],
            &["1 → initialize 1 Ok 2 Some(1)", "3 → ping 2 Ok 4 Some(1)"],
        );
    }

    fn cancelled(id: &str, reason: &str) -> String {
        format!(
            r#"{{"jsonrpc":"2.0","method":"notifications/cancelled","params":{{"requestId":{id},"reason":"{reason}"}}}}"#
        )
    }

    #[test]
    fn what_was_cancelled_stays_so_and_an_answer_is_late() {
        check(
            &[message("in", 0, PING), message("in", 5, &cancelled("2", "User aborted"))],
            &["1 → ping 2 Cancelled - None"],
        );
        check(
            &[message("in", 0, PING), message("in", 5, &cancelled("2", "McpError: Request timed out"))],
            &["1 → ping 2 TimedOut - None"],
        );
        check(
            &[message("in", 0, PING), message("in", 5, &cancelled("2", "")), message("out", 9, PONG)],
            &["1 → ping 2 Late 3 Some(9)"],
        );
        // Only who asked can cancel, and only what is open.
        check(
            &[
                message("in", 0, PING),
                message("out", 5, &cancelled("2", "")),
                message("in", 6, &cancelled(r#""2""#, "")),
                message("out", 9, PONG),
            ],
            &["1 → ping 2 Ok 4 Some(9)"],
        );
    }

    fn last_call(lines: &[String]) -> Call {
        let mut tracker = CallTracker::new();
        let mut last = None;
        for_each_message(lines, |line, message| {
            tracker.observe_message(line, message, |_, _, observed| {
                last = observed.closed().cloned().or(last.take());
            });
        });
        last.unwrap()
    }

    #[test]
    fn progress_and_requests_belong_to_the_call_during_which_they_came() {
        let call = r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"ask","_meta":{"progressToken":"t"}}}"#;
        let progress = r#"{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"t","progress":1}}"#;
        let asks = |id: u64, method: &str| format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"{method}"}}"#);
        let answers = |id: u64| format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{}}}}"#);
        let call = last_call(&[
            message("in", 100, call),
            message("out", 110, progress),
            message("out", 120, &asks(1, "sampling/createMessage")),
            message("out", 130, &asks(2, "elicitation/create")),
            message("out", 131, &asks(3, "ping")),
            message("in", 170, &answers(2)),
            message("in", 180, &answers(1)),
            message("out", 190, progress),
            message("out", 200, &answers(1)),
        ]);
        assert_eq!((call.tool.as_deref(), call.progress, call.nested), (Some("ask"), 2, 2));
        // While both were open, a person was waited for.
        assert_eq!((call.latency_us, call.person_us, call.client_us), (Some(100), 40, 20));
        assert_eq!(call.own_us(), Some(40));
    }

    #[test]
    fn requests_of_the_server_name_their_call() {
        let nested = |exchange: u64| {
            let ask = r#"{"jsonrpc":"2.0","id":7,"method":"roots/list"}"#;
            last_call(&[
                http("in", 0, None, 1, PING),
                http("in", 1, None, 2, r#"{"jsonrpc":"2.0","id":3,"method":"tools/list"}"#),
                http("out", 2, None, exchange, ask),
                http("in", 3, None, 9, r#"{"jsonrpc":"2.0","id":7,"result":{}}"#),
            ])
        };
        assert_eq!((nested(1).parent, nested(2).parent, nested(3).parent), (Some(1), Some(2), None));
    }

    #[test]
    fn http_ends_calls_too() {
        let ends = |x: u64, rest: &str| format!(r#"{{"type":"http","us":50,"http":{{"x":{x},{rest}}}}}"#);
        let outcome = |end: &str| {
            let mut tracker = CallTracker::new();
            let mut ended = Vec::new();
            for_each_record(&[http("in", 10, None, 1, PING), end.to_owned()], |line, record| {
                ended.extend(tracker.observe_record(line, record, |_, _, _| {}));
            });
            ended.extend(tracker.finish());
            (ended[0].outcome, ended[0].latency_us)
        };
        let failed = r#""response":{"status":500,"version":"1.1","headers":{}},"ended":"complete""#;
        assert_eq!(outcome(&ends(1, failed)), (Outcome::HttpError { status: 500 }, Some(40)));
        assert_eq!(outcome(&ends(2, failed)), (Outcome::Pending, None));
        assert_eq!(outcome(&ends(1, r#""ended":"client-closed""#)), (Outcome::Disconnected, None));
        assert_eq!(outcome(&ends(1, r#""ended":"timeout""#)), (Outcome::TimedOut, None));
        assert_eq!(outcome(&ends(1, r#""ended":"complete""#)), (Outcome::Pending, None));
    }

    /// A recorder that is refused may send the same message to another endpoint, or in a new session.
    #[test]
    fn a_message_that_is_sent_again_is_one_call() {
        let line =
            |session: &str, rest: &str| format!(r#"{{"type":"http","us":50{session},"http":{{{rest}}}}}"#);
        let refused = r#""x":1,"response":{"status":404,"version":"1.1","headers":{}},"ended":"complete""#;
        let failed = r#""x":2,"response":{"status":500,"version":"1.1","headers":{}},"ended":"complete""#;
        let again = line(r#","session":"new""#, r#""x":2,"again":1"#);
        let outcomes = |last: String| {
            let lines = [http("in", 10, Some("old"), 1, PING), again.clone(), line("", refused), last];
            let (mut tracker, mut told) = (CallTracker::new(), Vec::new());
            for_each_record(&lines, |line, record| {
                let mut answered = Vec::new();
                let ended = tracker.observe_record(line, record, |_, _, observed| {
                    answered.extend(observed.closed().map(describe));
                });
                told.extend(answered);
                told.extend(ended.iter().map(describe));
            });
            told.extend(tracker.finish().map(|call| describe(&call)));
            told
        };
        assert_eq!(outcomes(http("out", 90, Some("new"), 2, PONG)), ["1 → ping 2 Ok 4 Some(80)"]);
        assert_eq!(
            outcomes(line(r#","session":"new""#, failed)),
            ["1 → ping 2 HttpError { status: 500 } 4 Some(40)"]
        );
    }

    #[test]
    fn clients_without_a_session_may_use_the_same_ids() {
        check(
            &[
                http("in", 0, None, 1, PING),
                http("in", 1, None, 2, PING),
                http("out", 5, None, 1, PONG),
                http("out", 9, None, 2, PONG),
            ],
            &["1 → ping 2 Ok 3 Some(5)", "2 → ping 2 Ok 4 Some(8)"],
        );
        // In a session, and in one exchange, an id is one request's.
        check(
            &[http("in", 0, Some("s"), 1, PING), http("in", 1, Some("s"), 2, PING)],
            &["1 → ping 2 Abandoned - None", "2 → ping 2 Pending - None"],
        );
    }

    #[test]
    fn an_error_without_the_id_answers_what_is_alone_in_its_exchange() {
        let error = r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"no"}}"#;
        let tools = r#"{"jsonrpc":"2.0","id":3,"method":"tools/list"}"#;
        let answered = "1 → ping 2 ProtocolError { code: Some(-32600) } 2 Some(5)";
        check(&[http("in", 0, None, 1, PING), http("out", 5, None, 1, error)], &[answered]);
        check(
            &[http("in", 0, None, 1, PING), http("in", 0, None, 1, tools), http("out", 5, None, 1, error)],
            &["3 orphan", "1 → ping 2 Pending - None", "2 → tools/list 3 Pending - None"],
        );
        check(
            &[message("in", 0, PING), message("out", 5, error)],
            &["2 orphan", "1 → ping 2 Pending - None"],
        );
    }

    #[test]
    fn an_answer_on_another_stream_says_so() {
        assert!(!last_call(&[http("in", 0, None, 1, PING), http("out", 1, None, 1, PONG)]).elsewhere);
        assert!(last_call(&[http("in", 0, None, 1, PING), http("out", 1, None, 2, PONG)]).elsewhere);
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
