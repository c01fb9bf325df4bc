//! The event loop between a script and a server.

use super::script::RecordedClient;
use super::server::{Connection, Event, Target, TargetError};
use crate::new_trace::NewTrace;
use crate::replay::TapeFile;
use crate::warning::Warn;
use std::io;
use std::sync::Arc;
use std::time::{Duration, Instant};
use wiretape_analyze::verify::{Action, Checked, Driver, Notice, Script, Setting, Verified};

/// The progress of a run.
#[derive(Debug)]
pub enum Progress<'p> {
    /// A call has its verdict.
    Judged {
        /// The script that contains the call.
        script: &'p Script,
        /// The call and its verdict.
        checked: &'p Checked,
    },
    /// A notice for the user.
    Notice(&'p Notice),
}

/// Repeats the calls of a recorded client and compares the answers. The new session is written to `trace`, if there is one.
pub fn verify(
    client: RecordedClient,
    target: &Target,
    setting: Setting,
    mut trace: Option<&mut NewTrace>,
    warn: &Warn,
    mut report: impl FnMut(Progress<'_>),
) -> Result<(Verified, Arc<Script>, io::Result<()>), TargetError> {
    let script = Arc::new(client.script);
    let driver = Driver::new(Arc::clone(&script), client.file, setting);
    let mut run = Run {
        started: Instant::now(),
        driver,
        connection: Some(Connection::begin(target, warn)?),
        target,
        warn,
        is_done: false,
        trace_result: Ok(()),
    };
    let mut actions = Vec::new();
    run.driver.advance(0, &mut actions);
    loop {
        run.act(&mut actions, &script, trace.as_deref_mut(), &mut report)?;
        if run.is_done {
            break;
        }
        run.wait(&mut actions);
    }
    drop(run.connection.take());
    Ok((run.driver.finish(), script, run.trace_result))
}

/// The state of a run.
struct Run<'r> {
    started: Instant,
    driver: Driver<Arc<TapeFile>>,
    connection: Option<Connection>,
    target: &'r Target,
    warn: &'r Warn,
    is_done: bool,
    /// The result of writing the new trace.
    trace_result: io::Result<()>,
}

impl Run<'_> {
    fn now_us(&self) -> u64 {
        u64::try_from(self.started.elapsed().as_micros()).unwrap_or(u64::MAX)
    }

    /// Performs actions, and those that follow from them.
    fn act(
        &mut self,
        actions: &mut Vec<Action>,
        script: &Script,
        mut trace: Option<&mut NewTrace>,
        report: &mut impl FnMut(Progress<'_>),
    ) -> Result<(), TargetError> {
        let mut reported = self.driver.checked().len() - judged(actions);
        let mut is_gone = false;
        for action in std::mem::take(actions) {
            match action {
                Action::Send(message) => {
                    is_gone |= !self.connection.as_ref().is_some_and(|connection| connection.send(&message));
                }
                Action::Reconnect => {
                    self.reconnect()?;
                    // `is_gone` was about the previous connection.
                    is_gone = false;
                }
                Action::Keep(direction, message) => {
                    if let (Some(trace), Ok(())) = (trace.as_deref_mut(), &self.trace_result) {
                        self.trace_result = trace.write_message(direction, &message);
                    }
                }
                Action::Notify(notice) => report(Progress::Notice(&notice)),
                Action::Judged => {
                    report(Progress::Judged { script, checked: &self.driver.checked()[reported] });
                    reported += 1;
                }
                Action::Done => self.is_done = true,
            }
        }
        // After all actions: what was received before the connection broke still counts.
        if is_gone && !self.is_done {
            self.handle_exit(actions);
        }
        if actions.is_empty() { Ok(()) } else { self.act(actions, script, trace, report) }
    }

    fn reconnect(&mut self) -> Result<(), TargetError> {
        // The old server ends before the new one starts: both may need the same port or lock file.
        drop(self.connection.take());
        self.connection = Some(Connection::begin(self.target, self.warn)?);
        Ok(())
    }

    /// Waits for an event or the next deadline.
    fn wait(&mut self, actions: &mut Vec<Action>) {
        let due = self.driver.deadline().unwrap_or(u64::MAX);
        let now_us = self.now_us();
        if due <= now_us {
            // Before reading more events: a server that keeps sending notifications must not postpone its timeout.
            return self.driver.tick(now_us, actions);
        }
        let pause = Duration::from_micros(due - now_us).min(Duration::from_secs(3600));
        let event = match &self.connection {
            Some(connection) => connection.next_event(pause),
            None => {
                std::thread::sleep(pause);
                None
            }
        };
        let now_us = self.now_us();
        match event {
            Some(Event::Line(line)) if line.trim_ascii().is_empty() => {}
            Some(Event::Line(line)) => self.driver.receive(&line, now_us, actions),
            Some(Event::Lost(reason)) => {
                self.connection = None;
                self.driver.server_gone(&reason, now_us, actions);
            }
            Some(Event::Ended) => self.handle_exit(actions),
            None => self.driver.tick(now_us, actions),
        }
    }

    fn handle_exit(&mut self, actions: &mut Vec<Action>) {
        let reason = self.connection.take().map(Connection::describe_end).unwrap_or_default();
        self.driver.server_gone(&reason, self.now_us(), actions);
    }
}

fn judged(actions: &[Action]) -> usize {
    actions.iter().filter(|action| matches!(action, Action::Judged)).count()
}
