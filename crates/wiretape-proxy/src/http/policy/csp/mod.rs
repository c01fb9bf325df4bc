//! Content-Security-Policy: what the pages and widgets of an upstream may load and reach, according to the user's rules.
//!
//! Off unless there are rules, and only for reverse proxies. Pages get the header, and browsers report what they block to a path
//! of the proxy. The widgets of MCP Apps have no header: their policy is in the metadata of their resources, and is changed
//! there. The rules are options of the listener (`options::csp`).
//!
//! | module | holds |
//! |---|---|
//! | `policy` | the header, and how it is combined with the upstream's |
//! | `report` | the endpoint for browsers' reports |
//! | `widget` | the members of resources that hold a widget's policy |
//! | `events` | the same in event streams |
//! | `listener` | the policies of one listener, applied to requests and responses |

mod events;
mod listener;
mod policy;
mod report;
mod widget;

pub(crate) use events::EventRewrite;
pub(crate) use listener::{Answer, Csp, MAX_ANSWER, TOO_LARGE, warn_unchanged};
