//! URLs on the command line. A rejected URL may hold a password or a token that must not reach the terminal or a CI log,
//! so the value that clap repeats in its message is masked.

use clap::builder::TypedValueParser;
use clap::error::ErrorKind;
use std::ffi::OsStr;
use std::fmt::Display;
use std::marker::PhantomData;
use std::str::FromStr;

/// A parser for URLs that masks secrets in its error messages.
pub(crate) fn url<T>() -> UrlParser<T> {
    UrlParser(PhantomData)
}

/// The clap parser for one type of URL.
#[derive(Debug)]
pub(crate) struct UrlParser<T>(PhantomData<fn() -> T>);

// By hand: the derived one would require `T: Clone`.
impl<T> Clone for UrlParser<T> {
    fn clone(&self) -> Self {
        UrlParser(PhantomData)
    }
}

impl<T> TypedValueParser for UrlParser<T>
where
    T: FromStr<Err: Display> + Clone + Send + Sync + 'static,
{
    type Value = T;

    fn parse_ref(
        &self,
        command: &clap::Command,
        argument: Option<&clap::Arg>,
        value: &OsStr,
    ) -> Result<T, clap::Error> {
        let text = value.to_string_lossy();
        text.parse().map_err(|error: T::Err| {
            let argument = argument.map(ToString::to_string).unwrap_or_default();
            // The wording is clap's own, with the value masked.
            let message = format!("invalid value '{}' for '{argument}': {error}", masked(&text));
            command.clone().error(ErrorKind::ValueValidation, message)
        })
    }
}

/// The URL without user, password and query.
fn masked(url: &str) -> String {
    let (scheme, rest) = url.split_once("://").map_or(("", url), |(scheme, rest)| (scheme, rest));
    let separator = if scheme.is_empty() { "" } else { "://" };
    let (rest, query) = rest.split_once('?').map_or((rest, ""), |(rest, _)| (rest, "?***"));
    // The last `@`: a password may contain one that was not percent-encoded.
    let rest = rest.rsplit_once('@').map_or(rest.to_owned(), |(_, host)| format!("***@{host}"));
    format!("{scheme}{separator}{rest}{query}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_are_masked() {
        let check = |url: &str, expected: &str| assert_eq!(masked(url), expected);
        check("http://host:1/mcp", "http://host:1/mcp");
        check("http://user:p@ss@host/mcp", "http://***@host/mcp");
        check("user:pass@host", "***@host");
        check("https://host/mcp?token=x#@y", "https://host/mcp?***");
        check("nonsense", "nonsense");
    }
}
