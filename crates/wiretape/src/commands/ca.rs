//! `wiretape ca`: the certificate that clients have to trust before the proxy can look into TLS.

use crate::error::CommandError;
use crate::output::{self, Output};
use crate::{dirs, units};
use clap::Args;
use serde::Serialize;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::time::SystemTime;
use wiretape_proxy::http::ca::{CaError, CertificateAuthority, Host, KEY_FILE, Scope};

/// Make the certificate that lets the proxy look into TLS, and say how to trust it
///
/// `wiretape proxy --forward --intercept` stands in for the servers that your clients talk to. Clients accept that only
/// if they trust the certificate that this command makes, once, in the folder `ca` of your data directory. Trust it only
/// where you need it, and keep the key that lies beside it to yourself: who has it can pretend to be any server to
/// those clients.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  wiretape ca                           make it if there is none, and say how to trust it
  wiretape ca --only mcp.example.com    make one that is good for this host only
  wiretape ca --print > ca.pem          the certificate, to be taken elsewhere
  wiretape ca --renew                   make a new one; clients have to trust it anew")]
pub(crate) struct CaArgs {
    /// Print the certificate in PEM, and nothing else
    #[arg(long, conflicts_with = "json")]
    print: bool,

    /// Make a new one. The old key is deleted; the old certificate is kept, so that you find it in trust stores
    #[arg(long)]
    renew: bool,

    /// Make one that is good for this host, and those below it, only (can be repeated). Clients hold to it
    #[arg(long, value_name = "HOST")]
    only: Vec<Host>,

    /// Print one JSON object (schema: docs/json-output.md)
    #[arg(long)]
    json: bool,
}

/// Runs the command.
pub(crate) fn run(args: &CaArgs) -> Result<(), CommandError> {
    let dir = dirs::ca_dir()?;
    let now = SystemTime::now();
    let scope = (!args.only.is_empty()).then(|| Scope::Only(args.only.clone()));
    let found = if args.renew { renew(&dir, scope, now) } else { find_or_make(&dir, scope, now) }?;
    if !found.authority.validity().contains(now) {
        output::warn("the certificate is not valid at this time; `wiretape ca --renew` makes a new one");
    }
    if args.print {
        tell_change(&found);
        let mut out = output::machine_stdout();
        out.write_all(found.authority.pem().as_bytes())?;
        return Ok(out.flush()?);
    }
    if args.json {
        return Ok(print_json(&found)?);
    }
    tell_change(&found);
    Ok(print(&found.authority)?)
}

/// Says what failed, and what to do about it.
pub(crate) fn explain(error: CaError) -> CommandError {
    let hint = match error {
        CaError::NotFound { .. } => "`wiretape ca` makes one, and says how clients come to trust it",
        CaError::KeyIsOpen { .. } => {
            "`wiretape ca --renew` makes a new one, should somebody have read it; clients have to trust it anew"
        }
        CaError::Incomplete { .. }
        | CaError::Damaged { .. }
        | CaError::Mismatch { .. }
        | CaError::NotValidNow => "`wiretape ca --renew` makes a new one; clients have to trust it anew",
        _ => return CommandError::failure(error),
    };
    CommandError::failure(error).hint(hint)
}

/// An authority, and how it came.
struct Found {
    authority: CertificateAuthority,
    state: State,
    /// Where the one before is kept.
    retired: Option<PathBuf>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
enum State {
    /// It was there.
    Found,
    /// There was none.
    Made,
    /// It is in the place of another.
    Renewed,
}

fn find_or_make(dir: &Path, scope: Option<Scope>, now: SystemTime) -> Result<Found, CommandError> {
    let authority = match CertificateAuthority::load(dir) {
        Err(CaError::NotFound { .. }) => {
            let scope = scope.unwrap_or_default();
            let authority = CertificateAuthority::create(dir, &scope, now).map_err(explain)?;
            return Ok(Found { authority, state: State::Made, retired: None });
        }
        other => other.map_err(explain)?,
    };
    match scope {
        Some(scope) if scope != *authority.scope() => Err(CommandError::usage(format!(
            "there is a certificate already, for {}, and its limits can't be changed",
            describe_scope(authority.scope())
        ))
        .hint("add --renew to make a new one in its place; clients have to trust it anew")),
        _ => Ok(Found { authority, state: State::Found, retired: None }),
    }
}

fn renew(dir: &Path, scope: Option<Scope>, now: SystemTime) -> Result<Found, CommandError> {
    let (authority, retired) = CertificateAuthority::renew(dir, scope, now).map_err(explain)?;
    Ok(Found { authority, state: State::Renewed, retired })
}

/// Beside the output, for that may be the certificate itself.
fn tell_change(found: &Found) {
    match found.state {
        State::Found => {}
        State::Made => output::note("made a new certificate"),
        State::Renewed => {
            output::note("made a new certificate; a proxy that is running uses the old one until it ends");
            if let Some(retired) = &found.retired {
                output::note(format!(
                    "the old certificate is {}: take it out of where it is trusted",
                    retired.display()
                ));
            }
        }
    }
}

fn print(authority: &CertificateAuthority) -> io::Result<()> {
    let mut out = Output::stdout();
    let styles = out.styles;
    let path = authority.certificate_path();
    let validity = authority.validity();
    let rows = [
        ("certificate", path.display().to_string()),
        ("SHA-256", authority.fingerprint()),
        (
            "valid",
            format!("{} to {}", units::date(ms(validity.not_before)), units::date(ms(validity.not_after))),
        ),
        ("for", describe_scope(authority.scope())),
    ];
    for (name, value) in rows {
        writeln!(out, "{}  {value}", styles.dim.paint(format!("{name:<11}")))?;
    }
    writeln!(out, "\n{}", styles.strong.paint("To make a client trust it, where it is started:"))?;
    for (client, command) in instructions(&path) {
        writeln!(out, "  {client:<16}  {}", styles.name.paint(command))?;
    }
    writeln!(
        out,
        "\nSSL_CERT_FILE and REQUESTS_CA_BUNDLE take the place of all other certificates: the client then\n\
         trusts no server that it reaches without the proxy.\n\
         Keep {KEY_FILE}, which lies beside it, to yourself."
    )?;
    out.flush()
}

/// How clients of different kinds are told to trust a certificate.
fn instructions(path: &Path) -> [(&'static str, String); 4] {
    let set = |variable: &str| {
        if cfg!(windows) {
            format!("$env:{variable} = {}", quoted(path))
        } else {
            format!("export {variable}={}", quoted(path))
        }
    };
    [
        ("Node.js, Bun", set("NODE_EXTRA_CA_CERTS")),
        ("Python requests", set("REQUESTS_CA_BUNDLE")),
        ("Python, Go, Rust", set("SSL_CERT_FILE")),
        ("curl", format!("curl --cacert {}", quoted(path))),
    ]
}

/// A path as a shell takes it for one word.
fn quoted(path: &Path) -> String {
    let path = path.display().to_string();
    let escaped = if cfg!(windows) { path.replace('\'', "''") } else { path.replace('\'', r"'\''") };
    format!("'{escaped}'")
}

fn describe_scope(scope: &Scope) -> String {
    match scope {
        Scope::Anything => "any host".to_owned(),
        Scope::Only(hosts) => hosts.iter().map(ToString::to_string).collect::<Vec<_>>().join(", "),
    }
}

fn ms(time: SystemTime) -> i64 {
    let since = time.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
}

/// The object of `ca --json`.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct CaJson<'a> {
    certificate: PathBuf,
    sha256: String,
    not_before: Option<String>,
    not_after: Option<String>,
    only: Option<Vec<String>>,
    state: State,
    retired: Option<&'a Path>,
}

fn print_json(found: &Found) -> io::Result<()> {
    let validity = found.authority.validity();
    let report = CaJson {
        certificate: found.authority.certificate_path(),
        sha256: found.authority.fingerprint(),
        not_before: units::iso(ms(validity.not_before)),
        not_after: units::iso(ms(validity.not_after)),
        only: match found.authority.scope() {
            Scope::Anything => None,
            Scope::Only(hosts) => Some(hosts.iter().map(ToString::to_string).collect()),
        },
        state: found.state,
        retired: found.retired.as_deref(),
    };
    let mut out = output::machine_stdout();
    serde_json::to_writer_pretty(&mut out, &report)?;
    out.write_all(b"\n")?;
    out.flush()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[cfg(unix)]
    #[test]
    fn paths_are_quoted_for_a_shell() {
        assert_eq!(quoted(Path::new("/home/me/ca.pem")), "'/home/me/ca.pem'");
        assert_eq!(quoted(Path::new("/it's/ca.pem")), r"'/it'\''s/ca.pem'");
    }
}
