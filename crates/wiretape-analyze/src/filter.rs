//! The filter language for calls and messages, shared by commands and the page.
//!
//! A filter is a list of terms separated by spaces. All terms must match: `tool:search* status:error latency>200ms text:"over quota"`.
//!
//! | term | matches |
//! |---|---|
//! | `tool:GLOB` | calls of the tool |
//! | `method:GLOB` | the method |
//! | `status:STATUS` | the outcome: the name of an [`Outcome`], `error` for all errors, `answered` for all calls with an answer |
//! | `dir:in`, `dir:out` | requests and messages from the client, from the server |
//! | `session:GLOB`, `server:GLOB`, `id:GLOB` | the session, the label of the trace, the request's id |
//! | `latency>200ms` | the latency; also `<`, `>=`, `<=`, and the units `us`, `ms`, `s`, `m` |
//! | `request>1kB`, `response>1MB` | the payload size |
//! | `text:WORDS`, or the words alone | payloads that contain the unescaped text, ignoring case |
//!
//! Of several values separated by commas, one must match. A `!` or `-` before a term negates it. Values with spaces are
//! quoted. In a GLOB, `*` matches any text and `?` one character.

use crate::call::{Call, Outcome};
use globset::{Glob, GlobSet, GlobSetBuilder};
use std::ops::Range;
use wiretape_trace::message::{Direction, Id};

/// A parsed filter: a list of terms that all have to match.
#[derive(Debug, Clone, Default)]
pub struct Filter {
    terms: Vec<Term>,
}

/// A syntax error in a filter.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{what}")]
pub struct FilterError {
    /// What is wrong, and what to write instead.
    pub what: String,
    /// The byte range in the filter.
    pub span: Range<usize>,
}

/// What a filter is matched against: a call, or a message with the facts about its call.
#[derive(Debug, Clone, Copy, Default)]
pub struct Subject<'a> {
    /// The method of the request.
    pub method: Option<&'a str>,
    /// The tool, for `tools/call`.
    pub tool: Option<&'a str>,
    /// The outcome, once the call has ended.
    pub outcome: Option<Outcome>,
    /// The direction of the request or message.
    pub direction: Option<Direction>,
    /// The id of the session.
    pub session: Option<&'a str>,
    /// The label of the trace, or the server's name.
    pub server: Option<&'a str>,
    /// The request's id, without quotes.
    pub id: Option<&'a str>,
    /// The latency in microseconds.
    pub latency_us: Option<u64>,
    /// The size of the request in bytes.
    pub request_bytes: Option<u64>,
    /// The size of the response in bytes.
    pub response_bytes: Option<u64>,
}

impl<'a> Subject<'a> {
    /// A call in a trace with this label.
    pub fn of_call(call: &'a Call, label: Option<&'a str>) -> Self {
        Subject {
            method: Some(&call.method),
            tool: call.tool.as_deref(),
            outcome: Some(call.outcome),
            direction: Some(call.direction),
            session: call.session.as_deref(),
            server: label,
            id: call.id.as_ref().map(Id::text),
            latency_us: call.duration_us,
            request_bytes: Some(call.request_bytes),
            response_bytes: call.response_bytes,
        }
    }
}

#[derive(Debug, Clone)]
struct Term {
    negated: bool,
    condition: Condition,
}

#[derive(Debug, Clone)]
enum Condition {
    Name(Name, GlobSet),
    Status(Vec<StatusTerm>),
    Direction(Vec<Direction>),
    Size(Quantity, Comparison, u64),
    /// The indices of its needles.
    Text(Vec<Needle>),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Name {
    Tool,
    Method,
    Session,
    Server,
    Id,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Quantity {
    Latency,
    Request,
    Response,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Comparison {
    Above,
    AtLeast,
    Below,
    AtMost,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum StatusTerm {
    Error,
    Answered,
    Outcome(Outcome),
}

/// A text to search for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Needle {
    /// The text, in lower case.
    pub text: String,
}

impl Filter {
    /// Parses a filter.
    ///
    /// ```
    /// use wiretape_analyze::filter::{Filter, Subject};
    ///
    /// let filter = Filter::parse("tool:search* latency>200ms").unwrap();
    /// let call = Subject { tool: Some("search_files"), latency_us: Some(250_000), ..Subject::default() };
    /// assert!(filter.matches(&call, |_| false));
    /// assert!(Filter::parse("latency>soon").is_err());
    /// ```
    pub fn parse(text: &str) -> Result<Self, FilterError> {
        let terms = words(text)?.iter().map(term).collect::<Result<_, _>>()?;
        Ok(Filter { terms })
    }

    /// A filter that matches what both match.
    pub fn and(mut self, other: Filter) -> Self {
        self.terms.extend(other.terms);
        self
    }

    /// Whether it has no terms, so that every call matches.
    pub fn is_empty(&self) -> bool {
        self.terms.is_empty()
    }

    /// Whether it needs facts that only a complete call has: outcome, latency, response size.
    pub fn asks_for_calls(&self) -> bool {
        self.terms.iter().any(|term| matches!(term.condition, Condition::Status(_) | Condition::Size(..)))
    }

    /// Whether it needs the ids of requests.
    pub fn asks_for_ids(&self) -> bool {
        self.terms.iter().any(|term| matches!(term.condition, Condition::Name(Name::Id, _)))
    }

    /// The texts to search for, in order.
    pub fn needles(&self) -> impl Iterator<Item = &Needle> {
        self.terms.iter().flat_map(|term| match &term.condition {
            Condition::Text(needles) => needles.as_slice(),
            _ => &[],
        })
    }

    /// Whether a subject matches. `has` reports whether it contains one of the [`needles`](Self::needles).
    pub fn matches(&self, subject: &Subject<'_>, has: impl Fn(&Needle) -> bool) -> bool {
        self.terms.iter().all(|term| term.condition.holds(subject, &has) != term.negated)
    }
}

impl Condition {
    // A missing fact never matches: `latency>0` must not list calls whose latency is unknown. Its negation therefore
    // lists them.
    fn holds(&self, subject: &Subject<'_>, has: &impl Fn(&Needle) -> bool) -> bool {
        match self {
            Condition::Name(name, globs) => name.of(subject).is_some_and(|text| globs.is_match(text)),
            Condition::Status(wanted) => {
                subject.outcome.is_some_and(|outcome| wanted.iter().any(|wanted| wanted.is(outcome)))
            }
            Condition::Direction(wanted) => {
                subject.direction.is_some_and(|direction| wanted.contains(&direction))
            }
            Condition::Size(quantity, comparison, limit) => {
                quantity.of(subject).is_some_and(|amount| comparison.holds(amount, *limit))
            }
            Condition::Text(needles) => needles.iter().any(has),
        }
    }
}

impl Name {
    fn of<'a>(self, subject: &Subject<'a>) -> Option<&'a str> {
        match self {
            Name::Tool => subject.tool,
            Name::Method => subject.method,
            Name::Session => subject.session,
            Name::Server => subject.server,
            Name::Id => subject.id,
        }
    }
}

impl Quantity {
    fn of(self, subject: &Subject<'_>) -> Option<u64> {
        match self {
            Quantity::Latency => subject.latency_us,
            Quantity::Request => subject.request_bytes,
            Quantity::Response => subject.response_bytes,
        }
    }
}

impl Comparison {
    fn holds(self, amount: u64, limit: u64) -> bool {
        match self {
            Comparison::Above => amount > limit,
            Comparison::AtLeast => amount >= limit,
            Comparison::Below => amount < limit,
            Comparison::AtMost => amount <= limit,
        }
    }
}

impl StatusTerm {
    fn is(self, outcome: Outcome) -> bool {
        match self {
            StatusTerm::Error => outcome.is_error(),
            StatusTerm::Answered => !outcome.is_unanswered(),
            StatusTerm::Outcome(wanted) => outcome == wanted,
        }
    }

    fn parse(name: &str) -> Option<Self> {
        // Forgiving, because people type what they remember; the names that are printed are always those of
        // `Outcome::name`.
        let name = name.to_ascii_lowercase().replace('_', "-");
        match name.as_str() {
            "error" | "errors" | "failed" => Some(StatusTerm::Error),
            "answered" => Some(StatusTerm::Answered),
            name => Outcome::named(name).map(StatusTerm::Outcome),
        }
    }
}

impl Needle {
    fn new(text: &str) -> Self {
        Needle { text: text.to_lowercase() }
    }
}

/// The names of the fields, which precede the colon in a term.
const FIELDS: [&str; 11] =
    ["tool", "method", "status", "dir", "session", "server", "id", "latency", "request", "response", "text"];

/// Whether a command-line argument is a filter term and not a file name.
///
/// ```
/// use wiretape_analyze::filter::is_filter;
///
/// assert!(is_filter("tool:search*") && is_filter("-status:ok") && is_filter("latency>1s"));
/// assert!(!is_filter("trace.jsonl") && !is_filter("latest") && !is_filter("C:\\traces\\a.jsonl"));
/// ```
pub fn is_filter(word: &str) -> bool {
    // Only known fields count, so that `C:\traces` and `a:b.jsonl` are still file names.
    let word = word.strip_prefix(['-', '!']).unwrap_or(word);
    let name = word.split([':', '<', '>']).next().unwrap_or_default();
    name.len() < word.len() && FIELDS.contains(&name)
}

/// A term of a filter, unquoted.
struct Word {
    /// The part before the operator; empty for plain words.
    field: String,
    operator: String,
    /// The values, split at unquoted commas.
    values: Vec<String>,
    negated: bool,
    span: Range<usize>,
}

fn words(text: &str) -> Result<Vec<Word>, FilterError> {
    let mut words = Vec::new();
    let mut rest = text.char_indices().peekable();
    loop {
        while rest.next_if(|(_, c)| c.is_whitespace()).is_some() {}
        let Some(&(start, _)) = rest.peek() else { return Ok(words) };
        let negated = rest.next_if(|(_, c)| matches!(c, '-' | '!')).is_some();
        let mut raw = String::new();
        // Per character, because quotes may start anywhere in a term (`tool:"a,b",c`), and a quoted comma or colon is
        // text.
        let mut quoted = Vec::new();
        let mut in_quotes = false;
        let mut end = start;
        while let Some((at, c)) = rest.next_if(|(_, c)| in_quotes || !c.is_whitespace()) {
            end = at + c.len_utf8();
            match c {
                '"' => in_quotes = !in_quotes,
                '\\' if in_quotes => {
                    if let Some((at, c)) = rest.next() {
                        end = at + c.len_utf8();
                        raw.push(c);
                        quoted.push(true);
                    }
                }
                c => {
                    raw.push(c);
                    quoted.push(in_quotes);
                }
            }
        }
        if in_quotes {
            return Err(FilterError { what: "unclosed quotation mark".to_owned(), span: start..end });
        }
        words.push(split(&raw, &quoted, negated, start..end));
    }
}

/// Splits a term at its operator and commas. Quoted ones don't count.
fn split(raw: &str, quoted: &[bool], negated: bool, span: Range<usize>) -> Word {
    let plain = |n: usize, c: char, wanted: &[char]| wanted.contains(&c) && !quoted[n];
    let chars: Vec<char> = raw.chars().collect();
    let at = chars.iter().enumerate().position(|(n, c)| plain(n, *c, &[':', '<', '>', '=']));
    let Some(at) = at else {
        return Word {
            field: String::new(),
            operator: String::new(),
            values: vec![raw.to_owned()],
            negated,
            span,
        };
    };
    // `>=` and `<=`. After a colon, `=` belongs to the value: `text:=1`.
    let length = if chars[at] != ':' && chars.get(at + 1) == Some(&'=') { 2 } else { 1 };
    let mut values = vec![String::new()];
    for (n, c) in chars.iter().enumerate().skip(at + length) {
        match values.last_mut() {
            Some(last) if !plain(n, *c, &[',']) => last.push(*c),
            _ => values.push(String::new()),
        }
    }
    Word {
        field: chars[..at].iter().collect(),
        operator: chars[at..at + length].iter().collect(),
        values,
        negated,
        span,
    }
}

fn term(word: &Word) -> Result<Term, FilterError> {
    let condition = condition(word).map_err(|what| FilterError { what, span: word.span.clone() })?;
    Ok(Term { negated: word.negated, condition })
}

fn condition(word: &Word) -> Result<Condition, String> {
    // `tool:` and `tool:a,,b` are typos rather than filters for an empty name.
    if word.values.iter().any(String::is_empty) {
        return Err(format!("`{}{}` needs a value", word.field, word.operator));
    }
    let name = |name| Ok(Condition::Name(name, globs(&word.values)?));
    let condition = match word.field.as_str() {
        // Comparisons return at once, because the check of the operator at the end is for fields that take `:`.
        "latency" => return size(word, Quantity::Latency, parse_duration),
        "request" => return size(word, Quantity::Request, parse_bytes),
        "response" => return size(word, Quantity::Response, parse_bytes),
        "" | "text" => Ok(Condition::Text(word.values.iter().map(|text| Needle::new(text)).collect())),
        "tool" => name(Name::Tool),
        "method" => name(Name::Method),
        "session" => name(Name::Session),
        "server" => name(Name::Server),
        "id" => name(Name::Id),
        "status" => statuses(&word.values),
        "dir" => directions(&word.values),
        other => {
            return Err(format!("unknown field `{other}`; fields are {}", FIELDS.join(", ")));
        }
    };
    match word.operator.as_str() {
        "" | ":" => condition,
        operator => Err(format!("`{}` takes `:`, not `{operator}`", word.field)),
    }
}

fn globs(values: &[String]) -> Result<GlobSet, String> {
    let mut set = GlobSetBuilder::new();
    for value in values {
        set.add(Glob::new(value).map_err(|error| error.to_string())?);
    }
    set.build().map_err(|error| error.to_string())
}

fn statuses(values: &[String]) -> Result<Condition, String> {
    let parse = |value: &String| {
        StatusTerm::parse(value).ok_or_else(|| {
            format!(
                "unknown status `{value}`; statuses are error, answered, {}",
                Outcome::ALL.map(Outcome::name).join(", ")
            )
        })
    };
    Ok(Condition::Status(values.iter().map(parse).collect::<Result<_, _>>()?))
}

fn directions(values: &[String]) -> Result<Condition, String> {
    let parse = |value: &String| match value.as_str() {
        "in" => Ok(Direction::ClientToServer),
        "out" => Ok(Direction::ServerToClient),
        other => Err(format!("unknown direction `{other}`; use `in` (client to server) or `out`")),
    };
    Ok(Condition::Direction(values.iter().map(parse).collect::<Result<_, _>>()?))
}

fn size(word: &Word, quantity: Quantity, parse: fn(&str) -> Option<u64>) -> Result<Condition, String> {
    let comparison = match word.operator.as_str() {
        ">" => Comparison::Above,
        ">=" => Comparison::AtLeast,
        "<" => Comparison::Below,
        "<=" => Comparison::AtMost,
        _ => return Err(format!("`{0}` takes a comparison: `{0}>N`, `{0}<N`", word.field)),
    };
    let [value] = word.values.as_slice() else {
        return Err("a comparison takes one value".to_owned());
    };
    let limit = parse(value).ok_or_else(|| match quantity {
        Quantity::Latency => format!("`{value}` is not a time; write 200ms, 1.5s or 2m"),
        _ => format!("`{value}` is not a size; write 500, 10kB or 1.5MB"),
    })?;
    Ok(Condition::Size(quantity, comparison, limit))
}

/// Parses `200ms`, `1.5s` or `2m` into microseconds.
pub(crate) fn parse_duration(text: &str) -> Option<u64> {
    let units: [(&str, f64); 5] = [("us", 1.0), ("µs", 1.0), ("ms", 1e3), ("s", 1e6), ("m", 60e6)];
    amount(text, &units)
}

fn parse_bytes(text: &str) -> Option<u64> {
    let text = text.to_ascii_lowercase();
    amount(
        &text,
        &[("kb", 1e3), ("mb", 1e6), ("gb", 1e9), ("k", 1e3), ("m", 1e6), ("g", 1e9), ("b", 1.0), ("", 1.0)],
    )
}

fn amount(text: &str, units: &[(&str, f64)]) -> Option<u64> {
    let (number, factor) =
        // The order of `units` matters: `ms` ends with `s`, and every text ends with the empty unit.
        units.iter().find_map(|(unit, factor)| Some((text.strip_suffix(unit)?, *factor)))?;
    let amount = number.trim().parse::<f64>().ok()? * factor;
    // `parse::<f64>` also accepts `nan`, `inf` and negative numbers.
    (amount.is_finite() && amount >= 0.0).then_some(amount as u64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn search() -> Subject<'static> {
        Subject {
            method: Some("tools/call"),
            tool: Some("search_files"),
            outcome: Some(Outcome::ToolError),
            direction: Some(Direction::ClientToServer),
            session: Some("abc"),
            server: Some("files"),
            id: Some("7"),
            latency_us: Some(250_000),
            request_bytes: Some(100),
            response_bytes: Some(2_000),
        }
    }

    fn check(filter: &str, expected: bool) {
        let has = |needle: &Needle| "over quota, sorry".contains(&needle.text);
        assert_eq!(Filter::parse(filter).unwrap().matches(&search(), has), expected, "{filter}");
    }

    #[test]
    fn all_words_must_hold() {
        check("", true);
        check("tool:search*", true);
        check("tool:read*,search*", true);
        check("tool:read*", false);
        check("-tool:read* status:error", true);
        check("!tool:read* !status:ok", true);
        check("tool:search* status:ok", false);
        check("status:tool-error", true);
        check("status:tool_error,ok", true);
        check("dir:in", true);
        check("dir:out", false);
        check("latency>200ms", true);
        check("latency>=0.25s latency<=250000us", true);
        check("latency<200ms", false);
        check("response>1.5kB request<1k", true);
        check("session:a* server:files id:7", true);
        check(r#"text:"Over Quota""#, true);
        check(r#"quota -"no such""#, true);
        check(r#"text:"no such""#, false);
    }

    #[test]
    fn what_is_not_known_does_not_pass() {
        let nothing = Subject::default();
        for filter in ["tool:*", "status:ok", "latency>0s", "dir:in"] {
            assert!(!Filter::parse(filter).unwrap().matches(&nothing, |_| true), "{filter}");
        }
    }

    fn check_error(filter: &str, span: Range<usize>, what: &str) {
        let error = Filter::parse(filter).unwrap_err();
        assert!(error.what.contains(what), "{error}");
        assert_eq!(error.span, span, "{filter}");
    }

    #[test]
    fn mistakes_are_named() {
        check_error("tool:a toool:b", 7..14, "unknown field `toool`");
        check_error("latency:200ms", 0..13, "`latency>N`");
        check_error("latency>soon", 0..12, "write 200ms");
        check_error("status:bad", 0..10, "unknown status `bad`");
        check_error("dir:up", 0..6, "`in`");
        check_error("tool:", 0..5, "needs a value");
        check_error("tool>3", 0..6, "takes `:`");
        check_error(r#"text:"abc"#, 0..9, "unclosed");
    }

    proptest! {
        #[test]
        fn any_text_is_a_filter_or_a_mistake_within_it(text in ".{0,60}") {
            if let Err(error) = Filter::parse(&text) {
                prop_assert!(text.get(error.span).is_some());
            }
        }
    }
}
