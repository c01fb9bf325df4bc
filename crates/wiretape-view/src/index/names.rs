//! Interned names: each method or tool name is kept once.

use std::collections::HashMap;
use std::sync::Arc;

/// The limit of distinct names: a peer that invents one for each call must not exhaust memory.
const MOST: usize = 200_000;
/// The limit of a name's length in bytes; longer ones are truncated.
const LONGEST: usize = 512;
/// The name under which further ones are counted.
const OTHERS: &str = "(other names)";

/// The number of an interned name; 0 means no name.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct NameId(u32);

impl NameId {
    pub(crate) const NONE: NameId = NameId(0);

    pub(crate) fn pack(self) -> u32 {
        self.0
    }

    pub(crate) fn unpack(number: u32) -> Self {
        NameId(number)
    }
}

/// Assigns numbers to names.
#[derive(Debug, Default)]
pub(crate) struct Namer {
    known: HashMap<Arc<str>, NameId>,
    fresh: Vec<Arc<str>>,
}

impl Namer {
    pub(crate) fn name(&mut self, text: &str) -> NameId {
        let text = &text[..text.floor_char_boundary(LONGEST)];
        if let Some(id) = self.known.get(text) {
            return *id;
        }
        if self.known.len() >= MOST && text != OTHERS {
            return self.name(OTHERS);
        }
        let id = NameId(u32::try_from(self.known.len() + 1).unwrap_or_default());
        let text: Arc<str> = text.into();
        self.fresh.push(Arc::clone(&text));
        self.known.insert(text, id);
        id
    }

    /// The names that are new since the last time, in the order of their numbers.
    pub(crate) fn take_fresh(&mut self) -> Vec<Arc<str>> {
        std::mem::take(&mut self.fresh)
    }
}

/// Names by their numbers.
#[derive(Debug, Clone, Default)]
pub(crate) struct Names {
    list: Vec<Arc<str>>,
}

impl Names {
    pub(crate) fn extend(&mut self, fresh: Vec<Arc<str>>) {
        self.list.extend(fresh);
    }

    pub(crate) fn get(&self, id: NameId) -> Option<&str> {
        let at = (id.0 as usize).checked_sub(1)?;
        self.list.get(at).map(|name| &**name)
    }

    /// The number of a name, if it is known.
    pub(crate) fn find(&self, text: &str) -> Option<NameId> {
        let at = self.list.iter().position(|name| &**name == text)?;
        u32::try_from(at + 1).ok().map(NameId)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_kept_once_and_cut_if_it_is_long() {
        let (mut namer, mut names) = (Namer::default(), Names::default());
        let (add, ping) = (namer.name("add"), namer.name("ping"));
        assert_eq!((namer.name("add"), namer.name(&"ä".repeat(400))), (add, NameId(3)));
        names.extend(namer.take_fresh());
        assert_eq!(
            (names.get(add), names.get(ping), names.get(NameId::NONE)),
            (Some("add"), Some("ping"), None)
        );
        assert_eq!(names.get(NameId(3)).map(str::len), Some(LONGEST));
        assert_eq!(names.find("ping"), Some(ping));
    }
}
