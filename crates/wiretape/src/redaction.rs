//! The redactor of this installation: the user's rules, and the key that makes equal secrets recognizable by equal
//! markers. What is secret, and how it is replaced, is decided in `wiretape_trace::redact`; this module adds the
//! files.

use crate::config::RedactConfig;
use crate::error::CommandError;
use crate::{dirs, output};
use std::borrow::Cow;
use std::fs;
use std::io::{self, Read as _, Write as _};
use std::path::{Path, PathBuf};
use wiretape_library::private;
use wiretape_trace::format::{Meta, Record, parse_line};
use wiretape_trace::json::{Lexer, SyntaxError, Token};
use wiretape_trace::redact::{LineState, RedactionKey, Redactor, SecretMemory};
use wiretape_trace::splice::{Edit, splice};

/// The key's file in the data directory.
const KEY_FILE: &str = "redaction.key";

/// Builds the redactor from the configuration and the command line.
pub(crate) fn redactor(config: RedactConfig, patterns: &[String]) -> Result<Redactor, CommandError> {
    // The rules come first: an error in them must not leave a new key behind.
    let rules = config.rules(patterns).compile();
    let rules = rules
        .map_err(|error| CommandError::usage(error).hint("see docs/redaction.md for rules and patterns"))?;
    Ok(rules.with_key(&installation_key()?))
}

/// Redacts the lines of a trace again, in order: `wiretape redact` and the report use it.
pub(crate) struct TraceRedaction<'r> {
    redactor: &'r Redactor,
    /// Values that were secret by their name earlier in the trace.
    memory: SecretMemory,
    stderr: LineState,
}

impl<'r> TraceRedaction<'r> {
    pub(crate) fn new(redactor: &'r Redactor) -> Self {
        TraceRedaction { redactor, memory: SecretMemory::default(), stderr: LineState::default() }
    }

    /// To redact the same lines a second time, with all secrets that the first pass has learned.
    pub(crate) fn restarted(self) -> Self {
        TraceRedaction { stderr: LineState::default(), ..self }
    }

    /// The next line, redacted. A line that is not JSON is redacted as text.
    pub(crate) fn line<'l>(&mut self, line: &'l [u8]) -> Cow<'l, [u8]> {
        // First, because a key that spans lines is only recognized by its unredacted first line.
        if let Record::Stderr(stderr) = parse_line(line) {
            let text = stderr.text.as_bytes();
            let clean = self.redactor.line(text, &mut self.stderr, Some(&self.memory));
            if clean != text {
                let line = with_text(line, &clean);
                return Cow::Owned(self.json(&line).into_owned());
            }
        }
        self.json(line)
    }

    /// The `meta` of an earlier line, redacted again with the secrets that later lines have named. `None` if it can't be
    /// redacted.
    pub(crate) fn redact_meta(&self, meta: &Meta) -> Option<Meta> {
        let line = serde_json::to_vec(meta).ok()?;
        match parse_line(&self.json(&line)) {
            Record::Meta(meta) => Some(*meta),
            _ => None,
        }
    }

    /// JSON from an earlier line, redacted again with the secrets that later lines have named.
    pub(crate) fn redact_json(&self, json: &str) -> String {
        let clean = self.redactor.json_with(json.as_bytes(), &self.memory);
        let clean = clean.unwrap_or_else(|_| self.redactor.text_with(json.as_bytes(), &self.memory));
        String::from_utf8_lossy(&clean).into_owned()
    }

    fn json<'l>(&self, line: &'l [u8]) -> Cow<'l, [u8]> {
        // A torn or damaged line may still hold a secret.
        let Ok(clean) = self.redactor.json_with(line, &self.memory) else {
            return self.redactor.text_with(line, &self.memory);
        };
        let meta = match parse_line(&clean) {
            Record::Meta(meta) => self.meta(*meta, &clean),
            _ => None,
        };
        meta.map_or(clean, Cow::Owned)
    }

    /// The first line, if its command contains a secret or it doesn't say yet that the trace is redacted.
    fn meta(&self, mut meta: Meta, line: &[u8]) -> Option<Vec<u8>> {
        let command = self.redactor.command_with(&meta.command, &self.memory);
        if command == meta.command && meta.redacted == Some(true) {
            return None;
        }
        // The arguments of a command are redacted by rules of their own (`--token VALUE`), which need the whole list.
        meta.command = command;
        meta.redacted = Some(true);
        // Cannot fail for a record that was just parsed; the line redacted as JSON is the safe fallback.
        serde_json::to_vec(&meta).ok().or_else(|| Some(line.to_vec()))
    }
}

/// A line with another `text`. The other members stay as they are and in their order, which readers of the format rely on.
fn with_text(line: &[u8], text: &[u8]) -> Vec<u8> {
    spliced(line, text).unwrap_or_else(|_| line.to_vec())
}

fn spliced(line: &[u8], text: &[u8]) -> Result<Vec<u8>, SyntaxError> {
    let mut lexer = Lexer::new(line);
    let mut edits: Vec<Edit> = Vec::new();
    // Past the brace.
    let mut end = lexer.next_token()?.map_or(0, |brace| brace.end);
    let mut is_any_kept = false;
    while let Some(name) = lexer.next_token()?.filter(|lexeme| lexeme.token == Token::Key) {
        let Some(value) = lexer.next_token()? else { break };
        let before = std::mem::replace(&mut end, lexer.finish_value(value)?);
        if name.text(line).is("base64") {
            // A second copy of the same bytes, which was not redacted. Removed with the comma before it, or, if all members
            // before it are removed, with the one after it. That comma is then already part of the edit before.
            let start = edits.last().map_or(before, |(last, _)| before.max(last.end));
            let comma = if is_any_kept { None } else { comma_at(line, end) };
            edits.push((start..comma.map_or(end, |comma| comma + 1), Vec::new()));
            continue;
        }
        is_any_kept = true;
        if name.text(line).is("text") {
            let text = serde_json::to_vec(&String::from_utf8_lossy(text)).unwrap_or_default();
            edits.push((value.start..end, text));
        }
    }
    Ok(splice(line, &edits))
}

/// The offset of a comma that follows `end`, directly or after white space.
fn comma_at(line: &[u8], end: usize) -> Option<usize> {
    let blanks = line.get(end..)?.iter().take_while(|byte| byte.is_ascii_whitespace()).count();
    Some(end + blanks).filter(|at| line.get(*at) == Some(&b','))
}

/// The key of this installation, created on first use. If it can't be stored, a temporary key for this process.
fn installation_key() -> Result<RedactionKey, CommandError> {
    let path = dirs::data_dir()?.join(KEY_FILE);
    match read_or_create(&path) {
        Ok(key) => Ok(key),
        Err(error) => {
            output::warn(format!(
                "can't store the redaction key in {}: {error}; markers of equal secrets will differ between traces",
                path.display()
            ));
            // Secrets are redacted with any key; a stored one only makes markers comparable between traces.
            random_key()
                .map_err(|error| CommandError::because("can't get random numbers from the system", error))
        }
    }
}

fn read_or_create(path: &Path) -> io::Result<RedactionKey> {
    match read(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => create(path),
        other => other,
    }
}

fn read(path: &Path) -> io::Result<RedactionKey> {
    let mut file = fs::File::open(path)?;
    if !private::is_private(&file)? {
        output::warn(format!(
            "{} can be read by other users, who can then guess short secrets from their markers; run `chmod 600` on it, or \
             delete it for a new key",
            path.display()
        ));
    }
    let mut bytes = Vec::new();
    file.read_to_end(&mut bytes)?;
    // A damaged key is not replaced: all markers would change without notice.
    let key = <[u8; 32]>::try_from(&bytes[..])
        .map_err(|_| io::Error::other("the key file is not 32 bytes long"))?;
    Ok(RedactionKey::new(key))
}

/// Writes the key to a temporary file and links it into place, so that two recorders started at once agree on one
/// key, and neither reads half of it.
fn create(path: &Path) -> io::Result<RedactionKey> {
    let dir = path.parent().unwrap_or(Path::new("."));
    private::create_dir(dir)?;
    let draft = PathBuf::from(format!("{}.{}", path.display(), std::process::id()));
    // A hard link, unlike a rename, fails if the destination exists: the first recorder wins, and the other reads its
    // key.
    let linked = write_draft(&draft).and_then(|()| fs::hard_link(&draft, path));
    // If the draft can't be removed, it is a harmless leftover with the same permissions.
    let _ = fs::remove_file(&draft);
    match linked {
        Ok(()) => read(path),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => read(path),
        Err(error) => Err(error),
    }
}

fn write_draft(draft: &Path) -> io::Result<()> {
    private::create_file(draft)?.write_all(&random_bytes()?)
}

fn random_key() -> io::Result<RedactionKey> {
    random_bytes().map(RedactionKey::new)
}

fn random_bytes() -> io::Result<[u8; 32]> {
    let mut bytes = [0; 32];
    getrandom::fill(&mut bytes).map_err(io::Error::other)?;
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use wiretape_trace::redact::Rules;

    fn marker(key: &RedactionKey) -> Vec<u8> {
        Redactor::new(&Rules::default(), key).unwrap().json(br#"{"password":"x"}"#).unwrap().into_owned()
    }

    #[test]
    fn the_key_is_made_once_and_only_its_owner_may_read_it() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("new").join(KEY_FILE);
        let first = marker(&read_or_create(&path).unwrap());
        assert_eq!(first, marker(&read_or_create(&path).unwrap()));
        assert_eq!(fs::read_dir(path.parent().unwrap()).unwrap().count(), 1);
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt as _;
            assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        }
    }

    #[test]
    fn a_damaged_key_is_an_error_and_is_not_overwritten() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join(KEY_FILE);
        fs::write(&path, "short").unwrap();
        assert!(read_or_create(&path).is_err());
        assert_eq!(fs::read(&path).unwrap(), b"short");
    }

    #[test]
    fn a_line_without_its_base64_is_still_json() {
        for (line, expected) in [
            (r#"{"base64":"QQ==","type":"stderr","text":"a"}"#, r#"{"type":"stderr","text":"b"}"#),
            (r#"{"type":"stderr","base64":"QQ==","text":"a"}"#, r#"{"type":"stderr","text":"b"}"#),
            (r#"{"type":"stderr","text":"a" , "base64":"QQ==" }"#, r#"{"type":"stderr","text":"b" }"#),
            (r#"{"base64":"QQ==" ,"type":"stderr","text":"a"}"#, r#"{"type":"stderr","text":"b"}"#),
            (r#" { "base64":"QQ==","type":"stderr","text":"a"}"#, r#" {"type":"stderr","text":"b"}"#),
            (r#"{"base64":"","base64":"","type":"stderr","text":"a"}"#, r#"{"type":"stderr","text":"b"}"#),
            (r#"{"base64":"" , "base64":"" , "text":"a","base64":""}"#, r#"{ "text":"b"}"#),
            (r#"{"base64":"","text":"a","base64":"","base64":"","x":1}"#, r#"{"text":"b","x":1}"#),
            (r#"{"base64":"","base64":""}"#, "{}"),
        ] {
            let clean = String::from_utf8(spliced(line.as_bytes(), b"b").unwrap()).unwrap();
            assert_eq!(clean, expected, "{line}");
            assert!(serde_json::from_str::<serde_json::Value>(&clean).is_ok(), "{clean}");
        }
    }

    #[test]
    fn repeated_base64_members_do_not_stop_the_redaction() {
        let redactor = Redactor::new(&Rules::default(), &RedactionKey::new([7; 32])).unwrap();
        let line = br#"{"base64":"","base64":"","type":"stderr","text":"password=hunter2hunter2"}"#;
        let clean = String::from_utf8(TraceRedaction::new(&redactor).line(line).into_owned()).unwrap();
        assert!(clean.starts_with(r#"{"type":"stderr","text":"password=[REDACTED"#), "{clean}");
    }

    #[test]
    fn no_part_of_a_line_keeps_its_secrets() {
        let redactor = Redactor::new(&Rules::default(), &RedactionKey::new([7; 32])).unwrap();
        for line in [
            r#"{"v":1,"type":"meta","label":"a","command":["srv","--password","hunter2hunter2"]}"#,
            r#"{"dir":"in","raw":{"jsonrpc":"2.0","id":1,"method":"login","params":{"password":"hunter2hunter2"}}}"#,
            r#"{"type":"http","http":{"x":1,"request":{"headers":{"authorization":"Bearer hunter2hunter2"}}}}"#,
            r#"{"type":"stderr","text":"Authorization: Bearer hunter2hunter2"}"#,
            r#"{"dir":"in","raw":{"password":"hunter2hunter2""#,
        ] {
            let clean =
                String::from_utf8(TraceRedaction::new(&redactor).line(line.as_bytes()).into_owned()).unwrap();
            assert!(!clean.contains("hunter2"), "{clean}");
        }
    }
}
