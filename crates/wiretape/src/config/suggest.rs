//! Suggestions for misspelled names.

/// The name closest to what was written, if one is close enough.
pub(super) fn nearest<'a>(written: &str, names: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let written = normal(written);
    let likeness = |name: &&'a str| {
        let name = normal(name);
        let distance = strsim::damerau_levenshtein(&written, &name);
        // A third of the letters may differ; more, and short keys would resemble each other.
        let close = distance <= (name.chars().count() / 3).max(1);
        // `max_body` for `body`, `timeout` for `idle_timeout`.
        let part = written.len().min(name.len()) >= 4 && (written.contains(&name) || name.contains(&written));
        (close || part).then_some(distance)
    };
    let like = names.into_iter().filter_map(|name| likeness(&name).map(|distance| (distance, name)));
    like.min_by_key(|(distance, _)| *distance).map(|(_, name)| name)
}

/// A name without case and hyphens.
fn normal(name: &str) -> String {
    name.to_lowercase().replace('-', "_")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn typing_errors_and_parts_of_names_are_understood() {
        let names = ["admin", "listen", "idle_timeout", "body", "url"];
        for (written, expected) in [
            ("admn", Some("admin")),
            ("Admin", Some("admin")),
            ("lsiten", Some("listen")),
            ("idle-timeout", Some("idle_timeout")),
            ("timeout", Some("idle_timeout")),
            ("max_body", Some("body")),
            ("uri", Some("url")),
            ("colour", None),
            ("x", None),
            ("", None),
        ] {
            assert_eq!(nearest(written, names), expected, "{written}");
        }
    }
}
