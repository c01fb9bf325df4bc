//! The session of one client, and the routing of its messages to streams.
//!
//! A session is a player and its streams behind one mutex, which is never held across an `await`. Its background task
//! and its real server hold it weakly, so that it ends with its last client instead of keeping itself alive.

use super::super::file::TapeFile;
use super::super::loaded_tape::{LoadedTape, NoticeCallback};
use super::super::real::{Clients, RealEvent, RealServer, RealServers};
use super::body::{ListenedStream, StreamItem, named_event};
use super::streams::{BETWEEN, EventIds, StreamStart, Streams};
use parking_lot::Mutex;
use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::Notify;
use tokio::sync::mpsc::UnboundedReceiver;
use wiretape_analyze::replay::{Action, Player};
use wiretape_trace::message::payloads;

/// The transport of a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Era {
    /// No session. Closing the stream of a request cancels it.
    Stateless,
    /// Streamable HTTP: a request continues when its stream is lost, and the stream can be resumed.
    Streamable,
    /// HTTP+SSE: one stream, with which the session ends.
    Sse,
}

/// The session of one client, or of all clients without one.
pub(super) struct Session {
    pub(super) loaded: Arc<LoadedTape>,
    notify: NoticeCallback,
    era: Era,
    state: Mutex<SessionState>,
    /// Notified when there may be a new deadline.
    changed: Notify,
}

struct SessionState {
    player: Player<Arc<TapeFile>>,
    streams: Streams,
    /// The stream of each unanswered request.
    requests: HashMap<u64, u64>,
    /// Answers requests that were not recorded.
    real: Option<RealServer>,
    is_over: bool,
}

/// The response to a POST.
pub(super) enum Reply {
    /// 202: the message has no requests.
    Accepted,
    /// One message as the whole body.
    Whole(Vec<u8>),
    /// The beginning of a message, then a broken connection.
    Broken(Vec<u8>),
    /// A stream, because there is more than one message or the answer is not due yet.
    Stream(u64, UnboundedReceiver<StreamItem>),
}

impl Session {
    pub(super) fn new(
        loaded: &Arc<LoadedTape>,
        notify: &NoticeCallback,
        era: Era,
        real: Option<&Arc<RealServers>>,
    ) -> Arc<Self> {
        let clients = if era == Era::Stateless { Clients::Many } else { Clients::One };
        let events = if era == Era::Streamable { EventIds::WithIds } else { EventIds::WithoutIds };
        let state = SessionState {
            player: loaded.player(),
            streams: Streams::new(events),
            requests: HashMap::new(),
            real: real.map(|real| real.server(clients, loaded)),
            is_over: false,
        };
        let session = Arc::new(Session {
            loaded: Arc::clone(loaded),
            notify: Arc::clone(notify),
            era,
            state: Mutex::new(state),
            changed: Notify::new(),
        });
        if let Some(real) = &mut session.state.lock().real {
            let session = Arc::downgrade(&session);
            real.report_to(Arc::new(move |event| {
                if let Some(session) = session.upgrade() {
                    session.handle_real_event(event);
                }
            }));
        }
        // Without delays or a real server nothing happens between requests, and most sessions need no task.
        if loaded.needs_a_clock() {
            tokio::spawn(keep_time(Arc::downgrade(&session)));
        }
        session
    }

    pub(super) fn era(&self) -> Era {
        self.era
    }

    /// Handles a message that is answered in the response to its POST, which may be a stream.
    pub(super) fn post(&self, message: &[u8], beginning: StreamStart) -> Reply {
        let mut actions = Vec::new();
        let mut state = self.state.lock();
        let numbers = state.receive(message, self.loaded.now_us(), &mut actions);
        // While the state is still locked: the clock's task then sees the new deadline, not the old one.
        self.changed.notify_one();
        if let Some(reply) = at_once(&numbers, &mut actions, &self.notify, beginning) {
            state.route(actions, &self.notify);
            return reply;
        }
        let (stream, receiver) = state.streams.open(numbers.clone(), beginning);
        state.requests.extend(numbers.map(|number| (number, stream)));
        state.route(actions, &self.notify);
        Reply::Stream(stream, receiver)
    }

    /// Answers a request whose bytes equal a recorded one and that has nothing but an answer; `None` for any other.
    pub(super) fn post_at_sight(&self, message: &[u8]) -> Option<Reply> {
        let mut actions = Vec::new();
        let number = self.state.lock().player.answer_at_sight(message, &mut actions)?;
        at_once(&(number..number + 1), &mut actions, &self.notify, StreamStart::Bare)
    }

    /// Handles a message that is answered on the one stream of HTTP+SSE.
    pub(super) fn receive_on_sse(&self, message: &[u8]) {
        let mut actions = Vec::new();
        let mut state = self.state.lock();
        state.receive(message, self.loaded.now_us(), &mut actions);
        self.changed.notify_one();
        state.route(actions, &self.notify);
    }

    /// Opens the listening stream, for messages that belong to no request.
    pub(super) fn listen(&self, beginning: StreamStart) -> UnboundedReceiver<StreamItem> {
        self.state.lock().streams.open_between(beginning)
    }

    /// Resumes a stream after the event with this id; `None` if the events after it are not kept.
    pub(super) fn resume(&self, last: &str) -> Option<(u64, UnboundedReceiver<StreamItem>)> {
        self.state.lock().streams.resume(last)
    }

    /// Opens the stream of HTTP+SSE, which begins with the endpoint for messages.
    pub(super) fn open_sse(&self, endpoint: &str) -> UnboundedReceiver<StreamItem> {
        let mut state = self.state.lock();
        let receiver = state.streams.open_between(StreamStart::Bare);
        state.streams.send_item_between(StreamItem::Bytes(named_event("endpoint", endpoint.as_bytes())));
        receiver
    }

    /// Handles the end of a client's stream.
    pub(super) fn stop_listening(&self, stopped: ListenedStream) {
        match (self.era, stopped) {
            (Era::Stateless, ListenedStream::Stream(stream)) => self.state.lock().abandon(stream),
            (Era::Sse, _) => self.end(),
            // The client may resume it.
            _ => {}
        }
    }

    /// Whether the session has ended.
    pub(super) fn is_over(&self) -> bool {
        self.state.lock().is_over
    }

    /// Ends the session with its streams and its real server.
    pub(super) fn end(&self) {
        let mut state = self.state.lock();
        state.is_over = true;
        state.requests.clear();
        state.streams.close_all();
        // Dropping it ends the process.
        state.real = None;
        self.changed.notify_one();
    }

    /// Handles an event of the real server.
    fn handle_real_event(&self, event: RealEvent) {
        let mut state = self.state.lock();
        let actions = state.real.as_mut().map(|real| real.handle_event(event));
        state.route(actions.unwrap_or_default(), &self.notify);
    }

    /// Sends what is due. Returns the time until the next deadline; `None` if the session has ended.
    fn tick(&self) -> Option<Option<Duration>> {
        let mut actions = Vec::new();
        let mut state = self.state.lock();
        if state.is_over {
            return None;
        }
        let now_us = self.loaded.now_us();
        state.player.tick(now_us, &mut actions);
        state.route(actions, &self.notify);
        let deadline = state.player.deadline();
        Some(deadline.map(|due| Duration::from_micros(due.saturating_sub(now_us))))
    }
}

/// Calls the session's player at its deadlines.
async fn keep_time(session: std::sync::Weak<Session>) {
    // Without a deadline, only a change can be the reason to wake up; `timeout` needs some duration.
    const FOR_EVER: Duration = Duration::from_secs(3600);
    while let Some(session) = session.upgrade() {
        let Some(wait) = session.tick() else { return };
        let _ = tokio::time::timeout(wait.unwrap_or(FOR_EVER), session.changed.notified()).await;
    }
}

impl SessionState {
    /// Handles a message or a batch. Returns the numbers of its requests.
    fn receive(&mut self, message: &[u8], now_us: u64, actions: &mut Vec<Action>) -> Range<u64> {
        let Some(real) = &mut self.real else { return self.player.receive(message, now_us, actions) };
        let mut numbers = 0..0;
        for payload in payloads(message) {
            if !real.observe_client(payload, actions) {
                let more = self.player.receive(payload, now_us, actions);
                numbers = if numbers.is_empty() { more } else { numbers.start..more.end };
            }
        }
        numbers
    }

    /// Cancels the requests of a stream.
    fn abandon(&mut self, stream: u64) {
        for number in self.streams.abandon(stream) {
            self.requests.remove(&number);
            self.player.cancel(number);
            if let Some(real) = &mut self.real {
                real.cancel(number);
            }
        }
    }

    /// Sends each message on its stream.
    fn route(&mut self, actions: Vec<Action>, notify: &NoticeCallback) {
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
                        self.route(actions, notify);
                    }
                }
                Action::Notify(notice) => notify(&notice),
            }
        }
    }

    /// Sends the answer to a request, and closes its stream.
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

    /// Closes the stream of a request, if no other request is answered on it.
    fn close(&mut self, request: u64) {
        if let Some(stream) = self.requests.remove(&request) {
            self.streams.close(stream, request);
        }
    }
}

/// The reply without a stream, if there is at most one request and it is answered at once with nothing before its answer. The
/// remaining actions belong to other streams.
fn at_once(
    numbers: &Range<u64>,
    actions: &mut Vec<Action>,
    notify: &NoticeCallback,
    beginning: StreamStart,
) -> Option<Reply> {
    let number = match numbers.end - numbers.start {
        0 => return Some(Reply::Accepted),
        1 => numbers.start,
        _ => return None,
    };
    let is_sent_during =
        |action: &Action| matches!(action, Action::Send { during: Some(during), .. } if *during == number);
    if actions.iter().any(is_sent_during) {
        return None;
    }
    let at = actions.iter().position(|action| match action {
        Action::Answer { to, .. } => *to == number,
        // A client that can resume needs a stream to resume.
        Action::BreakOff { to, .. } | Action::Disconnect { to, .. } => {
            *to == number && beginning == StreamStart::Bare
        }
        _ => false,
    })?;
    for action in &actions[..at] {
        if let Action::Notify(notice) = action {
            notify(notice);
        }
    }
    // What follows the answer belongs to other streams and stays in `actions`, for the caller to route.
    let after = actions.split_off(at + 1);
    let end = actions.pop();
    actions.retain(|action| !matches!(action, Action::Notify(_)));
    actions.extend(after);
    Some(match end? {
        Action::Answer { message, .. } => Reply::Whole(message),
        Action::BreakOff { message, .. } => Reply::Broken(message),
        _ => Reply::Broken(Vec::new()),
    })
}
