//! The errors of a certificate authority.

use super::files::{CERTIFICATE_FILE, KEY_FILE};
use super::host::{Host, HostError};
use std::io;
use std::path::PathBuf;

/// Why an authority can't be created or loaded, or can't issue a certificate.
#[derive(Debug, thiserror::Error)]
pub enum CaError {
    /// The directory has no authority.
    #[error("there is no certificate authority in {}", .dir.display())]
    NotFound {
        /// The directory that can't be used.
        dir: PathBuf,
    },
    /// One of the two files is missing.
    #[error("{} is missing, but {} exists", .dir.join(missing).display(), .found)]
    Incomplete {
        /// The directory with the authority's files.
        dir: PathBuf,
        /// The name of the missing file.
        missing: &'static str,
        /// The name of the existing file.
        found: &'static str,
    },
    /// There is already an authority, which would be overwritten.
    #[error("there is already a certificate authority in {}", .dir.display())]
    AlreadyExists {
        /// The directory with the authority's files.
        dir: PathBuf,
    },
    /// The key's permissions let others read it.
    #[error("{} can be read by other users; if none has read it, run `chmod 600 '{}'`", .path.display(), .path.display())]
    KeyIsOpen {
        /// The path of the key.
        path: PathBuf,
    },
    /// A file can't be read or written.
    #[error("can't {action} {}", .path.display())]
    File {
        /// The verb for what failed, like `read`.
        action: &'static str,
        /// The path of the file.
        path: PathBuf,
        /// The operating system's error.
        source: io::Error,
    },
    /// A file doesn't contain what it should.
    #[error("{} does not contain a {expected}", .path.display())]
    Damaged {
        /// The path of the file.
        path: PathBuf,
        /// What it should contain, like `private key`.
        expected: &'static str,
    },
    /// The key and the certificate don't belong together.
    #[error("{} in {} is not the key of {}", KEY_FILE, .dir.display(), CERTIFICATE_FILE)]
    Mismatch {
        /// The directory with the authority's files.
        dir: PathBuf,
    },
    /// The authority has expired, or is not valid yet.
    #[error("the certificate authority is not valid at this time")]
    NotValidNow,
    /// The text is not a host.
    #[error(transparent)]
    Host(#[from] HostError),
    /// The authority is limited to other hosts.
    #[error("the certificate authority is not for {host}")]
    OutOfScope {
        /// The host that the client wants to reach.
        host: Host,
    },
    /// A certificate could not be created.
    #[error("can't create a certificate")]
    Certificate(#[from] rcgen::Error),
    /// A certificate can't be used.
    #[error("can't use a certificate")]
    Tls(#[from] rustls::Error),
    /// The system's random number generator failed.
    #[error("can't get random numbers from the system: {0}")]
    Random(getrandom::Error),
}
