//! The peak memory of a process and its helpers, from the kernel's accounting.

use std::fs;

use crate::tree;

/// The peak resident memory, in bytes, of the process `pid` and its descendants: the sum of their individual peaks.
///
/// Descendants whose name is `except` (the recorded server) don't count, nor do their children. `None` on systems
/// without `/proc`, or if the process has ended.
pub fn peak_of_tree(pid: u32, except: &str) -> Option<u64> {
    let own = peak(pid)?;
    let helpers = tree::children(pid)
        .into_iter()
        .filter(|child| name(*child).is_some_and(|name| name != except))
        .filter_map(|child| peak_of_tree(child, except))
        .sum::<u64>();
    Some(own + helpers)
}

/// The same without the pages of mapped files, mainly those of the executable: their number depends on the size of
/// the executable, exceeds everything else in an unoptimized build, and they are shared between processes.
pub fn own_peak_of_tree(pid: u32, except: &str) -> Option<u64> {
    let files = resident_files(&fs::read_to_string(format!("/proc/{pid}/status")).ok()?)?;
    Some(peak_of_tree(pid, except)?.saturating_sub(files))
}

fn peak(pid: u32) -> Option<u64> {
    high_water_mark(&fs::read_to_string(format!("/proc/{pid}/status")).ok()?)
}

fn resident_files(status: &str) -> Option<u64> {
    kilobytes(status, "RssFile:")
}

/// `VmHWM` is written as `VmHWM:     1234 kB`.
fn high_water_mark(status: &str) -> Option<u64> {
    kilobytes(status, "VmHWM:")
}

fn kilobytes(status: &str, name: &str) -> Option<u64> {
    let line = status.lines().find_map(|line| line.strip_prefix(name))?;
    let kilobytes: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kilobytes * 1024)
}

fn name(pid: u32) -> Option<String> {
    let name = fs::read_to_string(format!("/proc/{pid}/comm")).ok()?;
    Some(name.trim_end().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_high_water_mark_is_read_in_bytes() {
        assert_eq!(high_water_mark("Name:\tcat\nVmHWM:\t    1234 kB\nVmRSS:\t 9 kB\n"), Some(1234 * 1024));
        assert_eq!(high_water_mark("Name:\tkthreadd\n"), None);
        assert_eq!(resident_files("VmHWM:\t 9 kB\nRssFile:\t 2 kB\n"), Some(2048));
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn this_process_has_a_peak() {
        assert!(peak_of_tree(std::process::id(), "").is_some_and(|bytes| bytes > 100_000));
    }
}
