//! The envelope scan.

use serde::de::IgnoredAny;
use serde_json::value::RawValue;
use wiretape_trace::json;
use wiretape_trace::message::{Defect, Envelope, Id, MessageKind, payloads};

/// A scan never fails, agrees with serde_json on what is JSON, and returns only slices of its input.
pub fn envelope(data: &[u8]) {
    let is_json = serde_json::from_slice::<IgnoredAny>(data).is_ok();
    assert_eq!(json::validate(data).is_ok(), is_json, "two parsers disagree on what is JSON");

    let envelope = Envelope::scan(data);
    let not_json = envelope.defects.iter().any(|defect| matches!(defect, Defect::NotJson(_)));
    assert_eq!(not_json, !is_json, "the defects don't tell whether this is JSON");
    check_parts(&envelope, data);
    check_payloads(data, is_json, envelope.kind);
}

fn check_parts(envelope: &Envelope<'_>, data: &[u8]) {
    for part in [envelope.params, envelope.result, envelope.error].into_iter().flatten() {
        assert!(data.as_ptr_range().contains(&part.as_ptr()), "a part that is not of the input");
        assert!(json::validate(part).is_ok(), "a part that is not JSON");
    }
    for id in [&envelope.id, &envelope.progress_token].into_iter().flatten() {
        if let Id::Number(digits) = id {
            assert!(json::validate(digits.as_bytes()).is_ok(), "a number that is none");
        }
    }
    assert!(envelope.tool().is_none() || envelope.method.as_deref() == Some("tools/call"));
    assert!(envelope.error_code.is_none() || envelope.error.is_some());
}

fn check_payloads(data: &[u8], is_json: bool, kind: MessageKind) {
    let found = payloads(data);
    if kind != MessageKind::Batch {
        assert!(!is_json || found == [data], "a payload alone is its own only payload");
        return;
    }
    for payload in &found {
        Envelope::scan(payload);
        assert!(json::validate(payload).is_ok(), "a payload of a batch that is not JSON");
    }
    if let Ok(expected) = serde_json::from_slice::<Vec<&RawValue>>(data) {
        let expected: Vec<&[u8]> = expected.iter().map(|raw| raw.get().as_bytes()).collect();
        assert_eq!(found, expected, "two parsers disagree on what is in a batch");
    }
}
