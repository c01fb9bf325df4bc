//! Secrets in JSON: every value is judged by the names around it, then scanned as text.
//!
//! There are two passes. [`is_clean`] only decides whether there may be a secret at all, and clears most
//! messages. The rest are walked token by token ([`edits`]), with a [`Context`] for every open bracket. No
//! tree is built and nothing is printed again: that would lose key order, duplicate keys and the spelling of
//! numbers.
//!
//! Which names are secret is decided in `keys`, what a text contains in `text`.

use super::command_line::{self, OptionKind};
use super::keys::KeyClass;
use super::text::{self, LiteralsAhead, MAX_NAME};
use super::values::{self, Strength};
use super::{Edit, Pass, Redactor, drop_overlaps, keys, marker, rules, views};
use crate::json::{self, Lexeme, Lexer, SyntaxError, Text, Token};
use aho_corasick::AhoCorasick;
use memchr::memmem;
use std::sync::LazyLock;
use std::thread;

/// The most columns of a table that are considered; a longer first row is data, not a header.
const MAX_COLUMNS: usize = 64;

/// How deep JSON inside strings inside JSON is followed. Each level doubles the escapes, so deeper nesting
/// hardly occurs.
const MAX_NESTING: usize = 6;

/// What the names around a value imply. Two bytes, because there is one for every open bracket.
#[derive(Debug, Clone, Copy, Default)]
struct Context {
    /// One more than the index in [`rules::RULES`] of the rule that makes strings here secret; 0 for none,
    /// [`Self::CUSTOM`] for custom keys.
    secret: u8,
    flags: u8,
}

impl Context {
    /// The members of this object are names of schemas, and none of them is secret by its name.
    const SCHEMA_NAMES: u8 = 1;
    /// A string here is not a secret, whatever it looks like: cursors and progress tokens.
    const EXEMPT: u8 = 2;
    /// The name may be that of a working directory (`pwd`).
    const DIRECTORY: u8 = 4;
    /// The name is weak evidence: only a value that looks random is a secret.
    const WEAK: u8 = 8;
    /// This object describes a secret, and only its `value` is one.
    const DESCRIBED: u8 = 16;
    /// This array alternates between names and values.
    const ALTERNATING: u8 = 32;
    /// The context belongs to an array, not to an object.
    const ARRAY: u8 = 64;
    const CUSTOM: u8 = u8::MAX;

    fn has(self, flag: u8) -> bool {
        self.flags & flag != 0
    }

    fn secret(self) -> Option<(&'static str, Strength)> {
        let strength = if self.has(Self::WEAK) { Strength::Weak } else { Strength::Strong };
        match self.secret {
            _ if self.has(Self::DESCRIBED) => None,
            0 => None,
            Self::CUSTOM => Some((keys::CUSTOM_KEY, strength)),
            number => rules::RULES.get(usize::from(number) - 1).map(|rule| (rule.name, strength)),
        }
    }

    fn with_secret(mut self, (rule, strength): (&'static str, Strength)) -> Self {
        let index = rules::RULES.iter().position(|known| known.name == rule);
        self.secret = index.and_then(|index| u8::try_from(index + 1).ok()).unwrap_or(Self::CUSTOM);
        self.flags &= !(Self::WEAK | Self::DESCRIBED);
        if strength == Strength::Weak {
            self.flags |= Self::WEAK;
        }
        self
    }

    /// The context of a member of an object that has this context.
    fn member(self, class: KeyClass, role: Role) -> Self {
        let inherited = Context { flags: self.flags & (Self::WEAK | Self::DESCRIBED), ..self };
        match class {
            _ if self.has(Self::DESCRIBED) && role == Role::Value => {
                Context { flags: inherited.flags & !Self::DESCRIBED, ..inherited }
            }
            KeyClass::Plain => inherited,
            KeyClass::Secret(..) if self.secret != 0 && !self.has(Self::DESCRIBED) => inherited,
            KeyClass::Secret(rule, strength) => inherited.with_secret((rule, strength)),
            KeyClass::Exempt => Context { flags: inherited.flags | Self::EXEMPT, ..inherited },
            KeyClass::SchemaMap => Context { flags: inherited.flags | Self::SCHEMA_NAMES, ..inherited },
        }
    }

    /// The context inside an object that has this one. Under `credentials` and cookies all strings are
    /// secret. Elsewhere, an object under a secret name usually describes the secret (`{"type": …, "value":
    /// …}`), and only its `value` is one. An exemption applies to a string, not to the members of an object.
    fn inside_object(self) -> Self {
        let flags = self.flags & !(Self::EXEMPT | Self::DIRECTORY | Self::ALTERNATING | Self::ARRAY);
        let whole = matches!(
            self.secret(),
            Some((rules::CREDENTIALS | rules::COOKIE | rules::AUTHORIZATION, Strength::Strong))
        );
        match self.secret {
            _ if whole => Context { flags, ..self },
            0 => Context { secret: 0, flags: flags & !(Self::WEAK | Self::DESCRIBED) },
            // A description of a description describes something else.
            _ if self.has(Self::DESCRIBED) => {
                Context { secret: 0, flags: flags & !(Self::WEAK | Self::DESCRIBED) }
            }
            _ => Context { flags: flags | Self::DESCRIBED, ..self },
        }
    }

    fn inside_array(self) -> Self {
        Context { flags: self.flags & !(Self::EXEMPT | Self::ALTERNATING), ..self }
    }
}

/// What a member's name implies for the other members of its object.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Role {
    Other,
    /// Its value names another member's value: `{"name": "DB_PASSWORD", "value": …}`.
    Name,
    Value,
    /// `kty`: the object is a JSON Web Key (RFC 7517).
    KeyType,
    /// A private parameter of such a key (RFC 7518, section 6).
    KeyPart,
    /// The names of columns; [`Role::Rows`] are the rows below them.
    Columns,
    Rows,
    /// Names and values alternate, as in Node's `rawHeaders`.
    Alternating,
}

fn role(name: &[u8]) -> Role {
    match name {
        b"name" | b"key" | b"Name" | b"Key" | b"field" | b"header" | b"variable" | b"parameter"
        | b"param" | b"property" | b"ParameterName" | b"ParameterKey" | b"label" | b"attribute"
        | b"setting" | b"envVar" | b"k" => {
            if name == b"k" {
                Role::KeyPart
            } else {
                Role::Name
            }
        }
        b"value" | b"Value" | b"val" | b"secretValue" | b"SecretValue" | b"ParameterValue"
        | b"stringValue" | b"plaintext" | b"plainText" | b"currentValue" | b"current_value" | b"plain"
        | b"StringValue" | b"secretString" => Role::Value,
        b"kty" => Role::KeyType,
        b"d" | b"p" | b"q" | b"dp" | b"dq" | b"qi" => Role::KeyPart,
        b"columns" | b"fields" | b"headers" | b"header_row" | b"cols" | b"column_names" | b"columnNames" => {
            Role::Columns
        }
        b"rows" | b"values" | b"data" | b"records" | b"result" => Role::Rows,
        b"rawHeaders" | b"raw_headers" | b"headersList" | b"rawTrailers" => Role::Alternating,
        _ => Role::Other,
    }
}

/// The ends of the names with [`Role::Value`], and the beginnings of those that end otherwise.
static PAIR_VALUES: LazyLock<AhoCorasick> = LazyLock::new(|| {
    AhoCorasick::new(["alue\"", "\"val\"", "\"plain", "retString\""])
        .expect("a few short literals are far below the size limit of an automaton")
});

/// State of an open object that depends on several of its members. Only objects that have a member with a
/// [`Role`] get one.
#[derive(Debug, Default)]
struct Neighbours {
    depth: usize,
    /// The rule of the name in the object's [`Role::Name`] member.
    name: Option<(&'static str, Strength)>,
    /// Byte range of the value, if it came before the name.
    value: Option<(usize, usize)>,
    is_key: bool,
    parts: Vec<(usize, usize)>,
    columns: Vec<Option<(&'static str, Strength)>>,
}

/// In bytes. From this length on, a string is scanned by another thread while this one parses on; for less,
/// starting a thread costs more than it saves.
pub(super) const LONG: usize = 128 * 1024;

/// Whether nothing in a JSON value may be part of a secret. Stops at the first suspicion, so a syntax error
/// after it goes unnoticed here.
pub(super) fn is_clean(redactor: &Redactor, json: &[u8]) -> Result<bool, SyntaxError> {
    let look = |text: Text<'_>| !text::is_suspicious(text, &redactor.keys);
    if json.len() < LONG {
        return Ok(!redactor.literals.is_in(json) && is_clean_by(redactor, json, look)?);
    }
    thread::scope(|scope| {
        // The search for literals takes as long as the scan for marks: each is a third of the time for a
        // megabyte of prose.
        let literals = thread::Builder::new().spawn_scoped(scope, || redactor.literals.is_in(json));
        let mut other: Option<thread::ScopedJoinHandle<'_, bool>> = None;
        let is_clean = is_clean_by(redactor, json, |text| {
            // One helper at a time: a message of many long strings must not start a thread for each.
            if text.raw.len() < LONG || other.as_ref().is_some_and(|other| !other.is_finished()) {
                return look(text);
            }
            match thread::Builder::new().spawn_scoped(scope, move || look(text)) {
                // A helper that panicked counts as a suspicion, and the message is walked.
                Ok(looking) => other.replace(looking).is_none_or(|done| done.join().unwrap_or(false)),
                Err(_) => look(text),
            }
        })?;
        let has_literals = match literals {
            Ok(searching) => searching.join().unwrap_or(true),
            Err(_) => redactor.literals.is_in(json),
        };
        Ok(other.is_none_or(|other| other.join().unwrap_or(false)) && is_clean && !has_literals)
    })
}

/// Whether redacting a value again that was just redacted would change nothing. Only strings with a marker are looked at:
/// the others are as the walk has left them.
pub(super) fn is_settled(redactor: &Redactor, json: &[u8]) -> Result<bool, SyntaxError> {
    is_clean_by(redactor, json, |text| {
        !marker::has_prefix(text.raw)
            || !redactor.literals.is_in(text.raw) && !text::is_suspicious(text, &redactor.keys)
    })
}

/// [`is_clean`] with `look` as the test for strings.
#[inline]
fn is_clean_by<'j>(
    redactor: &Redactor,
    json: &'j [u8],
    mut look: impl FnMut(Text<'j>) -> bool,
) -> Result<bool, SyntaxError> {
    let mut lexer = Lexer::new(json);
    let mut place = ValuePlace::default();
    let mut names_a_pair = false;
    // The last token was a secret's name.
    let mut is_secret = false;
    while let Some(lexeme) = lexer.next_inline()? {
        let is_clean = match lexeme.token {
            Token::Key => {
                let name = lexeme.text(json);
                place.key = name.raw;
                is_secret = redactor.keys.secret(name.raw).is_some();
                // An escaped name may spell anything; the walk unescapes it.
                !name.escaped && name.raw != b"kty"
            }
            _ if is_secret => {
                is_secret = false;
                match lexeme.token {
                    Token::True | Token::False | Token::Null => true,
                    // A message that was redacted before is cleared, too.
                    Token::String => {
                        let value = lexeme.text(json).raw;
                        value.is_empty() || marker::is_whole(value)
                    }
                    _ => false,
                }
            }
            Token::String => {
                let text = lexeme.text(json);
                let is_harmless = !names_a_secret(redactor, text)
                    || match place.meaning_of_name(text, lexer.is_in_object()) {
                        NameMeaning::Nothing => true,
                        NameMeaning::Pair => {
                            names_a_pair = true;
                            true
                        }
                        NameMeaning::Unknown => false,
                    };
                is_harmless && look(text) && !views::may_be_base64(text.raw)
            }
            Token::BeginArray => {
                place.begin_array();
                true
            }
            Token::BeginObject | Token::EndObject | Token::EndArray => {
                place.is_plain_list = false;
                place.was_in_object = lexer.is_in_object();
                true
            }
            _ => true,
        };
        if !is_clean {
            return Ok(false);
        }
    }
    // The value of a pair may come before its name, so all of them are searched for at the end.
    Ok(!names_a_pair || !PAIR_VALUES.is_match(json))
}

/// Where the quick scan is. Without this, every `{"name": "token"}` and `["token", …]` would send its message through the walk,
/// and words like these are common (`cargo xtask bench --only stdio`, the row "1 MiB each way, JSON").
#[derive(Default)]
struct ValuePlace<'j> {
    /// The last member's name.
    key: &'j [u8],
    /// Whether the innermost container, before the token that is looked at, is an object.
    was_in_object: bool,
    /// Whether this is an array in which no element says anything about another: the value of a member that has no
    /// [`Role`] for arrays, and without nested containers so far.
    is_plain_list: bool,
}

/// What it means that a string is the name of a secret.
enum NameMeaning {
    Nothing,
    /// A neighbouring member may hold the secret.
    Pair,
    Unknown,
}

impl ValuePlace<'_> {
    fn begin_array(&mut self) {
        let role = if self.was_in_object { role(self.key) } else { Role::Rows };
        self.is_plain_list = !matches!(role, Role::Columns | Role::Rows | Role::Alternating);
        self.was_in_object = false;
    }

    fn meaning_of_name(&self, text: Text<'_>, is_in_object: bool) -> NameMeaning {
        if text.raw == b"Secret" {
            return NameMeaning::Unknown;
        }
        match (is_in_object, role(self.key)) {
            (true, Role::Name) => NameMeaning::Pair,
            (true, _) => NameMeaning::Nothing,
            // `--password` makes the next element a secret.
            (false, _) if self.is_plain_list && text.raw.first() != Some(&b'-') => NameMeaning::Nothing,
            (false, _) => NameMeaning::Unknown,
        }
    }
}

/// Whether a string may name a secret in a neighbouring member or element, or the kind of an object that holds secrets.
#[inline]
fn names_a_secret(redactor: &Redactor, text: Text<'_>) -> bool {
    let is_option = || text.raw.first() == Some(&b'-') && option_kind(redactor, text).is_some();
    text.raw.len() <= MAX_NAME
        && (redactor.keys.secret(text.raw).is_some() || text.raw == b"Secret" || is_option())
}

/// The kind of an option in a list of arguments, if it takes a secret: `--password`, `-user`.
fn option_kind(redactor: &Redactor, text: Text<'_>) -> Option<OptionKind> {
    let option = text.raw.strip_prefix(b"-")?;
    let option = option.strip_prefix(b"-").unwrap_or(option);
    if option.len() > 1 { command_line::option_kind(option, &redactor.keys) } else { None }
}

/// Finds the secrets in one JSON value. The edits are in ascending order.
pub(super) fn edits(pass: &mut Pass<'_>, json: &[u8]) -> Result<Vec<Edit>, SyntaxError> {
    let mut edits = Vec::new();
    self::json(pass, json, 0, &mut edits)?;
    Ok(edits)
}

/// Finds the secrets in one JSON value at a nesting depth, and adds the edits in ascending order.
fn json(pass: &mut Pass<'_>, json: &[u8], nesting: usize, edits: &mut Vec<Edit>) -> Result<(), SyntaxError> {
    let first = edits.len();
    let mut walk = Walk::new(pass, json, nesting);
    walk.run(edits)?;
    if walk.is_disordered {
        drop_overlaps(edits, first);
    }
    Ok(())
}

/// The state of a walk through one JSON value.
struct Walk<'w, 'r> {
    pass: &'w mut Pass<'r>,
    json: &'w [u8],
    nesting: usize,
    open: Vec<Context>,
    context: Context,
    role: Role,
    literals: LiteralsAhead<'w>,
    neighbours: Vec<Neighbours>,
    array: Array,
    tables: Vec<Table>,
    /// The value may contain a Kubernetes secret: every member called `data` holds credentials.
    is_kubernetes: bool,
    /// An edit was added whose position precedes earlier ones, so the edits have to be sorted.
    is_disordered: bool,
}

/// State of the innermost array.
#[derive(Debug, Default)]
struct Array {
    /// The index of the next element. `None` outside an array; a huge number after a nested bracket, since
    /// the outer index is not kept.
    index: Option<usize>,
    /// The last element makes the next one a secret, as an option does with its value.
    follows: Option<OptionKind>,
    /// The rules of the names so far, if the array may be the header of a table.
    header: Option<Vec<Option<(&'static str, Strength)>>>,
}

/// An array of rows, and the rules of its columns.
#[derive(Debug)]
struct Table {
    /// The nesting depth of the array of rows.
    depth: usize,
    columns: Vec<Option<(&'static str, Strength)>>,
}

impl<'w, 'r> Walk<'w, 'r> {
    fn new(pass: &'w mut Pass<'r>, json: &'w [u8], nesting: usize) -> Self
    where
        'r: 'w,
    {
        let redactor: &'w Redactor = pass.redactor;
        Walk {
            literals: LiteralsAhead::new(json, &redactor.literals),
            pass,
            json,
            nesting,
            open: Vec::new(),
            context: Context::default(),
            role: Role::Other,
            neighbours: Vec::new(),
            array: Array::default(),
            tables: Vec::new(),
            // `kind` may come after `data`, so the whole value is searched before the walk.
            is_kubernetes: memmem::find(json, b"\"Secret\"").is_some()
                && memmem::find(json, b"\"kind\"").is_some(),
            is_disordered: false,
        }
    }

    fn run(&mut self, edits: &mut Vec<Edit>) -> Result<(), SyntaxError> {
        let mut lexer = Lexer::new(self.json);
        while let Some(lexeme) = lexer.next_token()? {
            match lexeme.token {
                Token::Key => self.key(lexeme),
                Token::BeginArray => self.begin_array(),
                Token::BeginObject => self.begin_object(),
                Token::EndArray => self.end_array(),
                Token::EndObject => self.end_object(edits),
                Token::String => self.string(lexeme, edits),
                Token::Number => self.number(lexeme, edits),
                Token::True | Token::False | Token::Null => self.next_element(None),
            }
        }
        Ok(())
    }

    fn key(&mut self, lexeme: Lexeme) {
        let outside = self.open.last().copied().unwrap_or_default();
        let name = lexeme.text(self.json).unescaped();
        self.role = role(&name);
        self.context = outside.member(self.pass.redactor.keys.class(&name), self.role);
        if keys::is_pwd(&name) {
            self.context.flags |= Context::DIRECTORY;
        }
        if self.is_kubernetes && matches!(&*name, b"data" | b"stringData") && self.context.secret == 0 {
            self.context = self.context.with_secret((rules::CREDENTIALS, Strength::Strong));
        }
        if self.role == Role::Value
            && let Some(name) = self.neighbours_here().and_then(|neighbours| neighbours.name)
        {
            self.context = self.context.with_secret(name);
        }
    }

    /// The state of the innermost object, if it has one.
    fn neighbours_here(&mut self) -> Option<&mut Neighbours> {
        let depth = self.open.len();
        self.neighbours.last_mut().filter(|neighbours| neighbours.depth == depth)
    }

    fn neighbours(&mut self) -> &mut Neighbours {
        let depth = self.open.len();
        if self.neighbours.last().is_none_or(|neighbours| neighbours.depth != depth) {
            self.neighbours.push(Neighbours { depth, ..Neighbours::default() });
        }
        self.neighbours.last_mut().expect("just pushed if there was none for this depth")
    }

    fn begin_array(&mut self) {
        let mut context = self.context.inside_array();
        context.flags |= Context::ARRAY;
        if self.role == Role::Alternating {
            context.flags |= Context::ALTERNATING;
        }
        let columns = match self.role {
            Role::Rows => self.neighbours_here().map(|neighbours| std::mem::take(&mut neighbours.columns)),
            _ => None,
        };
        let is_first_row = self.role == Role::Other && self.array.index == Some(0);
        let is_header = self.role == Role::Columns || is_first_row;
        self.open.push(context);
        if let Some(columns) = columns.filter(|columns| !columns.is_empty()) {
            self.tables.push(Table { depth: self.open.len(), columns });
        }
        self.array = Array { index: Some(0), follows: None, header: is_header.then(Vec::new) };
        self.context = context;
        self.role = Role::Other;
    }

    fn begin_object(&mut self) {
        // In `"properties": {"token": {…}}`, the object is a schema, not a token.
        let schema_name = self.open.last().is_some_and(|outside| outside.has(Context::SCHEMA_NAMES));
        let context = self.context;
        let inside = if schema_name {
            Context { secret: 0, flags: context.flags & Context::SCHEMA_NAMES }
        } else {
            context.inside_object()
        };
        self.open.push(inside);
        self.array = Array::default();
        self.role = Role::Other;
    }

    fn end_array(&mut self) {
        let header =
            self.array.header.take().filter(|header| header.len() >= 2 && header.iter().any(Option::is_some));
        self.close();
        if let Some(columns) = header {
            let depth = self.open.len();
            // The header was the value of a member (`columns`), or the first row of an array of rows.
            if self.is_in_object() {
                self.neighbours().columns = columns;
            } else {
                self.tables.push(Table { depth, columns });
            }
        }
    }

    fn end_object(&mut self, edits: &mut Vec<Edit>) {
        let depth = self.open.len();
        if let Some(neighbours) = self.neighbours.pop_if(|neighbours| neighbours.depth == depth)
            && neighbours.is_key
        {
            for (start, end) in neighbours.parts {
                self.redact_if_secret(start, end, (rules::PRIVATE_KEY, Strength::Strong), edits);
            }
        }
        self.close();
    }

    fn close(&mut self) {
        let depth = self.open.len();
        // A table ends with the array that contains its rows.
        self.tables.pop_if(|table| table.depth >= depth);
        self.open.pop();
        self.context = self.open.last().copied().unwrap_or_default();
        // Indices of outer arrays are not kept: no column is that far to the right.
        self.array = Array { index: Some(usize::MAX / 2), ..Array::default() };
        self.role = Role::Other;
    }

    /// Whether the innermost bracket is that of an object.
    fn is_in_object(&self) -> bool {
        self.open.last().is_some_and(|context| !context.has(Context::ARRAY))
    }

    /// Counts an element of the innermost array. `name` is its rule, if the element may name a column.
    fn next_element(&mut self, name: Option<(&'static str, Strength)>) {
        if let Some(header) = &mut self.array.header {
            header.push(name);
            // More columns than a table has; also bounds the memory for an array of a million names.
            if header.len() > MAX_COLUMNS {
                self.array.header = None;
            }
        }
        self.array.index = self.array.index.map(|index| index.saturating_add(1));
    }

    /// The rule by which a value is secret: from the names around it, or from its column.
    fn secret(&mut self) -> Option<(&'static str, Strength)> {
        let by_name = self.context.secret();
        // In `"auth": ["user", "password"]`, the second element is the password however weak the name is.
        if by_name == Some((rules::CREDENTIALS, Strength::Weak)) && self.array.index == Some(1) {
            return Some((rules::CREDENTIALS, Strength::Strong));
        }
        // Columns apply to rows that are arrays; the members of a row that is an object have names of their
        // own.
        if by_name.is_some() || self.is_in_object() {
            return by_name;
        }
        let depth = self.open.len();
        let index = self.array.index?;
        let table = self.tables.last().filter(|table| table.depth + 1 == depth)?;
        table.columns.get(index).copied().flatten()
    }

    fn string(&mut self, lexeme: Lexeme, edits: &mut Vec<Edit>) {
        let (start, end) = (lexeme.start + 1, lexeme.end - 1);
        let text = lexeme.text(self.json);
        let is_exempt = self.context.has(Context::EXEMPT);
        let secret = self.secret();
        let follows = self.array.follows.take();
        let name =
            if end - start <= MAX_NAME { self.pass.redactor.keys.secret(&text.unescaped()) } else { None };
        if self.is_in_object() {
            self.note_neighbour(name, start, end, edits);
        } else {
            self.array.follows = self.what_follows(text, name);
            self.next_element(name);
        }
        if is_exempt {
            self.look_inside_exempt(text, start, edits);
            return;
        }
        if start == end {
            return;
        }
        if let Some((rule, strength)) = secret {
            let value = text.unescaped();
            let is_directory =
                self.context.has(Context::DIRECTORY) && keys::is_working_directory(rule, b"pwd", &value);
            let is_name = !self.is_in_object() && name.is_some() && self.context.secret().is_none();
            if !is_directory && !is_name && values::is_secret(rule, strength, &value) {
                self.redact(start, end, rule, edits);
                return;
            }
            if marker::is_whole(&value) {
                return;
            }
        }
        if let Some(kind) = follows
            && let Some((skip, rule)) = kind.secret_in(&text.unescaped())
            && self.pass.redactor.is_on(rule)
            && !text.escaped
        {
            self.redact(start + skip, end, rule, edits);
            return;
        }
        self.look_inside(text, start, end, edits);
    }

    /// What an element of an array implies for the next one, if it is an option or a name that a value
    /// follows.
    fn what_follows(&self, text: Text<'_>, name: Option<(&'static str, Strength)>) -> Option<OptionKind> {
        if text.raw.first() == Some(&b'-') {
            return option_kind(self.pass.redactor, text);
        }
        let (rule, strength) = name?;
        let index = self.array.index?;
        let outside = self.open.len().checked_sub(2).map(|at| self.open[at]);
        let is_row = index == 0 && outside.is_some_and(|outside| outside.has(Context::ARRAY));
        let alternates = self.open.last().is_some_and(|context| context.has(Context::ALTERNATING))
            && index.is_multiple_of(2);
        (is_row || alternates).then_some(OptionKind::Named(rule, strength))
    }

    /// Records what a string implies for the other members of its object.
    fn note_neighbour(
        &mut self,
        name: Option<(&'static str, Strength)>,
        start: usize,
        end: usize,
        edits: &mut Vec<Edit>,
    ) {
        match self.role {
            Role::Name => {
                let Some(name) = name else { return };
                let neighbours = self.neighbours();
                neighbours.name = Some(name);
                if let Some((start, end)) = neighbours.value.take() {
                    self.redact_if_secret(start, end, name, edits);
                }
            }
            Role::Value => {
                let neighbours = self.neighbours();
                if neighbours.name.is_none() {
                    neighbours.value = Some((start, end));
                }
            }
            Role::KeyType => self.neighbours().is_key = true,
            Role::KeyPart => {
                let parts = &mut self.neighbours().parts;
                // An RSA key has six private parameters.
                if parts.len() < 8 {
                    parts.push((start, end));
                }
            }
            _ => {}
        }
    }

    /// Redacts a value that came before its name.
    fn redact_if_secret(
        &mut self,
        start: usize,
        end: usize,
        (rule, strength): (&'static str, Strength),
        edits: &mut Vec<Edit>,
    ) {
        let raw = &self.json[start..end];
        let value = Text { raw, escaped: raw.contains(&b'\\') }.unescaped();
        if values::is_secret(rule, strength, &value) {
            self.redact(start, end, rule, edits);
            self.is_disordered = true;
        }
    }

    /// Redacts the inside of a string, or a part of it.
    fn redact(&mut self, start: usize, end: usize, rule: &'static str, edits: &mut Vec<Edit>) {
        let raw = &self.json[start..end];
        let value = Text { raw, escaped: raw.contains(&b'\\') }.unescaped();
        // The hash is that of the unescaped value, so that equal secrets have equal markers however they are
        // escaped.
        let replacement = self.pass.replacement(rule, &value);
        edits.push(Edit { start, end, replacement });
    }

    /// Scans a string that is not secret by its name.
    fn look_inside(&mut self, text: Text<'_>, start: usize, end: usize, edits: &mut Vec<Edit>) {
        let first = edits.len();
        let redactor = self.pass.redactor;
        let literals = self.literals.any_in(start, end).then_some(&redactor.literals);
        let is_special = literals.is_some()
            || !redactor.custom.is_empty()
            || self.may_repeat(text)
            || views::may_be_base64(text.raw);
        if !is_special && !text::is_suspicious(text, &redactor.keys) {
            return;
        }
        if text.escaped {
            escaped_string(self.pass, text.raw, self.nesting, edits);
        } else {
            redactor.find_in_text(self.pass, text.raw, literals, edits);
        }
        for edit in &mut edits[first..] {
            edit.start += start;
            edit.end += start;
        }
    }

    /// Scans a string that its name exempts from the rules by name: a cursor, a progress token.
    fn look_inside_exempt(&mut self, text: Text<'_>, start: usize, edits: &mut Vec<Edit>) {
        let first = edits.len();
        let redactor = self.pass.redactor;
        redactor.find_in_exempt(self.pass, &text.unescaped(), edits);
        let mut places = Places { raw: text.raw, raw_at: 0, text_at: 0 };
        for edit in &mut edits[first..] {
            edit.start = start + places.raw_offset(edit.start);
            edit.end = start + places.raw_offset(edit.end);
        }
    }

    /// Whether a string without marks may contain a remembered secret. In other strings, all decodings are searched; this one
    /// has none, except for escapes that no form of a secret has: those of `/` and of quotes within quotes within quotes.
    fn may_repeat(&self, text: Text<'_>) -> bool {
        self.pass.is_repeated_in(text.raw)
            || self.pass.known.is_some()
                && text.escaped
                && (memmem::find(text.raw, b"\\/").is_some() || memmem::find(text.raw, b"\\\\\\\\").is_some())
    }

    /// A number under a secret name (a PIN, say) or matched by one of the user's patterns becomes a string.
    /// Numbers under `token` are counts, and a weak name does not make a number a secret.
    fn number(&mut self, lexeme: Lexeme, edits: &mut Vec<Edit>) {
        let digits = lexeme.bytes(self.json);
        let secret = self.secret();
        self.next_element(None);
        let is_exempt = self.context.has(Context::EXEMPT);
        let custom = self.pass.redactor.custom.iter().find(|p| p.is_match(digits)).map(|p| p.name.clone());
        let rule = match secret {
            _ if is_exempt => return,
            Some((rule, Strength::Strong)) if rule != rules::TOKEN => rule.to_owned(),
            _ => match custom {
                Some(name) => name,
                None => return,
            },
        };
        let replacement = format!("\"{}\"", self.pass.replacement(&rule, digits));
        edits.push(Edit { start: lexeme.start, end: lexeme.end, replacement });
    }
}

/// Scans an unescaped string: as JSON if it is JSON, otherwise as text. The edits are mapped back to `raw`.
fn escaped_string(pass: &mut Pass<'_>, raw: &[u8], nesting: usize, edits: &mut Vec<Edit>) {
    let text = json::unescape(raw);
    let first = edits.len();
    let is_container = matches!(text.trim_ascii_start().first(), Some(b'{' | b'['));
    let as_json =
        is_container && nesting < MAX_NESTING && self::json(pass, &text, nesting + 1, edits).is_ok();
    if !as_json {
        // A syntax error came after some edits; the scan as text finds them again.
        edits.truncate(first);
        let redactor = pass.redactor;
        redactor.find_in_text(pass, &text, Some(&redactor.literals), edits);
    }
    let mut places = Places { raw, raw_at: 0, text_at: 0 };
    for edit in &mut edits[first..] {
        edit.start = places.raw_offset(edit.start);
        edit.end = places.raw_offset(edit.end);
        // The replacement of a number brings its own quotes, which need escaping here.
        if edit.replacement.contains('"') {
            edit.replacement = edit.replacement.replace('\\', "\\\\").replace('"', "\\\"");
        }
    }
}

/// Maps offsets in the unescaped text to the escaped one. Offsets must be queried in ascending order, so that
/// all of them together take one pass.
struct Places<'a> {
    raw: &'a [u8],
    raw_at: usize,
    text_at: usize,
}

impl Places<'_> {
    fn raw_offset(&mut self, text_offset: usize) -> usize {
        while self.text_at < text_offset {
            if self.raw[self.raw_at] == b'\\' {
                let (meaning, width) = json::escape_at(self.raw, self.raw_at);
                self.raw_at += width;
                self.text_at += meaning.len_utf8();
            } else {
                self.raw_at += 1;
                self.text_at += 1;
            }
        }
        self.raw_at
    }
}

#[cfg(test)]
mod tests {
    use super::super::{RedactionKey, Rules};
    use super::*;

    fn clears(json: &str) -> bool {
        let redactor = Redactor::new(&Rules::default(), &RedactionKey::new([7; 32])).unwrap();
        is_clean(&redactor, json.as_bytes()).unwrap()
    }

    /// Each message that isn't cleared is walked, which takes several times as long.
    #[test]
    fn words_that_are_also_names_of_secrets_are_cleared() {
        let row = r#"{"name":"token","place":{"city":"token"},"tags":["token","password"]}"#;
        assert!(clears(row));
        assert!(clears(&format!("[{row},{row}]")));
        assert!(clears(&format!(r#"{{"content":[{{"text":{}}}]}}"#, serde_json::to_string(row).unwrap())));
        assert!(clears(r#"{"content":[{"text":"The token was read, and the secret files follow"}]}"#));
    }

    #[test]
    fn ordinary_texts_are_cleared() {
        let quoted = |text: &str| serde_json::to_string(text).unwrap();
        let result = |text: &str| format!(r#"{{"content":[{{"type":"text","text":{}}}]}}"#, quoted(text));
        let readme = include_str!("../../../../README.md");
        assert!(clears(&result(readme)), "{:?}", first_candidate(readme));
        let row = |n: usize| {
            format!(
                r#"{{"id":{n},"name":"item {n}","tags":["a","b"],"price":{}.5,"rate":0.{n:016},"ok":true}}"#,
                n % 97
            )
        };
        let rows = format!("[{}]", (0..2000).map(row).collect::<Vec<_>>().join(","));
        assert!(clears(&rows));
        assert!(clears(r#"{"password":"[REDACTED:password:0a1b2c3d]","user":"ada"}"#));
        assert!(clears(&result(&rows)), "{:?}", first_candidate(&rows));
        for text in [
            r#"{"password": "[REDACTED:password:0a1b2c3d]", "port": 1}"#,
            "Mail to ann@example.com: see https://example.com/a/b?c=d, from 10:30 on",
            "cargo build --release --all-features -- --nocapture --color always",
            "versions 1.2.3, 10.20.30 and 0123456789abcdef0123456789abcde.0123456789abcdef",
            "2024-05-01T12:00:00.123456Z 550e8400-e29b-41d4-a716-446655440000",
        ] {
            assert!(clears(&result(text)), "{:?}", first_candidate(text));
        }
    }

    /// What the quick scan takes for a candidate, for the message of a failed test.
    fn first_candidate(text: &str) -> Option<String> {
        let redactor = Redactor::new(&Rules::default(), &RedactionKey::new([7; 32])).unwrap();
        let raw = serde_json::to_string(text).unwrap().into_bytes();
        let raw = &raw[1..raw.len() - 1];
        let hit = text::candidate(raw, &redactor.keys)
            .or_else(|| text::LiteralHits::new(raw, &redactor.literals).first())?;
        let around = &raw[hit.at.saturating_sub(40)..raw.len().min(hit.at + 40)];
        Some(format!("{hit:?} in {}", String::from_utf8_lossy(around)))
    }

    #[test]
    fn names_that_say_something_about_their_neighbours_are_not_cleared() {
        for json in [
            r#"{"value":"x","name":"DB_PASSWORD"}"#,
            r#"{"val":"x","k":1,"key":"DB_PASSWORD"}"#,
            r#"{"args":["--password","x"]}"#,
            r#"{"password":"[REDACTED:password:0a1b2c3d]","token":"x"}"#,
            r#"{"password":["[REDACTED:password:0a1b2c3d]","x"]}"#,
            r#"{"args":["-user","ada:x123"]}"#,
            r#"{"text":"password=\"[REDACTED:password:0a1b2c3d]hunter2\""}"#,
            r#"{"text":"run it with --user ada:x123"}"#,
            r#"{"text":"open \"postgres:\/\/ada:\u20acx@db\""}"#,
            r#"{"text":"{\"url\":\"postgres://ada:\\u20acx@db\"}"}"#,
            r#"{"text":"usage:\n--api-key 8fj29fj29fj2kd83"}"#,
            r#"{"text":"server run\t--api-key 8fj29fj29fj2kd83"}"#,
            r#"{"columns":["name","password"],"rows":[["ada","x"]]}"#,
            r#"[["name","password"],["ada","x"]]"#,
            r#"{"rawHeaders":["Authorization","x"]}"#,
            r#"{"list":[{"a":1},"password","x"]}"#,
            r#"{"kind":"Secret","data":{"a":"eA=="}}"#,
            r#"{"text":"{\"name\":\"DB_PASSWORD\",\"value\":\"x\"}"}"#,
            r#"{"text":"the token is abc12345"}"#,
        ] {
            assert!(!clears(json), "{json}");
        }
    }
}
