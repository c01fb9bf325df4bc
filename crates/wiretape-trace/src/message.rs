//! The envelope of one JSON-RPC payload: the facts it states about itself.
//!
//! [`Envelope::scan`] reads a payload leniently from its raw bytes: kind, method, id, names and errors,
//! without building a tree, and with a list of [`Defect`]s instead of a failure. Whether a message fits its
//! *session* (an id used twice, a response without a request) is left to code that sees the session.

use crate::json::{self, Lexeme, Lexer, SyntaxError, Text, Token};
use std::borrow::Cow;
use std::collections::HashSet;
use std::fmt;
use std::ops::Range;

/// The direction of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Direction {
    /// From the client to the server.
    ClientToServer,
    /// From the server to the client.
    ServerToClient,
}

impl Direction {
    /// The direction of the answers to requests in this one.
    pub fn reverse(self) -> Self {
        match self {
            Direction::ClientToServer => Direction::ServerToClient,
            Direction::ServerToClient => Direction::ClientToServer,
        }
    }
}

/// A request's id, as written. Peers compare ids by value: see [`Id::by_value`].
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Id<'a> {
    /// A string, after unescaping.
    String(Cow<'a, str>),
    /// A number, as it was spelled.
    Number(Cow<'a, str>),
}

impl Id<'_> {
    /// The id's text, without quotes.
    pub fn text(&self) -> &str {
        match self {
            Id::String(text) | Id::Number(text) => text,
        }
    }

    /// The id as peers compare it: `1`, `1.0` and `1e0` are the same number, `"1"` is another id.
    pub fn by_value(self) -> Self {
        match self {
            Id::Number(text) if !text.bytes().all(|byte| byte.is_ascii_digit()) => {
                Id::Number(canonical(text))
            }
            id => id,
        }
    }

    /// Whether peers take both for the same id.
    pub fn is_same(&self, other: &Id<'_>) -> bool {
        // Nearly all responses repeat the request's spelling, which needs no copies.
        self == other || self.clone().by_value() == other.clone().by_value()
    }

    /// The same id, without borrowing from the payload.
    pub fn into_owned(self) -> Id<'static> {
        match self {
            Id::String(text) => Id::String(Cow::Owned(text.into_owned())),
            Id::Number(text) => Id::Number(Cow::Owned(text.into_owned())),
        }
    }
}

/// A number in a canonical spelling. Beyond what a double holds exactly, digits are compared as they are:
/// rounding could make two ids equal.
fn canonical(number: Cow<'_, str>) -> Cow<'_, str> {
    // 2^53, JavaScript's largest safe integer plus one: the peers' own limit, too.
    const EXACT: f64 = 9_007_199_254_740_992.0;
    // Not zero, because `-0` parses as 0 and has to become `0`.
    if number.parse::<i64>().is_ok_and(|integer| integer != 0) {
        return number;
    }
    match number.parse::<f64>() {
        Ok(value) if value.abs() < EXACT && value.fract() == 0.0 => Cow::Owned(format!("{}", value as i64)),
        Ok(value) if value.abs() < EXACT => Cow::Owned(value.to_string()),
        _ => number,
    }
}

impl fmt::Display for Id<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Id::String(text) => write!(f, "{text:?}"),
            Id::Number(text) => f.write_str(text),
        }
    }
}

/// The kind of a payload, by which members it has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum MessageKind {
    /// Has a method and an id.
    Request,
    /// Has a method and no id.
    Notification,
    /// Has a result or an error, and no method.
    Response,
    /// An array of payloads.
    Batch,
    /// JSON, but none of the above.
    NotJsonRpc,
}

/// A way in which a payload is not what MCP requires.
#[derive(Debug, Clone, PartialEq, Eq, Hash, thiserror::Error)]
pub enum Defect {
    /// The bytes are not JSON.
    #[error("{0}")]
    NotJson(SyntaxError),
    /// The payload is neither an object nor an array.
    #[error("the payload is not an object")]
    NotAnObject,
    /// An object with none of method, result and error.
    #[error("there is no `method`, `result` or `error`")]
    NotAMessage,
    /// A batch without messages.
    #[error("the batch is empty")]
    EmptyBatch,
    /// There is no `jsonrpc` member.
    #[error("`jsonrpc` is missing")]
    JsonRpcMissing,
    /// `jsonrpc` is not the string `2.0`.
    #[error("`jsonrpc` is not \"2.0\"")]
    JsonRpcWrong,
    /// `id` is null, which MCP does not allow.
    #[error("`id` is null")]
    IdNull,
    /// `id` is neither a string nor a number.
    #[error("`id` is neither a string nor a number")]
    IdType,
    /// `id` is a number with a fraction or an exponent.
    #[error("`id` is not an integer")]
    IdFraction,
    /// A response that has no `id`, and so can't be paired.
    #[error("the response has no `id`")]
    ResponseWithoutId,
    /// `method` is not a string.
    #[error("`method` is not a string")]
    MethodType,
    /// The method is not of the form `category/operation`.
    #[error("the method is not of the form `category/operation`")]
    MethodName,
    /// A method under `notifications/` with an id.
    #[error("the notification has an `id`")]
    NotificationWithId,
    /// A method outside `notifications/` without an id.
    #[error("the request has no `id`")]
    RequestWithoutId,
    /// `params` is not an object.
    #[error("`params` is not an object")]
    ParamsType,
    /// A method together with a result or an error.
    #[error("`method` occurs together with `result` or `error`")]
    MethodInResponse,
    /// `result` and `error` are both present.
    #[error("both `result` and `error` are present")]
    ResultAndError,
    /// `result` is not an object.
    #[error("`result` is not an object")]
    ResultType,
    /// `error` is not an object.
    #[error("`error` is not an object")]
    ErrorType,
    /// The `error` has no member `code`.
    #[error("`error.code` is missing")]
    ErrorCodeMissing,
    /// `error.code` is not an integer.
    #[error("`error.code` is not an integer")]
    ErrorCodeType,
    /// `error.code` is in the range that JSON-RPC reserves, and is not one of its codes.
    #[error("`error.code` {0} is reserved")]
    ErrorCodeReserved(i64),
    /// The `error` has no member `message`.
    #[error("`error.message` is missing")]
    ErrorMessageMissing,
    /// `error.message` is not a string.
    #[error("`error.message` is not a string")]
    ErrorMessageType,
    /// `_meta` is not an object.
    #[error("`_meta` is not an object")]
    MetaType,
    /// A `_meta` key does not follow the grammar `[prefix/]name`.
    #[error("a `_meta` key is not of the form `[prefix/]name`")]
    MetaKeyForm,
    /// A `_meta` key uses a prefix that the protocol reserves.
    #[error("a `_meta` key has a reserved prefix")]
    MetaKeyReserved,
    /// `progressToken` is neither a string nor an integer.
    #[error("`progressToken` is neither a string nor an integer")]
    ProgressTokenType,
    /// A name occurs twice in one object. The last one counts, as for JavaScript's `JSON.parse`.
    #[error("`{0}` occurs twice in one object")]
    DuplicateKey(String),
}

/// The facts that one payload states about itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Envelope<'a> {
    /// The kind of payload.
    pub kind: MessageKind,
    /// The id, if it is a string or a number and so can be paired.
    pub id: Option<Id<'a>>,
    /// Byte range of the value of `id` in the payload, whatever its type.
    pub id_place: Option<Range<usize>>,
    /// The method, if it is a string.
    pub method: Option<Cow<'a, str>>,
    /// `params.name`: the tool or prompt that a call is for.
    pub name: Option<Cow<'a, str>>,
    /// `params._meta.progressToken`, or `params.progressToken` of a progress notification.
    pub progress_token: Option<Id<'a>>,
    /// The bytes of `params`.
    pub params: Option<&'a [u8]>,
    /// The bytes of `result`.
    pub result: Option<&'a [u8]>,
    /// The bytes of `error`.
    pub error: Option<&'a [u8]>,
    /// `error.code`, if it is an integer.
    pub error_code: Option<i64>,
    /// Whether `result.isError` is true: the tool failed, not the protocol.
    pub is_error: bool,
    /// The defects, in the order in which they were found.
    pub defects: Vec<Defect>,
}

impl<'a> Envelope<'a> {
    /// Reads a payload. Never fails: what can't be read is a [`Defect`].
    ///
    /// ```
    /// use wiretape_trace::message::{Envelope, MessageKind};
    ///
    /// let call = Envelope::scan(br#"{"jsonrpc":"2.0","id":1.0,"method":"tools/call","params":{"name":"add"}}"#);
    /// assert_eq!(call.kind, MessageKind::Request);
    /// assert_eq!(call.id.unwrap().to_string(), "1.0");
    /// assert_eq!(call.name.as_deref(), Some("add"));
    /// ```
    pub fn scan(raw: &'a [u8]) -> Self {
        let mut scan = Scan::new(raw);
        if let Err(error) = scan.payload() {
            scan.envelope.defects.push(Defect::NotJson(error));
        }
        scan.envelope
    }

    /// The tool that a `tools/call` request is for.
    pub fn tool(&self) -> Option<&str> {
        self.name.as_deref().filter(|_| self.method.as_deref() == Some("tools/call"))
    }

    /// Whether it reports a failure, of the protocol (`error`) or of the tool (`isError`).
    pub fn is_failure(&self) -> bool {
        self.error.is_some() || self.is_error
    }
}

/// Whether a payload is a batch, judged by its first byte.
pub fn is_batch(raw: &[u8]) -> bool {
    // Asked for every message, so it must not parse: only a batch can start with a bracket.
    raw.trim_ascii_start().first() == Some(&b'[')
}

/// The payloads of a batch, or the payload itself if it is not a batch.
pub fn payloads(raw: &[u8]) -> Vec<&[u8]> {
    if !is_batch(raw) {
        return vec![raw];
    }
    let mut lexer = Lexer::new(raw);
    let mut found = Vec::new();
    // After a syntax error the elements can't be separated any more; those before it are kept. The error
    // itself is a `Defect` of the batch.
    let _ = (|| -> Result<(), SyntaxError> {
        lexer.next_token()?;
        while let Some(first) = lexer.next_token()?.filter(|lexeme| lexeme.token != Token::EndArray) {
            let end = lexer.finish_value(first)?;
            found.push(&raw[first.start..end]);
        }
        Ok(())
    })();
    found
}

struct Scan<'a> {
    lexer: Lexer<'a>,
    envelope: Envelope<'a>,
}

/// Which members the payload has, whatever their values.
#[derive(Default)]
struct Present {
    jsonrpc: bool,
    id: bool,
    method: bool,
    outcome: bool,
}

impl<'a> Scan<'a> {
    fn new(raw: &'a [u8]) -> Self {
        let envelope = Envelope {
            kind: MessageKind::NotJsonRpc,
            id: None,
            id_place: None,
            method: None,
            name: None,
            progress_token: None,
            params: None,
            result: None,
            error: None,
            error_code: None,
            is_error: false,
            defects: Vec::new(),
        };
        Scan { lexer: Lexer::new(raw), envelope }
    }

    fn defect(&mut self, defect: Defect) {
        self.envelope.defects.push(defect);
    }

    fn payload(&mut self) -> Result<(), SyntaxError> {
        let first = self.value()?;
        match first.token {
            Token::BeginObject => self.message()?,
            Token::BeginArray => self.batch()?,
            _ => self.defect(Defect::NotAnObject),
        }
        // Nothing may follow the payload; the lexer reports it.
        self.lexer.next_token().map(|_| ())
    }

    fn batch(&mut self) -> Result<(), SyntaxError> {
        self.envelope.kind = MessageKind::Batch;
        // The elements are only counted here: each is scanned on its own later, with its own defects.
        let mut empty = true;
        while self.lexer.depth() > 0 {
            let lexeme = self.value()?;
            if lexeme.token != Token::EndArray {
                empty = false;
                self.lexer.finish_value(lexeme)?;
            }
        }
        if empty {
            self.defect(Defect::EmptyBatch);
        }
        Ok(())
    }

    fn message(&mut self) -> Result<(), SyntaxError> {
        let mut present = Present::default();
        let mut keys = KeySet::default();
        while let Some(key) = self.next_key(&mut keys)? {
            let value = self.value()?;
            match key.raw {
                _ if key.is("jsonrpc") => {
                    present.jsonrpc = true;
                    self.jsonrpc(value)?;
                }
                _ if key.is("id") => {
                    present.id = true;
                    self.id(value)?;
                }
                _ if key.is("method") => {
                    present.method = true;
                    self.method(value)?;
                }
                _ if key.is("params") => {
                    let end = self.params(value)?;
                    self.envelope.params = Some(&self.lexer.input()[value.start..end]);
                }
                _ if key.is("result") => {
                    present.outcome = true;
                    let end = self.result(value)?;
                    self.envelope.result = Some(&self.lexer.input()[value.start..end]);
                }
                _ if key.is("error") => {
                    present.outcome = true;
                    let end = self.error(value)?;
                    self.envelope.error = Some(&self.lexer.input()[value.start..end]);
                }
                _ => {
                    self.lexer.finish_value(value)?;
                }
            }
        }
        // Only now: what a message is depends on which members it has, and they come in any order.
        self.conclude(&present);
        Ok(())
    }

    fn conclude(&mut self, present: &Present) {
        if !present.jsonrpc {
            self.defect(Defect::JsonRpcMissing);
        }
        self.envelope.kind = match (present.method, present.outcome, present.id) {
            // The method decides: a payload with a method and a result is a defective request, not an answer,
            // and can't close a call.
            (true, _, true) => MessageKind::Request,
            (true, _, false) => MessageKind::Notification,
            (false, true, _) => MessageKind::Response,
            (false, false, _) => MessageKind::NotJsonRpc,
        };
        match self.envelope.kind {
            MessageKind::Response if !present.id => self.defect(Defect::ResponseWithoutId),
            MessageKind::NotJsonRpc => self.defect(Defect::NotAMessage),
            _ => {}
        }
        if present.method && present.outcome {
            self.defect(Defect::MethodInResponse);
        }
        if self.envelope.result.is_some() && self.envelope.error.is_some() {
            self.defect(Defect::ResultAndError);
            self.drop_null_member();
        }
        self.conclude_method();
    }

    /// JSON-RPC 1.0 has both members, one of them null. A null next to the other member is ignored; if both
    /// have values, the error decides.
    fn drop_null_member(&mut self) {
        if self.envelope.error == Some(b"null") {
            self.envelope.error = None;
        } else {
            self.envelope.result = None;
            self.envelope.is_error = false;
        }
    }

    fn conclude_method(&mut self) {
        let Some(method) = self.envelope.method.as_deref() else { return };
        // The name shows what the sender meant; whether there is an id shows what it sent.
        let is_notification = method.starts_with("notifications/");
        let well_named = is_method_name(method);
        match self.envelope.kind {
            MessageKind::Request if is_notification => self.defect(Defect::NotificationWithId),
            MessageKind::Notification if !is_notification => self.defect(Defect::RequestWithoutId),
            _ => {}
        }
        if !well_named {
            self.defect(Defect::MethodName);
        }
    }

    fn jsonrpc(&mut self, value: Lexeme) -> Result<(), SyntaxError> {
        // A number `2.0` is a common mistake of hand-written servers, and strict clients reject it.
        if value.token != Token::String || !value.text(self.lexer.input()).is("2.0") {
            self.defect(Defect::JsonRpcWrong);
        }
        self.lexer.finish_value(value).map(|_| ())
    }

    fn id(&mut self, value: Lexeme) -> Result<(), SyntaxError> {
        // An id that is not an integer breaks a rule, but can still be paired: reporting the call as unanswered too
        // would hide the cause.
        self.envelope.id = id_of(value, self.lexer.input());
        match value.token {
            Token::Null => self.defect(Defect::IdNull),
            Token::String => {}
            // By its spelling, not its value: `1.0` is an integer for JavaScript and not for a strict parser.
            Token::Number if is_integer(value.bytes(self.lexer.input())) => {}
            Token::Number => self.defect(Defect::IdFraction),
            _ => self.defect(Defect::IdType),
        }
        let end = self.lexer.finish_value(value)?;
        self.envelope.id_place = Some(value.start..end);
        Ok(())
    }

    fn method(&mut self, value: Lexeme) -> Result<(), SyntaxError> {
        if value.token == Token::String {
            self.envelope.method = Some(value.text(self.lexer.input()).decode());
        } else {
            self.defect(Defect::MethodType);
        }
        self.lexer.finish_value(value).map(|_| ())
    }

    fn params(&mut self, first: Lexeme) -> Result<usize, SyntaxError> {
        if first.token != Token::BeginObject {
            self.wrong_type(first, Defect::ParamsType);
            return self.lexer.finish_value(first);
        }
        self.object(|scan, key, value| match value.token {
            Token::String if key.is("name") => {
                scan.envelope.name = Some(value.text(scan.lexer.input()).decode());
                Ok(())
            }
            _ if key.is("progressToken") => scan.progress_token(value),
            _ if key.is("_meta") => scan.meta(value),
            _ => scan.lexer.finish_value(value).map(|_| ()),
        })
    }

    fn result(&mut self, first: Lexeme) -> Result<usize, SyntaxError> {
        if first.token != Token::BeginObject {
            self.wrong_type(first, Defect::ResultType);
            return self.lexer.finish_value(first);
        }
        self.object(|scan, key, value| {
            if key.is("isError") {
                // Only the boolean counts, not a string or a number.
                scan.envelope.is_error = value.token == Token::True;
            } else if key.is("_meta") {
                return scan.meta(value);
            }
            scan.lexer.finish_value(value).map(|_| ())
        })
    }

    fn error(&mut self, first: Lexeme) -> Result<usize, SyntaxError> {
        if first.token != Token::BeginObject {
            self.wrong_type(first, Defect::ErrorType);
            return self.lexer.finish_value(first);
        }
        let (mut code, mut message) = (None, None);
        let end = self.object(|scan, key, value| {
            if key.is("code") {
                code = Some(value);
            } else if key.is("message") {
                message = Some(value.token);
            }
            scan.lexer.finish_value(value).map(|_| ())
        })?;
        match code {
            None => self.defect(Defect::ErrorCodeMissing),
            Some(code) => self.error_code(code),
        }
        match message {
            None => self.defect(Defect::ErrorMessageMissing),
            Some(Token::String) => {}
            Some(_) => self.defect(Defect::ErrorMessageType),
        }
        Ok(end)
    }

    fn error_code(&mut self, value: Lexeme) {
        // JSON-RPC 2.0, section 5.1: the code must be an integer. A code too long for 64 bits counts as unknown.
        let digits = value.bytes(self.lexer.input());
        if value.token != Token::Number || !is_integer(digits) {
            return self.wrong_type(value, Defect::ErrorCodeType);
        }
        self.envelope.error_code = std::str::from_utf8(digits).ok().and_then(|digits| digits.parse().ok());
        match self.envelope.error_code {
            // MCP's own codes (−32002, −32042 and others) are in the range that JSON-RPC leaves to servers.
            Some(code) if is_reserved_code(code) => self.defect(Defect::ErrorCodeReserved(code)),
            _ => {}
        }
    }

    /// Records a value of the wrong type, unless it is a redaction marker: the type of what it replaced is
    /// unknown.
    fn wrong_type(&mut self, value: Lexeme, defect: Defect) {
        let is_marker =
            value.token == Token::String && crate::redact::is_redacted(value.bytes(self.lexer.input()));
        if !is_marker {
            self.defect(defect);
        }
    }

    fn meta(&mut self, first: Lexeme) -> Result<(), SyntaxError> {
        if first.token != Token::BeginObject {
            self.wrong_type(first, Defect::MetaType);
            return self.lexer.finish_value(first).map(|_| ());
        }
        self.object(|scan, key, value| {
            // The form of keys and the reserved prefixes are in the specification since 2025-06-18 (basic, `_meta`);
            // a message does not say its revision, so the linter decides whether they apply.
            match meta_key(&key.decode()) {
                MetaKey::Good => {}
                MetaKey::Malformed => scan.defect(Defect::MetaKeyForm),
                MetaKey::Reserved => scan.defect(Defect::MetaKeyReserved),
            }
            if key.is("progressToken") {
                return scan.progress_token(value);
            }
            scan.lexer.finish_value(value).map(|_| ())
        })
        .map(|_| ())
    }

    fn progress_token(&mut self, value: Lexeme) -> Result<(), SyntaxError> {
        let input = self.lexer.input();
        match value.token {
            Token::String => {}
            Token::Number if is_integer(value.bytes(input)) => {}
            _ => self.defect(Defect::ProgressTokenType),
        }
        self.envelope.progress_token = id_of(value, input);
        self.lexer.finish_value(value).map(|_| ())
    }

    /// Calls `member` for every member of the object that was just opened; it must read the value to its end.
    /// Returns where the object ends.
    fn object(
        &mut self,
        mut member: impl FnMut(&mut Self, Text<'a>, Lexeme) -> Result<(), SyntaxError>,
    ) -> Result<usize, SyntaxError> {
        let mut keys = KeySet::default();
        while let Some(key) = self.next_key(&mut keys)? {
            let value = self.value()?;
            member(self, key, value)?;
        }
        Ok(self.lexer.offset())
    }

    /// The next name of the innermost object, or `None` at its end.
    fn next_key(&mut self, keys: &mut KeySet<'a>) -> Result<Option<Text<'a>>, SyntaxError> {
        let lexeme = self.value()?;
        if lexeme.token == Token::EndObject {
            return Ok(None);
        }
        // Names are compared after decoding: `"id"` and `"\u0069d"` are the same name for every parser.
        let key = lexeme.text(self.lexer.input());
        if !keys.insert(key) {
            self.defect(Defect::DuplicateKey(key.decode().into_owned()));
        }
        Ok(Some(key))
    }

    /// The next token; the end of the input is an error.
    fn value(&mut self) -> Result<Lexeme, SyntaxError> {
        // Before the token, because at the end of the input there is none whose position could be reported.
        let offset = self.lexer.offset();
        self.lexer.next_token()?.ok_or(SyntaxError { offset, what: "it ends too early" })
    }
}

/// How many names are compared one by one before a hash set is used. The objects of an envelope have fewer,
/// so scanning one allocates nothing.
const FEW: usize = 12;

/// The names seen in one object, to find duplicates: the first few in an array, the rest and those with
/// escapes in a set.
#[derive(Default)]
struct KeySet<'a> {
    few: [&'a [u8]; FEW],
    len: usize,
    others: HashSet<Cow<'a, [u8]>>,
}

impl<'a> KeySet<'a> {
    /// Adds a name. Returns whether it is new.
    fn insert(&mut self, key: Text<'a>) -> bool {
        let key = key.unescaped();
        if self.few[..self.len].contains(&&*key) {
            return false;
        }
        match key {
            Cow::Borrowed(key) if self.len < FEW => {
                self.few[self.len] = key;
                self.len += 1;
                // A name with an escape went to the set even while the array had room.
                self.others.is_empty() || !self.others.contains(key)
            }
            key => self.others.insert(key),
        }
    }
}

fn id_of<'a>(value: Lexeme, input: &'a [u8]) -> Option<Id<'a>> {
    match value.token {
        Token::String => Some(Id::String(value.text(input).decode())),
        Token::Number => Some(Id::Number(String::from_utf8_lossy(value.bytes(input)))),
        _ => None,
    }
}

fn is_integer(digits: &[u8]) -> bool {
    digits.strip_prefix(b"-").unwrap_or(digits).iter().all(u8::is_ascii_digit)
}

/// JSON-RPC 2.0, section 5.1, reserves −32768 to −32000, defines five codes in it, and leaves −32099 to
/// −32000 to servers.
fn is_reserved_code(code: i64) -> bool {
    (-32768..-32099).contains(&code) && !matches!(code, -32700 | -32603..=-32600)
}

fn is_method_name(method: &str) -> bool {
    let is_word = |word: &str| !word.is_empty() && word.bytes().all(|b| b.is_ascii_graphic());
    match method.split_once('/') {
        Some((category, operation)) => is_word(category) && operation.split('/').all(is_word),
        // The only methods of the protocol without a category.
        None => matches!(method, "initialize" | "ping"),
    }
}

#[derive(Debug, PartialEq, Eq)]
enum MetaKey {
    Good,
    Malformed,
    Reserved,
}

/// Whether a `_meta` key is of the form `[prefix/]name`.
pub fn is_meta_key(key: &str) -> bool {
    let (prefix, name) = meta_key_parts(key);
    prefix.into_iter().flat_map(|prefix| prefix.split('.')).all(is_meta_label) && is_meta_name(name)
}

fn meta_key_parts(key: &str) -> (Option<&str>, &str) {
    match key.split_once('/') {
        Some((prefix, name)) => (Some(prefix), name),
        None => (None, key),
    }
}

fn meta_key(key: &str) -> MetaKey {
    if !is_meta_key(key) {
        return MetaKey::Malformed;
    }
    let prefix = meta_key_parts(key).0;
    let labels: Vec<&str> = prefix.into_iter().flat_map(|prefix| prefix.split('.')).collect();
    let reserved = |label: &&str| matches!(*label, "modelcontextprotocol" | "mcp");
    match labels[..] {
        [only] if reserved(&only) => MetaKey::Reserved,
        [_, ref inner @ .., _] if inner.iter().any(reserved) => MetaKey::Reserved,
        _ => MetaKey::Good,
    }
}

fn is_meta_label(label: &str) -> bool {
    let bytes = label.as_bytes();
    bytes.first().is_some_and(u8::is_ascii_alphabetic)
        && bytes.last().is_some_and(u8::is_ascii_alphanumeric)
        && bytes.iter().all(|&b| b.is_ascii_alphanumeric() || b == b'-')
}

/// A name may be empty after a prefix; otherwise it begins and ends with a letter or digit.
fn is_meta_name(name: &str) -> bool {
    let bytes = name.as_bytes();
    let edge = |byte: Option<&u8>| byte.is_none_or(u8::is_ascii_alphanumeric);
    edge(bytes.first())
        && edge(bytes.last())
        && bytes.iter().all(|&b| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_' | b'.'))
}

/// Whether the bytes are one JSON value in UTF-8, and so can be written as a trace line's `raw`.
pub fn is_recordable(raw: &[u8]) -> bool {
    json::is_utf8(raw) && json::validate(raw).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn defects(raw: &str) -> Vec<String> {
        Envelope::scan(raw.as_bytes()).defects.iter().map(ToString::to_string).collect()
    }

    fn check(raw: &str, kind: MessageKind, expected: &[&str]) {
        let envelope = Envelope::scan(raw.as_bytes());
        assert_eq!(envelope.kind, kind, "{raw}");
        assert_eq!(defects(raw), expected, "{raw}");
    }

    #[test]
    fn good_messages_have_no_defects() {
        check(r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{}}"#, MessageKind::Request, &[]);
        check(r#"{"jsonrpc":"2.0","id":"a","method":"tools/list"}"#, MessageKind::Request, &[]);
        check(
            r#"{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}"#,
            MessageKind::Notification,
            &[],
        );
        check(r#"{"jsonrpc":"2.0","id":1,"result":{}}"#, MessageKind::Response, &[]);
        check(
            r#"{"jsonrpc":"2.0","id":1,"error":{"code":-32000,"message":"x","data":[1]}}"#,
            MessageKind::Response,
            &[],
        );
        check(r#"[{"jsonrpc":"2.0","id":1,"result":{}}]"#, MessageKind::Batch, &[]);
    }

    #[test]
    fn a_redacted_place_is_never_wrong() {
        let marker = "[REDACTED:custom:0a1b2c3d]";
        for error in [format!(r#"{{"code":"{marker}","message":"x"}}"#), format!("\"{marker}\"")] {
            check(&format!(r#"{{"jsonrpc":"2.0","id":1,"error":{error}}}"#), MessageKind::Response, &[]);
        }
        check(&format!(r#"{{"jsonrpc":"2.0","id":1,"result":"{marker}"}}"#), MessageKind::Response, &[]);
        check(
            &format!(r#"{{"jsonrpc":"2.0","id":1,"result":{{"_meta":"{marker}"}}}}"#),
            MessageKind::Response,
            &[],
        );
        check(
            &format!(r#"{{"jsonrpc":"2.0","id":1,"method":"a/b","params":"{marker}"}}"#),
            MessageKind::Request,
            &[],
        );
    }

    #[test]
    fn ids_stay_as_written() {
        let id = |raw: &str| {
            let raw = format!(r#"{{"jsonrpc":"2.0","id":{raw},"result":{{}}}}"#);
            Envelope::scan(raw.as_bytes()).id.map(|id| id.into_owned().to_string())
        };
        for written in ["1", "1.0", "12345678901234567890", "-1", "\"1\"", "\"a\\\"b\""] {
            assert_eq!(id(written).as_deref(), Some(written));
        }
        assert_eq!(id("\"\\u0061\"").as_deref(), Some("\"a\""));
        assert_eq!(id("null"), None);
        for written in ["1", "\"\\u0061\"", "null", "[1, {}]"] {
            let raw = format!(r#"{{"id" : {written} ,"result":{{}}}}"#);
            assert_eq!(Envelope::scan(raw.as_bytes()).id_place.map(|place| &raw[place]), Some(written));
        }
    }

    #[test]
    fn a_name_that_stands_twice_is_told_however_it_is_written() {
        let twice = |members: &[&str]| {
            let members: Vec<String> = members.iter().map(|name| format!("\"{name}\":1")).collect();
            let raw = format!(r#"{{"jsonrpc":"2.0","id":1,"result":{{{}}}}}"#, members.join(","));
            defects(&raw)
        };
        let many: Vec<String> = (0..30).map(|number| format!("n{number}")).collect();
        let with = |more: &[&'static str]| -> Vec<String> {
            twice(&many.iter().map(String::as_str).chain(more.iter().copied()).collect::<Vec<_>>())
        };
        assert!(with(&["a", "b"]).is_empty());
        assert_eq!(with(&["n3"]), ["`n3` occurs twice in one object"]);
        assert_eq!(with(&["n29"]), ["`n29` occurs twice in one object"]);
        assert_eq!(with(&["a", "\\u0061"]), ["`a` occurs twice in one object"]);
        assert_eq!(twice(&["\\u0061", "a"]), ["`a` occurs twice in one object"]);
        assert_eq!(twice(&["\\u0061", "b", "\\u0061"]), ["`a` occurs twice in one object"]);
    }

    #[test]
    fn null_beside_the_other_member_of_a_response_says_nothing() {
        let ok = Envelope::scan(br#"{"jsonrpc":"2.0","id":1,"error":null,"result":{"a":1}}"#);
        assert_eq!((ok.result, ok.error), (Some(&br#"{"a":1}"#[..]), None));
        let failed =
            Envelope::scan(br#"{"jsonrpc":"2.0","id":1,"result":null,"error":{"code":5,"message":"no"}}"#);
        assert_eq!((failed.result, failed.error_code), (None, Some(5)));
        let both =
            Envelope::scan(br#"{"jsonrpc":"2.0","id":1,"result":{"isError":true},"error":{"code":5}}"#);
        assert_eq!((both.result, both.error_code, both.is_error), (None, Some(5), false));
    }

    #[test]
    fn ids_are_compared_by_value() {
        let key = |text: &str| Id::Number(text.to_owned().into()).by_value().to_string();
        for one in ["1", "1.0", "1e0", "10e-1"] {
            assert_eq!(key(one), "1");
        }
        assert_eq!((key("-0"), key("-7"), key("1.5")), ("0".to_owned(), "-7".to_owned(), key("15e-1")));
        // Doubles would make these two one.
        assert_ne!(key("9007199254740993"), key("9007199254740992"));
        assert_ne!(Id::String("1".into()).by_value(), Id::Number("1".into()).by_value());
        let (one, float) = (Id::Number("1".into()), Id::Number("1.0".into()));
        assert!(one.is_same(&float) && !one.is_same(&Id::String("1".into())));
    }

    #[test]
    fn every_departure_is_named() {
        use MessageKind::{Batch, NotJsonRpc, Notification, Request, Response};
        check("{", NotJsonRpc, &["not JSON at byte 1: it ends too early"]);
        check("1", NotJsonRpc, &["the payload is not an object"]);
        check("{}", NotJsonRpc, &["`jsonrpc` is missing", "there is no `method`, `result` or `error`"]);
        check("[]", Batch, &["the batch is empty"]);
        check(r#"{"jsonrpc":2.0,"id":1,"result":{}}"#, Response, &["`jsonrpc` is not \"2.0\""]);
        check(r#"{"jsonrpc":"2.0","id":null,"result":{}}"#, Response, &["`id` is null"]);
        check(
            r#"{"jsonrpc":"2.0","id":[1],"result":{}}"#,
            Response,
            &["`id` is neither a string nor a number"],
        );
        check(r#"{"jsonrpc":"2.0","id":1.5,"result":{}}"#, Response, &["`id` is not an integer"]);
        check(r#"{"jsonrpc":"2.0","result":{}}"#, Response, &["the response has no `id`"]);
        check(r#"{"jsonrpc":"2.0","id":1,"method":7}"#, Request, &["`method` is not a string"]);
        check(
            r#"{"jsonrpc":"2.0","id":1,"method":"list"}"#,
            Request,
            &["the method is not of the form `category/operation`"],
        );
        check(
            r#"{"jsonrpc":"2.0","id":1,"method":"notifications/x"}"#,
            Request,
            &["the notification has an `id`"],
        );
        check(r#"{"jsonrpc":"2.0","method":"tools/list"}"#, Notification, &["the request has no `id`"]);
        check(
            r#"{"jsonrpc":"2.0","id":1,"method":"a/b","params":[]}"#,
            Request,
            &["`params` is not an object"],
        );
        check(
            r#"{"jsonrpc":"2.0","id":1,"method":"a/b","result":{}}"#,
            Request,
            &["`method` occurs together with `result` or `error`"],
        );
        check(
            r#"{"jsonrpc":"2.0","id":1,"result":{},"error":{"code":1,"message":""}}"#,
            Response,
            &["both `result` and `error` are present"],
        );
        check(r#"{"jsonrpc":"2.0","id":1,"result":3}"#, Response, &["`result` is not an object"]);
        check(r#"{"jsonrpc":"2.0","id":1,"error":"no"}"#, Response, &["`error` is not an object"]);
        check(
            r#"{"jsonrpc":"2.0","id":1,"error":{}}"#,
            Response,
            &["`error.code` is missing", "`error.message` is missing"],
        );
        check(
            r#"{"jsonrpc":"2.0","id":1,"error":{"code":1.5,"message":1}}"#,
            Response,
            &["`error.code` is not an integer", "`error.message` is not a string"],
        );
        check(
            r#"{"jsonrpc":"2.0","id":1,"error":{"code":-32500,"message":""}}"#,
            Response,
            &["`error.code` -32500 is reserved"],
        );
        check(
            r#"{"jsonrpc":"2.0","id":1,"id":2,"result":{}}"#,
            Response,
            &["`id` occurs twice in one object"],
        );
    }

    #[test]
    fn meta_is_checked_where_it_may_stand() {
        let request =
            |meta: &str| format!(r#"{{"jsonrpc":"2.0","id":1,"method":"a/b","params":{{"_meta":{meta}}}}}"#);
        for good in [
            "{}",
            r#"{"progressToken":"x"}"#,
            r#"{"io.modelcontextprotocol/clientInfo":{}}"#,
            r#"{"com.example/a_b.c":1}"#,
        ] {
            assert_eq!(defects(&request(good)), Vec::<String>::new(), "{good}");
        }
        assert_eq!(defects(&request("[]")), ["`_meta` is not an object"]);
        assert_eq!(
            defects(&request(r#"{"progressToken":1.5}"#)),
            ["`progressToken` is neither a string nor an integer"]
        );
        for bad in [r#"{"a b":1}"#, r#"{"1x/a":1}"#, r#"{"a//b":1}"#, r#"{"-a":1}"#] {
            assert_eq!(defects(&request(bad)), ["a `_meta` key is not of the form `[prefix/]name`"], "{bad}");
        }
        for reserved in [r#"{"mcp/x":1}"#, r#"{"modelcontextprotocol/x":1}"#, r#"{"a.mcp.dev/x":1}"#] {
            assert_eq!(defects(&request(reserved)), ["a `_meta` key has a reserved prefix"], "{reserved}");
        }
        assert_eq!(defects(r#"{"jsonrpc":"2.0","id":1,"result":{"_meta":1}}"#), ["`_meta` is not an object"]);
    }

    #[test]
    fn names_tokens_and_failures_are_found() {
        let call = Envelope::scan(br#"{"params":{"_meta":{"progressToken":7},"arguments":{"name":"no"},"name":"add"},"method":"tools/call","id":1,"jsonrpc":"2.0"}"#);
        assert_eq!((call.tool(), call.progress_token.clone()), (Some("add"), Some(Id::Number("7".into()))));
        let failed = Envelope::scan(
            br#"{"jsonrpc":"2.0","id":1,"result":{"content":[{"isError":false}],"isError":true}}"#,
        );
        assert!(failed.is_failure() && failed.error.is_none());
        let error = Envelope::scan(br#"{"jsonrpc":"2.0","id":1,"error":{"message":"m","code":-32601}}"#);
        assert_eq!((error.is_failure(), error.error_code), (true, Some(-32601)));
    }

    #[test]
    fn batches_come_apart() {
        assert_eq!(payloads(br#" [{"a":[1]}, 2 ,[]]"#), [&br#"{"a":[1]}"#[..], b"2", b"[]"]);
        assert_eq!(payloads(b"{}"), [b"{}"]);
        assert_eq!(payloads(b"[1,2"), [b"1", b"2"]);
    }

    proptest! {
        #[test]
        fn a_scan_never_panics(raw in proptest::collection::vec(any::<u8>(), 0..200)) {
            Envelope::scan(&raw);
            payloads(&raw);
        }

        #[test]
        fn nor_on_almost_messages(raw in r#"(\{|\}|\[|\]|,|:|"(jsonrpc|2\.0|id|method|params|_meta|result|error|code|message|name)"|1|-3\.5|null|true){0,30}"#) {
            Envelope::scan(raw.as_bytes());
        }
    }
}
