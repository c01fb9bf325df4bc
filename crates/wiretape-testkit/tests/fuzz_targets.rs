//! What is fuzzed, run without a fuzzer: with the committed seeds, and with what proptest makes up.

#[expect(unreachable_pub, reason = "a library of its own, taken in as a module")]
#[path = "../../../fuzz/src/lib.rs"]
mod fuzz;

use proptest::prelude::*;
use proptest::sample::select;
use std::fs;
use std::path::Path;

/// The targets, by the names that their corpora have.
type Target = (&'static str, fn(&[u8]));

const TARGETS: [Target; 8] = [
    ("calls", fuzz::calls),
    ("envelope", fuzz::envelope),
    ("framing", fuzz::framing),
    ("import", fuzz::import),
    ("lint", fuzz::lint),
    ("reader", fuzz::reader),
    ("redaction", fuzz::redaction),
    ("replay", fuzz::replay),
];

/// Pieces of which messages, streams, traces and secrets are made.
const PIECES: &[&str] = &[
    "{",
    "}",
    "[",
    "]",
    ",",
    ":",
    "\"",
    "\\",
    "\\\"",
    "\\u00",
    "\\u0067",
    "\n",
    "\r",
    "\r\n",
    "\u{feff}",
    " ",
    "0",
    "-1",
    "1.0",
    "1e9",
    "12345678901234567890",
    "true",
    "null",
    "é",
    "\u{fffd}",
    "\"jsonrpc\":\"2.0\"",
    "\"id\":",
    "\"method\":",
    "\"params\":",
    "\"result\":",
    "\"error\":",
    "\"code\":",
    "\"_meta\":",
    "\"progressToken\":",
    "\"name\":",
    "\"isError\":true",
    "data: ",
    "event: ",
    "id: ",
    "retry: ",
    "\"t\":",
    "\"dir\":\"in\"",
    "\"raw\":",
    "\"type\":\"meta\"",
    "\"type\":\"end\"",
    "\"type\":\"text\"",
    "\"text\":",
    "\"exitCode\":",
    "password",
    "token",
    "=",
    "://",
    "@",
    "?key=",
    "&",
    "Bearer ",
    "Authorization: ",
    "Cookie: ",
    "ghp_",
    "sk-",
    "AKIA",
    "eyJ",
    ".",
    "/",
    "a1b2c3d4e5f6a1b2c3d4e5f6a1b2c3d4e5f6",
    "-----BEGIN ",
    "-----END ",
    "-----",
    "\"properties\":",
    "\"cursor\":",
    "/id_rsa",
    ".pem",
    "hooks.slack.com",
    "/services/",
    "[REDACTED:token:",
    "'",
];

#[test]
fn every_seed_passes() {
    for (name, target) in TARGETS {
        let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus").join(name);
        let mut seeds = 0;
        for entry in fs::read_dir(corpus).expect("every target has a corpus") {
            let path = entry.expect("the corpus can be listed").path();
            let is_seed = path.file_name().is_some_and(|name| name.to_string_lossy().starts_with("seed-"));
            if is_seed {
                target(&fs::read(path).expect("a seed can be read"));
                seeds += 1;
            }
        }
        assert!(seeds > 0, "{name} has no seeds");
    }
}

proptest! {
    #[test]
    fn any_bytes_pass(bytes in prop::collection::vec(any::<u8>(), 0..400)) {
        for (_, target) in TARGETS {
            target(&bytes);
        }
    }

    #[test]
    fn pieces_of_everything_pass(choice in any::<u8>(), pieces in prop::collection::vec(select(PIECES), 0..60)) {
        let mut bytes = vec![choice];
        bytes.extend_from_slice(pieces.concat().as_bytes());
        for (_, target) in TARGETS {
            target(&bytes);
            target(&bytes[1..]);
        }
    }
}
