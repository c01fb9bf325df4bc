//! One client's session, and where what is said in it goes.

use super::super::deck::{Deck, Tell};
use super::super::file::TapeFile;
use super::super::real::{Clients, RealEvent, RealServer, RealServers};
use super::body::{Heard, Outgoing, named_event};
use super::streams::{BETWEEN, Beginning, Events, Streams};
use std::collections::HashMap;
use std::ops::Range;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::sync::Notify;
use tokio::sync::mpsc::UnboundedReceiver;
use wiretape_analyze::replay::{Action, Player};
use wiretape_trace::message::payloads;

/// What a session is like.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Era {
    /// There is none. The stream of a request is its lifetime: closing it is cancelling.
    Stateless,
    /// Streamable HTTP: a request goes on though nobody listens, and a stream can be resumed.
    Streamable,
    /// HTTP+SSE: there is one stream, and no session without it.
    Sse,
}

/// One client's session; or all clients without one.
pub(super) struct Session {
    pub(super) deck: Arc<Deck>,
    tell: Tell,
    era: Era,
    state: Mutex<State>,
    /// Rings when there may be a new deadline.
    changed: Notify,
}

struct State {
    player: Player<Arc<TapeFile>>,
    streams: Streams,
    /// On which streams the answers go that are not there yet.
    requests: HashMap<u64, u64>,
    /// Who is asked what was not recorded.
    real: Option<RealServer>,
    is_over: bool,
}

/// What is answered to a message.
pub(super) enum Reply {
    /// Nothing: it was no request.
    Accepted,
    /// One message, at once.
    Whole(Vec<u8>),
    /// The beginning of one.
    Broken(Vec<u8>),
    /// More than one message, or not yet.
    Stream(u64, UnboundedReceiver<Outgoing>),
}

impl Session {
    pub(super) fn new(deck: &Arc<Deck>, tell: &Tell, era: Era, real: Option<&Arc<RealServers>>) -> Arc<Self> {
        let clients = if era == Era::Stateless { Clients::Many } else { Clients::One };
        let events = if era == Era::Streamable { Events::WithIds } else { Events::WithoutIds };
        let state = State {
            player: deck.player(),
            streams: Streams::new(events),
            requests: HashMap::new(),
            real: real.map(|real| real.server(clients, deck)),
            is_over: false,
        };
        let session = Arc::new(Session {
            deck: Arc::clone(deck),
            tell: Arc::clone(tell),
            era,
            state: Mutex::new(state),
            changed: Notify::new(),
        });
        if let Some(real) = &mut session.lock().real {
            let session = Arc::downgrade(&session);
            real.report_to(Arc::new(move |event| {
                if let Some(session) = session.upgrade() {
                    session.real_did(event);
                }
            }));
        }
        if deck.needs_a_clock() {
            tokio::spawn(keep_time(Arc::downgrade(&session)));
        }
        session
    }

    pub(super) fn era(&self) -> Era {
        self.era
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes a message that is answered where it came from. If that is on a stream, it begins so.
    pub(super) fn post(&self, message: &[u8], beginning: Beginning) -> Reply {
        let mut actions = Vec::new();
        let mut state = self.lock();
        let numbers = state.receive(message, self.deck.now_us(), &mut actions);
        self.changed.notify_one();
        if let Some(reply) = at_once(&numbers, &mut actions, &self.tell, beginning) {
            state.route(actions, &self.tell);
            return reply;
        }
        let (stream, receiver) = state.streams.open(numbers.clone(), beginning);
        state.requests.extend(numbers.map(|number| (number, stream)));
        state.route(actions, &self.tell);
        Reply::Stream(stream, receiver)
    }

    /// Answers a request that is word for word a recorded one, and needs nothing but its answer; `None` if it is another.
    pub(super) fn post_at_sight(&self, message: &[u8]) -> Option<Reply> {
        let mut actions = Vec::new();
        let number = self.lock().player.answer_at_sight(message, &mut actions)?;
        at_once(&(number..number + 1), &mut actions, &self.tell, Beginning::Bare)
    }

    /// Takes a message that is answered on the one stream that there is.
    pub(super) fn hear(&self, message: &[u8]) {
        let mut actions = Vec::new();
        let mut state = self.lock();
        state.receive(message, self.deck.now_us(), &mut actions);
        self.changed.notify_one();
        state.route(actions, &self.tell);
    }

    /// Opens the stream for what is said between calls.
    pub(super) fn listen(&self, beginning: Beginning) -> UnboundedReceiver<Outgoing> {
        self.lock().streams.open_between(beginning)
    }

    /// Goes on with a stream that was lost after the event with this id; `None` if that isn't known any more.
    pub(super) fn resume(&self, last: &str) -> Option<(u64, UnboundedReceiver<Outgoing>)> {
        self.lock().streams.resume(last)
    }

    /// Opens the one stream that there is, which begins with where messages are to be sent.
    pub(super) fn open_sse(&self, endpoint: &str) -> UnboundedReceiver<Outgoing> {
        let mut state = self.lock();
        let receiver = state.streams.open_between(Beginning::Bare);
        state.streams.say_other(Outgoing::Bytes(named_event("endpoint", endpoint.as_bytes())));
        receiver
    }

    /// The client reads no more, or there is no more to be read.
    pub(super) fn stop_listening(&self, heard: Heard) {
        match (self.era, heard) {
            (Era::Stateless, Heard::Stream(stream)) => self.lock().give_up(stream),
            (Era::Sse, _) => self.end(),
            // Whoever lost it may come back.
            _ => {}
        }
    }

    /// Whether the session has ended.
    pub(super) fn is_over(&self) -> bool {
        self.lock().is_over
    }

    /// The session has ended: its streams end too, and its real server.
    pub(super) fn end(&self) {
        let mut state = self.lock();
        state.is_over = true;
        state.requests.clear();
        state.streams.close_all();
        state.real = None;
        self.changed.notify_one();
    }

    /// The real server did something.
    fn real_did(&self, event: RealEvent) {
        let mut state = self.lock();
        let actions = state.real.as_mut().map(|real| real.take(event));
        state.route(actions.unwrap_or_default(), &self.tell);
    }

    /// Does what is due. Returns how long nothing is to be done; `None` if the session is over.
    fn tick(&self) -> Option<Option<Duration>> {
        let mut actions = Vec::new();
        let mut state = self.lock();
        if state.is_over {
            return None;
        }
        let now_us = self.deck.now_us();
        state.player.tick(now_us, &mut actions);
        state.route(actions, &self.tell);
        let deadline = state.player.deadline();
        Some(deadline.map(|due| Duration::from_micros(due.saturating_sub(now_us))))
    }
}

/// Calls a session's player when something is due.
async fn keep_time(session: std::sync::Weak<Session>) {
    const FOR_EVER: Duration = Duration::from_secs(3600);
    while let Some(session) = session.upgrade() {
        let Some(wait) = session.tick() else { return };
        let _ = tokio::time::timeout(wait.unwrap_or(FOR_EVER), session.changed.notified()).await;
    }
}

impl State {
    /// Takes a message, or a batch of them. Returns the numbers of the requests in it.
    fn receive(&mut self, message: &[u8], now_us: u64, actions: &mut Vec<Action>) -> Range<u64> {
        let Some(real) = &mut self.real else { return self.player.receive(message, now_us, actions) };
        let mut numbers = 0..0;
        for payload in payloads(message) {
            if !real.hear(payload, actions) {
                let more = self.player.receive(payload, now_us, actions);
                numbers = if numbers.is_empty() { more } else { numbers.start..more.end };
            }
        }
        numbers
    }

    /// Whoever sent the requests that are answered on a stream doesn't want the answers any more.
    fn give_up(&mut self, stream: u64) {
        for number in self.streams.give_up(stream) {
            self.requests.remove(&number);
            self.player.cancel(number);
            if let Some(real) = &mut self.real {
                real.cancel(number);
            }
        }
    }

    /// Sends everything where it belongs.
    fn route(&mut self, actions: Vec<Action>, tell: &Tell) {
        for action in actions {
            match action {
                Action::Send { during, message } => {
                    let stream = during.and_then(|number| self.requests.get(&number));
                    self.streams.send(stream.copied().unwrap_or(BETWEEN), &message);
                }
                Action::Answer { to, message } => self.answer(to, &message),
                Action::BreakOff { to, mut message, rest } => {
                    let part = message.len();
                    message.extend(rest);
                    self.break_off(to, &message, part);
                }
                Action::Disconnect { to, message } => self.break_off(to, &message, 0),
                Action::Close { request } => self.close(request),
                Action::PassOn { request, message, miss } => {
                    if let Some(real) = &mut self.real {
                        let actions = real.ask(request, &message, miss);
                        self.route(actions, tell);
                    }
                }
                Action::Tell(notice) => tell(&notice),
            }
        }
    }

    /// Sends the last of what is said to a request.
    fn answer(&mut self, to: u64, message: &[u8]) {
        let stream = self.requests.get(&to).copied().unwrap_or(BETWEEN);
        self.streams.send(stream, message);
        self.close(to);
    }

    fn break_off(&mut self, to: u64, message: &[u8], part: usize) {
        let stream = self.requests.get(&to).copied().unwrap_or(BETWEEN);
        self.streams.break_off(stream, message, part);
        self.close(to);
    }

    /// Nothing more is said to a request.
    fn close(&mut self, request: u64) {
        if let Some(stream) = self.requests.remove(&request) {
            self.streams.close(stream, request);
        }
    }
}

/// The reply to one request that is answered at once, and says nothing else; or to none. Then what remains of the actions
/// belongs elsewhere.
fn at_once(
    numbers: &Range<u64>,
    actions: &mut Vec<Action>,
    tell: &Tell,
    beginning: Beginning,
) -> Option<Reply> {
    let number = match numbers.end - numbers.start {
        0 => return Some(Reply::Accepted),
        1 => numbers.start,
        _ => return None,
    };
    let is_said_during =
        |action: &Action| matches!(action, Action::Send { during: Some(during), .. } if *during == number);
    if actions.iter().any(is_said_during) {
        return None;
    }
    let at = actions.iter().position(|action| match action {
        Action::Answer { to, .. } => *to == number,
        // A client that can resume is given something to resume.
        Action::BreakOff { to, .. } | Action::Disconnect { to, .. } => {
            *to == number && beginning == Beginning::Bare
        }
        _ => false,
    })?;
    for action in &actions[..at] {
        if let Action::Tell(notice) = action {
            tell(notice);
        }
    }
    let after = actions.split_off(at + 1);
    let end = actions.pop();
    actions.retain(|action| !matches!(action, Action::Tell(_)));
    actions.extend(after);
    Some(match end? {
        Action::Answer { message, .. } => Reply::Whole(message),
        Action::BreakOff { message, .. } => Reply::Broken(message),
        _ => Reply::Broken(Vec::new()),
    })
}
