//! Where a request meets its response.
//!
//! Ids are paired per direction and session: the server's request 2 is not the client's request 2. They are compared by
//! value, as peers compare them: `1.0` and `1` are the same id, `"1"` is another. In imported traces they are compared by
//! their text, because not every program that wrote a transcript kept numbers and strings apart. The first response to a
//! request binds; a later one is an orphan. A request that takes the id of one that is still open leaves the older one
//! unanswered.
//!
//! What comes while a call is open belongs to it: the progress under its token, its cancellation, and the requests that
//! the other side makes during it. Over HTTP those are in the same exchange; over stdio nothing says so, and they belong to
//! the request that was opened last and is still open.
//!
//! Only [`crate::reading`] drives this module: everything that shows calls is an [`Analysis`](crate::reading::Analysis).

mod model;
mod pending;
mod tracker;

pub(crate) use model::outcome_at_end;
pub use model::{Asked, Call, ClosingMeans, Outcome, Place};
pub use pending::PendingCall;
pub(crate) use tracker::{Answered, CallTracker, ExchangeEffect, Opened, Source};
