//! What the HTTP peers share: a listener that prints its URL, and a server for each connection that it accepts.
//!
//! Each peer has one thread and one runtime, so that its CPU time is easy to measure and to compare with that of
//! another peer.

use std::io::{self, Write};
use std::net::SocketAddr;

use hyper::body::{Body, Incoming};
use hyper::server::conn::http1;
use hyper::service::HttpService;
use hyper_util::rt::TokioIo;
use tokio::net::{TcpListener, TcpStream};
use tokio::runtime::{Builder, Runtime};

/// The path of the MCP endpoint. The peers answer on any other path as well.
pub const PATH: &str = "/mcp";

/// A runtime with a single thread.
pub fn runtime() -> io::Result<Runtime> {
    Builder::new_current_thread().enable_all().build()
}

/// Listens, and prints its URL as the first line of stdout.
pub async fn listen(address: SocketAddr) -> io::Result<TcpListener> {
    let listener = TcpListener::bind(address).await?;
    let mut stdout = io::stdout();
    writeln!(stdout, "http://{}{PATH}", listener.local_addr()?)?;
    stdout.flush()?;
    Ok(listener)
}

/// The next connection, with Nagle's algorithm off, so that small responses are sent at once.
pub async fn accept(listener: &TcpListener) -> io::Result<TcpStream> {
    let (stream, _) = listener.accept().await?;
    stream.set_nodelay(true)?;
    Ok(stream)
}

/// Answers all requests of one connection. Errors are ignored: a client may disconnect at any time.
pub async fn serve<S>(stream: TcpStream, service: S)
where
    S: HttpService<Incoming>,
    S::ResBody: Body + 'static,
    S::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
    <S::ResBody as Body>::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
{
    // Small bodies are copied after their heads and written together, which is cheaper than a vectored write.
    let _ = http1::Builder::new().writev(false).serve_connection(TokioIo::new(stream), service).await;
}

/// The socket address in a URL such as `http://127.0.0.1:8080/mcp`. Host names are not resolved.
pub fn address_in(url: &str) -> Option<SocketAddr> {
    let rest = url.strip_prefix("http://")?;
    let authority = rest.split(['/', '?', '#']).next()?;
    authority.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_found_in_urls() {
        let expected = Some(SocketAddr::from(([127, 0, 0, 1], 8080)));
        for url in ["http://127.0.0.1:8080", "http://127.0.0.1:8080/", "http://127.0.0.1:8080/mcp?x=1"] {
            assert_eq!(address_in(url), expected, "{url}");
        }
        assert_eq!(address_in("https://127.0.0.1:8080/mcp"), None);
        assert_eq!(address_in("http://127.0.0.1/mcp"), None);
    }
}
