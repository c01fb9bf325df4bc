//! The index entries of lines and calls: some dozens of bytes each. Missing values are sentinels (0, `u32::MAX`) instead of
//! `Option`s, which would nearly double them (`cargo xtask bench --only view`, peak memory).

use super::names::NameId;
use crate::api::types::{Dir, LineKind};
use wiretape_analyze::call::{Call, Outcome};
use wiretape_trace::message::Direction;

/// The index entry of a line.
#[derive(Debug, Clone, Copy)]
pub(crate) struct LineEntry {
    /// The offset of its first byte.
    pub(crate) offset: u64,
    /// The time of the line, in microseconds.
    pub(crate) at_us: i64,
    /// The number of the call that it belongs to; 0 if it belongs to none.
    pub(crate) call: u32,
    /// Method, kind and direction.
    packed: u32,
}

impl LineEntry {
    /// `method` takes 24 bits, `kind` 6 and `dir` 2. The limit of distinct names ([`super::names`]) fits into
    /// the 24.
    pub(crate) fn new(offset: u64, at_us: i64, call: u64, method: NameId, kind: LineKind, dir: Dir) -> Self {
        let packed = method.pack() << 8 | (kind as u32) << 2 | dir as u32;
        LineEntry { offset, at_us, call: narrow(call), packed }
    }

    pub(crate) fn method(self) -> NameId {
        NameId::unpack(self.packed >> 8)
    }

    pub(crate) fn kind(self) -> LineKind {
        const KINDS: [LineKind; 15] = [
            LineKind::Meta,
            LineKind::Request,
            LineKind::Response,
            LineKind::Notification,
            LineKind::Batch,
            LineKind::Odd,
            LineKind::Text,
            LineKind::Stderr,
            LineKind::Http,
            LineKind::Gap,
            LineKind::Rotated,
            LineKind::End,
            LineKind::Unknown,
            LineKind::Damaged,
            LineKind::Stream,
        ];
        KINDS[(self.packed >> 2 & 0x3f) as usize % KINDS.len()]
    }

    pub(crate) fn dir(self) -> Dir {
        [Dir::In, Dir::Out, Dir::Unknown, Dir::Unknown][(self.packed & 3) as usize]
    }
}

/// The index entry of a call.
#[derive(Debug, Clone, Copy)]
pub(crate) struct CallEntry {
    pub(crate) at_us: i64,
    /// `u64::MAX` if it is unknown.
    duration_us: u64,
    /// The code of a protocol error or the status of an HTTP error; `i64::MIN` if there is none.
    code: i64,
    pub(crate) person_us: u64,
    pub(crate) client_us: u64,
    pub(crate) request_line: u32,
    /// 0 if there is none.
    response_line: u32,
    pub(crate) request_bytes: u32,
    /// `u32::MAX` if there is none.
    response_bytes: u32,
    /// 0 if there is none.
    parent: u32,
    /// 0 if there is none.
    operation: u32,
    pub(crate) method: NameId,
    pub(crate) tool: NameId,
    pub(crate) session: NameId,
    pub(crate) progress: u32,
    pub(crate) nested: u32,
    pub(crate) outcome: Outcome,
    pub(crate) direction: Direction,
}

/// The names of a call.
#[derive(Debug, Clone, Copy)]
pub(crate) struct CallNames {
    pub(crate) method: NameId,
    pub(crate) tool: NameId,
    pub(crate) session: NameId,
}

impl CallEntry {
    pub(crate) fn new(call: &Call, at_us: i64, names: CallNames) -> Self {
        CallEntry {
            at_us,
            duration_us: call.duration_us.unwrap_or(u64::MAX),
            code: call.error_code.or(call.http_status.map(i64::from)).unwrap_or(i64::MIN),
            person_us: call.person_us,
            client_us: call.client_us,
            request_line: narrow(call.request.line),
            response_line: call.response.map_or(0, |place| narrow(place.line)),
            request_bytes: narrow(call.request_bytes),
            response_bytes: call.response_bytes.map_or(u32::MAX, |bytes| narrow(bytes).min(u32::MAX - 1)),
            parent: call.parent.map_or(0, narrow),
            operation: call.operation.map_or(0, narrow),
            method: names.method,
            tool: names.tool,
            session: names.session,
            progress: narrow(call.progress),
            nested: narrow(call.nested),
            outcome: call.outcome,
            direction: call.direction,
        }
    }

    /// The duration, up to now for a pending call.
    pub(crate) fn duration_us(&self) -> Option<u64> {
        (self.duration_us != u64::MAX).then_some(self.duration_us)
    }

    /// The latency of the answer; see [`Call::latency_us`].
    pub(crate) fn latency_us(&self) -> Option<u64> {
        self.duration_us().filter(|_| self.outcome.is_measured())
    }

    /// The code of a protocol error, or the status of an HTTP error.
    pub(crate) fn code(&self) -> Option<i64> {
        (self.code != i64::MIN).then_some(self.code)
    }

    pub(crate) fn response_line(&self) -> Option<u64> {
        known(self.response_line)
    }

    pub(crate) fn response_bytes(&self) -> Option<u64> {
        (self.response_bytes != u32::MAX).then_some(u64::from(self.response_bytes))
    }

    pub(crate) fn parent(&self) -> Option<u64> {
        known(self.parent)
    }

    pub(crate) fn operation(&self) -> Option<u64> {
        known(self.operation)
    }

    /// The time of its end, or of its last known activity.
    pub(crate) fn end_us(&self) -> i64 {
        let duration = self.duration_us().and_then(|us| i64::try_from(us).ok()).unwrap_or(0);
        self.at_us.saturating_add(duration)
    }
}

fn known(number: u32) -> Option<u64> {
    (number != 0).then_some(u64::from(number))
}

/// Narrows a number that can't exceed 32 bits in a file of readable size.
fn narrow(number: u64) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_small_and_keeps_what_it_is() {
        let entry = LineEntry::new(1 << 40, -5, 7, NameId::unpack(70_000), LineKind::Damaged, Dir::Unknown);
        assert_eq!((entry.kind(), entry.dir()), (LineKind::Damaged, Dir::Unknown));
        assert_eq!((entry.method(), entry.call), (NameId::unpack(70_000), 7));
        let first = LineEntry::new(0, 0, 0, NameId::NONE, LineKind::Meta, Dir::In);
        assert_eq!((first.kind(), first.dir()), (LineKind::Meta, Dir::In));
        assert_eq!(size_of::<LineEntry>(), 24);
        assert!(size_of::<CallEntry>() <= 104, "{}", size_of::<CallEntry>());
    }
}
