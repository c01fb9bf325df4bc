//! Metrics of the process itself, under the names that Prometheus' client libraries use.

use wiretape_events::sink::Exposition;

/// Appends the metrics that this system provides. Read at each scrape: nothing is counted in between.
pub(crate) fn write(out: &mut Exposition) {
    let figures = read();
    let mut each = |name: &str, kind: &str, help: &str, value: Option<f64>| {
        if let Some(value) = value {
            out.family(name, kind, help);
            out.sample(name, &[], value);
        }
    };
    let cpu = "Time that the process has spent on processors.";
    each("process_cpu_seconds_total", "counter", cpu, figures.cpu_seconds);
    each("process_resident_memory_bytes", "gauge", "Resident memory.", figures.resident_bytes);
    each("process_virtual_memory_bytes", "gauge", "Virtual memory.", figures.virtual_bytes);
    each("process_open_fds", "gauge", "Open file descriptors.", figures.open_files);
    each("process_max_fds", "gauge", "Maximum number of open file descriptors.", figures.max_files);
    each("process_threads", "gauge", "Threads.", figures.threads);
    let started = "When the process was started, in seconds since 1970.";
    each("process_start_time_seconds", "gauge", started, figures.started_seconds);
}

/// The figures that the system provides; `None` where it doesn't.
#[derive(Debug, Default)]
struct ProcessFigures {
    cpu_seconds: Option<f64>,
    resident_bytes: Option<f64>,
    virtual_bytes: Option<f64>,
    open_files: Option<f64>,
    max_files: Option<f64>,
    threads: Option<f64>,
    started_seconds: Option<f64>,
}

#[cfg(target_os = "linux")]
fn read() -> ProcessFigures {
    use std::fs;
    // The unit of times in /proc: `USER_HZ` is 100 on every architecture that we build for.
    const TICKS: f64 = 100.0;
    let text = |path: &str| fs::read_to_string(path).unwrap_or_default();
    let (stat, status, limits, system) =
        (text("/proc/self/stat"), text("/proc/self/status"), text("/proc/self/limits"), text("/proc/stat"));
    let number = |text: &str, name: &str| {
        let rest = text.lines().find_map(|line| line.strip_prefix(name))?;
        rest.split_ascii_whitespace().next()?.parse::<f64>().ok()
    };
    // The name, in parentheses, may contain anything; the fields after it are numbered from 3 (proc_pid_stat(5)).
    let fields: Vec<&str> =
        stat.rsplit_once(')').map_or("", |(_, rest)| rest).split_ascii_whitespace().collect();
    let ticks = |field: usize| Some(fields.get(field - 3)?.parse::<f64>().ok()? / TICKS);
    ProcessFigures {
        cpu_seconds: ticks(14).zip(ticks(15)).map(|(user, system)| user + system),
        started_seconds: number(&system, "btime ").zip(ticks(22)).map(|(boot, since)| boot + since),
        resident_bytes: number(&status, "VmRSS:").map(|kibibytes| kibibytes * 1024.0),
        virtual_bytes: number(&status, "VmSize:").map(|kibibytes| kibibytes * 1024.0),
        threads: number(&status, "Threads:"),
        open_files: fs::read_dir("/proc/self/fd").ok().map(|files| files.count() as f64),
        max_files: number(&limits, "Max open files"),
    }
}

#[cfg(not(target_os = "linux"))]
fn read() -> ProcessFigures {
    ProcessFigures::default()
}
