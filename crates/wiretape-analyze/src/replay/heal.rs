//! Repairs schemas that another program's redaction damaged: `"token": "[REDACTED]"` in place of the schema of an argument
//! named `token`. A client would reject the whole list because of one.

use wiretape_trace::json::{Lexeme, Lexer, SyntaxError, Token};
use wiretape_trace::redact::markers;
use wiretape_trace::splice::{Edit, splice};

/// The role of a value in a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Role {
    Message,
    Result,
    Tools,
    Tool,
    Params,
    /// `inputRequests` of a multi-round-trip result, by name, and one of them.
    Inputs,
    Input,
    /// A schema that must have type `object`.
    Whole,
    Schema,
    /// An object of schemas by name, such as `properties`.
    Map,
    /// A list of schemas.
    List,
    /// The requested schema of an elicitation, its properties, and one of them, which must have a type.
    Form,
    Fields,
    Field,
    /// A number of tokens.
    Count,
    Other,
}

impl Role {
    fn member(self, name: &str) -> Role {
        match (self, name) {
            (Role::Message, "result") => Role::Result,
            (Role::Message, "params") => Role::Params,
            (Role::Result, "tools") => Role::Tools,
            (Role::Result, "inputRequests") => Role::Inputs,
            (Role::Inputs, _) => Role::Input,
            (Role::Input, "params") => Role::Params,
            (Role::Tool, "inputSchema" | "outputSchema") => Role::Whole,
            (Role::Params, "requestedSchema") => Role::Form,
            (Role::Form, "properties") => Role::Fields,
            (Role::Fields, _) => Role::Field,
            (Role::Params, "maxTokens") => Role::Count,
            (Role::Map, _) => Role::Schema,
            (Role::Whole | Role::Schema, name) => Self::keyword(name),
            _ => Role::Other,
        }
    }

    fn keyword(name: &str) -> Role {
        match name {
            "properties" | "patternProperties" | "$defs" | "definitions" | "dependentSchemas" => Role::Map,
            "allOf" | "anyOf" | "oneOf" | "prefixItems" => Role::List,
            "items"
            | "additionalProperties"
            | "not"
            | "if"
            | "then"
            | "else"
            | "contains"
            | "propertyNames"
            | "unevaluatedItems"
            | "unevaluatedProperties" => Role::Schema,
            _ => Role::Other,
        }
    }

    fn element(self) -> Role {
        match self {
            Role::Tools => Role::Tool,
            Role::List => Role::Schema,
            _ => Role::Other,
        }
    }

    /// The replacement for a string that isn't allowed there.
    fn substitute(self) -> Option<&'static str> {
        match self {
            Role::Whole => Some(r#"{"type":"object"}"#),
            Role::Form => Some(r#"{"type":"object","properties":{}}"#),
            Role::Field => Some(r#"{"type":"string"}"#),
            Role::Schema | Role::Map | Role::Fields => Some("{}"),
            Role::List => Some("[{}]"),
            // Any positive number will do: the recorded server's limit is lost.
            Role::Count => Some("1000"),
            _ => None,
        }
    }
}

/// The message with repaired schemas, and their number; `None` if none was damaged.
pub(super) fn healed(message: &[u8]) -> Option<(Vec<u8>, usize)> {
    let edits = edits(message).ok().filter(|edits| !edits.is_empty())?;
    Some((splice(message, &edits), edits.len()))
}

fn edits(message: &[u8]) -> Result<Vec<Edit>, SyntaxError> {
    let mut lexer = Lexer::new(message);
    let (mut open, mut edits): (Vec<Role>, Vec<Edit>) = (Vec::new(), Vec::new());
    let mut role = Role::Message;
    while let Some(lexeme) = lexer.next_token()? {
        match lexeme.token {
            Token::Key => {
                let inside = open.last().copied().unwrap_or(Role::Other);
                role = inside.member(&lexeme.text(message).decode());
                continue;
            }
            Token::BeginObject | Token::BeginArray => open.push(role),
            Token::EndObject | Token::EndArray => drop(open.pop()),
            Token::String if is_marker(lexeme, message) => {
                edits.extend(
                    role.substitute().map(|text| (lexeme.start..lexeme.end, text.as_bytes().to_vec())),
                );
            }
            _ => {}
        }
        role = open.last().copied().unwrap_or(Role::Other).element();
    }
    Ok(edits)
}

fn is_marker(lexeme: Lexeme, message: &[u8]) -> bool {
    let text = lexeme.text(message).raw;
    // Only a string that is a marker as a whole: a description that mentions one is text and stays.
    markers(text).first().is_some_and(|place| *place == (0..text.len()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(message: &str, expected: Option<&str>) {
        let healed = healed(message.as_bytes()).map(|(healed, _)| String::from_utf8(healed).unwrap());
        assert_eq!(healed.as_deref(), expected, "{message}");
    }

    #[test]
    fn a_schema_is_a_schema_again() {
        let tools = |schema: &str| format!(r#"{{"id":1,"result":{{"tools":[{{"name":"a"}},{schema}]}}}}"#);
        let check_tool =
            |schema: &str, expected: Option<&str>| check(&tools(schema), expected.map(tools).as_deref());
        check_tool(
            r#"{"inputSchema":{"properties":{"token":"[REDACTED]","a":{"properties":{"key":"[REDACTED:x:1]"}}}}}"#,
            Some(r#"{"inputSchema":{"properties":{"token":{},"a":{"properties":{"key":{}}}}}}"#),
        );
        check_tool(r#"{"outputSchema":"[REDACTED]"}"#, Some(r#"{"outputSchema":{"type":"object"}}"#));
        check_tool(
            r#"{"inputSchema":{"anyOf":[{"type":"a"},"[REDACTED]"],"items":"[REDACTED]"}}"#,
            Some(r#"{"inputSchema":{"anyOf":[{"type":"a"},{}],"items":{}}}"#),
        );
        check_tool(r#"{"inputSchema":{"properties":{"a":{"default":"[REDACTED]"}}}}"#, None);
        check_tool(r#"{"description":"[REDACTED]"}"#, None);
    }

    #[test]
    fn questions_can_be_asked_again() {
        check(
            r#"{"id":1,"result":{"inputRequests":{"k":{"params":{"requestedSchema":{"properties":{"password":"[REDACTED]"}}}}}}}"#,
            Some(
                r#"{"id":1,"result":{"inputRequests":{"k":{"params":{"requestedSchema":{"properties":{"password":{"type":"string"}}}}}}}}"#,
            ),
        );
        check(
            r#"{"method":"sampling/createMessage","params":{"maxTokens":"[REDACTED]"}}"#,
            Some(r#"{"method":"sampling/createMessage","params":{"maxTokens":1000}}"#),
        );
        check(
            r#"{"params":{"requestedSchema":{"properties":{"password":"[REDACTED]"}}}}"#,
            Some(r#"{"params":{"requestedSchema":{"properties":{"password":{"type":"string"}}}}}"#),
        );
        check(r#"{"result":{"content":["[REDACTED]"]}}"#, None);
    }
}
