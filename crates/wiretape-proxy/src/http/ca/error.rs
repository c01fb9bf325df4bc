//! How an authority fails.

use super::files::{CERTIFICATE_FILE, KEY_FILE};
use super::host::{Host, HostError};
use std::io;
use std::path::PathBuf;

/// There is no certificate to be had.
#[derive(Debug, thiserror::Error)]
pub enum CaError {
    /// There is no authority.
    #[error("there is no certificate authority in {}", .dir.display())]
    NotFound {
        /// Where one was looked for.
        dir: PathBuf,
    },
    /// There is half of an authority.
    #[error("{} is missing beside {}", .dir.join(missing).display(), .found)]
    Incomplete {
        /// The authority's folder.
        dir: PathBuf,
        /// The file that is not there.
        missing: &'static str,
        /// The file that is.
        found: &'static str,
    },
    /// There is an authority, and it would be lost.
    #[error("there is a certificate authority in {} already", .dir.display())]
    AlreadyExists {
        /// The authority's folder.
        dir: PathBuf,
    },
    /// Others can read the key.
    #[error("{} can be read by others; if nobody has, `chmod 600 '{}'` closes it", .path.display(), .path.display())]
    KeyIsOpen {
        /// The key.
        path: PathBuf,
    },
    /// A file can't be read or written.
    #[error("can't {action} {}", .path.display())]
    File {
        /// What was tried.
        action: &'static str,
        /// The file.
        path: PathBuf,
        /// Why not.
        source: io::Error,
    },
    /// A file holds something else.
    #[error("{} holds no {expected}", .path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// What it should hold.
        expected: &'static str,
    },
    /// The key is not that of the certificate.
    #[error("{} in {} is not the key of {}", KEY_FILE, .dir.display(), CERTIFICATE_FILE)]
    Mismatch {
        /// The authority's folder.
        dir: PathBuf,
    },
    /// The authority's time is over, or has not come.
    #[error("the certificate authority is not valid at this time")]
    NotValidNow,
    /// The name of a host makes no sense.
    #[error(transparent)]
    Host(#[from] HostError),
    /// The authority is limited to other hosts.
    #[error("the certificate authority is not for {host}")]
    OutOfScope {
        /// The host.
        host: Host,
    },
    /// A certificate could not be made.
    #[error("can't make a certificate")]
    Certificate(#[from] rcgen::Error),
    /// A certificate can't be used.
    #[error("can't use a certificate")]
    Tls(#[from] rustls::Error),
    /// There is no randomness.
    #[error("the system gives no random numbers: {0}")]
    Random(getrandom::Error),
}
