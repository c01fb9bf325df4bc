//! Replacing parts of a body; see [`wiretape_trace::splice`].

pub(super) use wiretape_trace::splice::{Edit, splice};
