//! Properties that must hold for arbitrary bytes: one plain function for each part of the libraries. Each
//! panics if its property does not hold.
//!
//! The fuzz targets call them with libFuzzer's inputs; `crates/wiretape-testkit/tests/fuzz_targets.rs` calls the same
//! functions with the committed seeds and with inputs from proptest, on a stable toolchain.
//!
//! | function | subject |
//! |---|---|
//! | [`calls`] | requests with their outcomes, filters, definitions |
//! | [`envelope`] | the envelope of a payload |
//! | [`framing`] | lines and server-sent events, independent of chunking |
//! | [`import`] | transcripts of any format |
//! | [`lint`] | checking traces |
//! | [`reader`] | reading traces, and reading back what was written |
//! | [`redaction`] | removing secrets, and nothing else |
//! | [`replay`] | playing traces to clients |

mod calls;
mod envelope;
mod framing;
mod import;
mod lint;
mod reader;
mod redaction;
mod replay;

pub use calls::calls;
pub use envelope::envelope;
pub use framing::framing;
pub use import::import;
pub use lint::lint;
pub use reader::reader;
pub use redaction::redaction;
pub use replay::replay;
