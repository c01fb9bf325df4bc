//! The examples of `docs/testing.md` do what the page says: each is run unchanged, with the real binary and the real
//! test runner, in a copy of `examples/testing`.
//!
//! | module | holds |
//! |---|---|
//! | [`folder`] | the copy, and what is run in it |
//! | [`runners`] | the tests of each SDK, and how they fail when something is asked that was not recorded |
//! | [`workflow`] | the steps of the job for GitHub Actions |
//!
//! The example with `rmcp` is a crate of this workspace, and its tests are among all others: `cargo xtask test` puts the
//! binary on their PATH. `cargo xtask setup` installs the parts; a bare `cargo test` skips these, and says so.

#![cfg(unix)]
#![allow(clippy::unwrap_used, reason = "a test that can't go on should say so at once")]

mod folder;
mod runners;
mod workflow;
