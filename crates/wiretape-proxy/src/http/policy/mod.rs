//! What the proxy changes or refuses: OAuth logins, Content-Security-Policy, names. It decides;
//! `relay` reads and replaces the bodies.

pub(crate) mod csp;
pub(crate) mod endpoint;
pub(crate) mod host_guard;
pub(crate) mod login;
pub(crate) mod oauth;
pub(crate) mod public_origin;
