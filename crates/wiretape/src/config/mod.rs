//! Configuration files: how they are read, and how they are found fault with.
//!
//! Two files have one grammar. The user's own holds what all commands share, and a file for the proxy
//! ([`crate::proxy_config`]) holds that and its own keys. Both are read by asking a [`Section`] for its keys; what
//! nobody asked for is a [`Problem`]. So no key is accepted and ignored, by construction, and all problems of a file
//! are told at once.
//!
//! Hyphens and underscores are the same in a key: `allow-keys` is `allow_keys`.

mod document;
mod problem;
mod redact;
mod suggest;
mod user;

pub(crate) use document::{Document, Located, Schema, Section};
pub(crate) use problem::{Problem, ProblemKind, Problems, read_file, refuse};
pub(crate) use redact::{REDACT, REDACT_PATTERN, RedactConfig};
pub(crate) use user::{Config, is_absent, read_user};
