//! Content-Security-Policy: what the pages of an upstream may load and reach, as its user wants it.
//!
//! Off unless there are rules, and then only for reverse listeners. Pages get the header; what a browser blocks by it is
//! told to a path of our own. The widgets of MCP Apps have no header: what they may reach stands in the metadata of
//! their resources, and is told there.
//!
//! | module | holds |
//! |---|---|
//! | `rule` | what the user wants: directives, sources, for which paths |
//! | `policy` | the header, and what becomes of the upstream's |
//! | `report` | what browsers tell of what they blocked |
//! | `widget` | the members of resources that hold a widget's policy |
//! | `events` | the same in streams of events |
//! | `listener` | all of it for one listener, where it meets requests and responses |

mod events;
mod listener;
mod policy;
mod report;
mod rule;
mod widget;

pub(super) use events::EventRewrite;
pub(super) use listener::Csp;
pub use rule::{Directive, Directives, Mode, PathGlob, Reporting, Rule, Source};
