//! The local certificate authority of an intercepting proxy.
//!
//! To read TLS in a tunnel, the proxy has to act as the server towards the client. It presents a leaf certificate that it mints
//! for the requested host, which only clients accept that were configured to trust this authority. It has two files in one
//! directory:
//!
//! | file | holds | who may read it |
//! |---|---|---|
//! | `ca.pem` | the CA certificate, for clients to trust | everyone |
//! | `ca-key.pem` | the signing key | its owner; a key that others can read is refused |
//! | `ca-<8 hex digits>.pem` | a CA certificate from before a renewal, for removing it from trust stores | everyone |
//!
//! Anyone who has the key can impersonate any server to clients that trust the certificate. So the key never leaves the directory,
//! the authority can't sign other authorities (path length 0), signs for servers only, and can be limited to some hosts
//! ([`Scope::Only`]), which the clients themselves check. Leaf certificates and their key are never written to disk.
//!
//! Whether there is an authority, where, and which clients trust it is decided elsewhere. The time is a parameter.

mod authority;
mod error;
mod files;
mod host;
mod leaf;
#[cfg(test)]
mod tests;

pub use authority::{CertificateAuthority, Validity};
pub use error::CaError;
pub use files::{CERTIFICATE_FILE, KEY_FILE};
pub use host::{Host, HostError, Scope};
