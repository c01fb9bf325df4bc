//! The server that has everything: sampling, elicitation, roots, progress, resources, prompts; over each transport.

use crate::servers::{everything, of_both_eras, record, run_stateless};
use crate::session::{Home, Sdk, parts};
use std::path::PathBuf;
use std::process::Command;

/// How often an unchanged server must be clean.
const TIMES: usize = 10;

fn verify(home: &Home, traces: &[PathBuf], server: &[String]) -> String {
    let words = home.wiretape(&["verify", "--allow-writes"]);
    let mut command = Command::new(&words[0]);
    command.args(&words[1..]).args(traces).args(server);
    command.env("WIRETAPE_DATA_DIR", home.path("data")).current_dir(home.path(""));
    let output = command.output().unwrap();
    let told =
        format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{told}");
    told
}

#[test]
fn over_stdio() {
    check_over_stdio("features", TIMES, &[]);
}

/// Every tool, prompt and resource.
#[test]
fn all_of_it_over_stdio() {
    // Its environment is not what it was when a client started it.
    check_over_stdio("all", 2, &["--only", "!tool:get-env"]);
}

fn check_over_stdio(scenario: &str, times: usize, options: &[&str]) {
    let Some(parts) = parts() else { return };
    let home = Home::new();
    home.record(&parts, Sdk::TypeScript, scenario);
    let command = parts.server_everything();
    let words = std::iter::once(command.get_program()).chain(command.get_args());
    let mut server: Vec<String> = options.iter().chain(&["--"]).map(|word| (*word).to_owned()).collect();
    server.extend(words.map(|word| word.to_str().unwrap().to_owned()));
    for _ in 0..times {
        verify(&home, &[home.trace()], &server);
    }
}

fn check_over(transport: &str, kind: &str, path: &str) {
    let Some(parts) = parts() else { return };
    let home = Home::new();
    let server = everything(&parts, transport);
    record(&home, &server, |at| {
        home.run(&parts, Sdk::TypeScript, kind, &format!("http://{at}{path}"), "features");
    });
    for _ in 0..3 {
        verify(&home, &home.traces(), &["--url".to_owned(), format!("http://{}{path}", server.address())]);
    }
}

#[test]
fn over_streamable_http() {
    check_over("streamableHttp", "streamable", "/mcp");
}

#[test]
fn over_sse() {
    check_over("sse", "sse", "/sse");
}

/// Several round trips, progress, errors; and a trace for each connection.
#[test]
fn of_the_stateless_era() {
    let Some(parts) = parts() else { return };
    let home = Home::new();
    let server = of_both_eras();
    record(&home, &server, |at| run_stateless(&parts, at));
    for _ in 0..3 {
        verify(&home, &home.traces(), &["--url".to_owned(), format!("http://{}/mcp", server.address())]);
    }
}
