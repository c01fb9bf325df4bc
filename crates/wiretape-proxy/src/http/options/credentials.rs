//! The user name and password of a forward proxy (Basic, RFC 7617, in `Proxy-Authorization`).

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use http::HeaderValue;
use sha2::{Digest as _, Sha256};
use std::fmt;

/// The user name and password that clients must give. Only their digest is kept, and `Debug` doesn't show it.
#[derive(Clone, PartialEq, Eq)]
pub struct Credentials([u8; 32]);

/// Why a text is not a user name with a password. The messages don't repeat it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum CredentialsError {
    /// There is no colon, or nothing before or after it.
    #[error("expected USER:PASSWORD, on one line")]
    Form,
}

impl Credentials {
    /// Parses `USER:PASSWORD`. Surrounding white space is removed, such as the final newline of a file.
    pub fn parse(text: &str) -> Result<Self, CredentialsError> {
        let text = text.trim();
        match text.split_once(':') {
            Some((user, password))
                if !user.is_empty() && !password.is_empty() && !text.contains(['\n', '\r']) =>
            {
                Ok(Credentials(Sha256::digest(text).into()))
            }
            _ => Err(CredentialsError::Form),
        }
    }

    /// Whether the value of `Proxy-Authorization` has them.
    pub(crate) fn are_given_by(&self, value: &HeaderValue) -> bool {
        let given = value.to_str().ok().and_then(|value| value.split_once(' '));
        let Some((scheme, given)) = given else { return false };
        let Ok(given) = STANDARD.decode(given.trim()) else { return false };
        // Digests are compared, so that the time of the comparison says nothing about how much of the password was right.
        scheme.eq_ignore_ascii_case("basic") && self.0 == <[u8; 32]>::from(Sha256::digest(given))
    }
}

impl fmt::Debug for Credentials {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Credentials(…)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_right_ones_are_accepted() {
        let credentials = Credentials::parse("bob:pass:word\n").unwrap();
        let check = |scheme: &str, text: &str| {
            let value = format!("{scheme} {}", STANDARD.encode(text)).parse().unwrap();
            credentials.are_given_by(&value)
        };
        assert!(check("Basic", "bob:pass:word") && check("basic", "bob:pass:word"));
        for wrong in ["bob:pass", "bob:", "bob", "", "Bob:pass:word", "bob:pass:word\n"] {
            assert!(!check("Basic", wrong), "{wrong}");
        }
        assert!(!check("Bearer", "bob:pass:word"));
        assert!(!credentials.are_given_by(&HeaderValue::from_static("Basic !")));
        assert_eq!(format!("{credentials:?}"), "Credentials(…)");
    }

    #[test]
    fn what_is_no_user_with_a_password() {
        for text in ["", "bob", "bob:", ":word", "bob:a\nb:c"] {
            assert_eq!(Credentials::parse(text), Err(CredentialsError::Form), "{text:?}");
        }
    }
}
