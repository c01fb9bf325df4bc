//! Process trees from `/proc`. Empty on systems without it.

use std::fs;

/// Those that the process `pid` started and that still run.
///
/// A child is listed under the thread that started it, so all threads are read.
pub(crate) fn children(pid: u32) -> Vec<u32> {
    threads(pid)
        .into_iter()
        .filter_map(|thread| fs::read_to_string(format!("/proc/{pid}/task/{thread}/children")).ok())
        .flat_map(|list| list.split_whitespace().filter_map(|pid| pid.parse().ok()).collect::<Vec<_>>())
        .collect()
}

/// The process, its children, theirs, and so on.
pub(crate) fn family(pid: u32) -> Vec<u32> {
    let mut family = vec![pid];
    let mut asked = 0;
    while asked < family.len() {
        family.extend(children(family[asked]));
        asked += 1;
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
