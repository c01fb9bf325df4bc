//! The page, as it was built from `ui/`.

/// The files of the page.
pub(crate) struct Page {
    pub(crate) html: &'static str,
    pub(crate) script: &'static str,
    pub(crate) style: &'static str,
}

/// The page; `None` if this crate was built without it.
#[cfg(feature = "page")]
pub(crate) const PAGE: Option<Page> = Some(Page {
    html: include_str!(concat!(env!("OUT_DIR"), "/page/index.html")),
    script: include_str!(concat!(env!("OUT_DIR"), "/page/app.js")),
    style: include_str!(concat!(env!("OUT_DIR"), "/page/app.css")),
});

/// The page; `None` if this crate was built without it.
#[cfg(not(feature = "page"))]
pub(crate) const PAGE: Option<Page> = None;
