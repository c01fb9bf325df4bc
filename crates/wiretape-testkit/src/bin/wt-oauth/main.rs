//! An MCP server that requires a token, and the authorization server that issues it. Both are strict: a client that
//! requests the wrong `resource` (RFC 8707), or sends the cookies of another browser, is rejected.
//!
//! `wt-oauth [--foreign] [--form] [--iss] [--reflect]` listens on free ports of the loopback interface and prints the
//! URL of the MCP endpoint, then one line for each request with its status.
//!
//! | option | |
//! |---|---|
//! | `--foreign` | the authorization server has its own origin and path |
//! | `--form` | the user must log in on a page that requires cookies |
//! | `--iss` | the authorization server sends `iss` in its responses (RFC 9207) |
//! | `--reflect` | URLs are built from the `Host` of each request |

mod authorization;
mod exchange;
mod resource;

use std::convert::Infallible;
use std::io::{self, Write};
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper::{Request, Response};
use tokio::net::TcpListener;
use wiretape_testkit::http;

use authorization::Grants;
use exchange::{ReceivedRequest, empty};

const USAGE: &str = "usage: wt-oauth [--foreign] [--form] [--iss] [--reflect]";

#[derive(Debug, Clone, Copy, Default)]
struct Options {
    foreign: bool,
    form: bool,
    iss: bool,
    reflect: bool,
}

/// The state that both servers share.
struct Servers {
    options: Options,
    resource: SocketAddr,
    authorization: SocketAddr,
    grants: Mutex<Grants>,
}

/// The server that a request is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    /// The MCP server, and the authorization server as well if that is not foreign.
    Resource,
    Foreign,
}

impl Servers {
    /// The origin of a server, as its metadata documents give it in response to this request.
    fn origin(&self, of: SocketAddr, asked: &ReceivedRequest) -> String {
        if self.options.reflect { format!("http://{}", asked.host) } else { format!("http://{of}") }
    }

    /// The identifier of the MCP server.
    fn resource(&self, asked: &ReceivedRequest) -> String {
        format!("{}{}", self.origin(self.resource, asked), http::PATH)
    }

    /// The identifier of the authorization server.
    fn issuer(&self, asked: &ReceivedRequest) -> String {
        let path = if self.options.foreign { "/tenant" } else { "" };
        format!("{}{path}", self.origin(self.authorization, asked))
    }

    fn grants(&self) -> std::sync::MutexGuard<'_, Grants> {
        self.grants.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn main() -> io::Result<()> {
    let options = std::env::args().skip(1).try_fold(Options::default(), |options, argument| {
        Ok(match argument.as_str() {
            "--foreign" => Options { foreign: true, ..options },
            "--form" => Options { form: true, ..options },
            "--iss" => Options { iss: true, ..options },
            "--reflect" => Options { reflect: true, ..options },
            _ => return Err(io::Error::other(USAGE)),
        })
    })?;
    http::runtime()?.block_on(serve(options))
}

async fn serve(options: Options) -> io::Result<()> {
    let anywhere = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
    let foreign = TcpListener::bind(anywhere).await?;
    let own = http::listen(anywhere).await?;
    let authorization = if options.foreign { foreign.local_addr()? } else { own.local_addr()? };
    let (resource, grants) = (own.local_addr()?, Mutex::default());
    let world = Arc::new(Servers { options, resource, authorization, grants });
    tokio::try_join!(
        accept(own, Place::Resource, Arc::clone(&world)),
        accept(foreign, Place::Foreign, Arc::clone(&world)),
    )?;
    Ok(())
}

async fn accept(listener: TcpListener, place: Place, world: Arc<Servers>) -> io::Result<()> {
    loop {
        let stream = http::accept(&listener).await?;
        let world = Arc::clone(&world);
        tokio::spawn(http::serve(
            stream,
            service_fn(move |request| answer(request, place, Arc::clone(&world))),
        ));
    }
}

async fn answer(
    request: Request<Incoming>,
    place: Place,
    world: Arc<Servers>,
) -> Result<Response<Full<Bytes>>, Infallible> {
    let (parts, body) = request.into_parts();
    let body = body.collect().await.map(http_body_util::Collected::to_bytes).unwrap_or_default();
    let asked = ReceivedRequest::new(&parts, body);
    let is_authorization_server = world.options.foreign == (place == Place::Foreign);
    let from_resource = if place == Place::Resource { resource::answer(&world, &asked) } else { None };
    let response = from_resource
        .or_else(|| is_authorization_server.then(|| authorization::answer(&world, &asked)).flatten())
        .unwrap_or_else(|| empty(404));
    log_request(place, &asked, &response);
    Ok(response)
}

fn log_request(place: Place, asked: &ReceivedRequest, response: &Response<Full<Bytes>>) {
    let status = response.status().as_u16();
    let line = format!("{place:?}: {} {} {} -> {status}\n", asked.method, asked.path, asked.summary());
    // Fails only when the test doesn't read the output.
    let _ = io::stdout().lock().write_all(line.as_bytes());
}
