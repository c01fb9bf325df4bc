//! Lint: what in a trace departs from the specification of its revision, and where.
//!
//! A [`Linter`] is fed the lines of a trace in order. It shows each payload, line and HTTP exchange to
//! the rules, with all that was known before, and then takes note of it; rules themselves remember nothing. Its
//! memory grows with open calls and with definitions, not with the trace.
//!
//! - [`rules`]: the catalogue, one file for each rule
//! - [`rule`]: what a rule is
//! - [`diagnostic`]: what was found, and where
//! - [`report`]: where findings go, and how many are kept
//! - [`revision`]: the revisions of the protocol
//! - [`select`]: rules by code, name, family or severity
//! - [`view`]: what a check is shown
//! - [`session`], [`exchange`], [`tools`]: what is known while the trace goes by
//! - [`shapes`], [`schema`]: values against JSON Schemas
//!
//! - [`drift`]: what departs from a baseline

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
