//! The sessions of traces.

use super::Set;
use super::info::introduction;
use crate::api::types::SessionRow;
use crate::index::names::NameId;
use crate::trace::OpenTrace;
use std::collections::BTreeMap;
use std::io;
use wiretape_analyze::stats::CallCounts;
use wiretape_trace::message::Direction;

/// The limit of sessions whose client is looked up: each lookup reads from the file.
const INTRODUCED: usize = 500;

struct SessionCalls {
    from_us: i64,
    to_us: i64,
    counts: CallCounts,
}

/// The sessions of a set, in the order of their first calls.
pub(crate) fn sessions(set: &Set) -> io::Result<Vec<SessionRow>> {
    let mut rows = Vec::new();
    for (at, trace) in (0..).zip(&set.traces) {
        rows.extend(of_trace(trace, at)?);
    }
    rows.sort_by_key(|row| row.from_us);
    Ok(rows)
}

fn of_trace(trace: &OpenTrace, at: u32) -> io::Result<Vec<SessionRow>> {
    let mut rows = Vec::new();
    for (many, (id, seen)) in gather(trace).into_iter().enumerate() {
        let session = trace.index().names.get(id).map(str::to_owned);
        let peers = if many < INTRODUCED {
            introduction(trace, |name| name == session.as_deref())?
        } else {
            Default::default()
        };
        rows.push(SessionRow {
            trace: at,
            session,
            client: peers.client,
            server: peers.server,
            revision: peers.revision,
            from_us: seen.from_us,
            to_us: seen.to_us,
            calls: seen.counts.calls,
            errors: seen.counts.errors(),
            unanswered: seen.counts.without_answer(),
        });
    }
    Ok(rows)
}

fn gather(trace: &OpenTrace) -> BTreeMap<NameId, SessionCalls> {
    let index = trace.index();
    let mut sessions: BTreeMap<NameId, SessionCalls> = BTreeMap::new();
    for (_, call) in index.all_calls() {
        let fresh = || SessionCalls { from_us: call.at_us, to_us: call.at_us, counts: CallCounts::default() };
        let seen = sessions.entry(call.session).or_insert_with(fresh);
        seen.to_us = seen.to_us.max(call.end_us());
        // Requests of the server happen during the client's calls: they are not counted separately, and don't begin a
        // session.
        if call.direction == Direction::ClientToServer {
            let is_first = seen.counts.calls == 0;
            seen.from_us = if is_first { call.at_us } else { seen.from_us.min(call.at_us) };
            seen.counts.add(call.outcome);
        }
    }
    for (id, seen) in &mut sessions {
        // The `initialize` is before the first line that names the session, and notifications are after the last call.
        if let Some(lines) = index.session_times(*id) {
            seen.from_us = seen.from_us.min(*lines.start());
            seen.to_us = seen.to_us.max(*lines.end());
        }
    }
    if sessions.len() == 1
        && let (Some(only), Some((_, last_us))) = (sessions.values_mut().next(), index.times())
    {
        // The lines of a server on its standard error, and its end, belong to the only session there is.
        only.to_us = only.to_us.max(last_us);
    }
    sessions
}
