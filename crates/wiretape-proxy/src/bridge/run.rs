//! The beginning, the client's lines, and the end.

use super::client::HttpClient;
use super::failure::{Failure, Reason};
use super::options::{BridgeOptions, Secrets, ServerUrl};
use super::outgoing::{Line, same};
use super::recording::{Exchange, Recording};
use super::renewal::{Handshake, Initializing};
use super::session::{Era, Session};
use super::streams::{Output, OutputEnd, Signals, input};
use crate::http::body::ProxyBody;
use crate::record::RecordOutcome;
use crate::record::pump::lock;
use crate::warning::{Warn, Warning};
use bytes::Bytes;
use http::{HeaderMap, Method, Request};
use std::future::Future;
use std::io;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::sync::{Semaphore, mpsc, oneshot};
use tokio::task::{AbortHandle, JoinSet};
use wiretape_trace::format::Wire;
use wiretape_trace::message::{Direction, Id};

/// Requests that may be under way at a time.
const MAX_REQUESTS: usize = 256;
/// How long the server may take to take note of the end.
const FAREWELL: Duration = Duration::from_secs(1);

/// A stdio client and an HTTP server, connected.
pub(super) struct Bridge {
    pub(super) url: ServerUrl,
    pub(super) secrets: Arc<Secrets>,
    pub(super) client: Arc<HttpClient>,
    pub(super) recording: Arc<Recording>,
    pub(super) session: Mutex<Session>,
    pub(super) output: Output,
    pub(super) permits: Semaphore,
    /// The `initialize` that is under way.
    pub(super) initializing: Mutex<Option<Initializing>>,
    /// What the client began the session with, for when the server loses it.
    pub(super) handshake: Mutex<Handshake>,
    /// Held by the one that begins a session anew.
    pub(super) renewing: tokio::sync::Mutex<()>,
    /// The stream that stands by.
    pub(super) listener: Mutex<Option<AbortHandle>>,
    in_flight: Mutex<Vec<InFlight>>,
    tasks: Mutex<JoinSet<()>>,
    warn: Warn,
    /// What the user was told last, who need not be told again.
    told: Mutex<String>,
}

/// The requests of a message that have no answer yet.
pub(super) type Open = Arc<Mutex<Vec<Id<'static>>>>;

/// A message with requests in it.
pub(super) struct InFlight {
    pub(super) open: Open,
    pub(super) era: Era,
    pub(super) method: Option<String>,
    pub(super) task: AbortHandle,
}

/// Why it is over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum End {
    InputEnded,
    OutputClosed,
    Signal,
}

impl End {
    /// How long what is under way may take. Clients that end a server give it about two seconds.
    fn moment(self) -> Duration {
        match self {
            End::InputEnded => Duration::from_millis(1500),
            End::Signal => Duration::from_millis(500),
            End::OutputClosed => Duration::ZERO,
        }
    }

    fn reason(self) -> &'static str {
        match self {
            End::InputEnded => "the client ended the session",
            End::OutputClosed => "the client does not read any more",
            End::Signal => "a signal ended the recorder",
        }
    }
}

/// Connects our standard streams with a server that is reached over HTTP, until the client or a signal ends it.
pub fn bridge(options: BridgeOptions) -> io::Result<RecordOutcome> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let outcome = runtime.block_on(run(options));
    // The thread that reads our input may wait for the client for ever.
    runtime.shutdown_background();
    outcome
}

/// Connects whoever has lines to send with a server that is reached over HTTP, until there are no more lines or whoever has them
/// leaves. What the server says is handed to `said`.
pub(super) fn relay(
    options: BridgeOptions,
    mut lines: mpsc::Receiver<Line>,
    left: oneshot::Receiver<()>,
    mut said: impl FnMut(Vec<u8>) + Send + 'static,
) -> io::Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        let (output, mut answers) = Output::to_channel();
        let hearing = tokio::spawn(async move {
            while let Some(line) = answers.recv().await {
                said(line);
            }
        });
        let bridge = Bridge::new(options, output);
        // A server that takes nothing would be waited for, otherwise.
        tokio::select! {
            () = bridge.take_lines(&mut lines) => {}
            _ = left => {}
        }
        bridge.stop_listening();
        let _ = tokio::time::timeout(FAREWELL, bridge.say_goodbye()).await;
        bridge.drop_tasks().await;
        drop(bridge);
        // It ends when nobody can say anything any more.
        let _ = hearing.await;
    });
    Ok(())
}

async fn run(options: BridgeOptions) -> io::Result<RecordOutcome> {
    let mut signals = Signals::catch()?;
    let mut lines = input()?;
    let (output, mut output_end) = Output::start()?;
    let bridge = Bridge::new(options, output);
    let end = tokio::select! {
        () = bridge.take_lines(&mut lines) => End::InputEnded,
        () = output_end.closed() => End::OutputClosed,
        () = signals.next() => End::Signal,
    };
    Ok(bridge.wind_up(end, output_end, signals).await)
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
            told: Mutex::default(),
        })
    }

    async fn take_lines(self: &Arc<Self>, lines: &mut mpsc::Receiver<Line>) {
        while let Some(line) = lines.recv().await {
            self.deliver(line).await;
        }
    }

    /// A request, and its exchange.
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
        *request.uri_mut() = target.parse().expect("targets were parsed before");
        *request.headers_mut() = headers;
        (request, exchange)
    }

    /// Where the server is, for people.
    pub(super) fn address(&self) -> String {
        self.recording.clean_url(&self.url.without_query())
    }

    /// Does something beside everything else.
    pub(super) fn spawn(&self, work: impl Future<Output = ()> + Send + 'static) -> AbortHandle {
        let mut tasks = lock(&self.tasks);
        while tasks.try_join_next().is_some() {}
        tasks.spawn(work)
    }

    pub(super) fn set_off(&self, in_flight: InFlight) {
        let mut all = lock(&self.in_flight);
        all.retain(|one| !one.task.is_finished() || !lock(&one.open).is_empty());
        all.push(in_flight);
    }

    /// Looks for the message that holds a request without an answer.
    pub(super) fn with_open<T>(&self, id: &Id<'_>, then: impl FnOnce(&InFlight) -> T) -> Option<T> {
        let all = lock(&self.in_flight);
        all.iter().find(|one| lock(&one.open).iter().any(|open| same(open, id))).map(then)
    }

    /// All requests without an answer.
    pub(super) fn all_open(&self) -> Vec<Open> {
        lock(&self.in_flight).iter().map(|one| Arc::clone(&one.open)).collect()
    }

    /// Answers requests that the server does not answer, and tells the user why.
    pub(super) async fn fail(&self, open: &Open, failure: &Failure, mut exchange: Option<&mut Exchange>) {
        let failure = &Failure { message: self.secrets.scrub_text(&failure.message), ..failure.clone() };
        let is_probe = |one: &InFlight| one.method.as_deref() == Some("server/discover");
        let first = lock(open).first().cloned();
        let probed = first.is_some_and(|id| self.with_open(&id, is_probe) == Some(true));
        // Clients ask so whether the server is a newer one; that an older one says no is as it should be.
        if !(probed && failure.reason == Reason::Status) {
            self.tell(&failure.message);
        }
        if let Some(exchange) = exchange.as_deref_mut() {
            exchange.end(failure.ended(), Some(&failure.message));
        }
        let ids = lock(open).clone();
        for id in ids {
            self.refuse(Some(&id), failure, exchange.as_deref_mut()).await;
            lock(open).retain(|open| *open != id);
            let mut initializing = lock(&self.initializing);
            if initializing.as_ref().is_some_and(|initialize| initialize.id == id) {
                *initializing = None;
            }
        }
    }

    /// An answer of our own.
    pub(super) async fn refuse(
        &self,
        id: Option<&Id<'_>>,
        failure: &Failure,
        exchange: Option<&mut Exchange>,
    ) {
        let answer = failure.answer(id);
        match exchange {
            Some(exchange) => exchange.own_answer(&answer),
            None => self.recording.line(Direction::ServerToClient, Wire::default(), &answer),
        }
        self.output.line(&answer).await;
    }

    /// Tells the user, once.
    pub(super) fn tell(&self, message: &str) {
        let mut told = lock(&self.told);
        if *told != message {
            message.clone_into(&mut told);
            (self.warn)(Warning::Bridge { message: message.to_owned() });
        }
    }

    /// Lets what is under way come to its end, for a moment, and ends the session.
    async fn wind_up(
        self: Arc<Self>,
        end: End,
        output_end: OutputEnd,
        mut signals: Signals,
    ) -> RecordOutcome {
        tokio::select! {
            () = self.all_answered() => {}
            () = tokio::time::sleep(end.moment()) => {}
            () = signals.next() => {}
        }
        self.stop_listening();
        tokio::select! {
            () = self.say_goodbye() => {}
            () = tokio::time::sleep(FAREWELL) => {}
            () = signals.next() => {}
        }
        self.drop_tasks().await;
        let recording = Arc::clone(&self.recording);
        drop(self);
        tokio::select! {
            () = output_end.written() => {}
            () = signals.next() => {}
        }
        recording.end(end.reason())
    }

    fn stop_listening(&self) {
        if let Some(listener) = lock(&self.listener).take() {
            listener.abort();
        }
    }

    async fn drop_tasks(&self) {
        self.recording.stop();
        let mut tasks = std::mem::take(&mut *lock(&self.tasks));
        tasks.shutdown().await;
    }

    async fn all_answered(&self) {
        const STEP: Duration = Duration::from_millis(5);
        while self.all_open().iter().any(|open| !lock(open).is_empty()) {
            tokio::time::sleep(STEP).await;
        }
    }

    /// Ends the session, if the server has given it a name. It need not agree: 405 means that it ends sessions itself.
    async fn say_goodbye(&self) {
        let Some(headers) = lock(&self.session).delete(&self.url, &self.secrets) else { return };
        let (request, mut exchange) = self.request(Method::DELETE, &self.url.target(), headers, Bytes::new());
        match self.client.send(request, || ()).await {
            Ok(answer) => {
                exchange.answered(&answer.parts);
                exchange.end(wiretape_events::Ended::Complete, None);
            }
            Err(failure) => exchange.end(failure.ended(), Some(&failure.message)),
        }
    }
}
