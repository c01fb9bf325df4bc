//! One page of a list.

use std::borrow::Cow;
use wiretape_trace::value::Value;

/// The lists that a server has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum ListKind {
    /// What can be called.
    Tools,
    /// What can be asked for by name.
    Prompts,
    /// What can be read.
    Resources,
    /// Patterns of what can be read.
    ResourceTemplates,
}

impl ListKind {
    /// All of them.
    pub const ALL: [ListKind; 4] =
        [ListKind::Tools, ListKind::Prompts, ListKind::Resources, ListKind::ResourceTemplates];

    /// The list that a method gives.
    pub fn of_method(method: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.method() == method)
    }

    /// The method that gives it.
    pub fn method(self) -> &'static str {
        match self {
            ListKind::Tools => "tools/list",
            ListKind::Prompts => "prompts/list",
            ListKind::Resources => "resources/list",
            ListKind::ResourceTemplates => "resources/templates/list",
        }
    }

    /// The member of a result that has it.
    pub fn member(self) -> &'static str {
        match self {
            ListKind::Tools => "tools",
            ListKind::Prompts => "prompts",
            ListKind::Resources => "resources",
            ListKind::ResourceTemplates => "resourceTemplates",
        }
    }

    /// The member that entries go by.
    pub fn key(self) -> &'static str {
        match self {
            ListKind::Tools | ListKind::Prompts => "name",
            ListKind::Resources => "uri",
            ListKind::ResourceTemplates => "uriTemplate",
        }
    }

    /// What one of its entries is called.
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
    /// Where in the list it begins; `None` at the beginning.
    pub cursor: Option<String>,
    /// Where the next one begins; `None` if this is the last.
    pub next: Option<String>,
    /// The bytes of the whole result.
    pub result: &'a [u8],
}

/// An entry of a page.
#[derive(Debug, Clone)]
pub struct Entry<'a> {
    /// What it goes by.
    pub key: String,
    /// Its bytes.
    pub raw: &'a [u8],
    /// Its number on the page, from 0; entries without a key are none, but are counted.
    pub index: usize,
}

impl<'a> Page<'a> {
    /// The page that is the result of a method, if it is one.
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

/// Where in a list a request begins to read, by its parameters; at the beginning if there is nothing.
pub fn cursor(params: &[u8]) -> Option<String> {
    Value::parse(params).ok()?.get("cursor").and_then(text)
}

fn text(value: Value<'_>) -> Option<String> {
    value.string().map(Cow::into_owned)
}
