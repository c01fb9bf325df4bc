//! Transcripts of other programs, brought in as traces.
//!
//! A source is cut into units (lines, or the elements of an array in a document) without being understood. Each unit is
//! read on its own, by a pure function of its format, on as many threads as there are. What it says is then put in order
//! again, and the conversation as a whole is looked at: who sent a message, whether an id is used twice. So memory doesn't
//! depend on the length of the source, but for the ids of its calls.
//!
//! ```text
//! bytes ─ text ─ cut ─► units ─ Format::read ─► items ─ prepare ─► conversation ─► lines of a trace
//!                             └────── on every core ──────┘
//! ```
//!
//! | module | holds |
//! |---|---|
//! | `formats` | the formats, a file each, and the list of them |
//! | `item` | what a unit says, and what is wrong with it |
//! | `text` | byte order marks, UTF-16 |
//! | `cut` | lines, and elements of arrays in documents |
//! | `conversation` | who sent what, and which ids are in use |
//! | `prepare` | what can be said of an item without knowing the others |
//! | `run` | all of it, from a source to lines |

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
pub use item::{Defect, Findings, Flaw, Item, Severity, What};
pub use run::{Begun, ImportError, ImportOptions, Report, SAMPLE, TraceSink, import};
