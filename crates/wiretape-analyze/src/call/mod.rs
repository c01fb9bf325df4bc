//! Where a request meets its response.
//!
//! Ids are paired per direction and session: the server's request 2 is not the client's request 2. The first response
//! to a request binds; a later one is an orphan. A request that takes the id of one that is still open abandons the
//! older one. Ids are compared as written: `1`, `1.0` and `"1"` are three ids. In imported traces they are compared by
//! their text, for not every program that wrote a transcript kept numbers and strings apart.
//!
//! What comes while a call is open belongs to it: the progress under its token, its cancellation, and the requests that
//! the other side makes meanwhile. Over HTTP those are in the same exchange; over stdio nothing says so, and they belong to
//! the request that was opened last and is still open.

mod model;
mod open;
mod tracker;

pub use model::{Asked, Call, Observed, Outcome, Place};
pub use tracker::CallTracker;
