//! The subjects, and how each is started: the same server and the same load every time, with nothing, a blind relay,
//! the floor, the paired relay, nginx or the proxy between them.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use tempfile::TempDir;
use wiretape_testkit::load::{Amount, Clients, Driver, Outcome};
use wiretape_testkit::service::Service;
use wiretape_testkit::traces::Marks;
use wiretape_testkit::{cpu, memory};

use crate::bench::http::nginx;
use crate::bench::programs::Programs;
use crate::failure::{Context, Failure, Result};
use crate::parts;

/// The file name of the store, in the directory of a proxy with all sinks.
pub(in crate::bench) const STORE: &str = "store.db";
/// The file name of its NDJSON.
pub(in crate::bench) const EVENTS: &str = "events.ndjson";

/// A time limit far above any single measurement, even on a busy machine.
const LIMIT: Duration = Duration::from_secs(300);

/// The program between load and server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::bench) enum Subject {
    /// No program in between.
    Direct,
    /// `wt-tcp-relay`, which copies bytes.
    Blind,
    /// The minimal relay, `wt-http-relay`.
    Floor,
    /// `wt-paired-relay`, which pairs connections and forwards the bytes of HTTP/1.1 as they are.
    Paired,
    /// nginx as a reverse proxy.
    Nginx,
    /// `wiretape proxy`, with its traces.
    Proxy,
    /// `wiretape proxy` that writes nothing.
    Silent,
    /// `wiretape proxy` with traces, store and NDJSON.
    Full,
}

impl Subject {
    /// The subjects of the HTTP table, in the order of its columns.
    pub(in crate::bench) const ALL: [Self; 6] =
        [Self::Direct, Self::Blind, Self::Floor, Self::Paired, Self::Nginx, Self::Proxy];

    /// Its column in the HTTP table.
    pub(in crate::bench) fn column(self) -> usize {
        self as usize
    }
}

/// Which process runs on which processor. Without pinning, the scheduler migrates processes, and the cost of a call
/// is random: waking a process on another processor may cost more than all of the work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::bench) enum Placement {
    /// All on one processor. All work for a call takes time from it, so the rate shows the cost and nothing else.
    Together,
    /// Load and server on one processor, the subject on another, which then limits the rate.
    Apart,
}

/// The programs, and a directory for what they write.
pub(in crate::bench) struct Rig {
    echo: PathBuf,
    load: PathBuf,
    blind: PathBuf,
    floor: PathBuf,
    paired: PathBuf,
    proxy: PathBuf,
    /// Whether nginx is installed.
    pub(in crate::bench) nginx: bool,
    /// The processors for load and server, and for the subject.
    processors: [usize; 2],
    scratch: TempDir,
}

impl Rig {
    /// Installs nginx if it is missing. If that fails, only its column is empty.
    pub(in crate::bench) fn new(programs: &Programs) -> Result<Self> {
        // A thousand streams are two thousand connections of a subject. The programs inherit the limit.
        #[cfg(unix)]
        wiretape_testkit::process::raise_file_limit();
        let nginx = parts::install_nginx();
        if let Err(failure) = &nginx {
            eprintln!("note: measuring without nginx: {failure}");
        }
        Ok(Self {
            echo: programs.testkit("wt-http-echo"),
            load: programs.testkit("wt-http-load"),
            blind: programs.testkit("wt-tcp-relay"),
            floor: programs.testkit("wt-http-relay"),
            paired: programs.testkit("wt-paired-relay"),
            proxy: programs.subject(),
            nginx: nginx.is_ok(),
            processors: two_processors()?,
            scratch: programs.scratch()?,
        })
    }

    /// Starts the available subjects in front of one server, with clients of its own for each.
    pub(in crate::bench) fn start(
        &self,
        subjects: &[Subject],
        placement: Placement,
        clients: Clients,
    ) -> Result<Field> {
        let upstream = self.echo()?;
        self.place(upstream.pid(), placement, Role::Peer)?;
        let there = |subject: &&Subject| self.nginx || **subject != Subject::Nginx;
        let subjects: Result<Vec<_>> = subjects
            .iter()
            .filter(there)
            .map(|subject| self.start_one(*subject, &upstream, placement, clients))
            .collect();
        Ok(Field { subjects: subjects?, upstream })
    }

    fn start_one(
        &self,
        subject: Subject,
        upstream: &Service,
        placement: Placement,
        clients: Clients,
    ) -> Result<Started> {
        let directory = TempDir::new_in(self.scratch.path()).context("a directory for traces")?;
        let service = self.service(subject, upstream, directory.path())?;
        self.place(service.pid(), placement, Role::Subject)?;
        let driver =
            Driver::spawn(&self.load, &service.url(), clients, LIMIT).context(format!("{subject:?}"))?;
        self.place(driver.pid(), placement, Role::Peer)?;
        Ok(Started { subject, service, driver, directory, calls: 0 })
    }

    fn place(&self, pid: u32, placement: Placement, role: Role) -> Result {
        let [peers, subjects] = self.processors;
        let processor = match (placement, role) {
            (Placement::Apart, Role::Peer) => peers,
            (Placement::Apart, Role::Subject) | (Placement::Together, _) => subjects,
        };
        cpu::pin_tree(pid, processor).context("pinning a process")
    }

    fn echo(&self) -> Result<Service> {
        let mut command = Command::new(&self.echo);
        // Only clients that open streams notice it.
        command.arg("--ticks");
        Service::spawn(command, LIMIT).context("wt-http-echo")
    }

    /// The server that the load calls. For `Direct`, that is a second echo server in the place of a proxy.
    fn service(&self, subject: Subject, upstream: &Service, directory: &Path) -> Result<Service> {
        let program = match subject {
            Subject::Direct => return self.echo(),
            Subject::Nginx => return nginx::start(upstream.address(), directory, LIMIT),
            Subject::Blind => &self.blind,
            Subject::Floor => &self.floor,
            Subject::Paired => &self.paired,
            Subject::Proxy | Subject::Silent | Subject::Full => &self.proxy,
        };
        let mut command = Command::new(program);
        command
            .args(["proxy", "--upstream", &upstream.url(), "--listen", "127.0.0.1:0"])
            .env("WIRETAPE_DATA_DIR", self.scratch.path().join("data"));
        match subject {
            Subject::Silent => command.args(["--no-traces", "--no-store"]),
            Subject::Full => command
                .arg("--traces")
                .arg(directory.join("traces"))
                .arg("--store")
                .arg(directory.join(STORE))
                .arg("--events")
                .arg(directory.join(EVENTS)),
            _ => command.arg("--no-store").arg("--traces").arg(directory),
        };
        Service::spawn(command, LIMIT).context(program.display())
    }
}

#[derive(Clone, Copy)]
enum Role {
    /// The load or the server.
    Peer,
    Subject,
}

/// Two processors; twice the same if there is only one.
fn two_processors() -> Result<[usize; 2]> {
    let processors = cpu::processors().context("processors")?;
    match processors.as_slice() {
        [] => Err(Failure::new("there is no processor")),
        [first, .., last] => Ok([*first, *last]),
        [only] => Ok([*only, *only]),
    }
}

/// The subjects that take turns, and their server.
pub(in crate::bench) struct Field {
    pub(in crate::bench) subjects: Vec<Started>,
    #[expect(dead_code, reason = "it serves as long as it lives")]
    upstream: Service,
}

/// A running subject with open connections. Its traces are deleted when it is dropped.
pub(in crate::bench) struct Started {
    pub(in crate::bench) subject: Subject,
    service: Service,
    driver: Driver,
    directory: TempDir,
    calls: u64,
}

impl Started {
    /// Makes calls on all its connections. An error contains the subject and its output.
    pub(in crate::bench) fn drive(&mut self, amount: Amount) -> Result<Outcome> {
        let outcome = self.driver.run(amount).map_err(|error| {
            Failure::new(format!("{:?}: {error}\n{}", self.subject, self.service.output()))
        })?;
        self.calls += outcome.calls;
        Ok(outcome)
    }

    /// The CPU time so far, in seconds; NaN for `Direct`.
    pub(in crate::bench) fn processor_time(&self) -> Result<f64> {
        let time = cpu::time_of_tree(self.service.pid()).ok_or_else(gone)?;
        Ok(self.unless_direct(time.as_secs_f64()))
    }

    /// The peak memory so far, in bytes; NaN for `Direct`.
    pub(in crate::bench) fn peak_memory(&self) -> Result<f64> {
        let bytes = memory::peak_of_tree(self.service.pid(), "").ok_or_else(gone)?;
        Ok(self.unless_direct(bytes as f64))
    }

    /// The figure, or NaN for `Direct`: the cost of the echo server itself is not of interest.
    fn unless_direct(&self, figure: f64) -> f64 {
        if self.subject == Subject::Direct { f64::NAN } else { figure }
    }

    /// Ends the load, then the subject; returns the directory with its files, and the number of calls.
    pub(in crate::bench) fn end(self) -> Result<(TempDir, u64)> {
        self.driver.finish().context(format!("{:?}", self.subject))?;
        self.service.stop().context(format!("{:?}", self.subject))?;
        Ok((self.directory, self.calls))
    }

    /// Ends the load, then the subject, and looks for every call in its traces.
    pub(in crate::bench) fn finish(self) -> Result<SubjectResult> {
        let subject = self.subject;
        let (directory, calls) = self.end()?;
        let marks = Marks::in_traces(directory.path()).context("traces")?;
        let wrong = marks.missing(calls) + marks.surplus;
        Ok(SubjectResult { subject, messages: 2 * calls, wrong })
    }
}

fn gone() -> Failure {
    Failure::new("memory and processor time can only be measured on Linux, of a process that lives")
}

/// The results of a subject after its end.
pub(in crate::bench) struct SubjectResult {
    pub(in crate::bench) subject: Subject,
    /// The number of messages.
    pub(in crate::bench) messages: u64,
    /// The number of messages that are missing from its traces or duplicated.
    pub(in crate::bench) wrong: u64,
}
