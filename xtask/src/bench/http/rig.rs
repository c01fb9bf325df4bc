//! What is measured, and how each is started: the same server and the same load every time, with nothing, the floor,
//! nginx or the proxy between them.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use tempfile::TempDir;
use wiretape_testkit::load::{Amount, Driver, Outcome};
use wiretape_testkit::service::Service;
use wiretape_testkit::traces::Marks;
use wiretape_testkit::{cpu, memory};

use crate::bench::http::nginx;
use crate::bench::programs::Programs;
use crate::failure::{Context, Failure, Result};
use crate::parts;

/// No single measurement takes nearly as long, even on a busy machine.
const LIMIT: Duration = Duration::from_secs(300);

/// What stands between the load and the server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Subject {
    /// Nothing.
    Direct,
    /// `wt-http-relay`.
    Floor,
    /// nginx.
    Nginx,
    /// `wiretape proxy`.
    Proxy,
}

impl Subject {
    /// In the order of the columns.
    pub(super) const ALL: [Self; 4] = [Self::Direct, Self::Floor, Self::Nginx, Self::Proxy];

    /// Its column.
    pub(super) fn column(self) -> usize {
        self as usize
    }
}

/// The programs, and a place for what they write.
pub(super) struct Rig {
    echo: PathBuf,
    load: PathBuf,
    floor: PathBuf,
    proxy: PathBuf,
    /// Whether nginx could be had.
    pub(super) nginx: bool,
    scratch: TempDir,
}

impl Rig {
    /// Installs nginx if it isn't there. Without it there is one column less to look at, and nothing else is lost.
    pub(super) fn new(programs: &Programs) -> Result<Self> {
        let nginx = parts::install_nginx();
        if let Err(failure) = &nginx {
            eprintln!("note: measuring without nginx: {failure}");
        }
        Ok(Self {
            echo: programs.testkit("wt-http-echo"),
            load: programs.testkit("wt-http-load"),
            floor: programs.testkit("wt-http-relay"),
            proxy: programs.subject(),
            nginx: nginx.is_ok(),
            scratch: programs.scratch()?,
        })
    }

    /// Starts the server that all of a round have behind them.
    pub(super) fn upstream(&self) -> Result<Service> {
        Service::spawn(Command::new(&self.echo), LIMIT).context("wt-http-echo")
    }

    /// Starts every subject there is in front of the server, with so many connections to each.
    pub(super) fn start_all(&self, upstream: &Service, connections: usize) -> Result<Vec<Started>> {
        let there = Subject::ALL.into_iter().filter(|subject| self.nginx || *subject != Subject::Nginx);
        there.map(|subject| self.start(subject, upstream, connections)).collect()
    }

    fn start(&self, subject: Subject, upstream: &Service, connections: usize) -> Result<Started> {
        let directory = TempDir::new_in(self.scratch.path()).context("a directory for traces")?;
        let service = self.service(subject, upstream, directory.path())?;
        let url = service.as_ref().unwrap_or(upstream).url();
        let driver = Driver::spawn(&self.load, &url, connections, LIMIT).context(format!("{subject:?}"))?;
        Ok(Started { subject, service, driver, directory, calls: 0 })
    }

    fn service(&self, subject: Subject, upstream: &Service, directory: &Path) -> Result<Option<Service>> {
        let program = match subject {
            Subject::Direct => return Ok(None),
            Subject::Nginx => return nginx::start(upstream.address(), directory, LIMIT).map(Some),
            Subject::Floor => &self.floor,
            Subject::Proxy => &self.proxy,
        };
        let mut command = Command::new(program);
        command
            .args(["proxy", "--upstream", &upstream.url(), "--listen", "127.0.0.1:0", "--traces"])
            .arg(directory)
            .env("WIRETAPE_DATA_DIR", self.scratch.path().join("data"));
        Service::spawn(command, LIMIT).context(program.display()).map(Some)
    }
}

/// A running subject, connections to it open. Its traces vanish with it.
pub(super) struct Started {
    pub(super) subject: Subject,
    /// Nothing stands in front of the server when it is driven directly.
    service: Option<Service>,
    driver: Driver,
    directory: TempDir,
    calls: u64,
}

impl Started {
    /// Calls on all its connections. If that fails, says what was being measured and what it said.
    pub(super) fn drive(&mut self, amount: Amount) -> Result<Outcome> {
        let outcome = self.driver.run(amount).map_err(|error| {
            let said = self.service.as_ref().map(Service::said).unwrap_or_default();
            Failure::new(format!("{:?}: {error}\n{said}", self.subject))
        })?;
        self.calls += outcome.calls;
        Ok(outcome)
    }

    /// The time on a processor that it took so far, in seconds. No figure if there is nothing to ask.
    pub(super) fn processor_time(&self) -> Result<f64> {
        let Some(service) = &self.service else {
            return Ok(f64::NAN);
        };
        let time = cpu::time_of_tree(service.pid()).ok_or_else(gone)?;
        Ok(time.as_secs_f64())
    }

    /// The peak memory so far, in bytes. No figure if there is nothing to ask.
    pub(super) fn peak_memory(&self) -> Result<f64> {
        let Some(service) = &self.service else {
            return Ok(f64::NAN);
        };
        let bytes = memory::peak_of_tree(service.pid(), "").ok_or_else(gone)?;
        Ok(bytes as f64)
    }

    /// Ends the load, then the subject, and looks for every call in its traces.
    pub(super) fn finish(self) -> Result<Kept> {
        self.driver.finish().context(format!("{:?}", self.subject))?;
        if let Some(service) = self.service {
            service.stop().context(format!("{:?}", self.subject))?;
        }
        let marks = Marks::in_traces(self.directory.path()).context("traces")?;
        let wrong = marks.missing(self.calls) + marks.surplus;
        Ok(Kept { subject: self.subject, messages: 2 * self.calls, wrong })
    }
}

fn gone() -> Failure {
    Failure::new("memory and processor time can only be measured on Linux, of a process that lives")
}

/// What is left of a subject when it has ended.
pub(super) struct Kept {
    pub(super) subject: Subject,
    /// Messages that passed.
    pub(super) messages: u64,
    /// How many of them are missing from its traces, or stand there more than once.
    pub(super) wrong: u64,
}
