//! The index of a directory: a cache of what was read of its traces.
//!
//! It is derived and never the source of truth: a row is valid only while the size and modification time of
//! its file match. An index that is damaged, has another version, or can't be written is ignored. Nothing
//! here returns an error to a command (`docs/design/0011-the-index-of-traces.md`).
//!
//! One file, replaced as a whole, so that processes that write it at the same time lose rows at worst:
//!
//! | part | holds |
//! |---|---|
//! | header | magic, version, number of rows, lengths, a checksum of all but the digests |
//! | rows | a fixed size each: size, time, facts, where its texts and its digest are |
//! | slots | a hash table from names to rows |
//! | texts | the directory; name, id and label of each row |
//! | digests | JSON; read one by one when they are shown |
//!
//! So 100,000 rows are loaded with one read of some 15 MB and looked up without parsing any
//! (`cargo xtask bench --only library`). Changes go to a second, small file of the same shape, until there are enough of
//! them to write the large one again.

use crate::digest::TraceDigest;
use crate::plain::read_at;
use crate::private;
use std::fs::{self, File, Metadata};
use std::io::{self, Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

/// The version of the file format. It changes with the layout, and with the meaning of anything in it.
pub const VERSION: u32 = 2;

const MAGIC: [u8; 8] = *b"WTINDEX\0";
const HEADER: usize = 48;
const ROW: usize = 72;
const NO_ROW: u32 = u32::MAX;

/// The largest table that is read. Until the checksum is verified, the length in the header can't be trusted,
/// and a damaged one must not make us allocate all memory.
const MAX_TABLE: u64 = 1 << 30;

/// The size and time of a file, by which a change is noticed without reading it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FileStamp {
    /// Its size in bytes.
    pub size: u64,
    /// When it was last written, in nanoseconds since 1970.
    pub modified_ns: i64,
}

impl FileStamp {
    /// The stamp of a file with this metadata.
    pub fn of(metadata: &Metadata) -> Self {
        let since = metadata.modified().ok().and_then(|time| time.duration_since(UNIX_EPOCH).ok());
        let modified_ns = since.and_then(|since| i64::try_from(since.as_nanos()).ok()).unwrap_or(i64::MIN);
        FileStamp { size: metadata.len(), modified_ns }
    }
}

/// What the first and the last line of a trace say.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TraceFacts {
    /// The trace's id; the name of its file if it has none.
    pub id: String,
    /// A short name for people.
    pub label: String,
    /// When it began, in milliseconds since 1970.
    pub started_ms: Option<i64>,
    /// Whether it begins with `meta`.
    pub has_meta: bool,
    /// Whether it is a part of a rotated recording, but not the first.
    pub is_later_part: bool,
    /// Whether Wiretape wrote it.
    pub is_ours: bool,
    /// Whether its last line is neither `end` nor `rotated`. Unknown for a compressed trace, which can't grow.
    pub is_open: bool,
}

/// What is known of one file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct IndexRow {
    pub(crate) name: Vec<u8>,
    pub(crate) stamp: FileStamp,
    pub(crate) facts: TraceFacts,
    /// A [`TraceDigest`] as JSON; empty if the trace was not read to its end.
    pub(crate) digest: Vec<u8>,
}

/// The index of one directory, loaded into memory up to the digests.
#[derive(Debug, Default)]
pub(crate) struct TraceIndex {
    /// The path of the index file; `None` for an index in memory only.
    file: Option<PathBuf>,
    /// The directory, as it is written into the index.
    dir: Vec<u8>,
    base: IndexFile,
    recent: IndexFile,
}

impl TraceIndex {
    /// Loads the index of `dir` from `index_dir`; what can't be loaded is empty.
    pub(crate) fn load(dir: &Path, index_dir: &Path) -> Self {
        // The same directory by another path has to find the same index.
        let dir = dir.canonicalize().unwrap_or_else(|_| dir.to_owned());
        let dir = dir.as_os_str().as_encoded_bytes().to_vec();
        // Two directories may have the same hash, so the index also contains the directory's path, which
        // `load` compares.
        let file = index_dir.join(format!("{:016x}", hash(&dir)));
        let base = IndexFile::load(&file, &dir).unwrap_or_default();
        let recent = IndexFile::load(&recent_of(&file), &dir).unwrap_or_default();
        TraceIndex { file: Some(file), dir, base, recent }
    }

    /// Facts of a file that has not changed, and a handle to its digest.
    pub(crate) fn find(&self, name: &[u8], stamp: FileStamp) -> Option<(TraceFacts, RowHandle)> {
        let in_file = |file: &IndexFile, place| {
            let row = file.find(name).filter(|row| file.stamp(*row) == stamp)?;
            Some((file.facts(row)?, RowHandle { place, row }))
        };
        in_file(&self.recent, RowPlace::Recent).or_else(|| in_file(&self.base, RowPlace::Base))
    }

    /// The digest of a row, if it has one.
    pub(crate) fn digest(&self, handle: RowHandle) -> Option<TraceDigest> {
        serde_json::from_slice(&self.digest_json(handle)?).ok()
    }

    fn digest_json(&self, handle: RowHandle) -> Option<Vec<u8>> {
        match handle.place {
            RowPlace::Base => self.base.digest(handle.row),
            RowPlace::Recent => self.recent.digest(handle.row),
        }
    }

    /// Whether this many changed rows go to the small file, which is rewritten with every change so that the
    /// large one rarely is.
    fn is_small_change(&self, rows: usize) -> bool {
        rows <= 1000.max(self.base.len() / 8) && rows * 2 <= self.base.len()
    }

    /// Saves new rows. `unchanged` are all other files that still exist, with their rows; deleted files are
    /// dropped that way.
    pub(crate) fn save<'e>(
        &self,
        new: Vec<IndexRow>,
        unchanged: impl Iterator<Item = (&'e [u8], FileStamp, &'e TraceFacts, RowHandle)>,
    ) {
        let Some(file) = self.file.as_deref().filter(|_| !new.is_empty()) else { return };
        let (recent, base): (Vec<_>, Vec<_>) =
            unchanged.partition(|(_, _, _, handle)| handle.place == RowPlace::Recent);
        let row = |(name, stamp, facts, handle): (&[u8], FileStamp, &TraceFacts, RowHandle)| IndexRow {
            name: name.to_vec(),
            stamp,
            facts: facts.clone(),
            digest: self.digest_json(handle).unwrap_or_default(),
        };
        let mut rows = new;
        rows.extend(recent.into_iter().map(row));
        // Best effort: nothing depends on the index, and the next run tries again.
        let _ = if self.is_small_change(rows.len()) {
            write(&recent_of(file), &self.dir, &rows)
        } else {
            rows.extend(base.into_iter().map(row));
            // Removed only after the large file is in place: until then, the rows of the small one are in no
            // other file.
            write(file, &self.dir, &rows).and_then(|()| fs::remove_file(recent_of(file)))
        };
    }
}

/// Where the digest of a row is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct RowHandle {
    place: RowPlace,
    row: u32,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum RowPlace {
    Base,
    Recent,
}

fn recent_of(file: &Path) -> PathBuf {
    file.with_extension("recent")
}

/// FNV-1a: short names, no adversary, and the same value in every run.
fn hash(bytes: &[u8]) -> u64 {
    bytes
        .iter()
        .fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3))
}

/// An index file, loaded up to its digests.
#[derive(Debug, Default)]
struct IndexFile {
    /// Rows, slots and texts.
    table: Vec<u8>,
    rows: usize,
    slots: usize,
    digests_at: u64,
    file: Option<File>,
}

/// A file that is not an index, or not of this version, or damaged.
fn damaged() -> io::Error {
    io::ErrorKind::InvalidData.into()
}

impl IndexFile {
    fn load(path: &Path, dir: &[u8]) -> io::Result<Self> {
        let mut file = File::open(path)?;
        let mut header = [0; HEADER];
        file.read_exact(&mut header)?;
        let (version, rows, slots) = (u32_at(&header, 8), u32_at(&header, 12), u32_at(&header, 16));
        let (table_len, dir_len) = (u64_at(&header, 24), u64_at(&header, 32));
        let is_ours = header[..8] == MAGIC && version == VERSION && crc(&header[..44]) == u32_at(&header, 44);
        // `find` masks hashes with the number of slots.
        if !is_ours || table_len > MAX_TABLE || !slots.is_power_of_two() {
            return Err(damaged());
        }
        let mut table = vec![0; usize::try_from(table_len).map_err(|_| damaged())?];
        file.read_exact(&mut table)?;
        let (rows, slots) = (rows as usize, slots as usize);
        let texts = rows * ROW + slots * 4;
        let same_dir =
            table.get(texts..texts + usize::try_from(dir_len).unwrap_or(usize::MAX / 2)) == Some(dir);
        if !same_dir || crc(&table) != u32_at(&header, 40) {
            return Err(damaged());
        }
        Ok(IndexFile { table, rows, slots, digests_at: HEADER as u64 + table_len, file: Some(file) })
    }

    fn len(&self) -> usize {
        self.rows
    }

    fn row(&self, row: u32) -> &[u8] {
        &self.table[row as usize * ROW..][..ROW]
    }

    /// The row of a file's name.
    fn find(&self, name: &[u8]) -> Option<u32> {
        let hash = hash(name);
        let mask = self.slots.checked_sub(1)?;
        let first = usize::try_from(hash & mask as u64).unwrap_or_default();
        for step in 0..self.slots {
            let slot = (first + step) & mask;
            let row = u32_at(&self.table, self.rows * ROW + slot * 4);
            // An empty slot ends the search: the table is never full, and rows are never deleted from it.
            if row as usize >= self.rows {
                return None;
            }
            if u64_at(self.row(row), 24) == hash && self.text(row, 0) == Some(name) {
                return Some(row);
            }
        }
        None
    }

    fn stamp(&self, row: u32) -> FileStamp {
        let row = self.row(row);
        FileStamp { size: u64_at(row, 0), modified_ns: i64_at(row, 8) }
    }

    /// Name, id or label.
    fn text(&self, row: u32, which: usize) -> Option<&[u8]> {
        let row = self.row(row);
        let mut at = self.rows * ROW + self.slots * 4 + u32_at(row, 32) as usize;
        let lens = [36, 40, 44].map(|at| u32_at(row, at) as usize);
        at += lens[..which].iter().sum::<usize>();
        self.table.get(at..at.checked_add(lens[which])?)
    }

    fn facts(&self, row: u32) -> Option<TraceFacts> {
        let text = |which| Some(std::str::from_utf8(self.text(row, which)?).ok()?.to_owned());
        let flags = u32_at(self.row(row), 48);
        let has = |flag: u32| flags & flag != 0;
        Some(TraceFacts {
            id: text(1)?,
            label: text(2)?,
            started_ms: has(STARTED).then(|| i64_at(self.row(row), 16)),
            has_meta: has(META),
            is_later_part: has(LATER_PART),
            is_ours: has(OURS),
            is_open: has(OPEN),
        })
    }

    fn digest(&self, row: u32) -> Option<Vec<u8>> {
        let row = self.row(row);
        let mut json = vec![0; u32_at(row, 60) as usize];
        let at = self.digests_at + u64_at(row, 52);
        let mut filled = 0;
        // Read when it is shown, not on loading: 100,000 digests are most of the file.
        while filled < json.len() {
            match read_at(self.file.as_ref()?, &mut json[filled..], at + filled as u64).ok()? {
                0 => return None,
                n => filled += n,
            }
        }
        // Each digest has its own checksum, because the one of the table doesn't cover them.
        (!json.is_empty() && crc(&json) == u32_at(row, 64)).then_some(json)
    }
}

const STARTED: u32 = 1;
const META: u32 = 2;
const LATER_PART: u32 = 4;
const OURS: u32 = 8;
const OPEN: u32 = 16;

fn crc(bytes: &[u8]) -> u32 {
    crc32fast::hash(bytes)
}

fn u32_at(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(bytes[at..at + 4].try_into().expect("the slice is four bytes long"))
}

fn u64_at(bytes: &[u8], at: usize) -> u64 {
    u64::from_le_bytes(bytes[at..at + 8].try_into().expect("the slice is eight bytes long"))
}

fn i64_at(bytes: &[u8], at: usize) -> i64 {
    i64::from_le_bytes(bytes[at..at + 8].try_into().expect("the slice is eight bytes long"))
}

/// Replaces an index file: written next to it, then renamed, so that readers see the old one or the new one.
fn write(path: &Path, dir: &[u8], rows: &[IndexRow]) -> io::Result<()> {
    if let Some(parent) = path.parent() {
        private::create_dir(parent)?;
    }
    // Several threads and processes may write at the same time, so each has its own draft.
    let draft = path.with_extension(format!("{}.{:?}.tmp", std::process::id(), std::thread::current().id()));
    let _ = fs::remove_file(&draft);
    let written = private::create_file(&draft)
        .and_then(|mut file| {
            let (header, table) = encode(dir, rows);
            file.write_all(&header)?;
            file.write_all(&table)?;
            let mut digests = io::BufWriter::new(file);
            rows.iter().try_for_each(|row| digests.write_all(&row.digest))?;
            digests.flush()
        })
        .and_then(|()| fs::rename(&draft, path));
    if written.is_err() {
        let _ = fs::remove_file(&draft);
    }
    written
}

fn encode(dir: &[u8], rows: &[IndexRow]) -> ([u8; HEADER], Vec<u8>) {
    // At most half full, which keeps probe sequences short.
    let slots = (rows.len() * 2).next_power_of_two().max(2);
    let mut slot_rows = vec![NO_ROW; slots];
    let (mut table, mut texts, mut digests) = (Vec::with_capacity(rows.len() * ROW), dir.to_vec(), 0);
    for (number, row) in (0..).zip(rows) {
        let hash = hash(&row.name);
        let mut slot = usize::try_from(hash & (slots as u64 - 1)).unwrap_or_default();
        while slot_rows[slot] != NO_ROW {
            slot = (slot + 1) & (slots - 1);
        }
        slot_rows[slot] = number;
        encode_row(&mut table, row, hash, short(texts.len()), digests);
        for text in [&row.name[..], row.facts.id.as_bytes(), row.facts.label.as_bytes()] {
            texts.extend_from_slice(text);
        }
        digests += row.digest.len() as u64;
    }
    slot_rows.iter().for_each(|row| table.extend_from_slice(&row.to_le_bytes()));
    table.extend_from_slice(&texts);
    let mut header = Vec::with_capacity(HEADER);
    header.extend_from_slice(&MAGIC);
    for number in [VERSION, short(rows.len()), short(slots), 0] {
        header.extend_from_slice(&number.to_le_bytes());
    }
    for number in [table.len() as u64, dir.len() as u64] {
        header.extend_from_slice(&number.to_le_bytes());
    }
    header.extend_from_slice(&crc(&table).to_le_bytes());
    let of_header = crc(&header);
    header.extend_from_slice(&of_header.to_le_bytes());
    (header.try_into().expect("the fields above add up to the header's size"), table)
}

fn short(number: usize) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}

fn encode_row(table: &mut Vec<u8>, row: &IndexRow, hash: u64, texts: u32, digest: u64) {
    let facts = &row.facts;
    let flag = |is: bool, flag: u32| if is { flag } else { 0 };
    let flags = flag(facts.started_ms.is_some(), STARTED)
        | flag(facts.has_meta, META)
        | flag(facts.is_later_part, LATER_PART)
        | flag(facts.is_ours, OURS)
        | flag(facts.is_open, OPEN);
    let lens = [row.name.len(), facts.id.len(), facts.label.len()].map(short);
    table.extend_from_slice(&row.stamp.size.to_le_bytes());
    table.extend_from_slice(&row.stamp.modified_ns.to_le_bytes());
    table.extend_from_slice(&facts.started_ms.unwrap_or_default().to_le_bytes());
    table.extend_from_slice(&hash.to_le_bytes());
    for number in [texts, lens[0], lens[1], lens[2], flags] {
        table.extend_from_slice(&number.to_le_bytes());
    }
    table.extend_from_slice(&digest.to_le_bytes());
    for number in [short(row.digest.len()), crc(&row.digest), 0] {
        table.extend_from_slice(&number.to_le_bytes());
    }
}
