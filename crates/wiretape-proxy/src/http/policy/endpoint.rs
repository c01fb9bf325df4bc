//! The `endpoint` event of HTTP+SSE (MCP 2024-11-05, basic/transports): the first event of a stream names the URL to post to. A
//! relative one leads back to the proxy; an absolute URL of the upstream would bypass it and is rewritten. Nothing else is
//! changed.

use bytes::Bytes;

/// The limit for an `endpoint` event, in bytes; the beginning of a stream is not held longer than that.
const MAX: usize = 16 * 1024;

/// Rewrites the first event of a stream if it is an `endpoint` with a URL of the upstream.
#[derive(Debug)]
pub(crate) struct EndpointRewrite {
    upstream: String,
    public: String,
    /// The beginning of the stream, while it may still be such an event.
    held: Vec<u8>,
    done: bool,
}

impl EndpointRewrite {
    /// Replaces the origin `upstream` by `public`.
    pub(crate) fn new(upstream: &str, public: &str) -> Self {
        EndpointRewrite {
            upstream: upstream.to_owned(),
            public: public.to_owned(),
            held: Vec::new(),
            done: false,
        }
    }

    /// Takes the next bytes and returns those that can be forwarded: none while the first event is incomplete.
    pub(crate) fn pass(&mut self, bytes: Bytes) -> Bytes {
        if self.done {
            return bytes;
        }
        self.held.extend_from_slice(&bytes);
        // Released as soon as it can't be an `endpoint` any more: the first event of other streams must not wait for
        // its end.
        if !may_be_endpoint(&self.held) || self.held.len() > MAX {
            return self.release();
        }
        match event_end(&self.held) {
            Some(end) => {
                self.rewrite(end);
                self.release()
            }
            None => Bytes::new(),
        }
    }

    /// The bytes still held at the end of the stream: an incomplete event.
    pub(crate) fn finish(&mut self) -> Bytes {
        self.release()
    }

    /// Whether bytes are held back.
    pub(crate) fn holds(&self) -> bool {
        !self.held.is_empty()
    }

    fn release(&mut self) -> Bytes {
        self.done = true;
        Bytes::from(std::mem::take(&mut self.held))
    }

    /// Replaces the upstream's origin by ours in the `data` of the event that ends at `end`.
    fn rewrite(&mut self, end: usize) {
        let Some(at) = data_start(&self.held[..end]) else { return };
        let rest = &self.held[at..end];
        let Some(after) = rest.get(self.upstream.len()) else { return };
        let same = rest[..self.upstream.len()].eq_ignore_ascii_case(self.upstream.as_bytes());
        // Only a whole origin: a longer host name or another port would be another server.
        if same && matches!(after, b'/' | b'?' | b'#' | b'\r' | b'\n') {
            self.held.splice(at..at + self.upstream.len(), self.public.bytes());
        }
    }
}

const EVENT: &[u8] = b"event:";

/// Whether a stream that begins with these bytes may begin with an `endpoint` event.
fn may_be_endpoint(bytes: &[u8]) -> bool {
    let length = bytes.len().min(EVENT.len());
    if bytes[..length] != EVENT[..length] {
        return false;
    }
    let name = bytes[length..].trim_ascii_start();
    let length = name.len().min(b"endpoint".len());
    name[..length] == b"endpoint"[..length]
}

/// The end of the first event, after its empty line.
fn event_end(bytes: &[u8]) -> Option<usize> {
    let ends: [&[u8]; 3] = [b"\n\n", b"\r\n\r\n", b"\r\r"];
    ends.iter().filter_map(|end| memchr::memmem::find(bytes, end).map(|at| at + end.len())).min()
}

fn data_start(event: &[u8]) -> Option<usize> {
    let at = memchr::memmem::find(event, b"data:")? + b"data:".len();
    Some(if event.get(at) == Some(&b' ') { at + 1 } else { at })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pass(pieces: &[&str]) -> Vec<String> {
        let mut rewrite = EndpointRewrite::new("http://localhost:9000", "http://127.0.0.1:3004");
        let pass = |piece: &&str| rewrite.pass(Bytes::copy_from_slice(piece.as_bytes()));
        pieces.iter().map(pass).map(|bytes| String::from_utf8(bytes.to_vec()).unwrap()).collect()
    }

    #[test]
    fn what_has_no_end_is_given_out_at_the_end() {
        let mut rewrite = EndpointRewrite::new("http://localhost:9000", "http://127.0.0.1:3004");
        assert!(rewrite.pass(Bytes::from_static(b"event: endpoint\n")).is_empty());
        assert!(rewrite.holds());
        assert_eq!(rewrite.finish(), "event: endpoint\n");
        assert!(!rewrite.holds());
    }

    #[test]
    fn a_url_that_leads_past_us_is_rewritten() {
        let endpoint = "event: endpoint\ndata: http://localhost:9000/messages?id=1\n\ndata: {}\n\n";
        let expected = "event: endpoint\ndata: http://127.0.0.1:3004/messages?id=1\n\ndata: {}\n\n";
        assert_eq!(pass(&[endpoint]), [expected]);
        for cut in 1..endpoint.len() {
            assert_eq!(pass(&[&endpoint[..cut], &endpoint[cut..]]).concat(), expected, "cut at {cut}");
        }
    }

    #[test]
    fn everything_else_passes_as_it_is_and_at_once() {
        for stream in [
            "event: endpoint\r\ndata: /messages?id=1\r\n\r\n",
            "event:endpoint\ndata:http://localhost:90001/messages\n\n",
            "event: endpoint\ndata: https://auth.example/messages\n\n",
            ": ping\n\n",
            "event: message\ndata: http://localhost:9000/\n\n",
            "id: 1\ndata:\n\n",
        ] {
            assert_eq!(pass(&[stream]), [stream]);
        }
        assert_eq!(pass(&["event: m", "essage"]), ["event: m", "essage"]);
        assert_eq!(pass(&["id"]), ["id"]);
    }
}
