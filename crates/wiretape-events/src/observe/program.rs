//! How peers of the revisions without a handshake introduce themselves.

use wiretape_trace::protocol::{Peer, meta_key, request_version};

/// The client of a stateless revision, by the parameters of any request. It may not say its name, but it always says the
/// revision.
pub(crate) fn stateless_client(params: &[u8]) -> Option<Peer> {
    memchr::memmem::find(params, meta_key::PREFIX.as_bytes())?;
    Peer::client(params).or_else(|| request_version(params).map(|_| Peer::default()))
}
