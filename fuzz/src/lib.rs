//! What must hold for any bytes at all, one plain function for each part of the libraries. Each panics if it
//! does not hold.
//!
//! The fuzz targets call them with what libFuzzer finds; `crates/wiretape-testkit/tests/fuzz_targets.rs` calls the same
//! functions with the committed seeds and with what proptest makes up, on a stable toolchain.
//!
//! | function | subject |
//! |---|---|
//! | [`calls`] | requests with what became of them, filters, definitions |
//! | [`envelope`] | what a payload says of itself |
//! | [`framing`] | lines and server-sent events, however the bytes were cut |
//! | [`import`] | transcripts of any format |
//! | [`lint`] | checking traces |
//! | [`reader`] | reading traces, and reading back what was written |
//! | [`redaction`] | secrets out, and nothing but secrets |
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
