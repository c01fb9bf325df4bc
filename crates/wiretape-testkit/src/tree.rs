//! Process trees from `/proc`. Empty on systems without it.

use std::fs;

/// The running children of the process `pid`.
///
/// A child is listed under the thread that started it, so all threads are read.
pub(crate) fn children(pid: u32) -> Vec<u32> {
    threads(pid)
        .into_iter()
        .filter_map(|thread| fs::read_to_string(format!("/proc/{pid}/task/{thread}/children")).ok())
        .flat_map(|list| list.split_whitespace().filter_map(|pid| pid.parse().ok()).collect::<Vec<_>>())
        .collect()
}

/// The process and all its descendants.
pub(crate) fn family(pid: u32) -> Vec<u32> {
    let mut family = vec![pid];
    let mut next = 0;
    while next < family.len() {
        family.extend(children(family[next]));
        next += 1;
    }
    family
}

/// The numbers of a process's threads.
pub(crate) fn threads(pid: u32) -> Vec<u32> {
    let Ok(threads) = fs::read_dir(format!("/proc/{pid}/task")) else {
        return Vec::new();
    };
    threads.flatten().filter_map(|thread| thread.file_name().to_str()?.parse().ok()).collect()
}
