//! The queries of the activity view.

use crate::api::types::{StoreCall, StoreChange, StoreClient, StoreRate, StoreReport, StoreStat};
use std::path::Path;
use wiretape_events::store::query::{CallRecord, Order};
use wiretape_events::store::{Filter, Store, StoreError};

/// The limit of listed calls.
const LISTED: u32 = 50;
/// The number of intervals of the rate chart.
const RATES: i64 = 120;

/// The calls of the last minutes.
pub(crate) fn report(
    path: &Path,
    minutes: i64,
    now_ms: i64,
    key_of: impl Fn(&str) -> Option<String>,
) -> Result<StoreReport, StoreError> {
    let store = Store::open_read(path)?;
    let since = now_ms.saturating_sub(minutes.saturating_mul(60_000));
    let filter = Filter { since_ms: Some(since), ..Filter::default() };
    let stats = store.stats(&filter)?;
    let calls = |order| -> Result<Vec<StoreCall>, StoreError> {
        Ok(store.calls(&filter, order, LISTED)?.iter().map(|call| view(call, &key_of)).collect())
    };
    Ok(StoreReport {
        rates: rates(&store, since, now_ms)?,
        calls: stats.totals.calls,
        errors: stats.totals.errors,
        rows: stats
            .rows
            .into_iter()
            .map(|row| StoreStat {
                server: row.server,
                method: row.method,
                tool: row.tool,
                calls: row.calls,
                errors: row.errors,
                p50_us: row.p50_us,
                p95_us: row.p95_us,
                max_us: row.max_us,
            })
            .collect(),
        slow: calls(Order::Slowest)?,
        newest: calls(Order::Newest)?,
        clients: clients(&store, &filter)?,
        changes: changes(&store)?,
    })
}

fn rates(store: &Store, since: i64, now_ms: i64) -> Result<Vec<StoreRate>, StoreError> {
    let width = ((now_ms - since) / RATES).max(1);
    let counted = store.rates(since, width)?;
    let at = |number: i64| since + number * width;
    let mut rates: Vec<StoreRate> =
        (0..RATES).map(|number| StoreRate { at_ms: at(number), calls: 0, errors: 0 }).collect();
    for rate in counted {
        if let Some(place) = usize::try_from(rate.part).ok().and_then(|part| rates.get_mut(part)) {
            (place.calls, place.errors) = (rate.calls, rate.errors);
        }
    }
    Ok(rates)
}

fn view(call: &CallRecord, key_of: impl Fn(&str) -> Option<String>) -> StoreCall {
    StoreCall {
        at_ms: call.time,
        server: call.server.clone(),
        method: call.method.clone(),
        tool: call.tool.clone(),
        id: call.request_id.clone(),
        status: call.status.name().to_owned(),
        is_error: call.status.is_error(),
        error: call.error_message.clone(),
        latency_us: call.latency_us,
        // The store names the single session of a stdio recording after its trace; the trace itself has no
        // name for it.
        session: call.session.clone().filter(|session| Some(session) != call.trace.as_ref()),
        trace: call.trace.as_deref().and_then(key_of),
    }
}

fn clients(store: &Store, filter: &Filter) -> Result<Vec<StoreClient>, StoreError> {
    let clients = store.clients(filter)?.into_iter();
    let view = clients.map(|client| StoreClient {
        name: client.name.unwrap_or_else(|| "unknown".to_owned()),
        version: client.version,
        sessions: client.sessions,
        calls: client.calls,
        errors: client.errors,
        last_ms: client.last_seen,
    });
    Ok(view.collect())
}

fn changes(store: &Store) -> Result<Vec<StoreChange>, StoreError> {
    let changes = store.schema_changes(&Filter::default(), LISTED)?.into_iter();
    let view = changes.map(|change| StoreChange {
        at_ms: change.time,
        server: change.server,
        method: change.method,
        change: change.change,
        name: Some(change.key),
    });
    Ok(view.collect())
}
