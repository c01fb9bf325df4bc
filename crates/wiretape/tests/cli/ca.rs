use crate::environment::TestEnvironment;
use std::fs;

fn run(env: &TestEnvironment, args: &[&str]) -> String {
    env.run(&[&["ca"], args].concat())
}

/// Checks with what differs every time hidden.
#[cfg(unix)]
fn filtered(check: impl FnOnce()) {
    let mut settings = insta::Settings::clone_current();
    settings.add_filter(r"([0-9A-F]{2}:){31}[0-9A-F]{2}", "[FINGERPRINT]");
    settings.add_filter(r"ca-[0-9a-f]{8}\.pem", "ca-[MARK].pem");
    settings.add_filter(r"\d{4}-\d\d-\d\d(T[\d:.]+Z)?", "[DATE]");
    settings.bind(check);
}

#[cfg(unix)]
fn fingerprint(told: &str) -> String {
    told.lines().find(|line| line.starts_with("SHA-256")).unwrap().to_owned()
}

/// The shell's quoting, and so the output, differs on Windows.
#[cfg(unix)]
#[test]
fn it_is_made_once_and_explained() {
    let env = TestEnvironment::new();
    let made = run(&env, &[]);
    let found = run(&env, &[]);
    filtered(|| insta::assert_snapshot!("ca-made", made));
    filtered(|| insta::assert_snapshot!("ca-json", run(&env, &["--json"])));
    assert_eq!(fingerprint(&made), fingerprint(&found));
    assert!(!found.contains("created a new certificate"), "{found}");

    let renewed = run(&env, &["--renew"]);
    assert_ne!(fingerprint(&made), fingerprint(&renewed));
    filtered(|| insta::assert_snapshot!("ca-renewed", renewed));
    filtered(|| insta::assert_snapshot!("ca-renewed-json", run(&env, &["--renew", "--json"])));
}

#[test]
fn the_certificate_can_be_printed_and_the_key_never_is() {
    let env = TestEnvironment::new();
    let print = || env.command(&["ca", "--print"]).output().unwrap();
    let first = print();
    let pem = fs::read(env.data_dir().join("ca").join("ca.pem")).unwrap();
    assert_eq!(first.stdout, pem);
    assert_eq!(env.redact(&first.stderr), "note: created a new certificate\n");
    let second = print();
    assert_eq!((second.stdout, second.stderr), (pem, Vec::new()));
    for args in [&[][..], &["--print"], &["--json"], &["--renew"]] {
        assert!(!run(&env, args).contains("PRIVATE KEY"), "{args:?}");
    }
}

#[test]
fn it_can_be_limited_to_hosts() {
    let env = TestEnvironment::new();
    let only = ["--only", "MCP.example.com", "--only", "127.0.0.1"];
    let told = run(&env, &only);
    assert!(told.contains("for          mcp.example.com, 127.0.0.1\n"), "{told}");
    assert!(run(&env, &only).ends_with("--- exit 0 ---\n"));
    assert!(run(&env, &["--json"]).contains(r#""only": ["#));
    let refused = [run(&env, &["--only", "example.org"]), run(&env, &["--only", "*.example.org"])];
    insta::assert_snapshot!("ca-other-limits", refused.join("\n"));
    assert!(run(&env, &["--renew"]).contains("for          mcp.example.com, 127.0.0.1\n"));
    assert!(run(&env, &["--renew", "--only", "example.org"]).contains("for          example.org\n"));
}

#[cfg(unix)]
#[test]
fn what_is_wrong_with_it_is_said_with_the_way_out() {
    use std::os::unix::fs::PermissionsExt as _;
    let env = TestEnvironment::new();
    run(&env, &[]);
    let dir = env.data_dir().join("ca");
    fs::set_permissions(dir.join("ca-key.pem"), fs::Permissions::from_mode(0o644)).unwrap();
    let open = run(&env, &[]);
    fs::remove_file(dir.join("ca-key.pem")).unwrap();
    let incomplete = run(&env, &[]);
    insta::assert_snapshot!("ca-wrong", [open, incomplete].join("\n"));
    assert!(run(&env, &["--renew"]).ends_with("--- exit 0 ---\n"));
    assert!(run(&env, &[]).ends_with("--- exit 0 ---\n"));
}
