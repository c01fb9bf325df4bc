//! Validation against JSON Schemas that servers wrote.
//!
//! Such a schema is untrusted: it may refer to a URL, to itself, or expand exponentially. So references are never fetched,
//! patterns have a size limit, and `Cost` estimates the work before anything is compiled or validated. A schema or value
//! that would cost too much is skipped: a missed finding is better than a linter that hangs.

use serde_json::Value as Json;
use std::collections::BTreeMap;
use wiretape_trace::json::{Lexer, Token};
use wiretape_trace::redact;

/// Bytes and levels of a value that is parsed into a tree; larger ones are skipped. `serde_json` recurses per level.
const LONGEST: usize = 4 * 1024 * 1024;
const DEEPEST: usize = 100;
/// Estimated steps of a validation; schemas that may take more are skipped.
const MOST_STEPS: u64 = 1_000_000;
/// Errors reported per value. The first ones show the mistake; the rest repeat it.
const MOST_ERRORS: usize = 10;

/// Parses a value, unless it is too large.
pub(crate) fn tree(raw: &[u8]) -> Option<Json> {
    if raw.len() > LONGEST || !is_shallow(raw) {
        return None;
    }
    // Invalid JSON, or a number that doesn't fit: other rules report the former, and the latter can't be validated.
    serde_json::from_slice(raw).ok()
}

fn is_shallow(raw: &[u8]) -> bool {
    let mut lexer = Lexer::new(raw);
    while let Ok(Some(lexeme)) = lexer.next_token() {
        let opens = matches!(lexeme.token, Token::BeginObject | Token::BeginArray);
        if opens && lexer.depth() > DEEPEST {
            return false;
        }
    }
    true
}

/// A violation of a schema.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Misfit {
    /// JSON pointer into the value.
    pub pointer: String,
    /// What is wrong, as the validator words it.
    pub message: String,
    /// The schema keyword that is violated.
    pub keyword: String,
}

/// A compiled JSON schema, with what bounds the cost of validating against it.
#[derive(Debug)]
pub struct Schema {
    validator: jsonschema::Validator,
    /// The largest number of subschemas that apply to one location.
    widest: u64,
    /// The size with all references expanded; `None` if it is recursive.
    unrolled: Option<u64>,
}

impl Schema {
    /// Compiles an untrusted schema. `None` if it is invalid or too expensive.
    pub(crate) fn compile(schema: &Json) -> Option<Self> {
        let (widest, unrolled) = Cost::of(schema)?;
        Some(Schema { widest, unrolled, ..Self::compile_trusted(schema)? })
    }

    /// Compiles a schema of the specification, without the cost check.
    pub(crate) fn compile_trusted(schema: &Json) -> Option<Self> {
        let patterns = jsonschema::PatternOptions::regex().size_limit(1 << 20).dfa_size_limit(1 << 20);
        let validator = jsonschema::options()
            // A schema must not make the linter open a connection (server-side request forgery).
            .offline()
            // JSON Schema 2020-12 treats `format` as an annotation by default.
            .should_validate_formats(false)
            .with_pattern_options(patterns)
            .build(schema)
            .ok()?;
        Some(Schema { validator, widest: 1, unrolled: Some(1) })
    }

    /// The violations in a value; none if validation would be too expensive. Redacted values always pass.
    pub(crate) fn misfits(&self, value: &Json) -> Vec<Misfit> {
        // `is_valid` stops at the first error and allocates nothing; most values are valid.
        if !self.is_affordable(value) || self.validator.is_valid(value) {
            return Vec::new();
        }
        self.validator
            .iter_errors(value)
            .filter(|error| !is_redacted(error.instance()))
            .take(MOST_ERRORS)
            .map(|error| misfit(&error))
            .collect()
    }

    fn is_affordable(&self, value: &Json) -> bool {
        let (nodes, depth) = size(value);
        // A recursive schema can apply `widest` subschemas again at each level, hence the power.
        let per_node = match self.unrolled {
            Some(unrolled) => unrolled,
            None => self.widest.saturating_pow(depth),
        };
        per_node.saturating_mul(nodes) <= MOST_STEPS * 100 && per_node <= MOST_STEPS
    }
}

fn misfit(error: &jsonschema::ValidationError<'_>) -> Misfit {
    let error = nearest(error);
    // Masked, because the validator would print the value, which may be megabytes long or private.
    let mut message = error.masked_with("the value").to_string();
    if message.len() > 300 {
        let end = (0..=300).rev().find(|at| message.is_char_boundary(*at)).unwrap_or(0);
        message.truncate(end);
        message.push('…');
    }
    Misfit {
        pointer: error.instance_path().as_str().to_owned(),
        message,
        keyword: error.kind().keyword().to_owned(),
    }
}

/// For a value that matches no branch of `anyOf` or `oneOf`: the error in the branch that its `type` selects, which says more
/// than "matches none".
fn nearest<'e>(error: &'e jsonschema::ValidationError<'e>) -> &'e jsonschema::ValidationError<'e> {
    use jsonschema::error::ValidationErrorKind as Kind;
    let (Kind::AnyOf { context } | Kind::OneOfNotValid { context }) = error.kind() else { return error };
    let is_of_another_type = |branch: &[jsonschema::ValidationError<'_>]| {
        branch.iter().any(|one| {
            let path = one.instance_path().as_str();
            matches!(one.kind(), Kind::Constant { .. } | Kind::Enum { .. } | Kind::Type { .. })
                && (path == error.instance_path().as_str()
                    || path.ends_with("/type")
                    || path.ends_with("/method"))
        })
    };
    let mut meant = context.iter().filter(|branch| !is_of_another_type(branch));
    match (meant.next().and_then(|branch| branch.first()), meant.next()) {
        (Some(only), None) => nearest(only),
        _ => error,
    }
}

/// Whether a value contains redaction markers, which need not match any schema.
pub(crate) fn is_redacted(value: &Json) -> bool {
    match value {
        Json::String(text) => redact::is_redacted(text.as_bytes()),
        Json::Array(items) => items.iter().any(is_redacted),
        Json::Object(members) => {
            members.iter().any(|(name, value)| redact::is_redacted(name.as_bytes()) || is_redacted(value))
        }
        _ => false,
    }
}

/// The first violation of the schema's own meta-schema. `None` if it is valid or names an unknown dialect.
pub(crate) fn schema_misfit(schema: &Json) -> Option<Misfit> {
    const DIALECTS: [&str; 5] = ["draft-04", "draft-06", "draft-07", "2019-09", "2020-12"];
    let named = schema.get("$schema").and_then(Json::as_str);
    if named.is_some_and(|named| !DIALECTS.iter().any(|dialect| named.contains(dialect))) {
        return None;
    }
    jsonschema::meta::validate(schema)
        .err()
        .filter(|error| !is_redacted(error.instance()))
        .map(|error| misfit(&error))
}

/// The number of nodes and the depth of a value.
fn size(value: &Json) -> (u64, u32) {
    let children: Vec<&Json> = match value {
        Json::Array(items) => items.iter().collect(),
        Json::Object(members) => members.values().collect(),
        _ => return (1, 1),
    };
    let (nodes, depth) =
        children.into_iter().map(size).fold((0, 0), |(nodes, depth), (n, d)| (nodes + n, depth.max(d)));
    (nodes + 1, depth + 1)
}

/// Estimates the cost of a schema by following its references.
struct Cost<'s> {
    root: &'s Json,
    /// The size of each reference's target; `None` while it is being expanded, which is how recursion is detected.
    known: BTreeMap<&'s str, Option<u64>>,
    recursive: bool,
    widest: u64,
}

impl<'s> Cost<'s> {
    /// The largest number of subschemas at one location, and the expanded size if the schema is not recursive. `None` if
    /// validation would not terminate or is too expensive.
    fn of(schema: &'s Json) -> Option<(u64, Option<u64>)> {
        let mut cost = Cost { root: schema, known: BTreeMap::new(), recursive: false, widest: 1 };
        let unrolled = cost.unroll(schema)?;
        let mut path = Vec::new();
        cost.in_place(schema, &mut path)?;
        let references: Vec<&str> = cost.known.keys().copied().collect();
        for reference in references {
            // A reference's target may be cheap where it is defined and expensive where it is applied, so both are
            // measured.
            if let Some(target) = cost.resolve(reference) {
                let width = cost.in_place(target, &mut Vec::new())?;
                cost.widest = cost.widest.max(width);
            }
        }
        let widest = cost.widest.max(cost.width_anywhere(schema)?);
        Some((widest, (!cost.recursive).then_some(unrolled)))
    }

    fn resolve(&self, reference: &str) -> Option<&'s Json> {
        match reference.strip_prefix('#')? {
            "" => Some(self.root),
            pointer => self.root.pointer(pointer),
        }
    }

    /// The size of a schema with all references expanded.
    fn unroll(&mut self, schema: &'s Json) -> Option<u64> {
        let mut total = 1u64;
        match schema {
            Json::Object(members) => {
                for (name, value) in members {
                    total = total.checked_add(match value.as_str().filter(|_| is_reference(name)) {
                        Some(reference) => self.follow(reference)?,
                        None => self.unroll(value)?,
                    })?;
                }
            }
            Json::Array(items) => {
                for item in items {
                    total = total.checked_add(self.unroll(item)?)?;
                }
            }
            _ => {}
        }
        (total <= MOST_STEPS).then_some(total)
    }

    fn follow(&mut self, reference: &'s str) -> Option<u64> {
        match self.known.get(reference) {
            Some(Some(cost)) => return Some(*cost),
            // Being expanded right now: the reference leads back to itself.
            Some(None) => {
                self.recursive = true;
                return Some(1);
            }
            None => {}
        }
        // Unresolvable, or another document: it is never fetched, so it costs nothing.
        let Some(target) = self.resolve(reference) else { return Some(1) };
        self.known.insert(reference, None);
        let cost = self.unroll(target)?;
        self.known.insert(reference, Some(cost));
        Some(cost)
    }

    /// The number of subschemas that apply to the same location. `None` if a reference leads back to that location.
    fn in_place(&self, schema: &'s Json, path: &mut Vec<&'s str>) -> Option<u64> {
        let Json::Object(members) = schema else { return Some(1) };
        let mut total = 1u64;
        for (name, value) in members {
            let parts = match name.as_str() {
                name if is_reference(name) => self.in_place_reference(value.as_str()?, path)?,
                "allOf" | "anyOf" | "oneOf" => {
                    let parts = value.as_array().into_iter().flatten();
                    parts.map(|part| self.in_place(part, path)).sum::<Option<u64>>()?
                }
                "not" | "if" | "then" | "else" => self.in_place(value, path)?,
                "dependentSchemas" | "dependencies" => {
                    let parts = value.as_object().into_iter().flat_map(serde_json::Map::values);
                    parts.map(|part| self.in_place(part, path)).sum::<Option<u64>>()?
                }
                _ => 0,
            };
            total = total.checked_add(parts).filter(|total| *total <= MOST_STEPS)?;
        }
        Some(total)
    }

    fn in_place_reference(&self, reference: &'s str, path: &mut Vec<&'s str>) -> Option<u64> {
        // The validator would apply it to the same value again, for ever.
        if path.contains(&reference) || path.len() > DEEPEST {
            return None;
        }
        let Some(target) = self.resolve(reference) else { return Some(1) };
        path.push(reference);
        let parts = self.in_place(target, path);
        path.pop();
        parts
    }

    fn width_anywhere(&self, schema: &'s Json) -> Option<u64> {
        let own = self.in_place(schema, &mut Vec::new())?;
        let inner: Vec<&Json> = match schema {
            Json::Object(members) => members.values().collect(),
            Json::Array(items) => items.iter().collect(),
            _ => Vec::new(),
        };
        inner.into_iter().try_fold(own, |widest, part| Some(widest.max(self.width_anywhere(part)?)))
    }
}

fn is_reference(name: &str) -> bool {
    matches!(name, "$ref" | "$dynamicRef" | "$recursiveRef")
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn check(schema: &Json, value: &Json, expected: &[&str]) {
        let schema = Schema::compile(schema).expect("it compiles");
        let told: Vec<String> =
            schema.misfits(value).into_iter().map(|one| format!("{} {}", one.pointer, one.message)).collect();
        assert_eq!(told, expected);
    }

    #[test]
    fn values_are_checked_and_redacted_places_are_not() {
        let schema = json!({"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]});
        check(&schema, &json!({"n": 1}), &[]);
        check(&schema, &json!({"n": "x"}), &["/n the value is not of type \"integer\""]);
        check(&schema, &json!({"n": "[REDACTED:key:00000000]"}), &[]);
        check(&schema, &json!({}), &[" \"n\" is a required property"]);
    }

    #[test]
    fn nothing_is_fetched_and_nothing_runs_for_ever() {
        let refused = |schema: Json| assert!(Schema::compile(&schema).is_none(), "{schema}");
        refused(json!({"$ref": "https://example.com/schema.json"}));
        refused(json!({"$ref": "#"}));
        refused(
            json!({"$defs": {"a": {"allOf": [{"$ref": "#/$defs/b"}]}, "b": {"$ref": "#/$defs/a"}}, "$ref": "#/$defs/a"}),
        );
        refused(json!({"pattern": "a{1000}{1000}"}));
        let mut defs = serde_json::Map::new();
        for n in 0..40 {
            let next = json!({"$ref": format!("#/$defs/a{}", n + 1)});
            defs.insert(format!("a{n}"), json!({"allOf": [next, next]}));
        }
        refused(json!({"$defs": defs, "$ref": "#/$defs/a0"}));
    }

    #[test]
    fn schemas_that_refer_to_themselves_are_checked_as_deep_as_they_can_be() {
        let tree = json!({"$defs": {"n": {"type": "object", "properties": {"c": {"items": {"$ref": "#/$defs/n"}}}}},
            "$ref": "#/$defs/n"});
        check(&tree, &json!({"c": [{"c": [1]}]}), &["/c/0/c/0 the value is not of type \"object\""]);
        let twice = json!({"$defs": {"n": {"allOf": [{"properties": {"c": {"$ref": "#/$defs/n"}}},
            {"properties": {"c": {"$ref": "#/$defs/n"}}}, {"type": "object"}]}}, "$ref": "#/$defs/n"});
        let deep = (0..90).fold(json!(1), |inner, _| json!({"c": inner}));
        check(&twice, &deep, &[]);
    }

    #[test]
    fn a_schema_is_checked_by_its_dialect() {
        let told = |schema: Json| schema_misfit(&schema).map(|misfit| misfit.pointer);
        assert_eq!(told(json!({"type": "object"})), None);
        assert_eq!(told(json!({"type": "objekt"})).as_deref(), Some("/type"));
        assert_eq!(told(json!({"properties": {"a": {"type": 7}}})).as_deref(), Some("/properties/a/type"));
        assert_eq!(told(json!({"$schema": "https://example.com/own", "type": 7})), None);
        let old = json!({"$schema": "http://json-schema.org/draft-07/schema#", "exclusiveMinimum": true});
        assert_eq!(told(old).as_deref(), Some("/exclusiveMinimum"));
    }
}
