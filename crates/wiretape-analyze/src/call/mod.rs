//! Matches responses to requests.
//!
//! Ids are matched per direction and session: the server's request 2 is not the client's request 2. They are compared by
//! value, as peers do: `1.0` and `1` are the same id, `"1"` is another. In imported traces they are compared by their text,
//! because not every program keeps numbers and strings apart. The first response to a request counts; a later one is an
//! orphan. A request that reuses the id of a pending one leaves the older one unanswered.
//!
//! Messages during a call belong to it: progress with its token, its cancellation, and requests of the other side. Over HTTP
//! those are in the same exchange; over stdio nothing identifies them, so they belong to the newest pending request.
//!
//! Only [`crate::reading`] drives this module: everything that shows calls is an [`Analysis`](crate::reading::Analysis).

mod model;
mod pending;
mod tracker;

pub use model::outcome_at_end;
pub use model::{Call, ClosingMeans, ObservedAt, Outcome, Place};
pub use pending::PendingCall;
pub(crate) use tracker::{Answered, CallTracker, ExchangeEffect, Opened, PayloadSource};
