//! What is known of a session while its trace goes by.
//!
//! Rules look at it and never change it; only the engine does, after the rules have seen a message. It grows
//! with open calls and with definitions, not with the trace: what is remembered of the past has a limit.

use super::revision::Revision;
use super::tools::Tools;
use serde_json::Value as Json;
use std::collections::{BTreeMap, BTreeSet, HashSet, VecDeque};
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use wiretape_trace::message::{Direction, Id};

/// What is known of the trace as a whole.
#[derive(Debug, Clone, Default)]
pub struct TraceFacts {
    /// It has a first line, and is not the later part of a recording.
    pub from_start: bool,
    /// It was made of another program's transcript.
    pub imported: bool,
    /// Lines were lost.
    pub lossy: bool,
    /// The client and the server speak HTTP.
    pub http: bool,
    /// They speak the older HTTP+SSE, whose rules are others.
    pub http_sse: bool,
}

impl TraceFacts {
    /// Whether what is not in the trace did not happen.
    pub fn is_whole(&self) -> bool {
        self.from_start && !self.imported && !self.lossy
    }
}

/// What is known of a session.
#[derive(Debug, Default)]
pub struct Session {
    /// Its id, where there is one.
    pub id: Option<String>,
    /// The line of the request that began it.
    pub initialize: Option<u64>,
    /// The line of the result that agreed to it.
    pub agreed: Option<u64>,
    /// The line of `notifications/initialized`.
    pub initialized: Option<u64>,
    /// The revision that was agreed on.
    pub revision: Option<Revision>,
    /// The same, as it was written.
    pub version: Option<String>,
    /// What the client said it can do.
    pub client_capabilities: Option<Json>,
    /// What the server said it can do.
    pub server_capabilities: Option<Json>,
    /// Whether there was a request that says all that is needed.
    pub stateless: bool,
    /// Whether the server has shown that it understands such requests.
    pub server_is_stateless: bool,
    /// The client's first request, if it is not `initialize`.
    pub first_request: Option<u64>,
    /// The first of the client's requests that the agreement is for: those that say all that is needed, and `ping`, apart.
    pub first_operation: Option<(u64, Option<u64>)>,
    /// The line that ended it: a DELETE that was obeyed.
    pub deleted: Option<u64>,
    /// The line of a 404 for it.
    pub not_found: Option<u64>,
    /// The ids of requests.
    pub ids: BTreeMap<Direction, IdSet>,
    /// The progress tokens of requests.
    pub tokens: Tokens,
    /// The tools that were listed.
    pub tools: Tools,
    /// Unfinished multi-round-trip requests.
    pub states: RequestStates,
    /// The ids of events.
    pub event_ids: HashedSet,
    /// The subscriptions that are open: the request's id, and the line of its acknowledgement.
    pub subscriptions: BTreeMap<Id<'static>, Option<u64>>,
    /// Requests that were cancelled and not answered since: when.
    pub cancelled: Recent<(Direction, Id<'static>), Cancelled>,
}

/// When a request was cancelled.
#[derive(Debug, Clone)]
pub struct Cancelled {
    /// The line.
    pub line: u64,
    /// The time.
    pub us: Option<u64>,
}

impl Session {
    /// Whether its beginning is in the trace.
    pub fn has_begun(&self) -> bool {
        self.initialize.is_some()
    }

    /// A capability of the server: `["tools", "listChanged"]`. `None` if nothing is known.
    pub fn server_has(&self, path: &[&str]) -> Option<bool> {
        Some(has(self.server_capabilities.as_ref()?, path))
    }

    /// A capability of the client.
    pub fn client_has(&self, path: &[&str]) -> Option<bool> {
        Some(has(self.client_capabilities.as_ref()?, path))
    }
}

/// Whether a capability is declared: an object is there, or a flag that is true.
pub(crate) fn has(capabilities: &Json, path: &[&str]) -> bool {
    let found = path.iter().try_fold(capabilities, |value, name| value.get(name));
    !matches!(found, None | Some(Json::Null | Json::Bool(false)))
}

/// Hashes of many things, up to a limit; after that nothing new is remembered.
#[derive(Debug, Default)]
pub struct HashedSet(HashSet<u64>);

impl HashedSet {
    const MOST: usize = 200_000;

    /// Whether it is there.
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
    // Its keys are fixed: the same trace gives the same answer.
    let mut hasher = DefaultHasher::new();
    text.hash(&mut hasher);
    hasher.finish()
}

/// The ids that were used. Numbers that follow each other cost nothing, others are remembered up to a limit.
#[derive(Debug, Default)]
pub struct IdSet {
    /// Begin and end of stretches of numbers.
    stretches: BTreeMap<i64, i64>,
    others: HashedSet,
}

impl IdSet {
    const MOST: usize = 100_000;

    /// Whether it was used.
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
        if self.contains(id) || self.stretches.len() >= Self::MOST {
            return;
        }
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

/// A map that forgets what was put in first.
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
    const MOST: usize = 4096;

    /// What is remembered under this key.
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
        // Its place in the order stays, for looking it up there would cost too much.
        self.map.remove(key)
    }
}

/// A progress token and what came of it.
#[derive(Debug, Clone)]
pub struct Token {
    /// The line of the request that gave it.
    pub line: u64,
    /// The exchange of that request.
    pub exchange: Option<u64>,
    /// The last progress.
    pub progress: Option<f64>,
    /// The line of the response, once there is one.
    pub done: Option<u64>,
}

/// The progress tokens of a session: all that are in use, and some that were.
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

/// What multi-round-trip requests wait for.
#[derive(Debug, Default)]
pub struct RequestStates {
    /// Every state that a server gave, up to a limit.
    given: HashedSet,
    full: bool,
    /// By method and name: the newest result that asked for input.
    waiting: Recent<String, Waiting>,
    /// Request ids that were answered with a state, by that state.
    first_ids: Recent<u64, Id<'static>>,
}

/// A request that was answered with a question.
#[derive(Debug, Clone)]
pub struct Waiting {
    /// The line of the answer.
    pub line: u64,
    /// Whether it has a state.
    pub has_state: bool,
}

impl RequestStates {
    /// Whether a server gave this state. Not to be relied on if [`RequestStates::forgets`].
    pub fn was_given(&self, state: &str) -> bool {
        self.given.contains(state)
    }

    /// Whether there were too many states to remember.
    pub fn forgets(&self) -> bool {
        self.full
    }

    /// What the newest such request waits for.
    pub fn waiting(&self, subject: &str) -> Option<&Waiting> {
        self.waiting.get(&subject.to_owned())
    }

    /// The id of the request that was answered with this state.
    pub fn asked_as(&self, state: &str) -> Option<&Id<'static>> {
        self.first_ids.get(&hash(state))
    }

    pub(crate) fn give(&mut self, subject: String, state: Option<&str>, id: Option<Id<'static>>, line: u64) {
        self.waiting.insert(subject, Waiting { line, has_state: state.is_some() });
        let Some(state) = state else { return };
        self.given.insert(state);
        self.full = self.given.0.len() >= HashedSet::MOST;
        if let Some(id) = id {
            self.first_ids.insert(hash(state), id);
        }
    }

    pub(crate) fn settle(&mut self, subject: &str) {
        self.waiting.remove(&subject.to_owned());
    }
}

/// A capability that a client declares with each request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum ClientFeature {
    /// It asks a model.
    Sampling,
    /// It asks its user.
    Elicitation,
    /// It lists its roots.
    Roots,
}

impl ClientFeature {
    /// What a method needs.
    pub fn of_method(method: &str) -> Option<Self> {
        match method {
            "sampling/createMessage" => Some(ClientFeature::Sampling),
            "elicitation/create" => Some(ClientFeature::Elicitation),
            "roots/list" => Some(ClientFeature::Roots),
            _ => None,
        }
    }

    /// Its name among capabilities.
    pub fn name(self) -> &'static str {
        match self {
            ClientFeature::Sampling => "sampling",
            ClientFeature::Elicitation => "elicitation",
            ClientFeature::Roots => "roots",
        }
    }
}

/// What is remembered of a request until its response comes.
#[derive(Debug, Clone)]
pub struct Asked {
    /// Its line.
    pub line: u64,
    /// Its method.
    pub method: String,
    /// What it is for: a tool, a prompt, a resource.
    pub name: Option<String>,
    /// Its revision.
    pub revision: Option<Revision>,
    /// Its exchange.
    pub exchange: Option<u64>,
    /// Its progress token.
    pub token: Option<Id<'static>>,
    /// The page that it asked for.
    pub cursor: Option<String>,
    /// When it was sent.
    pub us: Option<u64>,
    /// What `initialize` asked for.
    pub initialize: Option<Box<Initialize>>,
    /// What the client said it can do, in a request that says all that is needed.
    pub features: Option<BTreeSet<ClientFeature>>,
    /// Why its arguments don't fit the tool.
    pub misfit: Option<String>,
}

/// What `initialize` asked for.
#[derive(Debug, Clone, Default)]
pub struct Initialize {
    /// The version.
    pub version: Option<String>,
    /// The client's capabilities.
    pub capabilities: Option<Json>,
}

#[cfg(test)]
mod tests {
    use super::*;

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
