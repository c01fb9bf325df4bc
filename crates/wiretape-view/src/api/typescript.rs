//! The page's types are made from those of the API.

use super::types;
use std::fs;
use std::path::Path;
use ts_rs::{Config, TS};

/// All types, in the order of their file.
macro_rules! declared {
    ($($name:ident),* $(,)?) => {{
        let config = Config::new().with_large_int("number");
        let mut text = String::from("// Made from the types of the API by `cargo test -p wiretape-view api`; don't edit.\n");
        $(
            text.push('\n');
            text.push_str(&types::$name::docs().unwrap_or_default());
            text.push_str("export ");
            text.push_str(&types::$name::decl(&config));
            text.push('\n');
        )*
        text
    }};
}

#[test]
fn the_page_has_the_types_of_the_api() {
    let text = declared!(
        Home,
        TraceCard,
        PendingRow,
        ServerFailure,
        TraceSet,
        TraceInfo,
        Progress,
        Change,
        TraceChange,
        CallPage,
        CallRow,
        Dir,
        Timeline,
        Bar,
        Density,
        MessagePage,
        MessageRow,
        LineKind,
        CallDetail,
        Payload,
        Meanwhile,
        MeanwhileKind,
        OperationView,
        HttpView,
        HeaderField,
        RawPage,
        RawLine,
        ToolsReport,
        ToolRow,
        SessionRow,
        LintReport,
        RuleFindings,
        Finding,
        DiffReport,
        DefinitionChange,
        DiffRow,
        DiffSide,
        DiffDetail,
        DifferenceView,
        StoreReport,
        StoreRate,
        StoreStat,
        StoreCall,
        StoreClient,
        StoreChange,
        Opened,
        LiveRequest,
        Report,
        ReportDetail,
        ReportLines,
        Problem,
    );
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../ui/src/api/types.ts");
    if std::env::var_os("WIRETAPE_UPDATE_DOCS").is_some() {
        fs::write(&file, &text).expect("the page's sources are writable in a checkout");
    }
    let written = fs::read_to_string(&file).unwrap_or_default();
    assert!(
        written == text,
        "ui/src/api/types.ts is stale: WIRETAPE_UPDATE_DOCS=1 cargo test -p wiretape-view api"
    );
}
