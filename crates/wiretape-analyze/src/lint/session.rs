//! The state of a session while its trace is read.
//!
//! Rules read it; only the engine changes it, after the rules have checked a message. It grows with pending calls and
//! definitions, not with the trace: every memory of the past has a limit. Where a limit was reached, rules stay silent
//! instead of guessing.

use super::revision::Revision;
use super::tools::Tools;
use crate::call::Call;
use serde_json::Value as Json;
use std::collections::{BTreeMap, BTreeSet, HashSet, VecDeque};
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use wiretape_trace::message::{Direction, Id};

/// Facts about the trace as a whole.
#[derive(Debug, Clone, Default)]
pub struct TraceFacts {
    /// It has a `meta` line and is not a later part of a rotated recording.
    pub from_start: bool,
    /// It was imported from another program's transcript.
    pub imported: bool,
    /// Lines are missing or damaged.
    pub lossy: bool,
    /// Client and server use HTTP.
    pub http: bool,
    /// They use HTTP+SSE (2024-11-05), which has different rules.
    pub http_sse: bool,
}

impl TraceFacts {
    /// Whether the trace is complete, so that a missing message was never sent.
    pub fn is_whole(&self) -> bool {
        self.from_start && !self.imported && !self.lossy
    }
}

/// The state of a session.
#[derive(Debug, Default)]
pub struct Session {
    /// The `Mcp-Session-Id`, if there is one.
    pub id: Option<String>,
    /// The line of the `initialize` request.
    pub initialize: Option<u64>,
    /// The line of the result of `initialize`.
    pub agreed: Option<u64>,
    /// The line of `notifications/initialized`.
    pub initialized: Option<u64>,
    /// The revision that client and server agreed on in `initialize`.
    pub revision: Option<Revision>,
    /// The negotiated `protocolVersion` as written; it may be unknown to us.
    pub version: Option<String>,
    /// The capabilities that the client declared.
    pub client_capabilities: Option<Json>,
    /// The capabilities that the server declared.
    pub server_capabilities: Option<Json>,
    /// Whether a request named a stateless revision in its `_meta` (since 2026-07-28).
    pub stateless: bool,
    /// Whether the server has shown that it supports a stateless revision.
    pub server_is_stateless: bool,
    /// The line of the client's first request, if it is not `initialize`.
    pub first_request: Option<u64>,
    /// Line and sequence number of the first client request after `initialize`, except `ping` and stateless requests.
    pub first_operation: Option<(u64, Option<u64>)>,
    /// The line of a successful DELETE, which ends the session.
    pub deleted: Option<u64>,
    /// The line of the first 404 for this session.
    pub not_found: Option<u64>,
    /// The ids of all requests so far, by direction.
    pub ids: BTreeMap<Direction, IdSet>,
    /// The progress tokens of requests.
    pub tokens: Tokens,
    /// The tools that were listed.
    pub tools: Tools,
    /// Multi-round-trip requests that wait for input.
    pub states: RequestStates,
    /// The ids of SSE events.
    pub event_ids: HashedSet,
    /// Open subscriptions: the request's id, and the line of the acknowledgement.
    pub subscriptions: BTreeMap<Id<'static>, Option<u64>>,
    /// Cancelled requests without a response so far.
    pub cancelled: Recent<(Direction, Id<'static>), Cancellation>,
}

/// The cancellation of a request.
#[derive(Debug, Clone)]
pub struct Cancellation {
    /// The line of the notification.
    pub line: u64,
    /// Microseconds since the recording began.
    pub us: Option<u64>,
}

impl Session {
    /// Whether its `initialize` is in the trace.
    pub fn has_begun(&self) -> bool {
        self.initialize.is_some()
    }

    /// Whether the server declared a capability: `["tools", "listChanged"]`. `None` if its capabilities are unknown.
    pub fn server_has(&self, path: &[&str]) -> Option<bool> {
        Some(has(self.server_capabilities.as_ref()?, path))
    }

    /// Whether the client declared a capability. `None` if its capabilities are unknown.
    pub fn client_has(&self, path: &[&str]) -> Option<bool> {
        Some(has(self.client_capabilities.as_ref()?, path))
    }
}

/// Whether a capability is declared: as an object or as `true`.
pub(crate) fn has(capabilities: &Json, path: &[&str]) -> bool {
    let found = path.iter().try_fold(capabilities, |value, name| value.get(name));
    !matches!(found, None | Some(Json::Null | Json::Bool(false)))
}

/// A set of strings by their hashes, up to a limit; later ones are not added. 8 bytes per string, whatever its length.
#[derive(Debug, Default)]
pub struct HashedSet(HashSet<u64>);

impl HashedSet {
    // 200,000 hashes take about 2.4 MB.
    const MOST: usize = 200_000;

    /// Whether the string was added.
    pub fn contains(&self, text: &str) -> bool {
        self.0.contains(&hash(text))
    }

    pub(crate) fn insert(&mut self, text: &str) {
        if self.0.len() < Self::MOST {
            self.0.insert(hash(text));
        }
    }
}

fn hash(text: &str) -> u64 {
    // DefaultHasher has fixed keys, so the same trace always gives the same findings.
    let mut hasher = DefaultHasher::new();
    text.hash(&mut hasher);
    hasher.finish()
}

/// The ids that were used. Consecutive integers, which most clients use, are stored as ranges; others up to a limit.
#[derive(Debug, Default)]
pub struct IdSet {
    /// Inclusive ranges of integers: start to end.
    stretches: BTreeMap<i64, i64>,
    others: HashedSet,
}

impl IdSet {
    // Ranges, not ids: a client that counts needs one. Reached only by ids that skip numbers.
    const MOST: usize = 100_000;

    /// Whether the id was used.
    pub fn contains(&self, id: &Id<'_>) -> bool {
        match number(id) {
            Some(number) => {
                self.stretches.range(..=number).next_back().is_some_and(|(_, end)| number <= *end)
            }
            None => self.others.contains(&id.to_string()),
        }
    }

    pub(crate) fn insert(&mut self, id: &Id<'_>) {
        let Some(number) = number(id) else { return self.others.insert(&id.to_string()) };
        // Checked first, because an id inside a range must not start a range of its own.
        if self.contains(id) || self.stretches.len() >= Self::MOST {
            return;
        }
        // Joins the range that starts right after the number, and the one that ends right before it.
        let end = self.stretches.remove(&number.saturating_add(1)).unwrap_or(number);
        let before = self.stretches.range(..number).next_back().map(|(start, end)| (*start, *end));
        match before {
            Some((start, last)) if last.checked_add(1) == Some(number) => self.stretches.insert(start, end),
            _ => self.stretches.insert(number, end),
        };
    }
}

fn number(id: &Id<'_>) -> Option<i64> {
    match id {
        Id::Number(digits) => digits.parse().ok(),
        Id::String(_) => None,
    }
}

/// A map that evicts the oldest entry when it is full.
#[derive(Debug)]
pub struct Recent<K, V> {
    map: BTreeMap<K, V>,
    order: VecDeque<K>,
}

impl<K, V> Default for Recent<K, V> {
    fn default() -> Self {
        Recent { map: BTreeMap::new(), order: VecDeque::new() }
    }
}

impl<K: Ord + Clone, V> Recent<K, V> {
    // Far more than are in flight at a time in any real session; bounds what a hostile one can take.
    const MOST: usize = 4096;

    /// The value of a key, if it was not evicted.
    pub fn get(&self, key: &K) -> Option<&V> {
        self.map.get(key)
    }

    pub(crate) fn insert(&mut self, key: K, value: V) {
        if self.map.insert(key.clone(), value).is_none() {
            self.order.push_back(key);
        }
        while self.order.len() > Self::MOST {
            if let Some(oldest) = self.order.pop_front() {
                self.map.remove(&oldest);
            }
        }
    }

    pub(crate) fn remove(&mut self, key: &K) -> Option<V> {
        // Its entry in `order` stays: finding it would take linear time, and evicting a missing key is harmless.
        self.map.remove(key)
    }
}

/// A progress token and its progress so far.
#[derive(Debug, Clone)]
pub struct Token {
    /// The line of the request that brought it.
    pub line: u64,
    /// The exchange of that request.
    pub exchange: Option<u64>,
    /// The last `progress` value that was sent under it.
    pub progress: Option<f64>,
    /// The line of the response, once there is one.
    pub done: Option<u64>,
}

/// The progress tokens of a session: all of pending requests, and recent ones of answered requests.
#[derive(Debug, Default)]
pub struct Tokens {
    active: BTreeMap<(Direction, Id<'static>), Token>,
    done: Recent<(Direction, Id<'static>), Token>,
}

impl Tokens {
    /// The token of a request in this direction.
    pub fn get(&self, direction: Direction, token: &Id<'_>) -> Option<&Token> {
        let key = (direction, token.clone().into_owned());
        self.active.get(&key).or_else(|| self.done.get(&key))
    }

    pub(crate) fn begin(&mut self, direction: Direction, token: Id<'static>, new: Token) {
        self.active.insert((direction, token), new);
    }

    pub(crate) fn progress(&mut self, direction: Direction, token: &Id<'_>, progress: f64) {
        if let Some(token) = self.active.get_mut(&(direction, token.clone().into_owned())) {
            token.progress = Some(progress);
        }
    }

    pub(crate) fn finish(&mut self, direction: Direction, token: &Id<'static>, line: u64) {
        let key = (direction, token.clone());
        if let Some(token) = self.active.remove(&key) {
            self.done.insert(key, Token { done: Some(line), ..token });
        }
    }
}

/// Multi-round-trip requests that wait for input (2026-07-28, patterns/mrtr).
#[derive(Debug, Default)]
pub struct RequestStates {
    /// Every `requestState` that a server sent, up to a limit.
    given: HashedSet,
    full: bool,
    /// By method and name: the newest `input_required` result.
    waiting: Recent<String, PendingInput>,
    /// By the hash of a state: the id of the request that it answered.
    first_ids: Recent<u64, Id<'static>>,
}

/// A request that was answered with `input_required`.
#[derive(Debug, Clone)]
pub struct PendingInput {
    /// The line of the answer.
    pub line: u64,
    /// Whether it has a state.
    pub has_state: bool,
}

impl RequestStates {
    /// Whether a server sent this state. Unreliable if [`RequestStates::is_full`].
    pub fn was_given(&self, state: &str) -> bool {
        self.given.contains(state)
    }

    /// Whether the limit was reached, so that some states are unknown.
    pub fn is_full(&self) -> bool {
        self.full
    }

    /// The newest result that asks for input for this method and name.
    pub fn waiting(&self, subject: &str) -> Option<&PendingInput> {
        self.waiting.get(&subject.to_owned())
    }

    /// The id of the request that was answered with this state.
    pub fn id_of_state(&self, state: &str) -> Option<&Id<'static>> {
        self.first_ids.get(&hash(state))
    }

    pub(crate) fn record_pending(
        &mut self,
        subject: String,
        state: Option<&str>,
        id: Option<Id<'static>>,
        line: u64,
    ) {
        self.waiting.insert(subject, PendingInput { line, has_state: state.is_some() });
        let Some(state) = state else { return };
        self.given.insert(state);
        // From here on, an unknown state may be one that was dropped, and `request-state-not-echoed` stays silent.
        self.full = self.given.0.len() >= HashedSet::MOST;
        if let Some(id) = id {
            self.first_ids.insert(hash(state), id);
        }
    }

    pub(crate) fn complete(&mut self, subject: &str) {
        self.waiting.remove(&subject.to_owned());
    }
}

/// A client capability that a server request needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum ClientFeature {
    /// The client can run a model: `sampling/createMessage`.
    Sampling,
    /// The client can ask the user: `elicitation/create`.
    Elicitation,
    /// The client can list its folders: `roots/list`.
    Roots,
}

impl ClientFeature {
    /// The capability that a server's method needs.
    pub fn of_method(method: &str) -> Option<Self> {
        match method {
            "sampling/createMessage" => Some(ClientFeature::Sampling),
            "elicitation/create" => Some(ClientFeature::Elicitation),
            "roots/list" => Some(ClientFeature::Roots),
            _ => None,
        }
    }

    /// The member of `capabilities`.
    pub fn name(self) -> &'static str {
        match self {
            ClientFeature::Sampling => "sampling",
            ClientFeature::Elicitation => "elicitation",
            ClientFeature::Roots => "roots",
        }
    }
}

/// The facts about a request that rules need when its response comes.
#[derive(Debug, Clone, Copy)]
pub struct RequestFacts<'a> {
    /// The line of the request, from 1.
    pub line: u64,
    /// The method; empty if it was not a string.
    pub method: &'a str,
    /// The tool, prompt or resource URI that it names.
    pub name: Option<&'a str>,
    /// The revision that applies to the request.
    pub revision: Option<Revision>,
    /// The `_meta.progressToken` of the request.
    pub token: Option<&'a Id<'static>>,
    /// The cursor of the requested page.
    pub cursor: Option<&'a str>,
    /// Microseconds since the recording began.
    pub us: Option<u64>,
    /// The params of `initialize`.
    pub initialize: Option<&'a Initialize>,
    /// The client capabilities in the request's own `_meta` (since 2026-07-28).
    pub features: Option<&'a BTreeSet<ClientFeature>>,
    /// Why its arguments don't match the tool's schema.
    pub misfit: Option<&'a str>,
}

impl<'a> RequestFacts<'a> {
    /// The facts about a call's request.
    pub(crate) fn new(call: &'a Call, kept: &'a KeptFacts) -> Self {
        let rare = kept.rare.as_deref();
        RequestFacts {
            line: call.request.line,
            method: &call.method,
            name: rare.and_then(|rare| rare.name.as_deref()).or(call.tool.as_deref()),
            revision: kept.revision,
            token: rare.and_then(|rare| rare.token.as_ref()),
            cursor: rare.and_then(|rare| rare.cursor.as_deref()),
            us: call.asked.us,
            initialize: rare.and_then(|rare| rare.initialize.as_ref()),
            features: rare.and_then(|rare| rare.features.as_ref()),
            misfit: rare.and_then(|rare| rare.misfit.as_deref()),
        }
    }
}

/// What is kept with a pending call of the facts about its request, besides those that the call itself has. Small, because a
/// trace may have a million pending calls.
#[derive(Debug, Default)]
pub(crate) struct KeptFacts {
    pub(crate) revision: Option<Revision>,
    pub(crate) rare: Option<Box<RareFacts>>,
}

/// Facts that most requests don't have.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct RareFacts {
    /// The name, unless it is that of a tool.
    pub(crate) name: Option<String>,
    pub(crate) token: Option<Id<'static>>,
    pub(crate) cursor: Option<String>,
    pub(crate) initialize: Option<Initialize>,
    pub(crate) features: Option<BTreeSet<ClientFeature>>,
    pub(crate) misfit: Option<String>,
}

/// The params of `initialize`.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Initialize {
    /// The requested `protocolVersion`, as written.
    pub version: Option<String>,
    /// The capabilities that the client declares.
    pub capabilities: Option<Json>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_kept_of_a_request_is_small() {
        assert_eq!(size_of::<KeptFacts>(), 16);
    }

    #[test]
    fn ids_that_follow_each_other_cost_nothing() {
        let mut ids = IdSet::default();
        let id = |number: i64| Id::Number(number.to_string().into());
        for number in (0..1000).chain([5000, 1001, 1000, i64::MAX, i64::MIN]) {
            assert!(!ids.contains(&id(number)), "{number}");
            ids.insert(&id(number));
            assert!(ids.contains(&id(number)), "{number}");
        }
        assert_eq!(ids.stretches.len(), 4);
        ids.insert(&Id::String("7".into()));
        assert!(ids.contains(&Id::String("7".into())) && !ids.contains(&Id::String("8".into())));
    }

    #[test]
    fn what_is_recent_is_remembered() {
        let mut recent = Recent::default();
        for number in 0..10_000 {
            recent.insert(number, ());
        }
        assert!(recent.get(&9_999).is_some() && recent.get(&1).is_none());
        assert_eq!(recent.map.len(), Recent::<i32, ()>::MOST);
    }
}
