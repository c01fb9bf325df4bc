//! An MCP client for the official conformance suite, on the official SDK. The suite starts it with the URL of its own
//! server, passes the scenario in the environment, and checks what the client does.
//!
//! It behaves the same in nearly every scenario: connect, list the tools, call each, and authorize when required. It
//! uses the proxy in `HTTP_PROXY`, as its HTTP library does by default.

#![expect(deprecated, reason = "the stateful era lives on, and what only it has is tested as well")]

mod authorization;
mod handler;
mod http;
mod scenario;
mod session;

use std::env;
use std::error::Error;
use std::time::Duration;

use tokio::time::timeout;

use crate::scenario::Scenario;

const USAGE: &str = "usage: wt-conformance-client URL, started by the conformance suite";

/// Less than the suite's own limit, so that the suite never has to kill it.
const LIMIT: Duration = Duration::from_secs(20);

type Outcome<T> = Result<T, Box<dyn Error + Send + Sync>>;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Outcome<()> {
    let url = env::args().nth(1).ok_or(USAGE)?;
    let scenario = Scenario::from_environment()?;
    timeout(LIMIT, session::run(&url, &scenario)).await?
}
