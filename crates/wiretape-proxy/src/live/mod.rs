//! The live view: a loopback WebSocket that streams a growing trace to viewers.
//!
//! [`LiveHub`] runs on one thread of its own. The recorder hands it every trace line with
//! [`LiveHub::publish`], which never waits for a viewer; what the lines mean, and how the trace
//! file is written, is left to others.
//!
//! # Protocol
//! All messages to the viewer are JSON text; what viewers send is ignored.
//!
//! | message | when |
//! |---|---|
//! | `{"type":"snapshot","lastSeq":N,"lines":[{…,"_seq":i},…]}` | once, on connect |
//! | `{"type":"append","line":{…,"_seq":n}}` | for each new line |
//! | `{"type":"heartbeat"}` | every 15 s |
//!
//! `_seq` counts the lines of this recording from 1, the `meta` line being the first; `lastSeq` is
//! the newest, 0 when there is none. It is spliced into the line's text before the last `}`:
//! nothing is re-serialized, so key order, duplicate keys and big integers arrive as recorded.
//!
//! A viewer that connects with `?since=N` gets only lines whose `_seq` is greater than `N`. A value
//! that is not a number counts as absent. A `lastSeq` below `N` means that this is another
//! recording than the one the viewer saw. When some of the wanted lines are no longer held, the
//! snapshot says how many: `"dropped":K`, after `lastSeq`.
//!
//! Long messages are sent as several WebSocket fragments, which every WebSocket API joins again.
//! The close code is 1000 when the recording is over, and 1013 when the viewer was too slow: it may
//! come back with `?since=`.
//!
//! # Memory
//! Lines are held once, in a backlog bounded by bytes plus the newest line, whatever its length.
//! Viewers read from it by a cursor of their own and share the lines. A viewer whose next line has
//! left the backlog, or whose socket takes nothing for some seconds, is dropped; so the whole stays
//! within about twice the backlog however many viewers there are.
//!
//! # Who may read
//! The recording holds whatever the MCP session held, so any page or program that can connect must
//! not be able to read it. The server listens on 127.0.0.1 and checks before the upgrade:
//!
//! - **`Host`** must be a loopback name with our port. A page that rebinds its own DNS name to
//!   127.0.0.1 still sends its own name here.
//! - **`Origin`**, which browsers always send with a WebSocket and pages cannot forge, must be absent,
//!   our own, or one that the user named with `--allow-origin`.
//! - **The token**, random for each recording, must be the first path segment or `?token=`.
//!
//! Existing viewers connect to a bare `ws://127.0.0.1:PORT` and know no token. Therefore a handshake
//! from an origin that the user named needs none: the user vouched for that page, and another page
//! cannot claim its origin. What remains: programs other than browsers can send any `Origin` they
//! like. One that runs as the same user gains nothing, for it could read the trace file itself.
//! But on a machine shared with *other* users, any of them could claim the named origin and read
//! along while the recording runs. There, leave `--allow-origin` out and use the address with the
//! token.

mod handshake;
mod hub;
mod origin;
mod ring;
mod subscriber;

pub use hub::{DEFAULT_PORT, LiveError, LiveHub, LiveOptions, random_token};
pub(crate) use origin::is_loopback_authority;
pub use origin::{Origin, OriginError};
