//! Calls from the store. Filter terms are evaluated here and not in SQL, so that they mean the same as for traces.

use crate::calls::{self, DisplayFormat};
use crate::error::CommandError;
use crate::output::{self, Output};
use std::collections::BTreeSet;
use std::io::Write as _;
use wiretape_analyze::filter::{Filter, Subject};
use wiretape_events::store::query::{CallRecord, Order};
use wiretape_events::store::{Filter as StoreFilter, Store};
use wiretape_trace::message::Direction;

/// How many rows are read at a time.
const PAGE: u32 = 2000;

/// Lists the newest matching calls, oldest first.
pub(super) fn run(store: &Store, filter: &Filter, limit: u64, json: bool) -> Result<(), CommandError> {
    if filter.needles().next().is_some() {
        return Err(CommandError::usage("`text:` needs a trace: the store has no payloads")
            .hint("use `wiretape search TEXT` for all traces, or `wiretape calls TRACE text:…` for one"));
    }
    let mut found = newest(store, filter, usize::try_from(limit).unwrap_or(usize::MAX))?;
    found.reverse();
    if json {
        return Ok(output::print_json_lines(&found)?);
    }
    let mut out = Output::stdout();
    if found.is_empty() {
        writeln!(out, "No calls in the store match this filter.")?;
        return Ok(out.flush()?);
    }
    let (styles, width, look) = (out.styles, out.width, DisplayFormat::of(&out));
    let names = calls::names(store, &found)?;
    calls::table(&found, &names, &look, &styles).write(&mut out, &styles, width)?;
    Ok(out.flush()?)
}

fn newest(store: &Store, filter: &Filter, limit: usize) -> Result<Vec<CallRecord>, CommandError> {
    let mut found = Vec::new();
    let mut wanted = StoreFilter::default();
    let mut size = PAGE;
    // Some rows of the millisecond where the previous page ended have been read already.
    let mut seen = BTreeSet::new();
    while found.len() < limit {
        let page = store.calls(&wanted, Order::Newest, size)?;
        let fresh: Vec<CallRecord> = page.into_iter().filter(|call| !seen.contains(&call.row)).collect();
        let Some(last) = fresh.last() else { break };
        if wanted.until_ms == Some(last.time + 1) {
            // The whole page is from one millisecond, so only a larger page can get past it.
            size = size.saturating_mul(2);
        } else {
            seen.clear();
        }
        wanted.until_ms = Some(last.time + 1);
        seen.extend(fresh.iter().filter(|call| call.time == last.time).map(|call| call.row));
        let room = limit - found.len();
        found.extend(fresh.into_iter().filter(|call| passes(filter, call)).take(room));
    }
    Ok(found)
}

fn passes(filter: &Filter, call: &CallRecord) -> bool {
    let subject = Subject {
        method: Some(&call.method),
        tool: call.tool.as_deref(),
        outcome: Some(call.status),
        // The store has only requests of the client.
        direction: Some(Direction::ClientToServer),
        session: call.session.as_deref(),
        server: Some(&call.server),
        id: Some(&call.request_id),
        latency_us: call.latency_us,
        request_bytes: Some(call.request_bytes),
        response_bytes: Some(call.response_bytes),
    };
    filter.matches(&subject, |_| false)
}
