//! nginx, configured to do the same as the other subjects: one worker, no buffering, no logging, keep-alive on both
//! sides.

use std::fs;
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use wiretape_testkit::service::Service;

use crate::failure::{Context, Result};

/// Starts nginx in front of `upstream`. `directory` must be used for its files only.
pub(super) fn start(upstream: SocketAddr, directory: &Path, limit: Duration) -> Result<Service> {
    let address = free_address()?;
    let file = directory.join("nginx.conf");
    fs::write(&file, configuration(address, upstream)).context(file.display())?;
    let mut command = Command::new("nginx");
    command.args(["-e", "stderr", "-p"]).arg(directory).arg("-c").arg(&file);
    Service::spawn_at(command, address, limit).context("nginx")
}

/// A free port, because nginx can't choose one and report it.
fn free_address() -> Result<SocketAddr> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).context("a free port")?;
    listener.local_addr().context("a free port")
}

fn configuration(address: SocketAddr, upstream: SocketAddr) -> String {
    format!(
        r#"daemon off;
worker_processes 1;
pid nginx.pid;
events {{
    worker_connections 1024;
}}
http {{
    access_log off;
    keepalive_requests 1000000000;
    client_body_temp_path body;
    proxy_temp_path proxy;
    fastcgi_temp_path fastcgi;
    uwsgi_temp_path uwsgi;
    scgi_temp_path scgi;
    upstream echo {{
        server {upstream};
        keepalive 256;
        keepalive_requests 1000000000;
    }}
    server {{
        listen {address};
        location / {{
            proxy_pass http://echo;
            proxy_http_version 1.1;
            proxy_set_header Connection "";
            proxy_buffering off;
            proxy_request_buffering off;
        }}
    }}
}}
"#
    )
}
