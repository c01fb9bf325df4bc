//! What must never be shown.

use crate::receiver::{Receiver, Reply};
use crate::support::{Events, Place, options, url_of_nobody};
use std::fmt::Write;
use std::time::Duration;
use wiretape_events::Sink;
use wiretape_events::sink::webhook::{Secret, WebhookOptions, WebhookSink};

#[test]
fn neither_token_nor_query_is_in_any_text_or_file() {
    let replies = [Reply::Status(500), Reply::Status(401), Reply::HangUp, Reply::Later(429, "0".into())];
    let receiver = Receiver::with_replies(replies.into_iter().collect());
    let mut text = String::new();
    for url in [receiver.url(), format!("{}hidden-path?hidden-query", url_of_nobody())] {
        let (place, events) = (Place::new(), Events::default());
        let mut options =
            WebhookOptions { token: Some(Secret::new("hidden-token")), ..options(url, &place.spool()) };
        options.spool.shutdown = Duration::from_millis(500);
        writeln!(text, "{options:?}").unwrap();
        let mut sink = WebhookSink::new(&options).unwrap();
        for result in [sink.take(&events.some(30)), sink.finish()] {
            if let Err(error) = result {
                writeln!(text, "{error} {error:?}").unwrap();
            }
        }
        for entry in std::fs::read_dir(place.spool()).unwrap() {
            writeln!(text, "{}", entry.unwrap().path().display()).unwrap();
        }
    }
    for url in ["http://192.0.2.1/hidden", "https://hidden:hidden@x/", "hidden://x", "hid den"] {
        let options =
            WebhookOptions { token: Some(Secret::new("hidden-token")), ..WebhookOptions::new(url, "unused") };
        let error = WebhookSink::new(&options).err().unwrap();
        writeln!(text, "{options:?} {error} {error:?}").unwrap();
    }
    assert!(text.contains("events remain in"), "{text}");
    assert!(!text.contains("hidden"), "{text}");
}
