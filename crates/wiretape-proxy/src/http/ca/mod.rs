//! A certificate authority of this machine's own, for a proxy that looks into TLS.
//!
//! To see what passes in a tunnel, the proxy has to be the server that the client believes to talk to. It shows a
//! certificate that was made a moment before and that only clients accept which the user told to trust this authority.
//! Two files in one folder:
//!
//! | file | holds | who may read it |
//! |---|---|---|
//! | `ca.pem` | the certificate, for clients to trust | anybody |
//! | `ca-key.pem` | the key that signs | its owner; a key that others can read is refused |
//! | `ca-<8 hex digits>.pem` | a certificate from before a renewal, to find it in trust stores | anybody |
//!
//! Who has the key can pretend to be any server to clients that trust the certificate. So the key never leaves the
//! folder, the authority can't found others (path length 0), signs for servers only, and can be limited to some hosts
//! ([`Scope::Only`]), which the clients themselves check. What it signs is never written to a disk.
//!
//! Whether there is to be an authority, where, and who trusts it is for others to decide. So is the time: it comes as
//! a parameter.

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
