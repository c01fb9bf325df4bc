//! Names for traces: a label from a server's command line, and a file name from a label and a time.
//!
//! A command line names launchers, options and paths; people recognize the server. The label is only a
//! default that a user can override, so this is a list of heuristics and never fails.

/// The longest label, in characters: it is part of a file name, with the time and a suffix.
const MAX_LABEL: usize = 64;

/// File names that say nothing about the server; the directory's name is used instead.
const GENERIC: &[&str] = &[
    "index", "main", "server", "cli", "app", "run", "start", "mod", "__main__", "dist", "build", "src",
    "bin", "lib", "out",
];

/// Options of launchers that take the next word as their value. Not complete: containers have many, and these
/// are in use.
const VALUE_OPTIONS: &[&str] = &[
    "-e",
    "--env",
    "--env-file",
    "-v",
    "--volume",
    "--mount",
    "--name",
    "-w",
    "--workdir",
    "--network",
    "--net",
    "-u",
    "--user",
    "--entrypoint",
    "-l",
    "--label",
    "--platform",
    "--add-host",
    "--with",
    "--python",
    "--directory",
    "--project",
    "--index-url",
    "--registry",
    "--loader",
    "--import",
    "-r",
    "--require",
    "-X",
    "-W",
];

/// A short name for the server that a command starts: `server-filesystem` for
/// `npx -y @modelcontextprotocol/server-filesystem /home/me`.
pub fn label_of(command: &[String]) -> String {
    let words: Vec<&str> = command.iter().map(String::as_str).collect();
    let label = clean_label(&server_name(&words));
    if label.is_empty() { "server".to_owned() } else { label }
}

/// Reduces a text to letters, digits, `_` and `-`, at most 64 of them.
pub fn clean_label(text: &str) -> String {
    let mut label = String::new();
    for c in text.chars() {
        let c = if c.is_ascii_alphanumeric() || c == '_' { c } else { '-' };
        if c != '-' || !label.ends_with('-') {
            label.push(c);
        }
        if label.len() == MAX_LABEL {
            break;
        }
    }
    label.trim_matches('-').to_owned()
}

/// The stem of a trace's file name: its start time and its label. `:` and `.` become `-`, because Windows
/// does not allow colons.
pub fn file_stem(started_at: &str, label: &str) -> String {
    format!("{}-{label}", started_at.replace([':', '.'], "-"))
}

fn server_name(words: &[&str]) -> String {
    let Some((&program, rest)) = words.split_first() else { return String::new() };
    let program = stem(program).to_ascii_lowercase();
    // Launchers say nothing about the server; what they launch does.
    let found = match program.as_str() {
        "npx" | "bunx" | "pnpx" | "uvx" => package(rest),
        "npm" | "pnpm" | "yarn" | "bun" | "uv" | "pipx" | "deno" | "go" | "cargo" => after_subcommand(rest),
        "docker" | "podman" | "nerdctl" => after_subcommand(rest).map(|image| image_name(&image)),
        "node" | "nodejs" | "tsx" | "ts-node" | "ruby" | "perl" | "php" => first_plain(rest).map(script_name),
        "java" => option_value(rest, "-jar").or_else(|| first_plain(rest)).map(script_name),
        "sh" | "bash" | "zsh" | "dash" | "fish" => shell_command(rest, "-c"),
        "cmd" => shell_command(rest, "/c").or_else(|| shell_command(rest, "/C")),
        "env" | "sudo" | "nohup" | "exec" | "time" => wrapped(rest),
        _ if is_python(&program) => python_name(rest),
        _ => None,
    };
    found.filter(|name| !name.is_empty()).unwrap_or_else(|| script_name(words[0]))
}

fn is_python(program: &str) -> bool {
    let version = program.strip_prefix("python").or_else(|| program.strip_prefix("pypy"));
    program == "py" || version.is_some_and(|version| version.chars().all(|c| c.is_ascii_digit() || c == '.'))
}

fn python_name(words: &[&str]) -> Option<String> {
    match option_value(words, "-m") {
        Some(module) => Some(module.split('.').next().unwrap_or(module).to_owned()),
        None => first_plain(words).map(script_name),
    }
}

/// The package that `npx` and similar launchers run: the value of an option, or the first word.
fn package(words: &[&str]) -> Option<String> {
    let named = ["-p", "--package", "--from"].into_iter().find_map(|option| option_value(words, option));
    named.or_else(|| first_plain(words)).map(package_name)
}

/// Reduces `@scope/name@version` and `name==version` to `name`, and a path or URL to its last part.
fn package_name(package: &str) -> String {
    let after_scope = match package.strip_prefix('@').and_then(|rest| rest.split_once('/')) {
        Some((_, name)) => name,
        None => package,
    };
    let name = after_scope.split(['@', '=', '[', '>', '<', '~', '#']).next().unwrap_or(after_scope);
    if name.is_empty() || name.contains(['/', '\\', ':']) {
        script_name(after_scope)
    } else {
        stem(name).to_owned()
    }
}

fn image_name(image: &str) -> String {
    let last = image.rsplit('/').next().unwrap_or(image);
    last.split([':', '@']).next().unwrap_or(last).to_owned()
}

/// What `npm exec`, `uv tool run`, `docker run` and similar commands run.
fn after_subcommand(words: &[&str]) -> Option<String> {
    let known = ["exec", "x", "dlx", "run", "tool", "compose", "container"];
    let mut rest = words;
    let mut subcommands = 0;
    while let Some((first, others)) = rest.split_first() {
        if first.starts_with('-') {
            rest = after_option(rest);
        } else if subcommands < 2 && known.contains(first) {
            subcommands += 1;
            rest = others;
        } else {
            break;
        }
    }
    let first = *rest.first()?;
    // `docker run image node x.js` and `uv run python x.py` launch another launcher.
    let nested =
        is_python(&stem(first).to_ascii_lowercase()) || matches!(stem(first), "node" | "npx" | "uvx");
    Some(if nested { server_name(rest) } else { package_name(first) })
}

fn after_option<'a, 'w>(words: &'a [&'w str]) -> &'a [&'w str] {
    // An unknown option is taken to have no value: better a wrong label than skipping the package's name.
    let skip = if VALUE_OPTIONS.contains(&words[0]) { 2 } else { 1 };
    &words[skip.min(words.len())..]
}

/// The first word that is neither an option nor an option's value.
fn first_plain<'w>(words: &[&'w str]) -> Option<&'w str> {
    let mut rest = words;
    while rest.first()?.starts_with('-') {
        rest = after_option(rest);
    }
    rest.first().copied()
}

fn option_value<'w>(words: &[&'w str], option: &str) -> Option<&'w str> {
    let at = words.iter().position(|word| *word == option)?;
    words.get(at + 1).copied()
}

fn shell_command(words: &[&str], option: &str) -> Option<String> {
    let at = words.iter().position(|word| *word == option)?;
    let line = words[at + 1..].join(" ");
    let inner: Vec<&str> = line.split_whitespace().collect();
    Some(wrapped(&inner).unwrap_or_default())
}

/// The name of the command after assignments and options, as in `env A=1 node x.js`.
fn wrapped(words: &[&str]) -> Option<String> {
    let start =
        words.iter().position(|word| !word.starts_with('-') && !word.contains('=') && *word != "exec")?;
    Some(server_name(&words[start..]))
}

/// A file's name, or that of the nearest directory whose name is not generic, as in `weather/dist/index.js`.
fn script_name(path: &str) -> String {
    let mut parts: Vec<&str> =
        path.split(['/', '\\']).filter(|part| !part.is_empty() && *part != ".").collect();
    let last = stem(parts.pop().unwrap_or_default());
    if !GENERIC.contains(&last.to_ascii_lowercase().as_str()) {
        return last.to_owned();
    }
    let telling = parts
        .iter()
        .rev()
        .find(|part| !GENERIC.contains(&part.to_ascii_lowercase().as_str()) && **part != "..");
    telling.map_or(last, |part| part.trim_end_matches(':')).to_owned()
}

/// A file name without its folder and without an extension of programs.
fn stem(path: &str) -> &str {
    let name = path.rsplit(['/', '\\']).next().unwrap_or(path);
    match name.rsplit_once('.') {
        Some((stem, extension)) if is_program_extension(extension) && !stem.is_empty() => stem,
        _ => name,
    }
}

fn is_program_extension(extension: &str) -> bool {
    let known = ["exe", "cmd", "bat", "ps1", "js", "mjs", "cjs", "ts", "py", "rb", "pl", "php", "sh", "jar"];
    known.contains(&extension.to_ascii_lowercase().as_str())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_name_the_server_and_not_its_launcher() {
        for (command, label) in [
            ("npx -y @modelcontextprotocol/server-filesystem /home/me", "server-filesystem"),
            ("npx --yes mcp-remote@1.2.3 https://x", "mcp-remote"),
            ("npx -p @acme/tools@latest acme-mcp", "tools"),
            ("C:\\nodejs\\npx.cmd -y server-memory", "server-memory"),
            ("uvx mcp-server-time --local-timezone UTC", "mcp-server-time"),
            ("uvx --from git+https://x.dev/acme/thing thing", "thing"),
            ("uvx --python 3.12 mcp-server-git==1.0", "mcp-server-git"),
            ("uv --directory /x run server.py", "server"),
            ("uv run --with mcp python -m acme.server", "acme"),
            ("uv tool run mcp-server-fetch", "mcp-server-fetch"),
            ("pnpm dlx server-everything stdio", "server-everything"),
            ("python3.11 -u -m mcp_server_time", "mcp_server_time"),
            ("/opt/venv/bin/python /srv/weather/main.py", "weather"),
            ("node /home/me/acme-mcp/dist/index.js --stdio", "acme-mcp"),
            ("node --import tsx ./src/tools.ts", "tools"),
            ("docker run -i --rm -e TOKEN=x ghcr.io/github/github-mcp-server:1.2", "github-mcp-server"),
            ("java -Xmx1g -jar /x/weather-1.0.jar", "weather-1-0"),
            ("sh -c 'x'", "x"),
            ("bash -lc foo", "bash"),
            ("env A=1 B=2 my-server --x", "my-server"),
            ("/usr/local/bin/my server", "my"),
            ("deno run -A jsr:@acme/mcp", "mcp"),
            ("cat", "cat"),
            ("", "server"),
            ("…", "server"),
        ] {
            let words: Vec<String> = command.split(' ').map(|w| w.replace('\'', "")).collect();
            assert_eq!(label_of(&words), label, "{command}");
        }
        let shell = ["sh", "-c", "FOO=1 exec npx -y @a/b-server /x"].map(str::to_owned);
        assert_eq!(label_of(&shell), "b-server");
    }

    #[test]
    fn labels_are_safe_in_file_names() {
        assert_eq!(clean_label("../../etc/passwd"), "etc-passwd");
        assert_eq!(clean_label(&"x".repeat(200)).len(), MAX_LABEL);
        assert_eq!(file_stem("2026-05-12T23:00:00.123Z", "fs"), "2026-05-12T23-00-00-123Z-fs");
    }
}
