//! Databases, search and analytics.

super::providers! {
    "supabase" "Supabase keys: `sbp_…`, `sb_secret_…`" ["sbp_" "l40+", "sb_secret_" "u20+", "sba_" "l40+"]
    "neon" "Neon keys: `napi_…`" ["napi_" "a40+"]
    "planetscale" "PlanetScale tokens: `pscale_tkn_…`, `pscale_pw_…`, `pscale_oauth_…`" [
        "pscale_tkn_" "s30+", "pscale_pw_" "s30+", "pscale_oauth_" "s30+",
    ]
    "mongodb-atlas" "MongoDB Atlas service accounts: `mdb_sa_sk_…`" ["mdb_sa_sk_" "u30+"]
    "datastax" "DataStax Astra tokens: `AstraCS:…`" []
    "clickhouse" "ClickHouse Cloud keys: `4b1d…`" ["4b1d" "!a38"]
    "databricks" "Databricks tokens: `dapi…`" ["dapi" "h32"]
    "elastic" "Elastic keys: `essu_…`" ["essu_" "g40+"]
    "xata" "Xata keys: `xau_…`" ["xau_" "a30+"]
    "tinybird" "Tinybird tokens: `p.eyJ…`" []
    "confluent" "Confluent Cloud secrets: `cflt…`" ["cflt" "!s56+"]
    "aiven" "Aiven tokens: `aivenv1_…`" ["aivenv1_" "s40+"]
    "posthog" "PostHog keys: `phx_…`, `phs_…`" ["phx_" "u36+", "phs_" "u36+", "phr_" "u36+"]
    "fullstory" "FullStory keys: `na1.…`, `eu1.…`" ["na1." "b60+", "eu1." "b60+"]
    "dbt" "dbt Cloud tokens: `dbtu_…`, `dbtc_…`, `dbts_…`" ["dbtu_" "s30+", "dbtc_" "s30+", "dbts_" "s30+"]
    "statsig" "Statsig keys: `secret-…`" ["secret-" "!a40+", "console-" "!a40+"]
    "launchdarkly" "LaunchDarkly keys: `sdk-<uuid>`, `api-<uuid>`, `mob-<uuid>`" [
        "sdk-" "#l8 '- l4 '- l4 '- l4 '- l12", "api-" "#l8 '- l4 '- l4 '- l4 '- l12", "mob-" "#l8 '- l4 '- l4 '- l4 '- l12",
        "rel-" "#l8 '- l4 '- l4 '- l4 '- l12",
    ]
    "configcat" "ConfigCat SDK keys: `configcat-sdk-1/…`" ["configcat-sdk-1/" "u22 '/ u22"]
    "devcycle" "DevCycle keys: `dvc_server_…`" ["dvc_server_" "w16+", "dvc_client_" "w16+", "dvc_mobile_" "w16+"]
    "feature-flags" "Flagsmith and GrowthBook keys: `ser.…`, `secret_admin_…`" ["ser." "!a20+", "secret_admin_" "w20+"]
    "databento" "Databento keys: `db-…`" ["db-" "!a29"]
    "robinhood" "keys of the form `rh-api-<uuid>`" ["rh-api-" "x8 '- u20+"]
    "hex" "Hex tokens: `hxtp_…`, `hxtw_…`" ["hxtp_" "a40+", "hxtw_" "a40+"]
    "appwrite" "Appwrite keys: `standard_…`" ["standard_" "!h60+"]
}
