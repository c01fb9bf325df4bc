//! Messages to send: small tool calls, large results of several textures, and the lines of a flood. Deterministic, so
//! that two runs compare the same bytes.

use std::fmt::Write as _;

/// Part of every message made here, so that a trace of any format can be searched for them.
pub const MARKER: &str = "wiretape-testkit";

/// The length of a small call in bytes, newline included.
pub const SMALL: usize = 200;

/// The smallest number of a marked call. All of these have the same number of digits.
pub const FIRST_MARKED: u64 = 1_000_000_000;

/// How many digits the number of a marked call has.
pub const MARK_DIGITS: usize = 10;

/// The content of a large message. Redaction takes very different paths through these.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Texture {
    /// Words and punctuation, as in a document that a tool read.
    Prose,
    /// One unbroken run of base64, as in an image.
    Base64,
    /// A structured result, and the same again as text, as the specification asks of servers.
    Json,
}

impl Texture {
    /// Every texture, in the order in which they are reported.
    pub const ALL: [Self; 3] = [Self::Prose, Self::Base64, Self::Json];

    /// The name used in reports.
    pub fn name(self) -> &'static str {
        match self {
            Self::Prose => "prose",
            Self::Base64 => "base64",
            Self::Json => "JSON",
        }
    }
}

/// A tool call of exactly [`SMALL`] bytes, newline included. Its content is derived from the id.
pub fn small_call(id: u64) -> Vec<u8> {
    let mut random = Random::new(id);
    let mut call = format!(
        r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{{"name":"search","arguments":{{"from":"{MARKER}","page":{},"query":""#,
        random.below(1000),
    );
    let tail = "\"}}}\n";
    let room = SMALL.saturating_sub(call.len() + tail.len());
    push_words(&mut call, &mut random, room);
    call.push_str(tail);
    call.into_bytes()
}

/// A tool call of exactly [`SMALL`] bytes, without a newline. Its arguments, which the server echoes, contain
/// [`MARKER`], a dash and the call's own number, so that each call can be found in a trace of any format. The number
/// occurs there and as the id, and nowhere else.
pub fn marked_call(number: u64) -> Vec<u8> {
    let mut call = format!(
        r#"{{"jsonrpc":"2.0","id":{number},"method":"tools/call","params":{{"name":"search","arguments":{{"from":"{MARKER}-{number}","query":""#,
    );
    let tail = "\"}}}";
    let room = SMALL.saturating_sub(call.len() + tail.len());
    push_words(&mut call, &mut Random::new(number), room);
    call.push_str(tail);
    call.into_bytes()
}

/// `count` small calls, one after the other.
pub fn small_calls(count: u64) -> Vec<u8> {
    (1..=count).flat_map(small_call).collect()
}

/// A message of about `bytes` bytes, newline included: a tool's result with that texture.
pub fn large_message(id: u64, texture: Texture, bytes: usize) -> Vec<u8> {
    // About the length of the envelope around the content.
    let room = bytes.saturating_sub(160);
    let mut random = Random::new(id);
    let result = match texture {
        Texture::Prose => {
            format!(r#"{{"content":[{{"type":"text","text":"{}"}}]}}"#, prose(&mut random, room))
        }
        Texture::Base64 => {
            format!(
                r#"{{"content":[{{"type":"image","mimeType":"image/png","data":"{}"}}]}}"#,
                base64(&mut random, room)
            )
        }
        Texture::Json => structured(&mut random, room),
    };
    format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"result\":{result},\"_meta\":{{\"from\":\"{MARKER}\"}}}}\n")
        .into_bytes()
}

/// A log notification of about a kilobyte, newline included.
pub fn flood_line(number: u64) -> Vec<u8> {
    let mut random = Random::new(number);
    format!(
        "{{\"jsonrpc\":\"2.0\",\"method\":\"notifications/message\",\"params\":{{\"level\":\"info\",\"logger\":\"{MARKER}\",\"data\":{{\"number\":{number},\"text\":\"{}\"}}}}}}\n",
        // With the envelope, about 1,000 bytes.
        prose(&mut random, 860),
    )
    .into_bytes()
}

/// Words up to exactly `room` characters.
fn push_words(text: &mut String, random: &mut Random, room: usize) {
    let full = text.len() + room;
    while text.len() < full {
        text.push_str(random.pick(&WORDS));
        text.push(' ');
    }
    // All words are ASCII, so this can't split a character.
    text.truncate(full);
}

/// Sentences and paragraphs, escaped as they are inside a JSON string.
fn prose(random: &mut Random, room: usize) -> String {
    let mut text = String::with_capacity(room + 64);
    while text.len() < room {
        let length = 40 + random.below(100);
        push_words(
            &mut text,
            random,
            usize::try_from(length).expect("the length of a sentence is below 140"),
        );
        text.push_str(random.pick(&[". ", ", ", ".\\n\\n", "; \\\"so\\\" "]));
    }
    text
}

fn base64(random: &mut Random, room: usize) -> String {
    const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    (0..room).map(|_| char::from(random.pick(ALPHABET))).collect()
}

fn structured(random: &mut Random, room: usize) -> String {
    // Escaping the quotes makes the text longer than the structure that it repeats.
    let rows = rows(random, room * 4 / 9);
    let text = rows.replace('"', "\\\"");
    format!(r#"{{"content":[{{"type":"text","text":"{text}"}}],"structuredContent":{{"rows":{rows}}}}}"#)
}

fn rows(random: &mut Random, room: usize) -> String {
    let mut rows = String::with_capacity(room + 256);
    let mut separator = '[';
    while rows.len() < room {
        let (id, price, stock) = (random.below(1_000_000), random.below(10_000), random.below(2) == 1);
        let (name, city) = (random.pick(&WORDS), random.pick(&WORDS));
        write!(
            rows,
            r#"{separator}{{"id":{id},"name":"{name}","place":{{"city":"{city}","geo":[{price}.5,-{id}e-4]}},"stock":{stock},"nextCursor":null,"tags":["{name}","{city}"]}}"#
        )
        .expect("writing to a String has no failure case");
        separator = ',';
    }
    rows.push(']');
    rows
}

const WORDS: [&str; 32] = [
    "the", "server", "answers", "every", "request", "in", "order", "unless", "a", "client", "cancels", "it",
    "first", "and", "then", "nothing", "more", "follows", "from", "that", "call", "while", "others", "go",
    "on", "token", "budget", "reading", "files", "under", "projects", "notes",
];

/// SplitMix64: good enough to vary text, and the same on every machine.
struct Random(u64);

impl Random {
    fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15))
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    fn below(&mut self, limit: u64) -> u64 {
        self.next() % limit
    }

    fn pick<T: Copy>(&mut self, from: &[T]) -> T {
        let index = self.below(from.len() as u64);
        from[usize::try_from(index).expect("a remainder by a slice's length fits into usize")]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check_one_line_of_json(message: &[u8]) {
        assert_eq!(message.iter().filter(|byte| **byte == b'\n').count(), 1);
        assert!(message.ends_with(b"\n"));
        serde_json::from_slice::<serde_json::Value>(message).expect("valid JSON");
        assert!(memchr::memmem::find(message, MARKER.as_bytes()).is_some());
    }

    #[test]
    fn small_calls_are_json_of_one_size() {
        for id in [0, 1, 99, 100_000, 999_999_999] {
            let call = small_call(id);
            assert_eq!(call.len(), SMALL);
            check_one_line_of_json(&call);
        }
    }

    #[test]
    fn marked_calls_have_their_number_twice() {
        for number in [FIRST_MARKED, FIRST_MARKED + 987_654_321] {
            let call = marked_call(number);
            assert_eq!(call.len(), SMALL);
            serde_json::from_slice::<serde_json::Value>(&call).expect("valid JSON");
            let number = number.to_string();
            assert_eq!(number.len(), MARK_DIGITS);
            assert_eq!(memchr::memmem::find_iter(&call, number.as_bytes()).count(), 2);
        }
    }

    #[test]
    fn large_messages_are_json_of_about_the_size() {
        for texture in Texture::ALL {
            let message = large_message(7, texture, 1 << 20);
            check_one_line_of_json(&message);
            assert!(message.len().abs_diff(1 << 20) < 40_000, "{}: {}", texture.name(), message.len());
        }
    }

    #[test]
    fn flood_lines_are_json_of_about_a_kilobyte() {
        let line = flood_line(3);
        check_one_line_of_json(&line);
        assert!(line.len().abs_diff(1000) < 250, "{}", line.len());
    }
}
