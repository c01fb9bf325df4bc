//! The routes of the JSON API.

use super::answer::{Refusal, answer};
use super::{App, bring, guard, live, page, watch};
use crate::api::types::{
    CallDetail, CallPage, Density, DiffDetail, DiffReport, Home, LintReport, MessagePage, PendingRow,
    RawPage, SessionRow, StoreReport, Timeline, ToolsReport, TraceSet,
};
use crate::query::select::{Row, Sort, TypedFilter};
use crate::query::{Set, calls, detail, info, lines, lint, sessions, store, timeline, tools};
use crate::trace::OpenTrace;
use axum::extract::{DefaultBodyLimit, Query, State};
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use axum::{Json, Router, middleware};
use serde::Deserialize;
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};
use wiretape_analyze::diff::Status;
use wiretape_analyze::filter::Filter;

type Shared = State<Arc<App>>;
type Answer<T> = Result<Json<T>, Refusal>;

/// The router with all routes.
pub(crate) fn router(app: Arc<App>) -> Router {
    Router::new()
        .route("/", get(page::index))
        .route("/app.js", get(page::script))
        .route("/app.css", get(page::style))
        .route("/api/home", get(home))
        .route("/api/pending", get(pending))
        .route("/api/set", get(set))
        .route("/api/watch", get(watch::watch))
        .route("/api/calls", get(call_page))
        .route("/api/timeline", get(bars))
        .route("/api/density", get(density))
        .route("/api/messages", get(message_page))
        .route("/api/messages/position", get(message_position))
        .route("/api/call", get(call))
        .route("/api/raw", get(raw))
        .route("/api/line", get(line))
        .route("/api/payload", get(payload))
        .route("/api/tools", get(tool_report))
        .route("/api/sessions", get(session_rows))
        .route("/api/lint", get(lint_report))
        .route("/api/diff", get(diff))
        .route("/api/diff/row", get(diff_row))
        .route("/api/store", get(store_report))
        .route("/api/upload", post(bring::upload))
        .route("/api/live", post(live::connect))
        // Uploaded traces may have any size; the guard runs first, so only the page can upload.
        .layer(DefaultBodyLimit::disable())
        .layer(middleware::from_fn_with_state(Arc::clone(&app), guard::check_access))
        .with_state(app)
}

/// The query parameters that most routes share. Each route ignores those that it doesn't use.
#[derive(Debug, Deserialize)]
pub(crate) struct ApiQuery {
    #[serde(default)]
    trace: String,
    #[serde(default)]
    filter: String,
    #[serde(default)]
    sort: String,
    #[serde(default)]
    from: u64,
    limit: Option<u64>,
    /// The index of the trace in the set.
    #[serde(default)]
    at: usize,
    #[serde(default)]
    line: u64,
    #[serde(default)]
    call: u64,
    from_us: Option<i64>,
    to_us: Option<i64>,
    buckets: Option<usize>,
}

/// The limits of what one response contains: the page asks for what is visible, and a mistyped limit must not
/// use up all memory.
const MOST_ROWS: u64 = 1000;
const MOST_BARS: u64 = 10_000;
const MOST_BUCKETS: usize = 4000;

impl ApiQuery {
    fn set(&self, app: &App) -> Result<Set, Refusal> {
        Ok(app.library.set(&self.trace)?)
    }

    fn trace(&self, app: &App) -> Result<Arc<OpenTrace>, Refusal> {
        let trace = self.set(app)?.traces.into_iter().nth(self.at);
        trace.ok_or_else(|| Refusal::not_found("trace in this set"))
    }

    fn filter(&self) -> Result<TypedFilter, Refusal> {
        Ok(TypedFilter { text: self.filter.clone(), filter: Filter::parse(&self.filter)? })
    }

    fn sort(&self) -> Result<Sort, Refusal> {
        Sort::parse(&self.sort).ok_or_else(|| {
            let refusal =
                Refusal::new(StatusCode::BAD_REQUEST, format!("can't sort calls by `{}`", self.sort));
            refusal.hint("sort by time, latency, name, status, request or response")
        })
    }

    fn limit(&self) -> u64 {
        self.limit.unwrap_or(200).min(MOST_ROWS)
    }

    fn at(&self) -> u32 {
        // An index that does not fit can't exist, and is then simply not found.
        u32::try_from(self.at).unwrap_or(u32::MAX)
    }
}

/// The query parameters of the home page.
#[derive(Debug, Deserialize)]
struct HomeQuery {
    #[serde(default)]
    search: String,
}

async fn home(State(app): Shared, Query(query): Query<HomeQuery>) -> Answer<Home> {
    answer(move || Ok(app.library.home(&query.search))).await
}

async fn pending(State(app): Shared) -> Answer<Vec<PendingRow>> {
    answer(move || Ok(app.library.pending())).await
}

async fn set(State(app): Shared, Query(query): Query<ApiQuery>) -> Answer<TraceSet> {
    answer(move || Ok(info::set_info(&query.set(&app)?)?)).await
}

async fn call_page(State(app): Shared, Query(query): Query<ApiQuery>) -> Answer<CallPage> {
    answer(move || {
        let set = query.set(&app)?;
        let rows = app.library.selections.calls(&set, &query.filter()?, query.sort()?)?;
        Ok(calls::page(&set, &rows, query.from, query.limit())?)
    })
    .await
}

async fn bars(State(app): Shared, Query(query): Query<ApiQuery>) -> Answer<Timeline> {
    answer(move || {
        let set = query.set(&app)?;
        let rows = app.library.selections.calls(&set, &query.filter()?, Sort::default())?;
        // Without a range, the whole timeline, including calls whose time is unknown.
        let part = query.from_us.unwrap_or(i64::MIN)..=query.to_us.unwrap_or(i64::MAX);
        let limit = query.limit.unwrap_or(2000).min(MOST_BARS);
        Ok(timeline::timeline(&set, &rows, &part, usize::try_from(limit).unwrap_or(usize::MAX)))
    })
    .await
}

async fn density(State(app): Shared, Query(query): Query<ApiQuery>) -> Answer<Density> {
    answer(move || {
        // At least one, since the width of a bucket is a division by their number.
        let buckets = query.buckets.unwrap_or(400).clamp(1, MOST_BUCKETS);
        Ok(timeline::density(&query.set(&app)?, buckets))
    })
    .await
}

async fn message_page(State(app): Shared, Query(query): Query<ApiQuery>) -> Answer<MessagePage> {
    answer(move || {
        let set = query.set(&app)?;
        let rows = app.library.selections.lines(&set, &query.filter()?)?;
        Ok(lines::page(&set, &rows, query.from, query.limit())?)
    })
    .await
}

async fn message_position(State(app): Shared, Query(query): Query<ApiQuery>) -> Answer<u64> {
    answer(move || {
        let set = query.set(&app)?;
        let rows = app.library.selections.lines(&set, &query.filter()?)?;
        let number = u32::try_from(query.line).unwrap_or(u32::MAX);
        Ok(rows.position(Row { trace: query.at(), number }))
    })
    .await
}

async fn call(State(app): Shared, Query(query): Query<ApiQuery>) -> Answer<CallDetail> {
    answer(move || {
        let trace = query.trace(&app)?;
        detail::detail(&trace, query.at(), query.call)?
            .ok_or_else(|| Refusal::not_found("call in this trace"))
    })
    .await
}

async fn raw(State(app): Shared, Query(query): Query<ApiQuery>) -> Answer<RawPage> {
    answer(move || Ok(lines::raw_page(&*query.trace(&app)?, query.from, query.limit())?)).await
}

/// A complete line, unchanged.
async fn line(State(app): Shared, Query(query): Query<ApiQuery>) -> Result<Response, Refusal> {
    let Json(bytes) = answer(move || {
        let line = query.trace(&app)?.line(query.line, u64::MAX)?;
        line.map(|(bytes, _)| bytes).ok_or_else(|| Refusal::not_found("line in this trace"))
    })
    .await?;
    Ok(plain(bytes))
}

/// A complete payload, unchanged: the request of a call, or its response if `line` is that of the response.
async fn payload(State(app): Shared, Query(query): Query<ApiQuery>) -> Result<Response, Refusal> {
    let Json(bytes) = answer(move || {
        let trace = query.trace(&app)?;
        let row = calls::call_row(&trace, query.at(), query.call)?;
        let row = row.ok_or_else(|| Refusal::not_found("call in this trace"))?;
        // The line says which of the two is meant; a request and its response are never on the same line.
        let found = match row.response_line.filter(|line| *line == query.line) {
            Some(line) => detail::response(&trace, &row, line)?,
            None => detail::request(&trace, query.call)?,
        };
        found
            .map(detail::LocatedPayload::into_bytes)
            .ok_or_else(|| Refusal::not_found("message in this trace"))
    })
    .await?;
    Ok(plain(bytes))
}

/// A plain-text response: recorded content must not be interpreted by the browser.
fn plain(bytes: Vec<u8>) -> Response {
    // `nosniff` is set for every response, so a browser does not guess another type from the content.
    ([(header::CONTENT_TYPE, "text/plain; charset=utf-8")], bytes).into_response()
}

async fn tool_report(State(app): Shared, Query(query): Query<ApiQuery>) -> Answer<ToolsReport> {
    answer(move || Ok(tools::tools(&query.set(&app)?)?)).await
}

async fn session_rows(State(app): Shared, Query(query): Query<ApiQuery>) -> Answer<Vec<SessionRow>> {
    answer(move || Ok(sessions::sessions(&query.set(&app)?)?)).await
}

async fn lint_report(State(app): Shared, Query(query): Query<ApiQuery>) -> Answer<LintReport> {
    answer(move || Ok(lint::lint(&query.set(&app)?))).await
}

/// The query parameters of a comparison.
#[derive(Debug, Deserialize)]
struct DiffQuery {
    a: String,
    b: String,
    #[serde(default)]
    status: String,
    #[serde(default)]
    from: u64,
    limit: Option<u64>,
    #[serde(default)]
    row: u64,
}

async fn diff(State(app): Shared, Query(query): Query<DiffQuery>) -> Answer<DiffReport> {
    answer(move || {
        // Comparisons are cached by the pair, so paging through the rows aligns the calls only once.
        let (first, second) = (app.library.trace(&query.a)?, app.library.trace(&query.b)?);
        let comparison = app.library.comparisons.of(&first, &second);
        Ok(comparison.report(
            &statuses(&query.status)?,
            query.from,
            query.limit.unwrap_or(200).min(MOST_ROWS),
        )?)
    })
    .await
}

fn statuses(text: &str) -> Result<Vec<Status>, Refusal> {
    let all = [Status::Same, Status::Changed, Status::Removed, Status::Added];
    let named = |name: &str| {
        all.into_iter().find(|status| status.name() == name).ok_or_else(|| {
            Refusal::new(StatusCode::BAD_REQUEST, format!("unknown status `{name}`"))
                .hint("use same, changed, removed or added")
        })
    };
    text.split(',').filter(|name| !name.is_empty()).map(named).collect()
}

async fn diff_row(State(app): Shared, Query(query): Query<DiffQuery>) -> Answer<DiffDetail> {
    answer(move || {
        let (first, second) = (app.library.trace(&query.a)?, app.library.trace(&query.b)?);
        let detail = app.library.comparisons.of(&first, &second).detail(query.row)?;
        detail.ok_or_else(|| Refusal::not_found("pair of calls"))
    })
    .await
}

/// The query parameters of the activity view.
#[derive(Debug, Deserialize)]
struct ActivityQuery {
    minutes: Option<i64>,
}

/// The limit of the activity view: one year.
const MOST_MINUTES: i64 = 366 * 24 * 60;

async fn store_report(State(app): Shared, Query(query): Query<ActivityQuery>) -> Answer<StoreReport> {
    answer(move || {
        let Some(path) = app.library.store() else {
            let refusal = Refusal::new(StatusCode::NOT_FOUND, "there is no store on this machine");
            return Err(refusal.hint("`wiretape record` and `wiretape proxy` create it"));
        };
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let now_ms = i64::try_from(now.as_millis()).unwrap_or(i64::MAX);
        // The rates are one row per interval; an unlimited range would read the whole store for one request.
        let minutes = query.minutes.unwrap_or(15).clamp(1, MOST_MINUTES);
        Ok(store::report(path, minutes, now_ms, |name| app.library.key_of(name))?)
    })
    .await
}
