//! Traces as files on disk.
//!
//! | module | decides |
//! |---|---|
//! | [`catalog`] | which traces a directory has, and by which ids |
//! | [`directory`] | the same for a program that asks again and again |
//! | [`digest`] | what a listing shows of a trace |
//! | [`index`] | what is kept of it, so that nothing is read twice |
//! | [`selector`] | which trace a user means |
//! | [`recording`] | which files are parts of one recording |
//! | [`open`](mod@open) | how a trace is opened, and what its first and last lines say |
//! | [`plain`] | how a trace is read from the middle: compressed ones are unpacked |
//! | [`state`] | whether a trace has ended, continues, or is being recorded |
//! | [`liveness`](mod@liveness) | whether a recorder holds a file |
//! | [`pending`] | which calls are in flight in running recordings |
//! | [`private`] | how files and directories are created for their owner only |
//! | [`draft`] | how a file appears complete or not at all |
//!
//! What the lines of a trace mean is left to `wiretape-trace` and `wiretape-analyze`; what is printed, to the binary.
//! It is a crate because the binary, the page, replay and the store all need the same answers.

pub mod catalog;
pub mod digest;
pub mod directory;
pub mod draft;
pub mod index;
pub mod liveness;
pub mod open;
pub mod pending;
pub mod plain;
pub mod private;
pub mod recording;
pub mod selector;
pub mod state;

pub use catalog::{Catalog, CatalogEntry, CatalogError};
pub use digest::TraceDigest;
pub use directory::TraceDirectory;
pub use draft::Draft;
pub use liveness::{Liveness, liveness, mark_live, recorder, recording_state, running_now};
pub use open::{FileReader, Head, TraceFileError, ending, follow, goes_on, head, next_line, open};
pub use pending::{PendingCall, PendingCalls, PendingSnapshot};
pub use plain::{PlainReader, PlainTrace};
pub use recording::{Part, Recording};
pub use selector::{SelectorError, TraceSelector};
pub use state::{TraceState, TraceStateKind};
