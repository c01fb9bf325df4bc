//! The CPU time of a process, from the kernel's accounting, and its processor affinity.

use std::fs;
use std::io;
use std::time::Duration;

use crate::tree;

/// The unit of `/proc/PID/stat`, the same on every Linux that we know of: a hundredth of a second.
const TICK: Duration = Duration::from_millis(10);

/// The CPU time (user and system) of the process and its running descendants so far. `None` on systems without
/// `/proc`, or if the process has ended.
pub fn time_of_tree(pid: u32) -> Option<Duration> {
    let own = time(pid)?;
    let helpers = tree::children(pid).into_iter().filter_map(time_of_tree).sum::<Duration>();
    Some(own + helpers)
}

fn time(pid: u32) -> Option<Duration> {
    ticks(&fs::read_to_string(format!("/proc/{pid}/stat")).ok()?).map(|ticks| TICK * ticks)
}

/// `pid (name) state …`, where the name may contain anything, so the fields are counted from its last `)`. The 12th
/// and 13th after it are user and system time.
fn ticks(stat: &str) -> Option<u32> {
    let (_, fields) = stat.rsplit_once(") ")?;
    let mut fields = fields.split(' ').skip(11);
    let user: u32 = fields.next()?.parse().ok()?;
    let system: u32 = fields.next()?.parse().ok()?;
    Some(user + system)
}

/// The processors that this process may run on.
#[cfg(target_os = "linux")]
pub fn processors() -> io::Result<Vec<usize>> {
    use rustix::thread::{CpuSet, sched_getaffinity};

    let set = sched_getaffinity(None)?;
    Ok((0..CpuSet::MAX_CPU).filter(|processor| set.is_set(*processor)).collect())
}

/// Always an error: this is only supported on Linux.
#[cfg(not(target_os = "linux"))]
pub fn processors() -> io::Result<Vec<usize>> {
    Err(io::ErrorKind::Unsupported.into())
}

/// Pins the calling thread, and the processes that it starts from now on, to one processor.
#[cfg(target_os = "linux")]
pub fn pin_thread(processor: usize) -> io::Result<()> {
    use rustix::thread::{CpuSet, sched_setaffinity};

    let mut set = CpuSet::new();
    set.set(processor);
    Ok(sched_setaffinity(None, &set)?)
}

/// Always an error: this is only supported on Linux.
#[cfg(not(target_os = "linux"))]
pub fn pin_thread(_processor: usize) -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}

/// Pins the process, its descendants and all their threads to one processor. Processes and threads started later
/// inherit that.
#[cfg(target_os = "linux")]
pub fn pin_tree(pid: u32, processor: usize) -> io::Result<()> {
    use rustix::process::Pid;
    use rustix::thread::{CpuSet, sched_setaffinity};

    let mut set = CpuSet::new();
    set.set(processor);
    for process in tree::family(pid) {
        for thread in tree::threads(process) {
            let thread = i32::try_from(thread).ok().and_then(Pid::from_raw);
            sched_setaffinity(Some(thread.ok_or(io::ErrorKind::InvalidInput)?), &set)?;
        }
    }
    Ok(())
}

/// Always an error: this is only supported on Linux.
#[cfg(not(target_os = "linux"))]
pub fn pin_tree(_pid: u32, _processor: usize) -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn user_and_system_time_are_added() {
        let stat = "42 (a) b) S 1 42 42 0 -1 4194560 1106 0 0 0 17 25 0 0 20 0 1 0 100 0 0";
        assert_eq!(ticks(stat), Some(42));
        assert_eq!(ticks("42 (cut"), None);
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn this_process_takes_time() {
        assert!(time_of_tree(std::process::id()).is_some());
        assert_eq!(time_of_tree(u32::MAX), None);
    }
}
