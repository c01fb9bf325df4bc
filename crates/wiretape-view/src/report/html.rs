//! Writes the HTML file of a report.

use crate::api::types::{Report, ReportLines};
use crate::page::Page;
use crate::query::Set;
use crate::trace::OpenTrace;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use flate2::Compression;
use flate2::write::GzEncoder;
use sha2::{Digest as _, Sha256};
use std::io::{self, Write};

/// The size of a compressed piece in bytes: it is decompressed as a whole when one of its lines is displayed.
const PIECE: usize = 512 * 1024;

pub(super) fn write(page: &Page, set: &Set, report: &Report, out: &mut dyn Write) -> io::Result<()> {
    // Within a script element, these sequences would end it or open a comment. The backslash changes nothing
    // in a string.
    let script = page.script.replace("</script", "<\\/script").replace("<!--", "<\\!--");
    let style = page.style.replace("</style", "<\\/style");
    let title = report.set.traces.iter().map(|trace| escaped(&trace.label)).collect::<Vec<_>>().join(", ");
    write!(
        out,
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; script-src '{}'; style-src '{}'; \
         img-src data: blob:; media-src data: blob:; base-uri 'none'; form-action 'none'\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<title>{title} · Wiretape</title>\n\
         <style>{style}</style>\n</head>\n<body>\n<div id=\"app\"></div>\n",
        hash(&script),
        hash(&style),
    )?;
    // Compressed and in base64, so that nothing in the report can be taken for markup.
    write!(out, "<script type=\"application/json\" id=\"wiretape-report\">")?;
    out.write_all(packed(&serde_json::to_vec(report)?)?.as_bytes())?;
    writeln!(out, "</script>")?;
    for (at, trace) in set.traces.iter().enumerate() {
        write!(out, "<script type=\"application/json\" id=\"wiretape-lines-{at}\">")?;
        serde_json::to_writer(&mut *out, &pieces(trace)?)?;
        writeln!(out, "</script>")?;
    }
    writeln!(out, "<script type=\"module\">{script}</script>\n</body>\n</html>")
}

/// The lines of a trace, packed in pieces.
fn pieces(trace: &OpenTrace) -> io::Result<Vec<ReportLines>> {
    let (mut pieces, mut piece, mut first) = (Vec::new(), Vec::new(), 1);
    let lines = trace.index().lines() as u64;
    for number in 1..=lines {
        if let Some((line, _)) = trace.line(number, u64::MAX)? {
            piece.extend_from_slice(&line);
        }
        piece.push(b'\n');
        if piece.len() >= PIECE || number == lines {
            pieces.push(ReportLines { first, data: packed(&piece)? });
            piece.clear();
            first = number + 1;
        }
    }
    Ok(pieces)
}

fn packed(bytes: &[u8]) -> io::Result<String> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(bytes)?;
    Ok(STANDARD.encode(encoder.finish()?))
}

/// The hash source of an inline script or style in the Content-Security-Policy.
fn hash(text: &str) -> String {
    format!("sha256-{}", STANDARD.encode(Sha256::digest(text.as_bytes())))
}

fn escaped(text: &str) -> String {
    let shown = wiretape_analyze::glance::printable(text);
    shown.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_label_is_no_markup() {
        assert_eq!(
            escaped("</title><script>\u{202e}&\""),
            "&lt;/title&gt;&lt;script&gt;\\u{202e}&amp;&quot;"
        );
    }
}
