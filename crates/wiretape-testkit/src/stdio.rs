//! This process's own stdin and stdout as plain files: no lock, no buffer, one system call per call.
//!
//! [`std::io::Stdout`] buffers whatever follows the last newline, and [`std::io::Stdin`] reads 8 kB at a time;
//! neither suits a program whose cost is measured.

use std::fs::File;
use std::io;

/// A second handle on this process's stdin.
pub fn raw_stdin() -> io::Result<File> {
    #[cfg(unix)]
    let handle = std::os::fd::AsFd::as_fd(&io::stdin()).try_clone_to_owned()?;
    #[cfg(windows)]
    let handle = std::os::windows::io::AsHandle::as_handle(&io::stdin()).try_clone_to_owned()?;
    Ok(File::from(handle))
}

/// A second handle on this process's stdout.
pub fn raw_stdout() -> io::Result<File> {
    #[cfg(unix)]
    let handle = std::os::fd::AsFd::as_fd(&io::stdout()).try_clone_to_owned()?;
    #[cfg(windows)]
    let handle = std::os::windows::io::AsHandle::as_handle(&io::stdout()).try_clone_to_owned()?;
    Ok(File::from(handle))
}
