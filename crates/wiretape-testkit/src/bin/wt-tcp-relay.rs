//! The least that anything between client and server can cost: a relay that copies bytes both ways, and doesn't know
//! what HTTP is.
//!
//! `wt-tcp-relay proxy --upstream URL --listen ADDRESS …` prints its URL.

use std::io;

use tokio::io::copy_bidirectional;
use wiretape_testkit::http;
use wiretape_testkit::relay::Addresses;

fn main() -> io::Result<()> {
    let addresses = Addresses::from_arguments()?;
    http::runtime()?.block_on(serve(addresses))
}

async fn serve(addresses: Addresses) -> io::Result<()> {
    let listener = http::listen(addresses.listen).await?;
    loop {
        let mut client = http::accept(&listener).await?;
        tokio::spawn(async move {
            // If the server can't be reached, the client's connection is closed.
            if let Ok(mut upstream) = addresses.connect().await {
                // Either side may disconnect at any time; there is no one to tell.
                let _ = copy_bidirectional(&mut client, &mut upstream).await;
            }
        });
    }
}
