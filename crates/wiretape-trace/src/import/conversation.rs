//! Senders and open ids: what can only be known about a message from the messages before it.
//!
//! Many sources don't state who sent a message. Most methods may be sent by one side only; a response comes
//! from the side that received the request. Both sides choose their ids independently, so an id may be open
//! on both: then the response goes to the request whose answer it resembles, or else to the later one,
//! because a server sends its requests in the middle of a call.

use super::item::Defect;
use super::prepare::{ById, Gist, Gists, IdKey, Question, Sender};
use crate::message::{Direction, MessageKind};
use std::collections::{HashMap, HashSet};

/// The state of a conversation with one server.
#[derive(Default)]
pub(super) struct Conversation {
    open: HashMap<(Direction, IdKey), OpenRequest, ById>,
    /// The side that requested progress under this token.
    progress: HashMap<IdKey, Direction, ById>,
    calls: HashSet<IdKey, ById>,
    requests: u64,
}

struct OpenRequest {
    asks: Question,
    ordinal: u64,
    progress: Option<IdKey>,
}

/// The sender of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Attribution {
    pub(super) from: Direction,
    /// The source doesn't show it: this side is only the more likely one.
    pub(super) guessed: bool,
}

impl Attribution {
    fn sure(from: Direction) -> Self {
        Attribution { from, guessed: false }
    }

    fn guess(from: Direction) -> Self {
        Attribution { from, guessed: true }
    }
}

impl Conversation {
    /// Whether the client's request with this id is still open.
    pub(super) fn waits_for(&self, id: IdKey) -> bool {
        self.open.contains_key(&(Direction::ClientToServer, id))
    }

    /// Whether a tool was called with this id.
    pub(super) fn has_call(&self, id: IdKey) -> bool {
        self.calls.contains(&id)
    }

    /// Allows the ids of calls to be used again. Open requests stay open: an answer may still follow.
    pub(super) fn forget_calls(&mut self) {
        self.calls.clear();
    }

    /// Adds the next message, or batch of messages, and returns its sender. `stated` is the sender according
    /// to the source.
    pub(super) fn observe(
        &mut self,
        stated: Option<Direction>,
        gists: &Gists,
    ) -> Result<Attribution, Defect> {
        let inferred = || {
            let all = gists.iter().map(|gist| self.attribute(gist));
            // All messages of a batch have one sender, so one certain attribution decides.
            all.reduce(|best, one| if best.guessed { one } else { best })
        };
        let attribution = match stated {
            Some(from) => Attribution::sure(from),
            None => inferred().unwrap_or(Attribution::guess(Direction::ClientToServer)),
        };
        for gist in gists.iter() {
            self.record(attribution.from, gist)?;
        }
        Ok(attribution)
    }

    fn attribute(&self, gist: &Gist) -> Attribution {
        use Direction::{ClientToServer, ServerToClient};
        if gist.kind == MessageKind::Response {
            return self.attribute_response(gist);
        }
        match gist.sender {
            Sender::Client => return Attribution::sure(ClientToServer),
            Sender::Server => return Attribution::sure(ServerToClient),
            Sender::Either | Sender::Unknown => {}
        }
        // Progress is sent to the side that requested it; only the side that sent a request may cancel it.
        if gist.kind == MessageKind::Notification
            && let Some(asker) = gist.progress.and_then(|token| self.progress.get(&token))
        {
            return Attribution::sure(asker.reverse());
        }
        if let Some(id) = gist.cancels {
            let askers =
                [ClientToServer, ServerToClient].map(|from| self.open.get(&(from, id)).map(|_| from));
            if let [Some(from), None] | [None, Some(from)] = askers {
                return Attribution::sure(from);
            }
        }
        match gist.kind {
            // A side doesn't reuse an id that it has open, so the other side sent this one.
            MessageKind::Request if self.is_open_only(ClientToServer, gist.id) => {
                Attribution::sure(ServerToClient)
            }
            MessageKind::Request if self.is_open_only(ServerToClient, gist.id) => {
                Attribution::sure(ClientToServer)
            }
            MessageKind::Request => Attribution::guess(ClientToServer),
            _ if gist.cancels.is_some() => Attribution::guess(ClientToServer),
            _ => Attribution::guess(ServerToClient),
        }
    }

    fn is_open_only(&self, asker: Direction, id: Option<IdKey>) -> bool {
        let is_open = |asker| id.is_some_and(|id| self.open.contains_key(&(asker, id)));
        is_open(asker) && !is_open(asker.reverse())
    }

    fn attribute_response(&self, gist: &Gist) -> Attribution {
        use Direction::{ClientToServer, ServerToClient};
        let open = |asker| gist.id.and_then(|id| self.open.get(&(asker, id)));
        match (open(ClientToServer), open(ServerToClient)) {
            (Some(_), None) => Attribution::sure(ServerToClient),
            (None, Some(_)) => Attribution::sure(ClientToServer),
            (Some(clients), Some(servers)) => {
                let looks_like_the_clients = gist.answers != Question::Other && gist.answers == servers.asks;
                // Errors and empty results resemble no answer in particular.
                let says_nothing = gist.is_error || servers.asks == Question::Other;
                let is_later = servers.ordinal > clients.ordinal;
                let from = if looks_like_the_clients || (says_nothing && is_later) {
                    ClientToServer
                } else {
                    ServerToClient
                };
                Attribution { from, guessed: !looks_like_the_clients }
            }
            (None, None) if gist.answers != Question::Other => Attribution::guess(ClientToServer),
            (None, None) => Attribution::guess(ServerToClient),
        }
    }

    fn record(&mut self, from: Direction, gist: &Gist) -> Result<(), Defect> {
        match (gist.kind, gist.id) {
            (MessageKind::Request, Some(id)) => {
                if gist.is_tool_call && from == Direction::ClientToServer && !self.calls.insert(id) {
                    // Two calls with one id make their answers ambiguous, and an import must not guess
                    // results.
                    return Err(Defect::DuplicateCall);
                }
                self.requests += 1;
                let open = OpenRequest { asks: gist.asks, ordinal: self.requests, progress: gist.progress };
                self.open.insert((from, id), open);
                if let Some(token) = gist.progress {
                    self.progress.insert(token, from);
                }
            }
            (MessageKind::Response, Some(id)) => {
                let answered = self.open.remove(&(from.reverse(), id));
                if let Some(token) = answered.and_then(|open| open.progress) {
                    self.progress.remove(&token);
                }
            }
            _ => {}
        }
        Ok(())
    }
}
