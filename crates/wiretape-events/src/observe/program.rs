//! How clients introduce themselves in the stateless revision (2026-07-28), which has no handshake.

use wiretape_trace::protocol::{Peer, meta_key, request_version};

/// The client of a stateless revision, from the parameters of any request. The name is optional, but the
/// revision is always there.
pub(crate) fn stateless_client(params: &[u8]) -> Option<Peer> {
    // A substring search rejects the requests of older revisions without parsing their parameters.
    memchr::memmem::find(params, meta_key::PREFIX.as_bytes())?;
    Peer::client(params).or_else(|| request_version(params).map(|_| Peer::default()))
}
