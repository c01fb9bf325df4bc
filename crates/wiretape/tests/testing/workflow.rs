//! The job for GitHub Actions: its own steps are run one after the other. Those that fetch and install something are not.

use crate::folder::Folder;
use serde::Deserialize;
use std::collections::BTreeMap;
use std::fs;
use std::process::Command;

#[derive(Deserialize)]
struct Workflow {
    jobs: BTreeMap<String, Job>,
}

#[derive(Deserialize)]
struct Job {
    steps: Vec<Step>,
}

#[derive(Deserialize)]
struct Step {
    run: Option<String>,
    #[serde(default)]
    env: BTreeMap<String, String>,
}

/// Reads YAML as JSON.
const READ: &str = "import { readFileSync } from 'node:fs'; import { parse } from 'yaml'; \
    console.log(JSON.stringify(parse(readFileSync(process.argv[1], 'utf8'))))";

fn workflow(folder: &Folder) -> Workflow {
    let mut node = Command::new("node");
    node.args(["--input-type=module", "-e", READ]).arg(folder.path("github-actions.yml"));
    let output = node.current_dir(folder.parts().npm()).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap()
}

#[test]
fn the_steps_of_the_workflow_work() {
    let Some(folder) = Folder::new() else { return };
    let workflow = workflow(&folder);
    let steps = workflow.jobs.values().flat_map(|job| &job.steps);
    let mut run = Vec::new();
    for step in steps {
        let Some(lines) = step.run.as_deref().filter(|lines| !lines.contains(" install ")) else { continue };
        let variables = step.env.iter().map(|(name, value)| (&**name, &**value));
        folder.run_with("", lines, variables).check(0, &[]);
        run.push(lines);
    }
    assert!(run.iter().any(|lines| lines.contains("pytest")), "{run:?}");
    assert!(run.iter().any(|lines| lines.contains("wiretape verify")), "{run:?}");
    for report in ["pytest.xml", "verify.xml", "test_a_server_that_fails.xml"] {
        let text = fs::read_to_string(folder.path("reports").join(report)).unwrap();
        assert!(text.contains("<testsuite"), "{report}: {text}");
    }
}
