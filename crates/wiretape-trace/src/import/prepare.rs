//! Everything about an item that doesn't depend on the others: whether it is a message, redaction, and the
//! facts that the conversation needs.
//!
//! This is the expensive part of an import, and it runs on all cores. What it leaves to the single thread of
//! the conversation is small: a [`Gist`] per message.

use super::cut::Batch;
use super::formats::Format;
use super::item::{Defect, Findings, Flaw, Item, ItemContent};
use crate::json;
use crate::message::{Defect as MessageDefect, Direction, Envelope, Id, MessageKind, payloads};
use crate::redact::Redactor;
use memchr::memmem::Finder;
use std::borrow::Cow;
use std::hash::{BuildHasherDefault, Hash as _, Hasher};
use std::ops::Range;
use std::sync::LazyLock;

/// A batch whose items are parsed and redacted.
pub(super) struct Prepared {
    batch: Batch,
    pub(super) items: Vec<PreparedItem>,
    pub(super) flaws: Vec<Flaw>,
}

/// An item that is ready to be written, except for its sender.
pub(super) struct PreparedItem {
    pub(super) line: u64,
    /// The number of the element of a document's array that it comes from, from 1.
    pub(super) entry: Option<u64>,
    pub(super) at_ms: Option<i64>,
    pub(super) server: Option<String>,
    pub(super) session: Option<String>,
    pub(super) http: Option<Vec<u8>>,
    pub(super) what: PreparedContent,
}

impl PreparedItem {
    /// A flaw at the position of this item.
    pub(super) fn flaw(&self, defect: Defect) -> Flaw {
        Flaw { line: self.line, entry: self.entry, defect }
    }
}

pub(super) enum PreparedContent {
    Message { from: Option<Direction>, raw: Bytes, gists: Gists },
    Text { from: Direction, text: Bytes },
    Stderr { text: Bytes },
    Exchange,
    FreshIds,
}

/// Bytes of an item: a range of the batch, or a copy if something had to be changed. Most payloads are never
/// copied.
pub(super) enum Bytes {
    Here(Range<usize>),
    Own(Vec<u8>),
}

impl Prepared {
    /// Resolves the bytes of an item of this batch.
    pub(super) fn bytes<'p>(&'p self, bytes: &'p Bytes) -> &'p [u8] {
        match bytes {
            Bytes::Here(range) => &self.batch.bytes()[range.clone()],
            Bytes::Own(own) => own,
        }
    }
}

/// The gists of an item: one for a message, several for a batch. The common case allocates nothing.
pub(super) enum Gists {
    One(Gist),
    Several(Vec<Gist>),
}

impl Gists {
    /// The number of messages.
    pub(super) fn count(&self) -> u64 {
        self.iter().count() as u64
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &Gist> {
        match self {
            Gists::One(gist) => std::slice::from_ref(gist).iter(),
            Gists::Several(gists) => gists.iter(),
        }
    }
}

/// The facts about a message that the conversation needs.
#[derive(Debug, Clone, Copy)]
pub(super) struct Gist {
    pub(super) kind: MessageKind,
    pub(super) id: Option<IdKey>,
    /// The side that may send this method.
    pub(super) sender: Sender,
    /// The progress token that a request asks for, or that a notification reports on.
    pub(super) progress: Option<IdKey>,
    /// The request that a notification cancels.
    pub(super) cancels: Option<IdKey>,
    pub(super) is_tool_call: bool,
    pub(super) is_initialize: bool,
    pub(super) is_error: bool,
    /// Which of the server's requests a result resembles an answer to.
    pub(super) answers: Question,
    /// For a request: which of the server's requests it is.
    pub(super) asks: Question,
}

/// A 128-bit hash of an id: fixed size, however long ids are, and collisions are negligible. `1` and `"1"`
/// are equal, because many programs don't keep them apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct IdKey(u128);

impl std::hash::Hash for IdKey {
    fn hash<H: Hasher>(&self, state: &mut H) {
        // It is a hash already; half of it is enough for a hash table.
        state.write_u64(self.0 as u64);
    }
}

/// A hasher that passes an [`IdKey`] through. Hashing ids is 6 % of an import of tiny messages
/// (docs/benchmarks.md), and should not happen twice.
#[derive(Debug, Default)]
pub(super) struct IdHasher(u64);

/// The hasher of maps with [`IdKey`]s.
pub(super) type ById = BuildHasherDefault<IdHasher>;

impl Hasher for IdHasher {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.0 = self.0.rotate_left(8) ^ u64::from(*byte);
        }
    }

    fn write_u64(&mut self, hash: u64) {
        self.0 ^= hash;
    }

    fn write_isize(&mut self, discriminant: isize) {
        self.0 ^= (discriminant as u64) << 1;
    }
}

impl IdKey {
    pub(super) fn of(id: &Id<'_>) -> Self {
        let (Id::String(text) | Id::Number(text)) = id;
        let half = |salt: u8| {
            // Unlike `RandomState`, this hasher has fixed keys: two runs give the same result.
            let mut hasher = std::hash::DefaultHasher::new();
            salt.hash(&mut hasher);
            text.hash(&mut hasher);
            u128::from(hasher.finish())
        };
        IdKey(half(0) << 64 | half(1))
    }
}

/// The side that may send a method.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Sender {
    Client,
    Server,
    Either,
    /// The method is not one of MCP's.
    Unknown,
}

impl Sender {
    fn of(method: &str) -> Self {
        match method {
            "initialize"
            | "notifications/initialized"
            | "notifications/roots/list_changed"
            | "completion/complete"
            | "logging/setLevel"
            | "server/discover"
            | "subscriptions/listen" => Sender::Client,
            "sampling/createMessage"
            | "elicitation/create"
            | "roots/list"
            | "notifications/message"
            | "notifications/tools/list_changed"
            | "notifications/prompts/list_changed"
            | "notifications/resources/list_changed"
            | "notifications/resources/updated"
            | "notifications/elicitation/complete"
            | "notifications/subscriptions/acknowledged" => Sender::Server,
            "ping" | "notifications/cancelled" | "notifications/progress" | "notifications/tasks/status" => {
                Sender::Either
            }
            _ if method.starts_with("tasks/") => Sender::Either,
            _ if ["tools/", "resources/", "prompts/"].iter().any(|prefix| method.starts_with(prefix)) => {
                Sender::Client
            }
            _ => Sender::Unknown,
        }
    }
}

/// The requests that a server may send to a client, and whose answers can be recognized.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Question {
    Sampling,
    Elicitation,
    Roots,
    /// Any other request, or none.
    Other,
}

impl Question {
    fn asked_by(method: &str) -> Self {
        match method {
            "sampling/createMessage" => Question::Sampling,
            "elicitation/create" => Question::Elicitation,
            "roots/list" => Question::Roots,
            _ => Question::Other,
        }
    }

    fn answered_by(result: &[u8]) -> Self {
        // Most results are the server's, and long: a search rules them out without parsing.
        static NAMES: LazyLock<[Finder<'static>; 3]> =
            LazyLock::new(|| ["\"roots\"", "\"role\"", "\"action\""].map(Finder::new));
        if NAMES.iter().all(|name| name.find(result).is_none()) {
            return Question::Other;
        }
        let Ok(result) = super::fields::Value::parse(result) else { return Question::Other };
        let has = |name| result.get(name).is_some();
        if has("roots") {
            Question::Roots
        } else if has("role") {
            Question::Sampling
        } else if has("action") {
            Question::Elicitation
        } else {
            Question::Other
        }
    }
}

/// Parses all units of a batch, and redacts them.
pub(super) fn prepare(format: &Format, redactor: Option<&Redactor>, batch: Batch) -> Prepared {
    let mut findings = Findings::default();
    let mut items = Vec::new();
    let mut flaws = batch.flaws.clone();
    {
        let preparation = Preparation { redactor, whole: batch.bytes() };
        batch.each(|unit| {
            (format.read)(&unit, &mut findings);
            for item in findings.items.drain(..) {
                items.extend(preparation.item(item, unit.entry, &mut findings.flaws));
            }
            // Formats don't set the entry; it is known only here.
            flaws.extend(findings.flaws.drain(..).map(|flaw| Flaw { entry: unit.entry, ..flaw }));
        });
    }
    // Merges flaws between units with those inside them.
    flaws.sort_by_key(|flaw| flaw.line);
    Prepared { batch, items, flaws }
}

struct Preparation<'p> {
    redactor: Option<&'p Redactor>,
    whole: &'p [u8],
}

impl<'p> Preparation<'p> {
    fn item(&self, item: Item<'p>, entry: Option<u64>, flaws: &mut Vec<Flaw>) -> Option<PreparedItem> {
        let line = item.line;
        let mut flaw = |defect| flaws.push(Flaw { line, entry, defect });
        let what = match item.what {
            ItemContent::Message { from, raw } => self.message(from, raw, &mut flaw)?,
            ItemContent::Text { from, text } => PreparedContent::Text { from, text: self.text(text) },
            ItemContent::Stderr { text } => PreparedContent::Stderr { text: self.text(text) },
            ItemContent::Exchange if item.http.is_none() => {
                flaw(Defect::Unexpected { expected: "a message, a text or an HTTP exchange" });
                return None;
            }
            ItemContent::Exchange => PreparedContent::Exchange,
            ItemContent::FreshIds => PreparedContent::FreshIds,
        };
        Some(PreparedItem {
            line,
            entry,
            at_ms: item.at_ms,
            server: item.server.map(|server| self.name(&server)),
            session: item.session.map(|session| self.name(&session)),
            http: item.http.map(|http| self.context(http, &mut flaw)),
            what,
        })
    }

    fn message(
        &self,
        from: Option<Direction>,
        raw: Cow<'p, [u8]>,
        flaw: &mut impl FnMut(Defect),
    ) -> Option<PreparedContent> {
        let raw = without_nuls(raw, flaw)?;
        let raw = as_text(raw, flaw);
        // A trace has one record per line; pretty-printed messages lose their insignificant white space.
        let raw = on_one_line(raw);
        let clean = match self.clean(&raw) {
            Ok(clean) => clean,
            Err(error) => {
                flaw(Defect::NotJson(error));
                return None;
            }
        };
        let gists = gists(&clean, flaw)?;
        let raw = match clean {
            Cow::Owned(clean) => Bytes::Own(clean),
            // Nothing was redacted, so the payload may still be a range of the batch.
            Cow::Borrowed(_) => self.keep(raw),
        };
        Some(PreparedContent::Message { from, raw, gists })
    }

    /// Redacts JSON. Fails if it is not JSON, which saves a separate validation.
    fn clean<'r>(&self, raw: &'r [u8]) -> Result<Cow<'r, [u8]>, json::SyntaxError> {
        match self.redactor {
            Some(redactor) => redactor.json(raw),
            None => json::validate(raw).map(|()| Cow::Borrowed(raw)),
        }
    }

    fn context(&self, http: Cow<'p, [u8]>, flaw: &mut impl FnMut(Defect)) -> Vec<u8> {
        let http = on_one_line(as_text(http, flaw));
        // Formats build it from JSON. If it is not JSON after all, it can't be redacted reliably, so nothing
        // of it is written.
        self.clean(&http).map_or_else(|_| b"{}".to_vec(), Cow::into_owned)
    }

    /// Redacts a name as text: a server's name or session id may contain a secret.
    fn name(&self, name: &str) -> String {
        let clean = self.redactor.map(|redactor| redactor.text(name.as_bytes()));
        clean.map_or_else(|| name.to_owned(), |clean| String::from_utf8_lossy(&clean).into_owned())
    }

    fn text(&self, text: Cow<'p, [u8]>) -> Bytes {
        match self.redactor.map(|redactor| redactor.text(&text)) {
            Some(Cow::Owned(clean)) => Bytes::Own(clean),
            _ => self.keep(text),
        }
    }

    /// Turns borrowed bytes into a range of the batch, so that they can be sent to another thread with it,
    /// uncopied.
    fn keep(&self, bytes: Cow<'p, [u8]>) -> Bytes {
        match bytes {
            Cow::Owned(own) => Bytes::Own(own),
            Cow::Borrowed(borrowed) => {
                let start = (borrowed.as_ptr() as usize).checked_sub(self.whole.as_ptr() as usize);
                match start.filter(|start| start + borrowed.len() <= self.whole.len()) {
                    Some(start) => Bytes::Here(start..start + borrowed.len()),
                    None => Bytes::Own(borrowed.to_vec()),
                }
            }
        }
    }
}

/// Removes NULs at both ends. `None` if nothing is left.
fn without_nuls<'p>(raw: Cow<'p, [u8]>, flaw: &mut impl FnMut(Defect)) -> Option<Cow<'p, [u8]>> {
    let edge = |byte: Option<&u8>| byte == Some(&0);
    if !edge(raw.first()) && !edge(raw.last()) {
        return Some(raw);
    }
    flaw(Defect::Nul);
    let is_inner = |byte: &u8| *byte != 0 && !byte.is_ascii_whitespace();
    let (start, end) = (raw.iter().position(is_inner)?, raw.iter().rposition(is_inner)?);
    Some(match raw {
        Cow::Borrowed(raw) => Cow::Borrowed(&raw[start..=end]),
        Cow::Owned(raw) => Cow::Owned(raw[start..=end].to_vec()),
    })
}

fn as_text<'p>(raw: Cow<'p, [u8]>, flaw: &mut impl FnMut(Defect)) -> Cow<'p, [u8]> {
    if json::is_utf8(&raw) {
        return raw;
    }
    flaw(Defect::NotUtf8);
    Cow::Owned(String::from_utf8_lossy(&raw).into_owned().into_bytes())
}

fn on_one_line(raw: Cow<'_, [u8]>) -> Cow<'_, [u8]> {
    if memchr::memchr2(b'\n', b'\r', &raw).is_some() { Cow::Owned(json::compact(&raw)) } else { raw }
}

/// The gists of a payload. `None` if it contains no message.
fn gists(raw: &[u8], flaw: &mut impl FnMut(Defect)) -> Option<Gists> {
    let envelope = Envelope::scan(raw);
    if envelope.kind != MessageKind::Batch {
        return gist(&envelope, flaw).map(Gists::One);
    }
    let all = payloads(raw);
    let mut odd = false;
    // The batch is written as it is; elements that are not messages are only noted.
    let mut note = |defect| match defect {
        Defect::NotAMessage => odd = true,
        defect => flaw(defect),
    };
    let several: Vec<Gist> =
        all.iter().filter_map(|payload| gist(&Envelope::scan(payload), &mut note)).collect();
    match (several.is_empty(), odd) {
        (true, _) => {
            flaw(Defect::NotAMessage);
            return None;
        }
        (false, true) => flaw(Defect::BatchElement),
        (false, false) => {}
    }
    Some(Gists::Several(several))
}

fn gist(envelope: &Envelope<'_>, flaw: &mut impl FnMut(Defect)) -> Option<Gist> {
    if matches!(envelope.kind, MessageKind::NotJsonRpc | MessageKind::Batch) {
        flaw(Defect::NotAMessage);
        return None;
    }
    for defect in &envelope.defects {
        match defect {
            MessageDefect::IdType => flaw(Defect::IdType),
            MessageDefect::DuplicateKey(_) => flaw(Defect::DuplicateKey),
            _ => {}
        }
    }
    let method = envelope.method.as_deref().unwrap_or_default();
    let cancels = (method == "notifications/cancelled").then(|| cancelled(envelope.params?)).flatten();
    Some(Gist {
        kind: envelope.kind,
        id: envelope.id.as_ref().map(IdKey::of),
        sender: Sender::of(method),
        progress: envelope.progress_token.as_ref().map(IdKey::of),
        cancels,
        is_tool_call: method == "tools/call",
        is_initialize: method == "initialize",
        is_error: envelope.error.is_some(),
        answers: envelope.result.map_or(Question::Other, Question::answered_by),
        asks: Question::asked_by(method),
    })
}

/// The id of the cancelled request.
fn cancelled(params: &[u8]) -> Option<IdKey> {
    let id = super::fields::Value::parse(params).ok()?.get("requestId")?;
    let id = match id.string() {
        Some(text) => Id::String(text),
        None => Id::Number(String::from_utf8_lossy(id.raw)),
    };
    Some(IdKey::of(&id))
}
