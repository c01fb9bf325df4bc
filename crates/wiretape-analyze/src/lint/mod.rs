//! Lint: where a trace violates the specification of its revision.
//!
//! A [`Linter`] is fed the lines of a trace in order. It passes each payload, line and HTTP exchange to the rules, together
//! with the state before it, and then updates the state; rules themselves are stateless. Its memory grows with pending
//! calls and definitions, not with the trace.
//!
//! - [`rules`]: the catalog, one file for each rule
//! - [`rule`]: what a rule is
//! - [`diagnostic`]: a finding and its position
//! - [`report`]: collects findings, up to a limit per rule
//! - [`revision`]: the revisions of the protocol
//! - [`select`]: rules by code, name, family or severity
//! - [`view`]: the input of a check
//! - [`session`], [`exchange`], [`tools`]: the state while a trace is read
//! - [`shapes`], [`schema`]: validation against JSON Schemas
//! - [`drift`]: differences from a baseline, as findings

pub mod diagnostic;
pub mod drift;
pub mod exchange;
mod linter;
mod locate;
pub mod report;
pub mod revision;
pub mod rule;
pub mod rules;
pub mod schema;
pub mod select;
pub mod session;
pub mod shapes;
pub mod tools;
pub mod view;

pub use diagnostic::{Diagnostic, Excerpt, Related};
pub use linter::{LintOptions, Linter};
pub use report::{Findings, Report};
pub use revision::{Revision, Revisions};
pub use rule::{Check, Family, Rule, Section, Severity};
