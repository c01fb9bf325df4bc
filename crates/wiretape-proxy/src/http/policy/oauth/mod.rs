//! OAuth logins through the reverse proxy: the decisions.
//!
//! A client that connected to `http://127.0.0.1:3004/mcp` refuses a protected resource that calls itself
//! `https://up.example/mcp` (RFC 9728, section 3.3), and an authorization server refuses to issue a token for
//! `http://127.0.0.1:3004/mcp`, which it doesn't know (RFC 8707). So the client gets the discovery documents with our origin in
//! place of the upstream's, and the requests of the login come back through us, where the upstream's origin is restored.
//! `docs/design/0004-oauth-through-a-reverse-proxy.md` has the reasons and the alternatives.
//!
//! The rule behind all decisions: **every check that a peer makes has the outcome that it would have without us.** A
//! `resource` of a third party is not changed, because the client must refuse it; a wrong `iss` stays wrong.
//!
//! Everything here is a pure function of bytes and of what earlier responses have shown. Sockets, bodies and limits are left to
//! the proxy, which calls during one exchange
//!
//! | when | call |
//! |---|---|
//! | a request arrives | [`may_be_login`] to rule out most requests cheaply, [`Rewriter::origins`], [`Rewriter::route`] |
//! | it goes to the upstream | [`Rewriter::request_target`] |
//! | it has a form (`application/x-www-form-urlencoded`) | [`Rewriter::form_body`] |
//! | it requests a document ([`Rewriter::document_kind`], or the route says so) | [`is_unconditional`] for each header |
//! | it goes to a foreign authorization server | [`is_sent_to_foreign`], [`is_accepted_from_foreign`] for each header |
//! | it requests an authorization endpoint | [`AuthorizationRequest`] |
//! | the upstream responds | [`Rewriter::www_authenticate`], [`Rewriter::location`] for these headers |
//! | a document has arrived completely, with status 200 | [`Rewriter::document`] |

mod challenge;
mod document;
mod headers;
mod origins;
mod parameters;
mod redirect;
mod rewriter;
mod servers;
#[cfg(test)]
mod tests;
mod url;

pub(crate) use headers::{
    FOREIGN_RESPONSE_POLICY, is_accepted_from_foreign, is_sent_to_foreign, is_unconditional,
};
pub(crate) use origins::Origins;
pub(crate) use redirect::AuthorizationRequest;
pub(crate) use rewriter::{DOCUMENT_LIMIT, DocumentKind, FORM_LIMIT, Rewriter, Route, may_be_login};
