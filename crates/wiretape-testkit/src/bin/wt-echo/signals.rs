//! Signal handling. On systems without signals, neither option has an effect.

use std::io;

use crate::options::Options;

#[cfg(not(unix))]
pub(crate) fn set_up(_options: &Options) -> io::Result<()> {
    Ok(())
}

/// Installs the handlers that the options ask for.
#[cfg(unix)]
pub(crate) fn set_up(options: &Options) -> io::Result<()> {
    use std::sync::{Arc, atomic::AtomicBool};

    if options.ignore_sigterm {
        // The flag is never read: the signal is caught and ignored.
        signal_hook::flag::register(signal_hook::consts::SIGTERM, Arc::new(AtomicBool::new(false)))?;
    }
    options.report_signals.as_deref().map_or(Ok(()), report)
}

#[cfg(unix)]
fn report(file: &std::path::Path) -> io::Result<()> {
    use std::io::Write;

    use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};

    let mut file = std::fs::OpenOptions::new().create(true).append(true).open(file)?;
    let mut signals = signal_hook::iterator::Signals::new([SIGINT, SIGTERM, SIGHUP])?;
    std::thread::spawn(move || {
        for signal in &mut signals {
            let name = signal_hook::low_level::signal_name(signal).unwrap_or("unknown");
            // A test that waits for the line will report that it is missing.
            let _ = file.write_all(format!("{name}\n").as_bytes());
        }
    });
    Ok(())
}
