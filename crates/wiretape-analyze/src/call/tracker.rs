//! Matches responses to requests while a recording is read.
//!
//! Its shape follows from what a trace may contain:
//!
//! - Ids are unique per direction and session only, and even that is not certain: over HTTP without a session id, several
//!   clients share a trace and use the same ids. So pending calls with one id form a linked list, newest first, and a
//!   response in the same HTTP exchange wins over the newest.
//! - A trace may have a million pending calls, because a server hangs or a file is hostile. So the tracker holds one
//!   boxed entry per pending call, and its index stores hashes instead of keys. Completed calls are handed out at once.
//! - Consumers need their own data per call. It is kept in the same entry (`T`), which saves each of them a map with the same
//!   lifetime rules.
//!
//! What an outcome means is decided in `model` and `pending`; the order of events in [`crate::reading`].

use super::pending::{IdKey, NONE, Request};
use super::{Call, ClosingMeans, ObservedAt, Outcome, PendingCall, Place};
use crate::operation::Watch;
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::hash::{BuildHasher as _, BuildHasherDefault, Hasher, RandomState};
use std::sync::Arc;
use wiretape_trace::format::{Ended, HttpContext, Stamp};
use wiretape_trace::message::{Direction, Envelope, Id};
use wiretape_trace::protocol::{self, method};

/// The number of pending requests of an exchange that an error without a matching id is compared with.
const MAX_REJECTED: usize = 64;

/// Matches the responses and requests of one recording.
///
/// It holds only pending calls, so its memory is bounded by them. `T` is the consumer's own data per call.
#[derive(Debug)]
pub(crate) struct CallTracker<T> {
    /// Pending calls by number, of the client and of the server. Ordered, because the newest one is needed.
    open: [BTreeMap<u64, Box<Entry<T>>>; 2],
    /// The newest pending call of each id, by the hash of direction, session and id; older ones are linked to it. Hashes take
    /// a third of the memory of keys, which the calls store anyway ("pending" in `cargo xtask bench analyze`).
    ids: HashMap<u64, u64, BuildHasherDefault<HashedKey>>,
    // Random, because ids come from peers: with a known hash function, a trace could put all calls into one list.
    hashes: RandomState,
    exchanges: HashMap<u64, BTreeSet<u64>>,
    tokens: HashMap<(Direction, Id<'static>), u64>,
    requests: u64,
    by_text: bool,
    names: Names,
    /// The last session, shared by the calls: most messages belong to the same one.
    session: Option<Arc<str>>,
}

#[derive(Debug)]
struct Entry<T> {
    call: PendingCall,
    own: T,
}

/// The keys are hashes already; hashing them again would only cost time.
#[derive(Debug, Default)]
struct HashedKey(u64);

impl Hasher for HashedKey {
    fn write(&mut self, _: &[u8]) {
        unreachable!("the map has u64 keys, which hash by write_u64 alone");
    }

    fn write_u64(&mut self, key: u64) {
        self.0 = key;
    }

    fn finish(&self) -> u64 {
        self.0
    }
}

/// An id with the scope that it is unique in.
#[derive(Clone)]
struct Key {
    direction: Direction,
    session: Option<Arc<str>>,
    id: IdKey,
}

/// Interned names of methods and tools.
#[derive(Debug, Default)]
struct Names(HashSet<Arc<str>>);

impl Names {
    /// Names that are interned. A trace with a new name in every call must not fill the memory.
    const MOST: usize = 4096;

    fn get(&mut self, name: &str) -> Arc<str> {
        if let Some(known) = self.0.get(name) {
            return Arc::clone(known);
        }
        let name: Arc<str> = Arc::from(name);
        if self.0.len() < Self::MOST {
            self.0.insert(Arc::clone(&name));
        }
        name
    }
}

/// The position, time and scope of a payload.
pub(crate) struct PayloadSource<'s> {
    pub(crate) place: Place,
    pub(crate) stamp: &'s Stamp<'s>,
    pub(crate) direction: Direction,
    pub(crate) session: Option<Arc<str>>,
    pub(crate) exchange: Option<u64>,
    pub(crate) bytes: u64,
}

/// A new request, and the call that can't be answered because of it: the older call with its id, or the request itself if
/// it has no usable id.
pub(crate) struct Opened<T> {
    pub(crate) number: u64,
    pub(crate) unanswered: Option<(Call, T)>,
}

/// A call with its response.
pub(crate) struct Answered<T> {
    pub(crate) call: Call,
    pub(crate) own: T,
    /// What the answer means for its operation.
    pub(crate) watch: Option<Watch>,
}

/// The effect of an exchange's end on its pending calls.
pub(crate) enum ExchangeEffect<T> {
    /// They failed with the HTTP status.
    Failed(Vec<(Call, T)>),
    /// They have no answer, unless one comes on another stream.
    Doomed(BTreeSet<u64>),
}

impl<T> Default for CallTracker<T> {
    fn default() -> Self {
        CallTracker {
            open: Default::default(),
            ids: HashMap::default(),
            hashes: RandomState::new(),
            exchanges: HashMap::new(),
            tokens: HashMap::new(),
            requests: 0,
            by_text: false,
            names: Names::default(),
            session: None,
        }
    }
}

impl<T: Default> CallTracker<T> {
    /// Compares ids by their text from now on, for imported traces.
    pub(crate) fn compare_ids_by_text(&mut self) {
        self.by_text = true;
    }

    /// An id in the form in which it is compared.
    pub(crate) fn key(&self, id: Id<'_>) -> Id<'static> {
        match id.into_owned() {
            Id::Number(text) if self.by_text => Id::String(text),
            id => id.by_value(),
        }
    }

    fn id_key(&self, id: &Id<'_>) -> IdKey {
        match id {
            Id::Number(text) if self.by_text => IdKey::String(text.as_ref().into()),
            id => IdKey::of(id),
        }
    }

    /// The pending call with this number.
    pub(crate) fn pending(&self, number: u64) -> Option<&PendingCall> {
        self.open.iter().find_map(|open| open.get(&number)).map(|entry| &entry.call)
    }

    /// The pending call with this number, and the consumer's data.
    pub(crate) fn pending_mut(&mut self, number: u64) -> Option<(&mut PendingCall, &mut T)> {
        let entry = self.open.iter_mut().find_map(|open| open.get_mut(&number))?;
        Some((&mut entry.call, &mut entry.own))
    }

    /// All pending calls, per direction in the order of their requests.
    pub(crate) fn all_pending(&self) -> impl Iterator<Item = (&PendingCall, &T)> {
        self.open.iter().flat_map(BTreeMap::values).map(|entry| (&entry.call, &entry.own))
    }

    /// The client's call that a server message belongs to: the one in the same HTTP exchange, else the newest pending one.
    /// Over stdio nothing identifies it (MCP up to 2025-11-25), so this is a heuristic.
    pub(crate) fn during(&self, exchange: Option<u64>) -> Option<u64> {
        exchange.and_then(|exchange| self.last_in(exchange)).or_else(|| self.last_of_client())
    }

    /// Whether any pending call has an exchange.
    pub(crate) fn has_exchanges(&self) -> bool {
        !self.exchanges.is_empty()
    }

    /// Moves the calls of an exchange to the one that repeats it, and to that one's session. The answer to the first attempt, a
    /// 404 or 405, must not end them.
    pub(crate) fn carry_over(&mut self, before: u64, now: u64, session: Option<&str>) {
        let Some(numbers) = self.exchanges.remove(&before) else { return };
        let session = self.session(session);
        for number in &numbers {
            let Some(mut entry) = self.open.iter_mut().find_map(|open| open.remove(number)) else { continue };
            self.unlink(&entry.call);
            entry.call.carry_over(now, session.clone());
            self.link(&mut entry.call);
            self.open[side(entry.call.direction())].insert(*number, entry);
        }
        self.exchanges.entry(now).or_default().extend(numbers);
    }

    fn last_in(&self, exchange: u64) -> Option<u64> {
        self.exchanges.get(&exchange).and_then(BTreeSet::last).copied()
    }

    fn last_of_client(&self) -> Option<u64> {
        self.open[side(Direction::ClientToServer)].last_key_value().map(|(number, _)| *number)
    }

    /// The session that a line names, interned.
    pub(crate) fn session(&mut self, name: Option<&str>) -> Option<Arc<str>> {
        let name = name?;
        if self.session.as_deref() != Some(name) {
            self.session = Some(Arc::from(name));
        }
        self.session.clone()
    }

    /// Observes a request, which starts a call.
    pub(crate) fn request(&mut self, source: &PayloadSource<'_>, envelope: &Envelope<'_>) -> Opened<T> {
        self.requests += 1;
        let number = self.requests;
        // Numbers count requests without a usable id, too: consumers index their calls by it.
        let id = envelope.id.as_ref().map(|id| self.id_key(id));
        let method = envelope.method.as_deref().unwrap_or_default();
        let parent = self.parent(source, method);
        let has_id = id.is_some();
        let call = PendingCall::new(Request {
            number,
            direction: source.direction,
            // A placeholder that is never looked up: a call without an id is returned below, and not linked.
            id: id.unwrap_or(IdKey::Integer(0)),
            session: source.session.clone(),
            method: self.names.get(method),
            tool: envelope.tool().map(|tool| self.names.get(tool)),
            place: source.place,
            stamp: source.stamp,
            exchange: source.exchange,
            bytes: source.bytes,
            parent,
            closing: closing(envelope),
        });
        if !has_id {
            let call = call.unanswered(Outcome::Unanswered, ObservedAt::default());
            return Opened { number, unanswered: Some((Call { id: None, ..call }, T::default())) };
        }
        let unanswered = self.open(source, call, envelope);
        Opened { number, unanswered }
    }

    /// Adds a pending call. Returns the older call with its id, which can't be answered any more.
    fn open(
        &mut self,
        source: &PayloadSource<'_>,
        mut call: PendingCall,
        envelope: &Envelope<'_>,
    ) -> Option<(Call, T)> {
        let key = Key { direction: source.direction, session: source.session.clone(), id: call.id.clone() };
        // Looked up before the new call is linked: afterwards, `newest` would return the new call itself.
        let older = self.newest(&key).filter(|older| self.shares_ids(*older, source));
        let older = older.and_then(|number| self.close(number));
        let number = call.number;
        if let Some(token) = envelope.progress_token.clone().map(Id::into_owned) {
            // The newest request with a token gets its progress: a token must be unique among active requests (MCP,
            // progress), so an older one with the same token is most likely over.
            self.tokens.insert((source.direction, token.clone()), number);
            call.rare().token = Some(token);
        }
        if let Some(exchange) = source.exchange {
            self.exchanges.entry(exchange).or_default().insert(number);
        }
        self.link(&mut call);
        self.open[side(source.direction)].insert(number, Box::new(Entry { call, own: T::default() }));
        older.map(|entry| {
            (entry.call.unanswered(Outcome::Unanswered, ObservedAt::of(source.stamp)), entry.own)
        })
    }

    fn hash(&self, key: &Key) -> u64 {
        self.hashes.hash_one((key.direction, &key.session, &key.id))
    }

    /// The pending calls with this key, newest first.
    fn with_key<'t>(&'t self, key: &'t Key) -> impl Iterator<Item = &'t PendingCall> {
        let newest = self.ids.get(&self.hash(key)).and_then(|number| self.pending(*number));
        let older = |call: &&'t PendingCall| (call.older != NONE).then(|| self.pending(call.older)).flatten();
        std::iter::successors(newest, older).filter(move |call| {
            // Hashes may collide, so the key is compared, too.
            call.direction() == key.direction && call.session() == key.session.as_ref() && call.id == key.id
        })
    }

    fn newest(&self, key: &Key) -> Option<u64> {
        self.with_key(key).next().map(PendingCall::number)
    }

    /// Removes a pending call from all indexes.
    fn close(&mut self, number: u64) -> Option<Box<Entry<T>>> {
        let entry = self.open.iter_mut().find_map(|open| open.remove(&number))?;
        let call = &entry.call;
        self.unlink(call);
        if let Some(token) = call.token() {
            let token = (call.direction(), token.clone());
            // A later request may have reused the token; that entry is not ours to remove.
            if self.tokens.get(&token) == Some(&number) {
                self.tokens.remove(&token);
            }
        }
        if let Some(exchange) = call.exchange()
            && let Some(numbers) = self.exchanges.get_mut(&exchange)
        {
            numbers.remove(&number);
            if numbers.is_empty() {
                self.exchanges.remove(&exchange);
            }
        }
        Some(entry)
    }

    /// Links a call as the newest with its id.
    fn link(&mut self, call: &mut PendingCall) {
        let key = Key { direction: call.direction(), session: call.session().cloned(), id: call.id.clone() };
        (call.older, call.newer) = (NONE, NONE);
        if let Some(before) = self.ids.insert(self.hash(&key), call.number()) {
            call.older = before;
            if let Some((before, _)) = self.pending_mut(before) {
                before.newer = call.number();
            }
        }
    }

    fn unlink(&mut self, call: &PendingCall) {
        if call.older != NONE
            && let Some((older, _)) = self.pending_mut(call.older)
        {
            older.newer = call.newer;
        }
        if call.newer != NONE
            && let Some((newer, _)) = self.pending_mut(call.newer)
        {
            newer.older = call.older;
            return;
        }
        let key = Key { direction: call.direction(), session: call.session().cloned(), id: call.id.clone() };
        let hash = self.hash(&key);
        if call.older == NONE {
            self.ids.remove(&hash);
        } else {
            self.ids.insert(hash, call.older);
        }
    }

    /// Whether a pending call and a new request share a scope of ids. Without a session, requests in different exchanges may
    /// come from different clients, which may use the same ids.
    fn shares_ids(&self, older: u64, source: &PayloadSource<'_>) -> bool {
        let exchange = self.pending(older).and_then(PendingCall::exchange);
        source.session.is_some() || exchange.is_none() || exchange == source.exchange
    }

    /// The call during which the server sends a request; counts it there. Pings don't belong to a call.
    fn parent(&mut self, source: &PayloadSource<'_>, method: &str) -> Option<u64> {
        if source.direction != Direction::ServerToClient || method == method::PING {
            return None;
        }
        // Over HTTP there is no fallback to the newest call, unlike in `during`: a request on another stream, such as
        // the GET stream, belongs to no call.
        let number = match source.exchange {
            Some(exchange) => self.last_in(exchange),
            None => self.last_of_client(),
        }?;
        self.pending_mut(number)?.0.nested_begins(method, source.stamp);
        Some(number)
    }

    /// Observes a response; `None` if no pending request matches.
    pub(crate) fn response(
        &mut self,
        source: &PayloadSource<'_>,
        envelope: &Envelope<'_>,
        outcome: Outcome,
    ) -> Option<Answered<T>> {
        let asker = source.direction.reverse();
        let by_id = envelope.id.as_ref().and_then(|id| self.find_by_id(asker, source, id));
        let number = by_id.or_else(|| self.find_rejected(source, envelope))?;
        let Entry { mut call, own } = *self.close(number)?;
        // The parent may be closed already: a cancelled call can still have nested requests in flight.
        if let Some(parent) = call.parent()
            && let Some((parent, _)) = self.pending_mut(parent)
        {
            let method = Arc::clone(call.method());
            parent.nested_ends(&method, source.stamp);
        }
        // The server assigns the session with its response (2025-03-26 to 2025-11-25, session management).
        if call.session.is_none() && &**call.method() == method::INITIALIZE {
            call.session.clone_from(&source.session);
        }
        let operation = call.operation();
        let watch = call.take_watch();
        let call =
            call.answered(source.place, source.stamp, source.bytes, source.exchange, envelope, outcome);
        Some(Answered { call: Call { operation, ..call }, own, watch })
    }

    /// A call that an error without a matching id answers. Servers that reject a request before they parse it can't repeat its
    /// id (JSON-RPC 2.0, section 5): an error without an id is about every request of its exchange. Some make up an id
    /// (Python SDK 1.x: `"server-error"`): that is about a request that is alone in its exchange.
    fn find_rejected(&self, source: &PayloadSource<'_>, envelope: &Envelope<'_>) -> Option<u64> {
        if envelope.error.is_none() || source.direction != Direction::ServerToClient {
            return None;
        }
        let of_client = |number: &&u64| self.open[side(Direction::ClientToServer)].contains_key(*number);
        // Bounded, as a server may have any number of requests pending on the same stream. The client's were the first.
        let numbers = self.exchanges.get(&source.exchange?)?.iter().take(MAX_REJECTED);
        let mut numbers = numbers.filter(of_client);
        let first = numbers.next().copied();
        first.filter(|_| envelope.id.is_none() || numbers.next().is_none())
    }

    /// The number of the pending call with this id. If there is none in the message's session, the request may lack the
    /// session: `initialize` gets it with its answer, and some traces name it for one side only.
    fn find_by_id(&self, asker: Direction, source: &PayloadSource<'_>, id: &Id<'_>) -> Option<u64> {
        let mut key = Key { direction: asker, session: source.session.clone(), id: self.id_key(id) };
        self.find_by_key(&key, source.exchange).or_else(|| {
            // The session that was named last is a guess; without it, such answers would all be orphans.
            key.session = if source.session.is_some() { None } else { self.session.clone() };
            self.find_by_key(&key, source.exchange)
        })
    }

    /// Of several calls with a key, the one in this exchange; else the newest.
    fn find_by_key(&self, key: &Key, exchange: Option<u64>) -> Option<u64> {
        let newest = self.newest(key)?;
        let in_exchange = exchange.and_then(|exchange| self.exchanges.get(&exchange));
        let is_match = |number: &&u64| {
            let call = self.pending(**number);
            call.is_some_and(|call| {
                call.direction() == key.direction
                    && call.session() == key.session.as_ref()
                    && call.id == key.id
            })
        };
        in_exchange.and_then(|numbers| numbers.iter().find(is_match)).copied().or(Some(newest))
    }

    /// Observes a progress notification. Returns its call.
    pub(crate) fn progress(&mut self, source: &PayloadSource<'_>, envelope: &Envelope<'_>) -> Option<u64> {
        let token = envelope.progress_token.clone()?.into_owned();
        let number = *self.tokens.get(&(source.direction.reverse(), token))?;
        self.pending_mut(number)?.0.note_progress();
        Some(number)
    }

    /// Observes a cancellation. Returns its call. Only the side that sent the request can cancel it.
    pub(crate) fn cancellation(
        &mut self,
        source: &PayloadSource<'_>,
        envelope: &Envelope<'_>,
    ) -> Option<u64> {
        let (id, reason) = protocol::cancellation(envelope.params?)?;
        let number = self.find_by_id(source.direction, source, &id)?;
        let outcome = Outcome::of_cancellation(reason.as_deref());
        self.pending_mut(number)?.0.cancel(outcome, source.place, source.stamp);
        Some(number)
    }

    /// Observes the end of an HTTP exchange. Returns the effect on its calls.
    pub(crate) fn exchange_ended(
        &mut self,
        place: Place,
        stamp: &Stamp<'_>,
        http: &HttpContext,
    ) -> ExchangeEffect<T> {
        let none = || ExchangeEffect::Failed(Vec::new());
        // An open stream may still bring the answer.
        let Some(ended) = http.ended() else { return none() };
        // Cloned, because `close` removes numbers from this set.
        let Some(numbers) = self.exchanges.get(&http.x).cloned() else { return none() };
        let status = http.response.as_ref().map(|response| response.status);
        // If the exchange didn't complete, the status is the proxy's own and not an answer of the server.
        if let Some(status) = status.filter(|status| *status >= 400 && ended == Ended::Complete) {
            let bytes = http.response_body.as_ref().map(|body| body.bytes);
            let closed = numbers.iter().filter_map(|number| self.close(*number));
            let failed = closed.map(|entry| (entry.call.failed(place, stamp, status, bytes), entry.own));
            return ExchangeEffect::Failed(failed.collect());
        }
        for number in &numbers {
            if let Some((call, _)) = self.pending_mut(*number)
                && let Some(outcome) = Outcome::of_exchange(ended, status, call.closing())
            {
                call.doom(outcome, status, stamp);
            }
        }
        ExchangeEffect::Doomed(numbers)
    }

    /// Closes all pending calls, in the order of their requests.
    pub(crate) fn close_all(
        &mut self,
        otherwise: Outcome,
        now: ObservedAt,
    ) -> impl Iterator<Item = (Call, T)> {
        let [mut open, mut of_server] = std::mem::take(&mut self.open);
        self.ids.clear();
        self.exchanges.clear();
        self.tokens.clear();
        // One map for both directions: numbers are unique across them, so the merge restores the order of the
        // requests.
        open.append(&mut of_server);
        open.into_values().map(move |entry| (entry.call.unanswered(otherwise, now), entry.own))
    }
}

/// A substring search instead of parsing: this runs for every request, and a false match changes only how a disconnect is
/// named.
fn closing(envelope: &Envelope<'_>) -> ClosingMeans {
    let names_revision = |params: &[u8]| {
        memchr::memmem::find(params, protocol::meta_key::PROTOCOL_VERSION.as_bytes()).is_some()
    };
    if envelope.params.is_some_and(names_revision) { ClosingMeans::Cancelling } else { ClosingMeans::Leaving }
}

fn side(direction: Direction) -> usize {
    match direction {
        Direction::ClientToServer => 0,
        Direction::ServerToClient => 1,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reading::{Analysis, Closed, Meaning, Seen};
    use crate::testing::{message, read};
    use proptest::prelude::*;

    /// Each call in the order in which it came to its end, orphans as `orphan`.
    #[derive(Default)]
    struct Told {
        lines: Vec<String>,
        calls: Vec<Call>,
    }

    impl Analysis for Told {
        type PerCall = ();

        fn seen(&mut self, seen: &Seen<'_, '_>, _: Option<&mut ()>) {
            if seen.meaning == Meaning::Orphan {
                self.lines.push(format!("{} orphan", seen.line.line.number));
            }
        }

        fn closed(&mut self, closed: &Closed<'_, '_>, (): ()) {
            self.lines.push(describe(closed.call));
            self.calls.push(closed.call.clone());
        }
    }

    fn calls(lines: &[String]) -> Vec<String> {
        read(Told::default(), lines).lines
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
            call.duration_us
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
        check(
            &[message("in", 0, PING), message("in", 1, PONG)],
            &["2 orphan", "1 → ping 2 Unanswered - Some(1)"],
        );
    }

    #[test]
    fn the_first_response_binds() {
        check(
            &[message("in", 0, PING), message("out", 1, PONG), message("out", 2, PONG)],
            &["1 → ping 2 Ok 2 Some(1)", "3 orphan"],
        );
    }

    #[test]
    fn an_id_used_again_while_open_leaves_the_older_unanswered() {
        check(
            &[message("in", 0, PING), message("in", 5, PING), message("out", 9, PONG)],
            &["1 → ping 2 Unanswered - Some(5)", "2 → ping 2 Ok 3 Some(4)"],
        );
    }

    #[test]
    fn a_request_that_can_not_be_answered_is_unanswered_at_once() {
        check(
            &[
                message("in", 0, r#"{"jsonrpc":"2.0","id":null,"method":"ping"}"#),
                message("out", 1, r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"?"}}"#),
            ],
            &["1 → ping - Unanswered - None", "2 orphan"],
        );
    }

    #[test]
    fn ids_are_compared_by_value() {
        check(
            &[message("in", 0, PING), message("out", 1, r#"{"jsonrpc":"2.0","id":2.0,"result":{}}"#)],
            &["1 → ping 2 Ok 2 Some(1)"],
        );
        check(
            &[message("in", 0, PING), message("out", 1, r#"{"jsonrpc":"2.0","id":"2","result":{}}"#)],
            &["2 orphan", "1 → ping 2 Unanswered - Some(1)"],
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
            &["1 → add 1 ToolError 2 Some(1)", "3 → add 1 ProtocolError 4 Some(1)"],
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
            &["1 → ping 2 Cancelled - Some(5)"],
        );
        check(
            &[message("in", 0, PING), message("in", 5, &cancelled("2", "McpError: Request timed out"))],
            &["1 → ping 2 TimedOut - Some(5)"],
        );
        check(
            &[message("in", 0, PING), message("in", 5, &cancelled("2", "")), message("out", 9, PONG)],
            &["1 → ping 2 Cancelled 3 Some(5)"],
        );
        // An HTTP error that comes later is late, too.
        let failed = r#""x":1,"response":{"status":500,"version":"1.1","headers":{}},"ended":"complete""#;
        check(
            &[
                http("in", 0, Some("s"), 1, PING),
                http("in", 5, Some("s"), 2, &cancelled("2", "")),
                format!(r#"{{"type":"http","us":9,"session":"s","http":{{{failed}}}}}"#),
            ],
            &["1 → ping 2 Cancelled 3 Some(5)"],
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

    /// The last call that was answered.
    fn last_call(lines: &[String]) -> Call {
        let calls = read(Told::default(), lines).calls;
        calls.into_iter().rfind(|call| call.response.is_some()).unwrap()
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
        assert_eq!((call.duration_us, call.person_us, call.client_us), (Some(100), 40, 20));
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
            let call =
                read(Told::default(), &[http("in", 10, None, 1, PING), end.to_owned()]).calls.remove(0);
            (call.outcome, call.duration_us)
        };
        let failed = r#""response":{"status":500,"version":"1.1","headers":{}},"ended":"complete""#;
        assert_eq!(outcome(&ends(1, failed)), (Outcome::HttpError, Some(40)));
        assert_eq!(outcome(&ends(2, failed)), (Outcome::Unanswered, Some(40)));
        assert_eq!(outcome(&ends(1, r#""ended":"client-closed""#)), (Outcome::Disconnected, Some(40)));
        assert_eq!(outcome(&ends(1, r#""ended":"timeout""#)), (Outcome::TimedOut, Some(40)));
        assert_eq!(outcome(&ends(1, r#""ended":"upstream-closed""#)), (Outcome::Crashed, Some(40)));
        assert_eq!(outcome(&ends(1, r#""ended":"complete""#)), (Outcome::HttpError, Some(40)));
        let accepted = r#""response":{"status":202,"version":"1.1","headers":{}},"ended":"complete""#;
        assert_eq!(outcome(&ends(1, accepted)), (Outcome::Unanswered, Some(40)));
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
            calls(&[http("in", 10, Some("old"), 1, PING), again.clone(), line("", refused), last])
        };
        assert_eq!(outcomes(http("out", 90, Some("new"), 2, PONG)), ["1 → ping 2 Ok 4 Some(80)"]);
        assert_eq!(outcomes(line(r#","session":"new""#, failed)), ["1 → ping 2 HttpError 4 Some(40)"]);
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
            &["1 → ping 2 Unanswered - Some(1)", "2 → ping 2 Unanswered - Some(0)"],
        );
    }

    #[test]
    fn an_error_without_an_id_answers_all_of_its_exchange_and_a_made_up_id_what_is_alone() {
        let error = r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"no"}}"#;
        let made_up = r#"{"jsonrpc":"2.0","id":"server-error","error":{"code":-32600,"message":"no"}}"#;
        let tools = r#"{"jsonrpc":"2.0","id":3,"method":"tools/list"}"#;
        let answered = "1 → ping 2 ProtocolError 2 Some(5)";
        check(&[http("in", 0, None, 1, PING), http("out", 5, None, 1, error)], &[answered]);
        check(&[http("in", 0, None, 1, PING), http("out", 5, None, 1, made_up)], &[answered]);
        let batch = http("in", 0, None, 1, &format!("[{PING},{tools}]"));
        check(
            &[batch.clone(), http("out", 5, None, 1, error)],
            &[answered, "1 → tools/list 3 ProtocolError 2 Some(5)"],
        );
        check(
            &[batch, http("out", 5, None, 1, made_up)],
            &["2 orphan", "1 → ping 2 Unanswered - Some(5)", "1 → tools/list 3 Unanswered - Some(5)"],
        );
        // What the server asks meanwhile is not what it refuses.
        let asks = r#"{"jsonrpc":"2.0","id":9,"method":"roots/list"}"#;
        check(
            &[http("in", 0, None, 1, PING), http("out", 1, None, 1, asks), http("out", 5, None, 1, made_up)],
            &["1 → ping 2 ProtocolError 3 Some(5)", "2 ← roots/list 9 Unanswered - Some(4)"],
        );
        check(
            &[message("in", 0, PING), message("out", 5, error)],
            &["2 orphan", "1 → ping 2 Unanswered - Some(5)"],
        );
    }

    #[test]
    fn an_answer_on_another_stream_says_so() {
        assert!(!last_call(&[http("in", 0, None, 1, PING), http("out", 1, None, 1, PONG)]).elsewhere);
        assert!(last_call(&[http("in", 0, None, 1, PING), http("out", 1, None, 2, PONG)]).elsewhere);
    }

    #[test]
    fn the_end_decides_about_what_is_open() {
        let outcome = |end: &str| {
            let lines =
                [message("in", 10, PING), format!(r#"{{"type":"end","us":510,"durationMs":0,{end}}}"#)];
            let call = read(Told::default(), &lines).calls.remove(0);
            (call.outcome, call.duration_us)
        };
        assert_eq!(outcome(r#""exitCode":0"#), (Outcome::Unanswered, Some(500)));
        assert_eq!(outcome(r#""exitCode":1"#), (Outcome::Crashed, Some(500)));
        assert_eq!(outcome(r#""exitCode":137,"signal":9"#), (Outcome::Crashed, Some(500)));
        let stopped = r#""exitCode":143,"signal":15,"reason":"stopped by SIGTERM""#;
        assert_eq!(outcome(stopped), (Outcome::Disconnected, Some(500)));
        // What was cancelled before stays cancelled.
        let lines = [
            message("in", 10, PING),
            message("in", 30, &cancelled("2", "")),
            r#"{"type":"end","us":510,"exitCode":1}"#.to_owned(),
        ];
        let call = read(Told::default(), &lines).calls.remove(0);
        assert_eq!((call.outcome, call.duration_us), (Outcome::Cancelled, Some(20)));
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
