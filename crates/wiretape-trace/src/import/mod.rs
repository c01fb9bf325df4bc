//! Transcripts of other programs, converted to traces.
//!
//! A source is split into units (lines, or the elements of an array in a document) without parsing them. Each
//! unit is parsed on its own, by a pure function of its format, on all cores. The results are put back in
//! order, and then the conversation as a whole is considered: who sent a message, whether an id is in use. So
//! memory does not depend on the length of the source, except for the ids of its calls. The reasons are in
//! `docs/design/0006-import.md`.
//!
//! ```text
//! bytes ─ text ─ cut ─► units ─ Format::read ─► items ─ prepare ─► conversation ─► lines of a trace
//!                             └────── on every core ──────┘
//! ```
//!
//! | module | holds |
//! |---|---|
//! | `formats` | the formats, one file each, and their list |
//! | `item` | the parsed content of a unit, and its defects |
//! | `text` | byte order marks, UTF-16 |
//! | `cut` | lines, and elements of arrays in documents |
//! | `conversation` | who sent what, and which ids are in use |
//! | `prepare` | everything about an item that doesn't depend on the others |
//! | `run` | the pipeline, from a source to lines |

mod conversation;
mod cut;
mod formats;
mod item;
mod prepare;
mod run;
mod text;

use crate::value as fields;

pub use cut::{Shape, Unit};
pub use formats::{FORMATS, Format, Sample, detect, find};
pub use item::{Defect, Findings, Flaw, Item, ItemContent, Severity};
pub use run::{ImportError, ImportOptions, ImportReport, SAMPLE, SinkDecision, TraceSink, import};
