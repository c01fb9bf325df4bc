//! One client's session, and where what is said in it goes.

use super::super::deck::{Deck, Tell};
use super::super::file::TapeFile;
use super::super::real::{Clients, RealEvent, RealServer, RealServers};
use super::body::{Heard, Outgoing, event};
use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::sync::Notify;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use wiretape_analyze::replay::{Action, Player};
use wiretape_trace::message::payloads;

/// So much that was said between calls is kept for a client that doesn't listen yet.
const KEPT: usize = 1000;

/// What ends when a client goes away.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Era {
    /// The stream of a request is its lifetime: closing it is cancelling.
    Stateless,
    /// A request goes on though nobody listens.
    WithSessions,
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
    /// Where the answers go that are not there yet.
    requests: HashMap<u64, UnboundedSender<Outgoing>>,
    /// Where goes what is said between calls.
    between: Option<UnboundedSender<Outgoing>>,
    kept: VecDeque<Outgoing>,
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
    Stream(Vec<u64>, UnboundedReceiver<Outgoing>),
}

impl Session {
    pub(super) fn new(deck: &Arc<Deck>, tell: &Tell, era: Era, real: Option<&Arc<RealServers>>) -> Arc<Self> {
        let clients = if era == Era::Stateless { Clients::Many } else { Clients::One };
        let state = State {
            player: deck.player(),
            requests: HashMap::new(),
            between: None,
            kept: VecDeque::new(),
            real: real.map(|real| real.server(clients)),
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

    /// Takes a message that is answered where it came from.
    pub(super) fn post(&self, message: &[u8]) -> Reply {
        let mut actions = Vec::new();
        let mut state = self.lock();
        let numbers = state.receive(message, self.deck.now_us(), &mut actions);
        self.changed.notify_one();
        if let Some(reply) = at_once(&numbers, &mut actions, &self.tell) {
            state.route(actions, &self.tell);
            return reply;
        }
        let (sender, receiver) = unbounded_channel();
        for number in &numbers {
            state.requests.insert(*number, sender.clone());
        }
        state.route(actions, &self.tell);
        Reply::Stream(numbers, receiver)
    }

    /// Takes a message that is answered on the one stream that there is.
    pub(super) fn hear(&self, message: &[u8]) {
        let mut actions = Vec::new();
        let mut state = self.lock();
        state.receive(message, self.deck.now_us(), &mut actions);
        self.changed.notify_one();
        state.route(actions, &self.tell);
    }

    /// Opens the stream for what is said between calls. A client that opens another has lost the first.
    pub(super) fn listen(&self) -> UnboundedReceiver<Outgoing> {
        let (sender, receiver) = unbounded_channel();
        let mut state = self.lock();
        while let Some(kept) = state.kept.pop_front() {
            // The other end is in our hands.
            let _ = sender.send(kept);
        }
        state.between = Some(sender);
        receiver
    }

    /// Sends something that no tape has.
    pub(super) fn say(&self, outgoing: Outgoing) {
        self.lock().say(outgoing);
    }

    /// The client reads no more, or there is no more to be read.
    pub(super) fn stop_listening(&self, heard: &Heard) {
        let mut state = self.lock();
        match heard {
            Heard::Requests(numbers) => {
                for number in numbers {
                    let was_open = state.requests.remove(number).is_some();
                    if was_open && self.era == Era::Stateless {
                        state.cancel(*number);
                    }
                }
            }
            Heard::Everything => {
                drop(state);
                self.end();
            }
            Heard::Between => {
                let is_gone = state.between.as_ref().is_some_and(UnboundedSender::is_closed);
                if is_gone {
                    state.between = None;
                }
            }
        }
    }

    /// Whether the session has ended.
    pub(super) fn is_over(&self) -> bool {
        self.lock().is_over
    }

    /// The session has ended: its streams end too.
    pub(super) fn end(&self) {
        let mut state = self.lock();
        state.is_over = true;
        state.requests.clear();
        state.between = None;
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
    fn receive(&mut self, message: &[u8], now_us: u64, actions: &mut Vec<Action>) -> Vec<u64> {
        let Some(real) = &mut self.real else { return self.player.receive(message, now_us, actions) };
        let mut numbers = Vec::new();
        for payload in payloads(message) {
            if !real.hear(payload, actions) {
                numbers.extend(self.player.receive(payload, now_us, actions));
            }
        }
        numbers
    }

    /// Whoever sent a request doesn't want the answer any more.
    fn cancel(&mut self, number: u64) {
        self.player.cancel(number);
        if let Some(real) = &mut self.real {
            real.cancel(number);
        }
    }

    /// Sends everything where it belongs.
    fn route(&mut self, actions: Vec<Action>, tell: &Tell) {
        for action in actions {
            match action {
                Action::Send { during, message } => {
                    let outlet = during.and_then(|number| self.requests.get(&number));
                    match outlet {
                        // Who doesn't listen any more misses it.
                        Some(outlet) => drop(outlet.send(event(&message))),
                        None => self.say(event(&message)),
                    }
                }
                Action::Answer { to, message } => self.last(to, event(&message)),
                Action::BreakOff { to, message } => {
                    let Outgoing::Bytes(bytes) = event(&message) else { continue };
                    let bytes = Outgoing::Bytes(bytes.slice(..bytes.len() - 2));
                    match self.requests.get(&to) {
                        Some(outlet) => drop(outlet.send(bytes)),
                        None => self.say(bytes),
                    }
                    self.last(to, Outgoing::BreakOff);
                }
                Action::Disconnect { to } => self.last(to, Outgoing::BreakOff),
                Action::Close { request } => drop(self.requests.remove(&request)),
                Action::PassOn { request, message } => {
                    let answer = self.real.as_mut().and_then(|real| real.ask(request, &message));
                    if let Some(answer) = answer {
                        self.last(request, event(&answer));
                    }
                }
                Action::Tell(notice) => tell(&notice),
            }
        }
    }

    /// Sends the end of what is said to a request.
    fn last(&mut self, to: u64, outgoing: Outgoing) {
        match self.requests.remove(&to) {
            Some(outlet) => drop(outlet.send(outgoing)),
            None => self.say(outgoing),
        }
    }

    fn say(&mut self, outgoing: Outgoing) {
        match &self.between {
            Some(outlet) => drop(outlet.send(outgoing)),
            None if self.kept.len() < KEPT => self.kept.push_back(outgoing),
            None => {}
        }
    }
}

/// The reply to one request that is answered at once, and says nothing else; or to none. Then what remains of the actions
/// belongs elsewhere.
fn at_once(numbers: &[u64], actions: &mut Vec<Action>, tell: &Tell) -> Option<Reply> {
    let number = match numbers {
        [] => return Some(Reply::Accepted),
        [number] => *number,
        _ => return None,
    };
    let is_said_during =
        |action: &Action| matches!(action, Action::Send { during: Some(during), .. } if *during == number);
    if actions.iter().any(is_said_during) {
        return None;
    }
    let is_end = |action: &Action| matches!(action, Action::Answer { to, .. } | Action::BreakOff { to, .. } | Action::Disconnect { to } if *to == number);
    let at = actions.iter().position(is_end)?;
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
