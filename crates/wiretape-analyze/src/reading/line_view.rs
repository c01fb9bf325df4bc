//! A line with its time and its HTTP context.
//!
//! Several analyses and the interpreter need the HTTP part of the same line, so it is parsed at most once, and lazily.

use std::cell::OnceCell;
use wiretape_trace::format::{HttpContext, Line, Record};
use wiretape_trace::value::Value;

/// A line of a trace, for analyses.
#[derive(Debug)]
pub struct LineView<'s, 'a> {
    /// The line as it was parsed from the file.
    pub line: &'s Line<'a>,
    /// When it was observed, in microseconds since 1970. It never runs backwards within a recording.
    pub at_us: i64,
    http: Option<&'a [u8]>,
    context: OnceCell<HttpContext>,
}

impl<'s, 'a> LineView<'s, 'a> {
    pub(super) fn new(line: &'s Line<'a>, at_us: i64) -> Self {
        let http = match &line.record {
            Record::Message(message) => message.http,
            Record::Text(text) => text.http,
            Record::Http(exchange) => Some(exchange.http),
            _ => None,
        };
        LineView { line, at_us, http, context: OnceCell::new() }
    }

    /// The HTTP context of the line. Parsed once, on first use: most analyses need only the number.
    pub fn http(&self) -> Option<&HttpContext> {
        let http = self.http?;
        Some(self.context.get_or_init(|| HttpContext::parse(http)))
    }

    /// The number of its HTTP exchange.
    pub fn exchange(&self) -> Option<u64> {
        exchange_number(self.http?)
    }
}

/// The number of an exchange. In lines that this program wrote, it is the first member, so the heads after it need no
/// lexing.
fn exchange_number(http: &[u8]) -> Option<u64> {
    if let Some(rest) = http.strip_prefix(b"{\"x\":") {
        let digits = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
        return std::str::from_utf8(&rest[..digits]).ok()?.parse().ok();
    }
    let x = Value::parse(http).ok()?.get("x")?;
    std::str::from_utf8(x.raw).ok()?.parse().ok()
}
