//! What a recorder left on disk, looked at without any knowledge of the format beyond "one line each".

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use memchr::memmem;

/// The only `.jsonl` file in `directory`. None, or more than one, is an error.
pub fn only_trace_in(directory: &Path) -> io::Result<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(directory)? {
        let path = entry?.path();
        if path.extension().is_some_and(|extension| extension == "jsonl") {
            found.push(path);
        }
    }
    match found.as_slice() {
        [only] => Ok(only.clone()),
        _ => {
            Err(io::Error::other(format!("{} traces in {}, expected one", found.len(), directory.display())))
        }
    }
}

/// How many whole lines of the file contain `marker`. A torn last line is not whole.
pub fn whole_lines_with(file: &Path, marker: &str) -> io::Result<usize> {
    Ok(count_whole_lines(&fs::read(file)?, marker))
}

fn count_whole_lines(bytes: &[u8], marker: &str) -> usize {
    let marker = memmem::Finder::new(marker);
    bytes
        .split_inclusive(|byte| *byte == b'\n')
        .filter(|line| line.ends_with(b"\n") && marker.find(line).is_some())
        .count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_torn_line_and_a_foreign_line_do_not_count() {
        assert_eq!(count_whole_lines(b"{\"x\":\"mark\"}\nmark mark\nother\nmark", "mark"), 2);
        assert_eq!(count_whole_lines(b"", "mark"), 0);
    }
}
