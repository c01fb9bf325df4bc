//! The token formats of providers, as data: how each begins, what follows, and how long it is.
//!
//! There is one table for each kind of provider. An entry is a rule with its name, what it recognises, and the
//! formats of its tokens. A format is the text that every such token begins with (the *anchor*), and a *pattern* for
//! the rest, which [`super::format`] parses:
//!
//! | written | means |
//! |---|---|
//! | `a32` `a32+` `a32-64` | 32 characters of the class `a`, at least 32, from 32 to 64 |
//! | `'_` | this text |
//! | `!` before a class | the token must contain a digit, or letters of both cases |
//! | `#` before a class | the token must contain a digit |
//!
//! | class | characters |
//! |---|---|
//! | `a` | letters and digits |
//! | `c` | letters |
//! | `l` | lower-case letters and digits |
//! | `U` | upper-case letters and digits |
//! | `d` | digits |
//! | `x` `h` | hexadecimal digits of either case, lower-case ones |
//! | `w` | letters, digits, `_` |
//! | `u` | letters, digits, `_`, `-` |
//! | `g` | letters, digits, `_`, `-`, `=` |
//! | `t` | letters, digits, `_`, `-`, `.` |
//! | `b` | Base64: letters, digits, `+`, `/` |
//! | `e` | the same with `=` |
//! | `s` | all of the above, `~`, `*` |
//!
//! Formats come from the providers' documentation and from what secret scanners have learned. A long, distinctive prefix
//! has no upper length, because providers lengthen their tokens without notice; one that is short or a word has exact
//! lengths. Checksums are not verified: a mistyped token is still a secret.

mod ai;
mod apps;
mod clouds;
mod code;
mod data;
mod money;
mod operations;

use super::rules::Rule;

/// One provider's rule, and the formats of its tokens.
#[derive(Debug, Clone, Copy)]
pub(super) struct Provider {
    pub(super) rule: Rule,
    /// Pairs of an anchor and the pattern of what follows it.
    pub(super) formats: &'static [(&'static str, &'static str)],
}

macro_rules! providers {
    ($($name:literal $what:literal [$($anchor:literal $pattern:literal),* $(,)?])*) => {
        pub(super) const PROVIDERS: &[super::Provider] = &[$(super::Provider {
            rule: crate::redact::rules::Rule { name: $name, what: $what },
            formats: &[$(($anchor, $pattern)),*],
        }),*];
    };
}
use providers;

/// All tables. Their order is that of the rules in `RULES`.
pub(super) const TABLES: &[&[Provider]] = &[
    clouds::PROVIDERS,
    code::PROVIDERS,
    ai::PROVIDERS,
    apps::PROVIDERS,
    money::PROVIDERS,
    data::PROVIDERS,
    operations::PROVIDERS,
];

/// The number of providers, for the array in [`super::rules`].
pub(super) const COUNT: usize = {
    let (mut count, mut table) = (0, 0);
    while table < TABLES.len() {
        count += TABLES[table].len();
        table += 1;
    }
    count
};

/// All providers, table by table.
pub(super) fn all() -> impl Iterator<Item = &'static Provider> {
    TABLES.iter().copied().flatten()
}
