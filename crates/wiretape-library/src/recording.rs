//! The parts of rotated recordings: which traces belong together, and in which order.

use crate::open::{self, Head, TraceFileError};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use wiretape_analyze::summary::Ending;
use wiretape_trace::format::Meta;

/// Traces of one recording, in the order in which they were written.
#[derive(Debug)]
pub struct Recording {
    /// The id of its first part, which all parts name; `None` for a trace without an id.
    id: Option<String>,
    /// The files, in the order in which they were written.
    pub parts: Vec<Part>,
}

/// One file of a recording.
#[derive(Debug)]
pub struct Part {
    /// The path of the file.
    pub path: PathBuf,
    /// The file's id, if it has one.
    pub id: Option<String>,
    /// The position in the recording, from 1.
    pub index: u64,
}

impl Part {
    fn of(path: PathBuf, meta: Option<&Meta>) -> Self {
        let index = meta.and_then(|meta| meta.part.as_ref()).map_or(1, |part| part.index);
        Part { path, id: meta.and_then(|meta| meta.id.clone()), index }
    }
}

impl Recording {
    /// The recordings that traces belong to, in the order of their first mention.
    pub fn of_traces(traces: Vec<(PathBuf, Head)>) -> Vec<Self> {
        let mut recordings: Vec<Recording> = Vec::new();
        for (path, head) in traces {
            let id = recording_id(head.meta.as_ref());
            let part = Part::of(path, head.meta.as_ref());
            match recordings.iter_mut().find(|recording| id.is_some() && recording.id == id) {
                Some(recording) => recording.parts.push(part),
                None => recordings.push(Recording { id, parts: vec![part] }),
            }
        }
        recordings.iter_mut().for_each(Recording::sort);
        recordings
    }

    /// Adds the parts that were not given: those in the same directory that the others link to.
    pub fn find_parts(&mut self) -> Result<(), TraceFileError> {
        let mut seen: BTreeSet<PathBuf> = self.parts.iter().map(|part| part.path.clone()).collect();
        let mut at = 0;
        // A worklist: each part names its neighbors, so the parts that are found lead to further ones.
        while let Some(part) = self.parts.get(at) {
            at += 1;
            for path in neighbors(&part.path)? {
                if !seen.contains(&path) && path.is_file() {
                    let head = open::head(&path)?;
                    // A file may have been replaced by a trace of another recording with the same name.
                    if recording_id(head.meta.as_ref()) == self.id {
                        self.parts.push(Part::of(path.clone(), head.meta.as_ref()));
                    }
                    seen.insert(path);
                }
            }
        }
        self.sort();
        Ok(())
    }

    /// Whether it has all parts from the first to the last that was found.
    pub fn is_whole(&self) -> bool {
        self.parts.iter().zip(1..).all(|(part, index)| part.index == index)
    }

    fn sort(&mut self) {
        self.parts.sort_by_key(|part| part.index);
        // The same file may have been named twice.
        self.parts.dedup_by(|a, b| a.path == b.path);
    }
}

fn recording_id(meta: Option<&Meta>) -> Option<String> {
    let meta = meta?;
    meta.part.as_ref().map(|part| part.of.clone()).or_else(|| meta.id.clone())
}

/// The files before and after a part, as it names them.
fn neighbors(path: &Path) -> Result<Vec<PathBuf>, TraceFileError> {
    let before = open::head(path)?.meta.and_then(|meta| meta.part).map(|part| part.previous);
    let after = match open::ending(path)? {
        Ending::Rotated { next } => Some(next),
        _ => None,
    };
    // Only a bare file name: a trace from another machine must not make us read files elsewhere.
    let beside = |name: String| {
        let name = Path::new(&name).file_name().filter(|file| *file == name.as_str())?;
        Some(path.with_file_name(name))
    };
    Ok(before.into_iter().chain(after).filter_map(beside).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use wiretape_trace::format;

    fn trace(name: &str, id: &str, index: u64) -> (PathBuf, Head) {
        let part = format::Part { index, of: "a".to_owned(), ..format::Part::default() };
        let part = Some(part).filter(|part| part.index > 1);
        let meta = Meta { id: Some(id.to_owned()), part, ..Meta::default() };
        (PathBuf::from(name), Head { meta: Some(meta), started_ms: None })
    }

    #[test]
    fn parts_are_put_in_order_and_apart_from_others() {
        let traces = vec![
            trace("x.2.jsonl", "b", 2),
            trace("y.jsonl", "y", 1),
            trace("x.jsonl", "a", 1),
            trace("x.10.jsonl", "c", 10),
            trace("x.jsonl", "a", 1),
        ];
        let recordings = Recording::of_traces(traces);
        let names: Vec<Vec<&str>> = recordings
            .iter()
            .map(|recording| recording.parts.iter().map(|part| part.path.to_str().unwrap()).collect())
            .collect();
        assert_eq!(names, [vec!["x.jsonl", "x.2.jsonl", "x.10.jsonl"], vec!["y.jsonl"]]);
        assert!(!recordings[0].is_whole() && recordings[1].is_whole());
    }

    #[test]
    fn files_that_are_no_traces_of_ours_stay_apart() {
        let bare = |name: &str| (PathBuf::from(name), Head::default());
        assert_eq!(Recording::of_traces(vec![bare("a"), bare("b")]).len(), 2);
    }
}
