//! What a destination implements: one attempt, and what its answer means.

use super::segment::UploadPart;
use std::time::Duration;

/// A destination of events. What is retried, and when, is left to the spool.
///
/// ```
/// use std::time::Duration;
/// use wiretape_events::sink::spool::{Deliver, Delivery, UploadPart};
///
/// /// Accepts everything.
/// struct Nowhere;
///
/// impl Deliver for Nowhere {
///     fn destination(&self) -> &str {
///         "nowhere"
///     }
///
///     fn deliver(&mut self, part: &UploadPart, _timeout: Duration) -> Delivery {
///         println!("{}: {} events", part.token(), part.events());
///         Delivery::Accepted
///     }
/// }
/// ```
pub trait Deliver: Send {
    /// The destination as it appears in warnings: without secrets, such as the path of a webhook.
    fn destination(&self) -> &str;

    /// Makes one attempt, which must end within `timeout`. Called on the spool's thread.
    fn deliver(&mut self, part: &UploadPart, timeout: Duration) -> Delivery;
}

/// The result of one attempt.
#[derive(Debug)]
pub enum Delivery {
    /// The destination has the events.
    Accepted,
    /// They are too many for one request: they are sent in halves.
    TooLarge,
    /// The destination will never accept them: they are dropped and counted. For the user, such as a status.
    Rejected(String),
    /// Not delivered, but a later attempt may succeed.
    Retry {
        /// Why, for the user, such as "HTTP 503".
        reason: String,
        /// How long to wait, if the destination asked for it.
        after: Option<Duration>,
    },
}
