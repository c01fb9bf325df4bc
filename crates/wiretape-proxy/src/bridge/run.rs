//! Start, the loop over the client's lines, and shutdown.
//!
//! All state is in one [`Bridge`] behind small mutexes, none of which is held across an `await` (except `renewing`,
//! which is made for that): tasks of concurrent requests share it. One thread is enough, because the work is waiting.

use super::client::HttpClient;
use super::failure::{Failure, Reason};
use super::options::{BridgeOptions, Secrets, ServerUrl};
use super::outgoing::{ClientLine, same};
use super::recording::{Exchange, Recording};
use super::renewal::{Handshake, PendingInitialize};
use super::session::{Era, Session};
use super::streams::{Output, OutputEnd, Signals, input};
use crate::http::relay::body::ProxyBody;
use crate::record::RecordOutcome;
use crate::warning::{Warn, Warning};
use bytes::Bytes;
use http::{HeaderMap, Method, Request};
use parking_lot::Mutex;
use std::future::Future;
use std::io;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::{Semaphore, mpsc, oneshot};
use tokio::task::{AbortHandle, JoinSet};
use wiretape_trace::format::Wire;
use wiretape_trace::message::{Direction, Id};

/// The limit of concurrent requests.
const MAX_REQUESTS: usize = 256;
/// The time for the DELETE that ends the session.
const DELETE_TIMEOUT: Duration = Duration::from_secs(1);

/// The connection between a stdio client and an HTTP server.
pub(super) struct Bridge {
    pub(super) url: ServerUrl,
    pub(super) secrets: Arc<Secrets>,
    pub(super) client: Arc<HttpClient>,
    pub(super) recording: Arc<Recording>,
    pub(super) session: Mutex<Session>,
    pub(super) output: Output,
    pub(super) permits: Semaphore,
    /// The `initialize` that is in flight.
    pub(super) initializing: Mutex<Option<PendingInitialize>>,
    /// The client's handshake, for restarting the session if the server loses it.
    pub(super) handshake: Mutex<Handshake>,
    /// Held while a session is restarted, so that concurrent failures restart it once.
    pub(super) renewing: tokio::sync::Mutex<()>,
    /// The task of the listening stream.
    pub(super) listener: Mutex<Option<AbortHandle>>,
    in_flight: Mutex<Vec<InFlightMessage>>,
    tasks: Mutex<JoinSet<()>>,
    warn: Warn,
    /// The last warning, which is not repeated.
    last_warning: Mutex<String>,
}

/// The requests of a message that are not answered yet.
pub(super) type PendingRequests = Arc<Mutex<Vec<Id<'static>>>>;

/// A message with requests that is being delivered.
pub(super) struct InFlightMessage {
    pub(super) open: PendingRequests,
    pub(super) era: Era,
    pub(super) method: Option<String>,
    pub(super) task: AbortHandle,
}

/// Why the bridge ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum BridgeEnd {
    InputEnded,
    OutputClosed,
    Signal,
}

impl BridgeEnd {
    /// The time for requests in flight to finish. Clients that end a server wait for about two seconds.
    fn grace(self) -> Duration {
        match self {
            BridgeEnd::InputEnded => Duration::from_millis(1500),
            BridgeEnd::Signal => Duration::from_millis(500),
            BridgeEnd::OutputClosed => Duration::ZERO,
        }
    }

    fn reason(self) -> &'static str {
        match self {
            BridgeEnd::InputEnded => "the client ended the session",
            BridgeEnd::OutputClosed => "the client closed its input",
            BridgeEnd::Signal => "a signal stopped the recorder",
        }
    }
}

/// Connects our standard streams with a server over HTTP, until the client or a signal ends the session.
pub fn bridge(options: BridgeOptions) -> io::Result<RecordOutcome> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let outcome = runtime.block_on(run(options));
    // Not a plain drop: the thread that reads our stdin may block on the client for ever.
    runtime.shutdown_background();
    outcome
}

/// Connects a channel of lines with a server over HTTP, until the channel is closed or `stopped` resolves. `on_line` is called with
/// each line of the server.
pub(super) fn relay(
    options: BridgeOptions,
    mut lines: mpsc::Receiver<ClientLine>,
    stopped: oneshot::Receiver<()>,
    mut on_line: impl FnMut(Vec<u8>) + Send + 'static,
) -> io::Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        let (output, mut answers) = Output::to_channel();
        let forwarding = tokio::spawn(async move {
            while let Some(line) = answers.recv().await {
                on_line(line);
            }
        });
        let bridge = Bridge::new(options, output);
        // `stopped` also ends a wait for a server that accepts no messages.
        tokio::select! {
            () = bridge.take_lines(&mut lines) => {}
            _ = stopped => {}
        }
        bridge.stop_listening();
        let _ = tokio::time::timeout(DELETE_TIMEOUT, bridge.delete_session()).await;
        bridge.drop_tasks().await;
        drop(bridge);
        // Ends once all senders of the output are dropped, so that no line is lost.
        let _ = forwarding.await;
    });
    Ok(())
}

async fn run(options: BridgeOptions) -> io::Result<RecordOutcome> {
    let mut signals = Signals::catch()?;
    let mut lines = input()?;
    let (output, mut output_end) = Output::start()?;
    let bridge = Bridge::new(options, output);
    let end = tokio::select! {
        () = bridge.take_lines(&mut lines) => BridgeEnd::InputEnded,
        () = output_end.closed() => BridgeEnd::OutputClosed,
        () = signals.next() => BridgeEnd::Signal,
    };
    Ok(bridge.shut_down(end, output_end, signals).await)
}

impl Bridge {
    fn new(options: BridgeOptions, output: Output) -> Arc<Self> {
        let secrets = Arc::new(Secrets::new(&options.headers));
        let (url, warn) = (options.url.clone(), Arc::clone(&options.warn));
        Arc::new(Bridge {
            client: HttpClient::new(url.server()),
            recording: Arc::new(Recording::begin(options, Arc::clone(&secrets))),
            url,
            secrets,
            output,
            permits: Semaphore::new(MAX_REQUESTS),
            session: Mutex::default(),
            initializing: Mutex::default(),
            handshake: Mutex::default(),
            renewing: tokio::sync::Mutex::default(),
            listener: Mutex::default(),
            in_flight: Mutex::default(),
            tasks: Mutex::default(),
            warn,
            last_warning: Mutex::default(),
        })
    }

    async fn take_lines(self: &Arc<Self>, lines: &mut mpsc::Receiver<ClientLine>) {
        while let Some(line) = lines.recv().await {
            self.deliver(line).await;
        }
    }

    /// Builds a request, and begins its exchange in the trace.
    pub(super) fn request(
        &self,
        method: Method,
        target: &str,
        headers: HeaderMap,
        body: Bytes,
    ) -> (Request<ProxyBody>, Exchange) {
        let exchange = self.recording.exchange(&method, target, &headers);
        let mut request = Request::new(ProxyBody::from(body));
        *request.method_mut() = method;
        *request.uri_mut() = target.parse().expect("targets come from `ServerUrl`, which has parsed them");
        *request.headers_mut() = headers;
        (request, exchange)
    }

    /// The server's redacted URL, for messages.
    pub(super) fn address(&self) -> String {
        self.recording.clean_url(&self.url.without_query())
    }

    /// Runs a task until it ends or the bridge does.
    pub(super) fn spawn(&self, work: impl Future<Output = ()> + Send + 'static) -> AbortHandle {
        let mut tasks = self.tasks.lock();
        // Finished tasks are collected here, or the set would grow with every message.
        while tasks.try_join_next().is_some() {}
        tasks.spawn(work)
    }

    pub(super) fn track_in_flight(&self, in_flight: InFlightMessage) {
        let mut all = self.in_flight.lock();
        // A finished task may leave requests open: with HTTP+SSE, their answers come on the stream.
        all.retain(|one| !one.task.is_finished() || !one.open.lock().is_empty());
        all.push(in_flight);
    }

    /// Calls `then` with the message that contains an unanswered request.
    pub(super) fn with_pending<T>(&self, id: &Id<'_>, then: impl FnOnce(&InFlightMessage) -> T) -> Option<T> {
        let all = self.in_flight.lock();
        all.iter().find(|one| one.open.lock().iter().any(|open| same(open, id))).map(then)
    }

    /// The unanswered requests of all messages.
    pub(super) fn all_pending(&self) -> Vec<PendingRequests> {
        self.in_flight.lock().iter().map(|one| Arc::clone(&one.open)).collect()
    }

    /// Answers requests with an error, and warns the user.
    pub(super) async fn fail_requests(
        &self,
        open: &PendingRequests,
        failure: &Failure,
        mut exchange: Option<&mut Exchange>,
    ) {
        let failure = &Failure { message: self.secrets.scrub_text(&failure.message), ..failure.clone() };
        let is_probe = |one: &InFlightMessage| one.method.as_deref() == Some("server/discover");
        let first = open.lock().first().cloned();
        let probed = first.is_some_and(|id| self.with_pending(&id, is_probe) == Some(true));
        // Clients send `server/discover` to find out whether the server supports MCP 2026-07-28. An older server's refusal is
        // expected, and not worth a warning.
        if !(probed && failure.reason == Reason::Status) {
            self.warn_once(&failure.message);
        }
        if let Some(exchange) = exchange.as_deref_mut() {
            exchange.end(failure.ended(), Some(&failure.message));
        }
        // A copy, because the lock must not be held while the client reads.
        let ids = open.lock().clone();
        for id in ids {
            self.send_error(Some(&id), failure, exchange.as_deref_mut()).await;
            open.lock().retain(|open| *open != id);
            let mut initializing = self.initializing.lock();
            if initializing.as_ref().is_some_and(|initialize| initialize.id == id) {
                *initializing = None;
            }
        }
    }

    /// Sends the client an error of the bridge.
    pub(super) async fn send_error(
        &self,
        id: Option<&Id<'_>>,
        failure: &Failure,
        exchange: Option<&mut Exchange>,
    ) {
        let answer = failure.answer(id);
        match exchange {
            Some(exchange) => exchange.record_own_answer(&answer),
            None => self.recording.record_line(Direction::ServerToClient, Wire::default(), &answer),
        }
        self.output.line(&answer).await;
    }

    /// Warns the user, unless the last warning was the same.
    pub(super) fn warn_once(&self, message: &str) {
        let mut last = self.last_warning.lock();
        if *last != message {
            message.clone_into(&mut last);
            (self.warn)(Warning::Bridge { message: message.to_owned() });
        }
    }

    /// Waits briefly for requests in flight, ends the session, and closes the trace.
    async fn shut_down(
        self: Arc<Self>,
        end: BridgeEnd,
        output_end: OutputEnd,
        mut signals: Signals,
    ) -> RecordOutcome {
        tokio::select! {
            () = self.all_answered() => {}
            () = tokio::time::sleep(end.grace()) => {}
            () = signals.next() => {}
        }
        self.stop_listening();
        tokio::select! {
            () = self.delete_session() => {}
            () = tokio::time::sleep(DELETE_TIMEOUT) => {}
            () = signals.next() => {}
        }
        self.drop_tasks().await;
        let recording = Arc::clone(&self.recording);
        // The last owner of the output: its writer ends when everything is written.
        drop(self);
        tokio::select! {
            () = output_end.written() => {}
            () = signals.next() => {}
        }
        recording.end(end.reason())
    }

    fn stop_listening(&self) {
        if let Some(listener) = self.listener.lock().take() {
            listener.abort();
        }
    }

    async fn drop_tasks(&self) {
        self.recording.stop();
        let mut tasks = std::mem::take(&mut *self.tasks.lock());
        tasks.shutdown().await;
    }

    async fn all_answered(&self) {
        // Polled, and only during shutdown: a notification for every answer would cost each of them something.
        const STEP: Duration = Duration::from_millis(5);
        while self.all_pending().iter().any(|open| !open.lock().is_empty()) {
            tokio::time::sleep(STEP).await;
        }
    }

    /// Ends the session with a DELETE, if it has an id. The status doesn't matter: 405 means that clients can't end sessions
    /// (MCP 2025-11-25, basic/transports, "Session Management").
    async fn delete_session(&self) {
        let Some(headers) = self.session.lock().delete(&self.url, &self.secrets) else { return };
        let (request, mut exchange) = self.request(Method::DELETE, &self.url.target(), headers, Bytes::new());
        match self.client.send(request, || ()).await {
            Ok(answer) => {
                exchange.record_response_head(&answer.parts);
                exchange.end(wiretape_events::Ended::Complete, None);
            }
            Err(failure) => exchange.end(failure.ended(), Some(&failure.message)),
        }
    }
}
