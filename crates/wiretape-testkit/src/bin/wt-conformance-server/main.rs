//! An MCP server for the official conformance suite, on the official SDK: it has all the tools, resources and prompts
//! that the suite requires, in the stateful and in the stateless revisions of the protocol.
//!
//! `wt-conformance-server --listen 127.0.0.1:0` prints its address as the first line and serves until it is killed.
//! It checks `Host` and every header that the protocol defines, so that a proxy that changes them is detected.

#![expect(deprecated, reason = "the stateful era lives on, and what only it has is tested as well")]

mod catalog;
mod handler;
mod rounds;
mod tools;

use std::env;
use std::error::Error;
use std::io::{self, Write};
use std::sync::Arc;

use http::{Request, Response, StatusCode};
use http_body_util::combinators::BoxBody;
use http_body_util::{BodyExt, Empty};
use hyper::body::{Bytes, Incoming};
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo};
use hyper_util::server::conn::auto;
use rmcp::transport::StreamableHttpService;
use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;
use tokio::net::{TcpListener, TcpStream};

use crate::handler::ConformanceServer;

const USAGE: &str = "usage: wt-conformance-server --listen ADDRESS:PORT";
const PATH: &str = "/mcp";

type Service = StreamableHttpService<ConformanceServer, LocalSessionManager>;
type Outcome<T> = Result<T, Box<dyn Error + Send + Sync>>;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Outcome<()> {
    let listener = TcpListener::bind(address()?).await?;
    announce(&listener)?;
    let server = ConformanceServer::new();
    let service: Service = StreamableHttpService::new(
        move || Ok(server.clone()),
        Arc::new(LocalSessionManager::default()),
        Default::default(),
    );
    loop {
        let (stream, _) = listener.accept().await?;
        tokio::spawn(serve(stream, service.clone()));
    }
}

fn address() -> Outcome<String> {
    let mut arguments = env::args().skip(1);
    match (arguments.next().as_deref(), arguments.next(), arguments.next()) {
        (Some("--listen"), Some(address), None) => Ok(address),
        _ => Err(USAGE.into()),
    }
}

/// Prints the address, for a caller that passed port 0.
fn announce(listener: &TcpListener) -> Outcome<()> {
    let mut stdout = io::stdout();
    writeln!(stdout, "http://{}{PATH}", listener.local_addr()?)?;
    Ok(stdout.flush()?)
}

async fn serve(stream: TcpStream, service: Service) {
    // Without Nagle's algorithm: the timing of events must not depend on the kernel's buffering.
    let _ = stream.set_nodelay(true);
    let answer = service_fn(move |request| answer(request, service.clone()));
    // A client may disconnect at any time.
    let _ = auto::Builder::new(TokioExecutor::new()).serve_connection(TokioIo::new(stream), answer).await;
}

async fn answer(
    request: Request<Incoming>,
    service: Service,
) -> Result<Response<BoxBody<Bytes, std::convert::Infallible>>, std::convert::Infallible> {
    if request.uri().path() == PATH {
        return Ok(service.handle(request).await);
    }
    let mut response = Response::new(Empty::new().boxed());
    *response.status_mut() = StatusCode::NOT_FOUND;
    Ok(response)
}
