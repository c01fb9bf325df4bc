//! What the server and its page say to each other.

pub mod types;
#[cfg(test)]
mod typescript;
