//! Signatures of traces in the minisign format: `wiretape integrity --sign` and `--public-key`.
//!
//! The signature covers the file, so that `minisign -V` can verify it without Wiretape, and its trusted comment carries the head of
//! the trace's check values, so that the head can be published alone and compared later.

use crate::error::CommandError;
use minisign::{PublicKey, SecretKey, SecretKeyBox, SignatureBox};
use std::fs::{self, File};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use wiretape_library::draft::Draft;

/// A secret key, ready to sign.
pub(super) struct SigningKey(SecretKey);

impl SigningKey {
    /// Reads a minisign secret key. The password of an encrypted one is asked for on the terminal.
    pub(super) fn read(path: &Path) -> Result<Self, CommandError> {
        let failed = |error: minisign::PError| {
            CommandError::because(format!("can't use the secret key {}", path.display()), error)
                .hint("`minisign -G` creates a key pair; `minisign -G -W` one without a password")
        };
        let text = read(path)?;
        let parse = || SecretKeyBox::from_string(&text).map_err(failed);
        // Whether a key is encrypted is known only after an attempt; the box is consumed by it.
        let key = match parse()?.into_unencrypted_secret_key() {
            Ok(key) => key,
            Err(_) => parse()?.into_secret_key(None).map_err(failed)?,
        };
        Ok(SigningKey(key))
    }

    /// Signs a trace whose check values end in `head`, and returns the signature file.
    pub(super) fn sign(&self, trace: &Path, head: &str) -> Result<PathBuf, CommandError> {
        let target = signature_path(trace);
        let failed =
            |error: minisign::PError| CommandError::because(format!("can't sign {}", trace.display()), error);
        let comment = trusted_comment(head);
        let signature = minisign::sign(None, &self.0, open(trace)?, Some(&comment), None).map_err(failed)?;
        let write = || {
            let mut draft = Draft::beside(&target)?;
            draft.write_all(signature.into_string().as_bytes())?;
            draft.publish()
        };
        write().map_err(|error| CommandError::because(format!("can't write {}", target.display()), error))?;
        Ok(target)
    }
}

/// What the signature of a trace says.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum SignatureState {
    /// Made with this key, over this file and this head.
    Valid,
    /// The file, its head or the signature was changed, or another key signed it.
    Invalid,
    /// There is no signature file.
    Missing,
}

/// A public key, to verify signatures with.
pub(super) struct VerifyingKey(PublicKey);

impl VerifyingKey {
    /// Reads a minisign public key: a file, or the key itself as `minisign -P` takes it.
    pub(super) fn read(key: &str) -> Result<Self, CommandError> {
        let failed = |error: minisign::PError| {
            CommandError::because(format!("{key} is not a minisign public key"), error)
                .hint("pass the file that ends in .pub, or the key that starts with RW")
        };
        let path = Path::new(key);
        let key = if path.exists() { PublicKey::from_file(path) } else { PublicKey::from_base64(key) };
        key.map(VerifyingKey).map_err(failed)
    }

    /// Checks the signature beside a trace whose check values end in `head`.
    pub(super) fn check(&self, trace: &Path, head: Option<&str>) -> Result<SignatureState, CommandError> {
        let path = signature_path(trace);
        if !path.exists() {
            return Ok(SignatureState::Missing);
        }
        let Ok(signature) = SignatureBox::from_string(&read(&path)?) else {
            return Ok(SignatureState::Invalid);
        };
        // Both must match: the file that was signed, and the head that its check values have now.
        let covers_head = signature.trusted_comment().ok() == head.map(trusted_comment);
        let is_valid = minisign::verify(&self.0, &signature, open(trace)?, true, false, false).is_ok();
        Ok(if covers_head && is_valid { SignatureState::Valid } else { SignatureState::Invalid })
    }
}

fn trusted_comment(head: &str) -> String {
    format!("wiretape sha256:{head}")
}

fn signature_path(trace: &Path) -> PathBuf {
    let mut name = trace.as_os_str().to_owned();
    name.push(".minisig");
    PathBuf::from(name)
}

fn read(path: &Path) -> Result<String, CommandError> {
    fs::read_to_string(path)
        .map_err(|error| CommandError::because(format!("can't read {}", path.display()), error))
}

fn open(path: &Path) -> Result<File, CommandError> {
    File::open(path).map_err(|error| CommandError::because(format!("can't read {}", path.display()), error))
}
