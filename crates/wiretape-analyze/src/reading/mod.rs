//! The one interpretation of a trace.
//!
//! A [`Reading`] is fed the lines of a recording in order and interprets them: which request a response answers, the outcome
//! and duration of each call, its operation and session, and what the end of the recording means for pending calls.
//! Everything that shows, counts, checks, exports or replays calls is an [`Analysis`]: it receives these facts and decides
//! none of them itself. So a call has the same outcome and duration on every screen.
//!
//! An analysis keeps its own data per pending call with that call ([`Analysis::PerCall`]) instead of in a map: a map would
//! need the same rules for reused ids and ended recordings again. Two analyses share one read of a file as a pair:
//! `Reading::new((first, second))`.
//!
//! ```
//! use wiretape_analyze::call::Outcome;
//! use wiretape_analyze::reading::{Analysis, Closed, Reading, RecordingState};
//! use wiretape_trace::format::TraceReader;
//!
//! #[derive(Default)]
//! struct Outcomes(Vec<(Outcome, Option<u64>)>);
//!
//! impl Analysis for Outcomes {
//!     type PerCall = ();
//!
//!     fn closed(&mut self, closed: &Closed<'_, '_>, (): ()) {
//!         self.0.push((closed.call.outcome, closed.call.duration_us));
//!     }
//! }
//!
//! let trace = br#"{"dir":"in","us":5,"raw":{"jsonrpc":"2.0","id":1,"method":"ping"}}
//! {"dir":"out","us":47,"raw":{"jsonrpc":"2.0","id":1,"result":{}}}
//! "#;
//! let mut reader = TraceReader::new(&trace[..]);
//! let mut reading = Reading::new(Outcomes::default());
//! while let Some(line) = reader.next_line().unwrap() {
//!     reading.observe(&line);
//! }
//! assert_eq!(reading.finish(RecordingState::Over).0, [(Outcome::Ok, Some(42))]);
//! ```

mod analysis;
mod interpreter;
mod line_view;

pub use analysis::{Analysis, Cause, Closed, Meaning, Seen};
pub use interpreter::{Reading, RecordingState};
pub use line_view::LineView;
