//! Monitoring, incidents and security.

super::providers! {
    "datadog" "Datadog keys: `ddapp_…`, `ddog_…`" [
        "ddapp_" "a30+", "ddog_" "a30+",
    ]
    "new-relic" "New Relic keys: `NRAK-…`, `NRII-…`, `NRIQ-…`, `NRAA-…`, `…NRAL`, `…-NRMA`" [
        "NRAK-" "U20+", "NRII-" "u20+", "NRIQ-" "u20+", "NRAA-" "u20+", "NRRA-" "u20+", "NRSP-" "u12+", "NRJS-" "h19", "NRBR-" "h19",
    ]
    "grafana" "Grafana tokens: `glsa_…`, `glc_…`, `eyJrIjoi…`" ["glsa_" "w32+", "glc_" "e32+", "eyJrIjoi" "e40+"]
    "dynatrace" "Dynatrace tokens: `dt0c01.….…`" [
        "dt0c01." "a24 '. a60+", "dt0s01." "U8+ '. U60+", "dt0s02." "U8+ '. U60+", "dt0s16." "u8+ '. U60+", "dt0d01." "U8+ '. U20+",
        "dt0a01." "U8+ '. U60+", "dt0e01." "U8+ '. U60+", "dt0l01." "U8+ '. U60+",
    ]
    "sentry" "Sentry tokens: `sntrys_…`, `sntryu_…`, `sntryi_…`, `sntrya_…`" [
        "sntrys_" "s40+", "sntryu_" "h40+", "sntryi_" "h40+", "sntrya_" "h40+",
    ]
    "honeycomb" "Honeycomb ingest keys: `hcaik_…`, `hcxik_…`, `hcamk_…`" ["hcaik_" "l40+", "hcxik_" "l40+", "hcbik_" "l40+", "hcamk_" "l30+"]
    "logfire" "Logfire tokens: `pylf_v1_…`" ["pylf_v1_" "w30+"]
    "axiom" "Axiom tokens: `xaat-…`, `xapt-…`" ["xaat-" "x8 '- u20+", "xapt-" "x8 '- u20+"]
    "coralogix" "Coralogix keys: `cxtp_…`, `cxup_…`" ["cxtp_" "a20+", "cxup_" "a20+"]
    "pagerduty" "PagerDuty keys: `y_NbAkKc…`" []
    "rootly" "Rootly keys: `rootly_…`" ["rootly_" "h60+"]
    "incident-io" "incident.io keys: `inc_…`" ["inc_" "!h60+"]
    "checkly" "Checkly keys: `cu_…`, `sv_…`" ["cu_" "!h32", "sv_" "!h32"]
    "svix" "Svix keys: `testsk_…`" ["testsk_" "t20+"]
    "jumpcloud" "JumpCloud keys: `jca_…`" ["jca_" "a30+"]
    "password-hash" "password hashes of crypt: `$2b$…`, `$6$…`, `$argon2id$…`" []
    "firehydrant" "FireHydrant keys: `fhb-…`" ["fhb-" "h32"]
    "portainer" "Portainer keys: `ptr_…`" ["ptr_" "e40+"]
    "clerk-cli" "Clerk keys: `ctok_…`" ["ctok_" "a20+"]
}
