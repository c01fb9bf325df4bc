use crate::environment::TestEnvironment;

#[test]
fn calls_are_counted_by_tool() {
    let env = TestEnvironment::new();
    env.trace("a.jsonl", "aaaa", 0);
    env.trace("b.jsonl", "bbbb", 60);
    insta::assert_snapshot!("stats", env.run(&["stats", "latest"]));
    insta::assert_snapshot!("stats-two", env.run(&["stats", "aaaa", "bbbb"]));
    insta::assert_snapshot!("stats-json", env.run(&["stats", "--json", "aaaa", "bbbb"]));
}

#[test]
fn a_call_may_begin_in_one_part_and_end_in_the_next() {
    let env = TestEnvironment::new();
    env.file("wiretape-part-1.jsonl", include_str!("../../../../fixtures/traces/wiretape-part-1.jsonl"));
    env.file("wiretape-part-2.jsonl", include_str!("../../../../fixtures/traces/wiretape-part-2.jsonl"));
    let (one, two) = ("traces/wiretape-part-1.jsonl", "traces/wiretape-part-2.jsonl");
    insta::assert_snapshot!("stats-parts", env.run(&["stats", one, two]));
    insta::assert_snapshot!("stats-part-alone", env.run(&["stats", one]));
    insta::assert_snapshot!("stats-nothing", env.run(&["stats", two]));
}
