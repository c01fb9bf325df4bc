//! Configuration files: how they are read, and how problems in them are reported.
//!
//! Two files share one grammar. The user's own holds what all commands share; a file for the proxy
//! ([`crate::proxy_config`]) also holds its own keys. Both are read by asking a [`Section`] for its keys; a key that was
//! not asked for is a [`Problem`]. So no key can be accepted and ignored, and all problems of a file are reported at once.
//!
//! Hyphens and underscores are the same in a key: `allow-keys` is `allow_keys`.

mod document;
mod problem;
mod redact;
mod suggest;
mod user;

pub(crate) use document::{Document, Located, Schema, Section};
pub(crate) use problem::{Problem, ProblemKind, Problems, read_file, refuse};
pub(crate) use redact::{ListedRule, REDACT, REDACT_PATTERN, REDACT_TOKEN, RedactConfig};
pub(crate) use user::{Config, is_absent, read_user};
