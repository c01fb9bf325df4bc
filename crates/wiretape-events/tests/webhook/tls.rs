//! A receiver with a certificate of its own.

use crate::receiver::{Receiver, Reply, Stream};
use crate::support::{Events, Place, ids, options, trouble_with};
use rustls::pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer};
use rustls::{ServerConfig, ServerConnection, StreamOwned};
use std::net::TcpStream;
use std::path::PathBuf;
use std::sync::Arc;
use wiretape_events::Sink;
use wiretape_events::sink::webhook::{Secret, WebhookError, WebhookOptions, WebhookSink};

/// A receiver, and the file with its certificate.
fn receiver(place: &Place) -> (Receiver, PathBuf) {
    let made = rcgen::generate_simple_self_signed(["127.0.0.1".to_owned()]).unwrap();
    let ca_file = place.path().join("ca.pem");
    std::fs::write(&ca_file, made.cert.pem()).unwrap();
    let key = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(made.signing_key.serialize_der()));
    let config = ServerConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![made.cert.der().clone()], key)
        .unwrap();
    let config = Arc::new(config);
    let wrap = move |stream: TcpStream| -> Box<dyn Stream> {
        Box::new(StreamOwned::new(ServerConnection::new(Arc::clone(&config)).unwrap(), stream))
    };
    let address = "127.0.0.1:0".parse().unwrap();
    (Receiver::start_wrapped(address, |_| Reply::Status(200), Box::new(wrap)), ca_file)
}

#[test]
fn events_go_to_a_receiver_whose_certificate_is_trusted() {
    let (place, events) = (Place::new(), Events::default());
    let (receiver, ca_file) = receiver(&place);
    let options = WebhookOptions {
        ca_file: Some(ca_file),
        token: Some(Secret::new("the-token")),
        ..options(format!("https://{}/", receiver.address), &place.spool())
    };
    let mut sink = WebhookSink::new(&options).unwrap();
    let signals = events.some(100);
    sink.take(&signals).unwrap();
    sink.finish().unwrap();
    assert_eq!(receiver.taken(), ids(&signals));
    assert_eq!(receiver.requests()[0].headers["authorization"], "Bearer the-token");
}

#[test]
fn a_certificate_that_is_not_trusted_gets_no_events() {
    let (place, events) = (Place::new(), Events::default());
    let (receiver, _) = receiver(&place);
    let url = format!("https://{}/", receiver.address);
    let mut sink = WebhookSink::new(&options(url, &place.spool())).unwrap();
    let error = trouble_with(&mut sink, &events.some(10));
    assert!(error.message.contains("certificate"), "{}", error.message);
    assert!(receiver.requests().is_empty());
}

#[test]
fn a_file_without_certificates_is_an_error_with_its_name() {
    let place = Place::new();
    let ca_file = place.path().join("ca.pem");
    for content in [None, Some(""), Some("-----BEGIN CERTIFICATE-----\nx")] {
        if let Some(content) = content {
            std::fs::write(&ca_file, content).unwrap();
        }
        let options = WebhookOptions {
            ca_file: Some(ca_file.clone()),
            ..options("https://127.0.0.1:1/", &place.spool())
        };
        let error = WebhookSink::new(&options).err().unwrap();
        assert!(matches!(error, WebhookError::Certificates { .. }));
        assert!(error.to_string().contains("ca.pem"), "{error}");
    }
}
