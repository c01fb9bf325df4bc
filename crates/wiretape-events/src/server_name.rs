//! The display name of a server, the same in every list, log and metric.

/// The name of a forward proxy's listener. It serves many servers, so it can't be used as the name of one.
pub const FORWARD: &str = "forward";

/// The display name of a server: the name of its listener in a reverse proxy; otherwise its URL without the
/// scheme, or the label of its recording.
///
/// ```
/// use wiretape_events::server_name;
///
/// assert_eq!(server_name(Some("weather"), "http://127.0.0.1:9801"), "weather");
/// assert_eq!(server_name(Some("forward"), "http://127.0.0.1:9801"), "127.0.0.1:9801");
/// assert_eq!(server_name(None, "files"), "files");
/// ```
pub fn server_name<'a>(listener: Option<&'a str>, server: &'a str) -> &'a str {
    match listener {
        Some(name) if name != FORWARD => name,
        _ => ["http://", "https://"].iter().find_map(|scheme| server.strip_prefix(scheme)).unwrap_or(server),
    }
}
