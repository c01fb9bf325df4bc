//! `wiretape ca`: the CA certificate for TLS interception.

use crate::error::CommandError;
use crate::output::{self, Output};
use crate::{dirs, units};
use clap::Args;
use serde::Serialize;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::time::SystemTime;
use wiretape_proxy::http::ca::{CaError, CertificateAuthority, Host, KEY_FILE, Scope};

/// Create the CA certificate for TLS interception and print how to trust it
///
/// `wiretape proxy --forward --intercept` presents certificates of its own for the servers that clients connect to. Clients
/// accept them only if they trust the CA certificate that this command creates, once, in `ca` in your data directory.
/// Trust it only where you need it, and keep the private key next to it secret: anyone who has the key can impersonate any
/// server to those clients.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  wiretape ca                           create it if missing, and print how to trust it
  wiretape ca --only mcp.example.com    create one that is valid for this host only
  wiretape ca --print > ca.pem          export the certificate
  wiretape ca --renew                   replace it; clients must trust the new one")]
pub(crate) struct CaArgs {
    /// Print only the certificate, as PEM
    #[arg(long, conflicts_with = "json")]
    print: bool,

    /// Replace the certificate. The old key is deleted; the old certificate is kept, so that you can find it in trust stores
    #[arg(long)]
    renew: bool,

    /// Create a certificate that is valid only for HOST and its subdomains (repeatable); clients enforce this
    #[arg(long, value_name = "HOST")]
    only: Vec<Host>,

    /// Print one JSON object (schema: docs/json-output.md)
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(args: &CaArgs) -> Result<(), CommandError> {
    let dir = dirs::ca_dir()?;
    let now = SystemTime::now();
    let scope = (!args.only.is_empty()).then(|| Scope::Only(args.only.clone()));
    let found = if args.renew { renew(&dir, scope, now) } else { find_or_make(&dir, scope, now) }?;
    if !found.authority.validity().contains(now) {
        output::warn("the certificate is expired or not yet valid; run `wiretape ca --renew` to replace it");
    }
    if args.print {
        report_change(&found);
        let mut out = output::machine_stdout();
        out.write_all(found.authority.pem().as_bytes())?;
        return Ok(out.flush()?);
    }
    if args.json {
        return Ok(print_json(&found)?);
    }
    report_change(&found);
    Ok(print(&found.authority)?)
}

/// Adds hints to errors of the certificate authority.
pub(crate) fn explain(error: CaError) -> CommandError {
    let hint = match error {
        // Hints only where a command fixes it; the other errors are about files and say so themselves.
        CaError::NotFound { .. } => "run `wiretape ca` to create one and see how clients can trust it",
        CaError::KeyIsOpen { .. } => {
            "if the key may have been read, run `wiretape ca --renew` to replace it; clients must trust the new certificate"
        }
        CaError::Incomplete { .. }
        | CaError::Damaged { .. }
        | CaError::Mismatch { .. }
        | CaError::NotValidNow => {
            "run `wiretape ca --renew` to replace it; clients must trust the new certificate"
        }
        _ => return CommandError::failure(error),
    };
    CommandError::failure(error).hint(hint)
}

/// A certificate authority, and how it was obtained.
struct ObtainedAuthority {
    authority: CertificateAuthority,
    state: AuthorityOrigin,
    /// The path of the replaced certificate.
    retired: Option<PathBuf>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
enum AuthorityOrigin {
    Found,
    Made,
    /// It replaced another one.
    Renewed,
}

fn find_or_make(
    dir: &Path,
    scope: Option<Scope>,
    now: SystemTime,
) -> Result<ObtainedAuthority, CommandError> {
    let authority = match CertificateAuthority::load(dir) {
        // Only a missing CA is created. One that is damaged or incomplete may be in trust stores, so replacing it
        // takes --renew.
        Err(CaError::NotFound { .. }) => {
            let scope = scope.unwrap_or_default();
            let authority = CertificateAuthority::create(dir, &scope, now).map_err(explain)?;
            return Ok(ObtainedAuthority { authority, state: AuthorityOrigin::Made, retired: None });
        }
        other => other.map_err(explain)?,
    };
    match scope {
        Some(scope) if scope != *authority.scope() => Err(CommandError::usage(format!(
            "a certificate for {} already exists; its hosts can't be changed",
            describe_scope(authority.scope())
        ))
        .hint("use --renew to replace it; clients must trust the new certificate")),
        _ => Ok(ObtainedAuthority { authority, state: AuthorityOrigin::Found, retired: None }),
    }
}

fn renew(dir: &Path, scope: Option<Scope>, now: SystemTime) -> Result<ObtainedAuthority, CommandError> {
    let (authority, retired) = CertificateAuthority::renew(dir, scope, now).map_err(explain)?;
    Ok(ObtainedAuthority { authority, state: AuthorityOrigin::Renewed, retired })
}

/// On standard error, since standard output may be the certificate itself.
fn report_change(found: &ObtainedAuthority) {
    match found.state {
        AuthorityOrigin::Found => {}
        AuthorityOrigin::Made => output::note("created a new certificate"),
        AuthorityOrigin::Renewed => {
            output::note(
                "created a new certificate; running proxies use the old one until they are restarted",
            );
            if let Some(retired) = &found.retired {
                output::note(format!(
                    "the old certificate is {}: remove it from trust stores",
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
    writeln!(
        out,
        "\n{}",
        styles.strong.paint("To make a client trust it, set this where the client is started:")
    )?;
    for (client, command) in instructions(&path) {
        writeln!(out, "  {client:<16}  {}", styles.name.paint(command))?;
    }
    writeln!(
        out,
        "\nSSL_CERT_FILE and REQUESTS_CA_BUNDLE replace all other certificates: the client then trusts\n\
         no server that it reaches without the proxy.\n\
         Keep the private key next to it ({KEY_FILE}) secret."
    )?;
    out.flush()
}

/// How to make clients of different kinds trust a certificate.
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

/// A path, quoted for a shell.
fn quoted(path: &Path) -> String {
    let path = path.display().to_string();
    // PowerShell doubles a quote inside quotes; POSIX shells must leave the quotes for it.
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
    state: AuthorityOrigin,
    retired: Option<&'a Path>,
}

fn print_json(found: &ObtainedAuthority) -> io::Result<()> {
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
