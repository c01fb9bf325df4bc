//! Replaces the id or token of recorded messages; all other bytes stay as recorded.

use std::collections::HashMap;
use std::ops::Range;
use wiretape_trace::json::{Lexer, SyntaxError, Token};
use wiretape_trace::splice::{Edit, splice};
use wiretape_trace::value::Value;

/// The `_meta` key with the id of a subscription (since 2026-07-28).
const SUBSCRIPTION: &str = wiretape_trace::protocol::meta_key::SUBSCRIPTION_ID;

/// The message with a new id.
pub fn with_id(message: &[u8], id: &[u8]) -> Vec<u8> {
    match id_places(message).as_deref() {
        Ok([place]) => with_id_at(message.to_vec(), place.clone(), id),
        Ok(places) => {
            let edits: Vec<Edit> = places.iter().map(|place| (place.clone(), id.to_vec())).collect();
            splice(message, &edits)
        }
        Err(_) => message.to_vec(),
    }
}

/// The same at a known position, without scanning the message.
pub(super) fn with_id_at(mut message: Vec<u8>, place: Range<usize>, id: &[u8]) -> Vec<u8> {
    // No bytes move, which is the common case: clients count from the same start as the recorded one.
    if place.len() == id.len() {
        message[place].copy_from_slice(id);
    } else {
        message.splice(place, id.iter().copied());
    }
    message
}

/// The byte ranges of the values of a message's `id` members.
fn id_places(message: &[u8]) -> Result<Vec<Range<usize>>, SyntaxError> {
    let mut lexer = Lexer::new(message);
    let mut places = Vec::with_capacity(1);
    lexer.next_token()?;
    while let Some(key) = lexer.next_token()?.filter(|lexeme| lexeme.token == Token::Key) {
        let Some(first) = lexer.next_token()? else { break };
        let end = lexer.finish_value(first)?;
        if key.text(message).is("id") {
            places.push(first.start..end);
        }
    }
    Ok(places)
}

/// The bytes of a message's id.
pub fn id_of(message: &[u8]) -> Option<&[u8]> {
    id_places(message).ok()?.pop().map(|place| &message[place])
}

/// A progress notification with a new token.
pub(crate) fn with_token(message: &[u8], token: &[u8]) -> Vec<u8> {
    replaced(message, &["params", "progressToken"], token)
}

/// A subscription message with the id of the live request; `listeners` maps recorded ids to live ones.
pub(super) fn with_subscription(
    message: Vec<u8>,
    listeners: &HashMap<Vec<u8>, Listener>,
) -> (Vec<u8>, Option<u64>) {
    // Most traces have no subscriptions, and most messages no such key; a search is cheaper than parsing each
    // message.
    if listeners.is_empty() || memchr::memmem::find(&message, SUBSCRIPTION.as_bytes()).is_none() {
        return (message, None);
    }
    for part in ["params", "result"] {
        let path = [part, "_meta", SUBSCRIPTION];
        let Some(value) = value_at(&message, &path) else { continue };
        let Some(listener) = listeners.get(bare(value.raw)) else { continue };
        let is_string = value.raw.first() == Some(&b'"');
        let id = match (is_string, listener.id.first()) {
            // The recorded server sent the id as a string although it was a number: the replay imitates it.
            (true, first) if first != Some(&b'"') => [b"\"", &listener.id[..], b"\""].concat(),
            _ => listener.id.clone(),
        };
        return (replaced(&message, &path, &id), Some(listener.number));
    }
    (message, None)
}

/// A subscription that the live client has open.
#[derive(Debug)]
pub(super) struct Listener {
    pub(super) number: u64,
    /// The bytes of its id.
    pub(super) id: Vec<u8>,
}

/// An id without quotes: some servers send the id of a subscription as a string.
pub(super) fn bare(id: &[u8]) -> &[u8] {
    id.strip_prefix(b"\"").and_then(|id| id.strip_suffix(b"\"")).unwrap_or(id)
}

/// The message with the value at a path replaced.
pub fn replaced(message: &[u8], path: &[&str], with: &[u8]) -> Vec<u8> {
    match value_at(message, path) {
        Some(value) => splice(message, &[(value.offset..value.offset + value.raw.len(), with.to_vec())]),
        None => message.to_vec(),
    }
}

fn value_at<'m>(message: &'m [u8], path: &[&str]) -> Option<Value<'m>> {
    Value::parse(message).ok()?.at_path(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_id_is_another() {
        let check = |message: &str, expected: &str| {
            assert_eq!(String::from_utf8(with_id(message.as_bytes(), b"\"x\"")).unwrap(), expected);
        };
        check(r#"{"id" : 1,"result":{"id":2, "n":1.0}}"#, r#"{"id" : "x","result":{"id":2, "n":1.0}}"#);
        check(r#"{"result":{},"jsonrpc":"2.0","id":"a"}"#, r#"{"result":{},"jsonrpc":"2.0","id":"x"}"#);
        check(r#"{"id":1,"\u0069d":2}"#, r#"{"id":"x","\u0069d":"x"}"#);
        check("{", "{");
    }

    #[test]
    fn tokens_and_subscriptions_are_those_of_the_caller() {
        let progress = with_token(br#"{"params":{"progress":1,"progressToken":"[REDACTED]"}}"#, b"7");
        assert_eq!(progress, br#"{"params":{"progress":1,"progressToken":7}}"#);
        let listeners = HashMap::from([(b"3".to_vec(), Listener { number: 9, id: b"\"x\"".to_vec() })]);
        let check = |id: &str, expected: &str, number| {
            let message =
                |id: &str| format!(r#"{{"params":{{"_meta":{{"{SUBSCRIPTION}":{id}}}}}}}"#).into_bytes();
            assert_eq!(with_subscription(message(id), &listeners), (message(expected), number));
        };
        check("3", "\"x\"", Some(9));
        check("\"3\"", "\"x\"", Some(9));
        check("4", "4", None);
    }
}
