//! Who is let in.

use crate::viewer::Viewer;

const TRACE: &str = "view/notes.jsonl";
/// Something that only the trace says.
const SECRET: &str = "desk-assistant";

#[test]
fn only_who_knows_the_token_is_answered() {
    let viewer = Viewer::of_fixture(TRACE);
    let host = format!("Host: 127.0.0.1:{}", viewer.port());
    let wrong = "Authorization: Bearer 00000000000000000000000000000000";
    let halved = format!("Authorization: Bearer {}", &viewer.token[..16]);
    let in_query = format!("/api/home?token={}", viewer.token);
    for (target, headers) in [
        ("/api/home", vec![&*host]),
        ("/api/home", vec![&*host, wrong]),
        ("/api/home", vec![&*host, &*halved]),
        ("/api/home", vec![&*host, "Authorization: Bearer "]),
        ("/api/nothing", vec![&*host]),
        (&*in_query, vec![&*host]),
    ] {
        let answer = viewer.ask_with(target, &headers);
        assert_eq!(answer.status, 401, "{target} {headers:?}");
        assert!(!answer.body.contains(SECRET), "{answer:?}");
    }
    assert!(
        viewer.ask_with("/api/home", &[&host]).json()["hint"].as_str().unwrap().contains("wiretape view")
    );
    assert_eq!(viewer.ask("/api/home").status, 200);
}

#[test]
fn a_name_that_was_rebound_to_this_machine_is_refused() {
    let viewer = Viewer::of_fixture(TRACE);
    let port = viewer.port();
    let token = format!("Authorization: Bearer {}", viewer.token);
    for host in ["evil.example", &format!("evil.example:{port}"), "127.0.0.1", &format!("0.0.0.0:{port}")] {
        for target in ["/", "/app.js", "/api/home"] {
            let answer = viewer.ask_with(target, &[&format!("Host: {host}"), &token]);
            assert_eq!(answer.status, 421, "{host} {target}");
            assert!(!answer.body.contains(SECRET) && !answer.body.contains(&viewer.token));
        }
    }
    assert!(matches!(viewer.ask_with("/api/home", &[&token]).status, 400 | 421));
    assert_eq!(viewer.ask_with("/api/home", &[&format!("Host: localhost:{port}"), &token]).status, 200);
}

#[test]
fn pages_of_other_origins_are_refused_even_with_the_token() {
    let viewer = Viewer::of_fixture(TRACE);
    let host = format!("Host: 127.0.0.1:{}", viewer.port());
    let token = format!("Authorization: Bearer {}", viewer.token);
    for header in [
        "Origin: http://evil.example",
        "Origin: null",
        "Origin: http://127.0.0.1:1",
        "Sec-Fetch-Site: cross-site",
        "Sec-Fetch-Site: same-site",
    ] {
        let answer = viewer.ask_with("/api/home", &[&host, &token, header]);
        assert_eq!(answer.status, 403, "{header}");
        assert!(!answer.head.to_ascii_lowercase().contains("access-control-allow"), "{answer:?}");
    }
    let own = format!("Origin: http://127.0.0.1:{}", viewer.port());
    assert_eq!(viewer.ask_with("/api/home", &[&host, &token, &own]).status, 200);
}

#[test]
fn every_answer_says_what_its_reader_may_do() {
    let viewer = Viewer::of_fixture(TRACE);
    for target in ["/", "/api/home", "/api/nothing", "/nothing"] {
        let head = viewer.ask(target).head.to_ascii_lowercase();
        for header in [
            "content-security-policy: default-src 'none'",
            "x-content-type-options: nosniff",
            "x-frame-options: deny",
            "referrer-policy: no-referrer",
            "cross-origin-resource-policy: same-origin",
            "cache-control: no-store",
        ] {
            assert!(head.contains(header), "{target}: {header} is not in {head}");
        }
    }
    assert!(!viewer.ask("/").body.contains(&viewer.token));
}

/// Every user of a machine can read the command lines of all its processes.
#[test]
#[cfg(target_os = "linux")]
fn the_browser_is_started_without_the_token_in_its_arguments() {
    use std::os::unix::fs::PermissionsExt as _;
    let home = tempfile::tempdir().unwrap();
    let (bin, opened) = (home.path().join("bin"), home.path().join("opened"));
    std::fs::create_dir(&bin).unwrap();
    let script = format!("#!/bin/sh\nprintf '%s\\n' \"$@\" > {0}.new && mv {0}.new {0}\n", opened.display());
    std::fs::write(bin.join("xdg-open"), script).unwrap();
    std::fs::set_permissions(bin.join("xdg-open"), std::fs::Permissions::from_mode(0o755)).unwrap();
    let path = format!("{}:{}", bin.display(), std::env::var("PATH").unwrap());
    let mut viewer = Viewer::started(home, |command| {
        command.env("PATH", path).env("DISPLAY", ":99").env_remove("WAYLAND_DISPLAY").arg("view");
    });
    let argument = viewer.wait_for_file(&opened);
    assert!(!argument.contains(&viewer.token), "{argument}");
    let redirect = std::path::PathBuf::from(argument.trim());
    let page = std::fs::read_to_string(&redirect).unwrap();
    assert!(
        page.contains(&format!("url=http://127.0.0.1:{}/#token={}", viewer.port(), viewer.token)),
        "{page}"
    );
    assert_eq!(redirect.metadata().unwrap().permissions().mode() & 0o777, 0o600);
    viewer.end_by(15);
    assert!(!redirect.exists(), "it is deleted with the server");
}
