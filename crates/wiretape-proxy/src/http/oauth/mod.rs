//! Logging in through the reverse proxy.
//!
//! A client that dialled `http://127.0.0.1:3004/mcp` refuses a protected resource that calls itself
//! `https://up.example/mcp` (RFC 9728, section 3.3), and an authorization server that is asked for a token for
//! `http://127.0.0.1:3004/mcp` refuses that (RFC 8707). So the documents of discovery are told to the client with our
//! origin in place of the upstream's, and the requests of the login come back through us and get the upstream's again.
//! Why so, and what lost, is in `docs/design/0004-oauth-through-a-reverse-proxy.md`.
//!
//! The rule behind all decisions: **every check that a peer makes has the outcome that it would have without us.** A
//! `resource` of a third party stays what it is, for the client must refuse it; an `iss` that is wrong stays wrong.
//!
//! Everything here is a pure function of bytes and of what was learnt from earlier answers. Sockets, bodies and limits
//! are the proxy's. During one exchange it calls
//!
//! | when | call |
//! |---|---|
//! | a request arrives | [`may_concern`] for a first glance, [`Rewriter::origins`], [`Rewriter::route`] |
//! | it goes to the upstream | [`Rewriter::request_target`] |
//! | it has a form (`application/x-www-form-urlencoded`) | [`Rewriter::form_body`] |
//! | it asks for a document ([`Rewriter::document_kind`], or the route says so) | [`asks_for_whole`] for each header |
//! | it goes to a foreign authorization server | [`is_sent_abroad`], [`is_accepted_from_abroad`] for each header |
//! | it asks an authorization endpoint | [`AuthorizationRequest`] |
//! | the upstream answers | [`Rewriter::www_authenticate`], [`Rewriter::location`] for these headers |
//! | a document arrives, whole, with status 200 | [`Rewriter::document`] |

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

pub(crate) use headers::{ABROAD_POLICY, asks_for_whole, is_accepted_from_abroad, is_sent_abroad};
pub(crate) use origins::Origins;
pub(crate) use redirect::AuthorizationRequest;
pub(crate) use rewriter::{DOCUMENT_LIMIT, DocumentKind, FORM_LIMIT, Rewriter, Route, may_concern};
