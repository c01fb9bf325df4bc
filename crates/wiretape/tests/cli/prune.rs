use crate::environment::TestEnvironment;

fn three_traces() -> TestEnvironment {
    let env = TestEnvironment::new();
    for (name, days) in [("ancient", 90), ("old", 40), ("young", 3)] {
        let file = format!("{name}.jsonl");
        env.trace(&file, name, 0);
        env.age(&file, days);
    }
    env
}

fn left(env: &TestEnvironment) -> Vec<String> {
    let files = std::fs::read_dir(env.path("")).unwrap();
    let mut names: Vec<String> = files.map(|file| file.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

fn check(name: &str, args: &[&str], expected: &[&str]) {
    let env = three_traces();
    let mut settings = insta::Settings::clone_current();
    settings.add_filter(r#""ageSeconds": \d+"#, r#""ageSeconds": [AGE]"#);
    settings.bind(|| insta::assert_snapshot!(name, env.run(&[&["prune"], args].concat())));
    assert_eq!(left(&env), expected, "{args:?}");
}

const ALL: [&str; 3] = ["ancient.jsonl", "old.jsonl", "young.jsonl"];

#[test]
fn nothing_goes_without_a_criterion_or_consent() {
    check("prune-no-criterion", &["--yes"], &ALL);
    check("prune-no-consent", &["--older-than", "30d"], &ALL);
    check("prune-dry-run", &["--older-than", "30d", "--dry-run"], &ALL);
    check("prune-bad-age", &["--older-than", "soon", "--yes"], &ALL);
    check("prune-bad-size", &["--max-total", "lots", "--yes"], &ALL);
}

#[test]
fn old_traces_go() {
    check("prune-by-age", &["--older-than", "30d", "--yes"], &["young.jsonl"]);
    check("prune-by-size", &["--max-total", "4kB", "--yes"], &["old.jsonl", "young.jsonl"]);
    check("prune-nothing", &["--older-than", "1000d", "--yes"], &ALL);
    check("prune-json", &["--older-than", "60d", "--json", "--yes"], &["old.jsonl", "young.jsonl"]);
}

#[test]
fn what_is_no_trace_of_its_own_stays() {
    let env = TestEnvironment::new();
    env.file("rows.jsonl", "{\"id\":1}\n");
    env.file("headless.jsonl", "{\"dir\":\"in\",\"raw\":{}}\n");
    env.file("wiretape-part-2.jsonl", include_str!("../../../../fixtures/traces/wiretape-part-2.jsonl"));
    for name in ["rows.jsonl", "headless.jsonl", "wiretape-part-2.jsonl"] {
        env.age(name, 50);
    }
    insta::assert_snapshot!("prune-spares", env.run(&["prune", "--older-than", "1d", "--yes"]));
    assert_eq!(left(&env), ["headless.jsonl", "rows.jsonl"]);
}

#[test]
fn a_trace_without_end_that_was_written_just_now_may_be_running() {
    let env = TestEnvironment::new();
    env.file("live.jsonl", include_str!("../../../../fixtures/traces/missing-end.jsonl"));
    let told = env.run(&["prune", "--max-total", "0", "--yes"]);
    assert!(told.ends_with("--- exit 0 ---\n"), "{told}");
}
