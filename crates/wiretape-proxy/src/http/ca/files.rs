//! The two files of an authority: creating, reading and retiring them.

use super::error::CaError;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject as _;
use std::fs::{self, File};
use std::io::{self, Read as _, Write as _};
use std::path::{Path, PathBuf};
use wiretape_library::private;

/// The name of the certificate file, for clients to trust.
pub const CERTIFICATE_FILE: &str = "ca.pem";

/// The name of the file with the signing key. Only its owner may read it.
pub const KEY_FILE: &str = "ca-key.pem";

/// The contents of the two files.
pub(super) struct Pems {
    pub(super) certificate: String,
    pub(super) key: String,
}

/// Writes the files of a new authority. Existing ones are never overwritten.
pub(super) fn create(dir: &Path, pems: &Pems) -> Result<(), CaError> {
    private::create_dir(dir).map_err(failed("create", dir))?;
    // The key first: its exclusive creation decides which of two concurrent processes wins.
    let key = dir.join(KEY_FILE);
    write_new(dir, &key, private::create_file(&key), &pems.key)?;
    let certificate = dir.join(CERTIFICATE_FILE);
    let written = write_new(dir, &certificate, File::create_new(&certificate), &pems.certificate);
    if written.is_err() {
        // A key without a certificate would block the next attempt; if it can't be removed, that attempt says so.
        let _ = fs::remove_file(&key);
    }
    written
}

/// Writes a newly created file, and removes it again if that fails.
fn write_new(dir: &Path, path: &Path, created: io::Result<File>, text: &str) -> Result<(), CaError> {
    let mut file = match created {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
            return Err(CaError::AlreadyExists { dir: dir.to_owned() });
        }
        other => other.map_err(failed("create", path))?,
    };
    let written = file.write_all(text.as_bytes()).and_then(|()| file.sync_all());
    written.map_err(failed("write", path)).inspect_err(|_| {
        let _ = fs::remove_file(path);
    })
}

/// Reads the files of an authority.
pub(super) fn read(dir: &Path) -> Result<Pems, CaError> {
    let (certificate, key) = (open(dir, CERTIFICATE_FILE)?, open(dir, KEY_FILE)?);
    let incomplete = |missing, found| CaError::Incomplete { dir: dir.to_owned(), missing, found };
    match (certificate, key) {
        (None, None) => Err(CaError::NotFound { dir: dir.to_owned() }),
        (Some(_), None) => Err(incomplete(KEY_FILE, CERTIFICATE_FILE)),
        (None, Some(_)) => Err(incomplete(CERTIFICATE_FILE, KEY_FILE)),
        (Some(certificate), Some(key)) => {
            let key_path = dir.join(KEY_FILE);
            // Checks the open file, not the path, which could be replaced between the check and the read.
            if !private::is_private(&key).map_err(failed("read", &key_path))? {
                return Err(CaError::KeyIsOpen { path: key_path });
            }
            Ok(Pems {
                certificate: text(certificate, &dir.join(CERTIFICATE_FILE), "certificate")?,
                key: text(key, &key_path, "private key")?,
            })
        }
    }
}

fn open(dir: &Path, name: &str) -> Result<Option<File>, CaError> {
    let path = dir.join(name);
    match File::open(&path) {
        Ok(file) => Ok(Some(file)),
        Err(error) if is_absent(&error) => Ok(None),
        Err(error) => Err(failed("read", &path)(error)),
    }
}

fn text(mut file: File, path: &Path, expected: &'static str) -> Result<String, CaError> {
    let mut text = String::new();
    match file.read_to_string(&mut text) {
        Ok(_) => Ok(text),
        Err(error) if error.kind() == io::ErrorKind::InvalidData => {
            Err(CaError::Damaged { path: path.to_owned(), expected })
        }
        Err(error) => Err(failed("read", path)(error)),
    }
}

/// Retires an authority, whatever state it is in: deletes its key and renames its certificate, which the user needs to remove it
/// from trust stores. Returns the certificate's new path.
pub(super) fn retire(dir: &Path) -> Result<Option<PathBuf>, CaError> {
    let (key, certificate) = (dir.join(KEY_FILE), dir.join(CERTIFICATE_FILE));
    match fs::remove_file(&key) {
        Err(error) if !is_absent(&error) => return Err(failed("delete", &key)(error)),
        _ => {}
    }
    let pem = match fs::read(&certificate) {
        Err(error) if is_absent(&error) => return Ok(None),
        other => other.map_err(failed("read", &certificate))?,
    };
    let Ok(der) = CertificateDer::from_pem_slice(&pem) else {
        // A file that is not a certificate can't be in a trust store.
        fs::remove_file(&certificate).map_err(failed("delete", &certificate))?;
        return Ok(None);
    };
    // Named after its fingerprint, which trust stores show, so that the user finds the one to remove.
    let mark: String = super::authority::sha256(&der)[..4].iter().map(|byte| format!("{byte:02x}")).collect();
    let aside = dir.join(format!("ca-{mark}.pem"));
    fs::rename(&certificate, &aside).map_err(failed("rename", &certificate))?;
    Ok(Some(aside))
}

fn failed<'a>(action: &'static str, path: &'a Path) -> impl Fn(io::Error) -> CaError + use<'a> {
    move |source| CaError::File { action, path: path.to_owned(), source }
}

fn is_absent(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
}
