//! What a server is called, wherever people read it.

/// The name of a forward proxy's listener, which stands before any server and so names none.
pub const FORWARD: &str = "forward";

/// A server by the name that it was given, which a reverse proxy's listener has; else by its URL without the scheme, or by
/// the label of its recording.
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
