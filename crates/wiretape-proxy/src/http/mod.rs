//! HTTP.
//!
//! - [`ca`]: the certificates that an intercepting proxy shows

pub mod ca;
