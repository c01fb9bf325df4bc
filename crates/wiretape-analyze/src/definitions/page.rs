//! One page of a list.

use std::borrow::Cow;
use wiretape_trace::value::Value;

/// The lists that a server has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum ListKind {
    /// The entries of `tools/list`.
    Tools,
    /// The entries of `prompts/list`.
    Prompts,
    /// The entries of `resources/list`.
    Resources,
    /// The entries of `resources/templates/list`.
    ResourceTemplates,
}

impl ListKind {
    /// All lists, in the order in which they are compared.
    pub const ALL: [ListKind; 4] =
        [ListKind::Tools, ListKind::Prompts, ListKind::Resources, ListKind::ResourceTemplates];

    /// The list that a method returns.
    pub fn of_method(method: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.method() == method)
    }

    /// The method that returns it.
    pub fn method(self) -> &'static str {
        match self {
            ListKind::Tools => "tools/list",
            ListKind::Prompts => "prompts/list",
            ListKind::Resources => "resources/list",
            ListKind::ResourceTemplates => "resources/templates/list",
        }
    }

    /// The member of the result that holds it.
    pub fn member(self) -> &'static str {
        match self {
            ListKind::Tools => "tools",
            ListKind::Prompts => "prompts",
            ListKind::Resources => "resources",
            ListKind::ResourceTemplates => "resourceTemplates",
        }
    }

    /// The member that identifies an entry.
    pub fn key(self) -> &'static str {
        match self {
            ListKind::Tools | ListKind::Prompts => "name",
            ListKind::Resources => "uri",
            ListKind::ResourceTemplates => "uriTemplate",
        }
    }

    /// The noun for one entry.
    pub fn noun(self) -> &'static str {
        match self {
            ListKind::Tools => "tool",
            ListKind::Prompts => "prompt",
            ListKind::Resources => "resource",
            ListKind::ResourceTemplates => "resource template",
        }
    }
}

/// A page of a list.
#[derive(Debug, Clone)]
pub struct Page<'a> {
    /// Which list it is.
    pub kind: ListKind,
    /// Its entries, in order.
    pub entries: Vec<Entry<'a>>,
    /// The cursor of the request; `None` for the first page.
    pub cursor: Option<String>,
    /// The cursor of the next page; `None` if this is the last.
    pub next: Option<String>,
    /// The bytes of the whole result.
    pub result: &'a [u8],
}

/// An entry of a page.
#[derive(Debug, Clone)]
pub struct Entry<'a> {
    /// Its name or URI.
    pub key: String,
    /// The JSON of the entry, as the server sent it.
    pub raw: &'a [u8],
    /// Its index on the page, from 0. Entries without a key are left out but counted.
    pub index: usize,
}

impl<'a> Page<'a> {
    /// The page in the result of a list method; `None` for other methods and malformed results.
    pub fn of(method: &str, cursor: impl FnOnce() -> Option<String>, result: &'a [u8]) -> Option<Self> {
        let kind = ListKind::of_method(method)?;
        let value = Value::parse(result).ok()?;
        let mut entries = Vec::new();
        let mut index = 0;
        value.get(kind.member()).filter(|list| list.is_array())?.elements(|entry| {
            if let Some(key) = entry.get(kind.key()).and_then(text) {
                entries.push(Entry { key, raw: entry.raw, index });
            }
            index += 1;
        });
        let next = value.get("nextCursor").and_then(text);
        Some(Page { kind, entries, cursor: cursor(), next, result })
    }

    /// Whether it is the whole list.
    pub fn is_whole(&self) -> bool {
        self.cursor.is_none() && self.next.is_none()
    }
}

/// The cursor in the params of a list request; `None` for the first page.
pub fn cursor(params: &[u8]) -> Option<String> {
    Value::parse(params).ok()?.get("cursor").and_then(text)
}

fn text(value: Value<'_>) -> Option<String> {
    value.string().map(Cow::into_owned)
}
