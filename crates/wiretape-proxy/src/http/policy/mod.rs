//! What the proxy changes or refuses: OAuth logins, Content-Security-Policy, names and passwords.

pub mod csp;
pub(crate) mod endpoint;
pub(crate) mod host_guard;
pub(crate) mod login;
pub(crate) mod oauth;
pub(crate) mod proxy_auth;

pub use proxy_auth::{Credentials, CredentialsError};
