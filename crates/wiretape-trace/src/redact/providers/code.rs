//! Code hosts, package registries and continuous integration.

super::providers! {
    "github" "GitHub tokens, classic (`ghp_…` and similar) and fine-grained (`github_pat_…`)" [
        "ghp_" "a30+", "gho_" "a30+", "ghu_" "a30+", "ghs_" "t30+", "ghr_" "a30+", "github_pat_" "w22+",
    ]
    "gitlab" "GitLab tokens: `glpat-…` and similar, `GR1348941…`, `_gitlab_session=…`" [
        "glpat-" "t20+", "gldt-" "u20+", "glrt-" "t20+", "glrtr-" "t20+", "glptt-" "u20+", "glft-" "u20+", "glimt-" "u20+",
        "glagent-" "u30+", "gloas-" "u40+", "glsoat-" "u20+", "glffct-" "u20+", "glcbt-" "u20+", "glwt-" "u20+",
        "GR1348941" "u20+", "_gitlab_session=" "!a32",
    ]
    "bitbucket" "Bitbucket tokens and app passwords: `ATBB…`, `ATCTT…`, `BBDC-…`" [
        "ATBB" "!g24+", "ATCTT" "g60+", "BBDC-" "s32+",
    ]
    "atlassian" "Atlassian API tokens: `ATATT…`" ["ATATT" "g60+"]
    "sourcegraph" "Sourcegraph tokens: `sgp_…`, `slk_…`, `sgd_…`" [
        "sgp_" "w40+", "slk_" "h64", "sgd_" "h64", "sgs_" "w40+", "sgph_" "w40+",
    ]
    "npm" "npm tokens: `npm_…`" ["npm_" "a36+"]
    "pypi" "PyPI tokens: `pypi-…`" ["pypi-" "'AgE u40+"]
    "rubygems" "RubyGems keys: `rubygems_…`" ["rubygems_" "a40+"]
    "crates-io" "Cargo registry tokens: `cio…`" ["cio" "!a32"]
    "nuget" "NuGet keys: `oy2…`" ["oy2" "!l43"]
    "clojars" "Clojars tokens: `CLOJARS_…`" ["CLOJARS_" "a60+"]
    "packagist" "Packagist tokens: `packagist_ort_…` and similar" [
        "packagist_ort_" "h60+", "packagist_out_" "h60+", "packagist_oat_" "h60+", "packagist_acs_" "h60+",
        "packagist_ack_" "h24+", "packagist_uut_" "h60+",
    ]
    "deno" "Deno tokens: `ddp_…`, `ddw_…`, `ddo_…`" ["ddp_" "a36+", "ddw_" "a36+", "ddo_" "a36+"]
    "jfrog" "JFrog Artifactory keys: `AKCp…`, `cmVmdGtu…`" ["AKCp" "a60+", "cmVmd" "a50+"]
    "circleci" "CircleCI tokens: `CCIPAT_…`, `CCIPRJ_…`" ["CCIPAT_" "a20+ '_ a40", "CCIPRJ_" "a20+ '_ a40"]
    "buildkite" "Buildkite tokens: `bkua_…` and similar" [
        "bkua_" "a40+", "bkaa_" "u50+", "bkaj_" "u50+", "bkar_" "u50+", "bkct_" "u50+", "bkpt_" "u50+", "bkpat_" "u40+",
        "bkps_" "u40+",
    ]
    "octopus" "Octopus Deploy keys: `API-…`" ["API-" "#U25-40"]
    "harness" "Harness keys: `pat.….….…`, `sat.….….…`" ["pat." "u22 '. a24 '. a20", "sat." "u22 '. a24 '. a20"]
    "sonar" "SonarQube and SonarCloud tokens: `sqp_…`, `squ_…`, `sqa_…`, `sqb_…`" [
        "sqp_" "!a40", "squ_" "!a40", "sqa_" "!a40", "sqb_" "!a40", "sqco_" "a50+",
    ]
    "snyk" "Snyk tokens: `snyk_uat.…`, `snyk_sat.…`" [
        "snyk_uat." "t30+", "snyk_sat." "t30+",
    ]
    "aikido" "Socket and Aikido keys: `sktsec_…`, `AIK_…`" [
        "sktsec_" "w30+", "AIK_CI_" "a20+", "AIK_SECRET_" "a40+",
    ]
    "mergify" "Mergify keys: `mergify_application_key_…`" ["mergify_application_key_" "u30+"]
    "prefect" "Prefect keys: `pnu_…`, `pnb_…`" ["pnu_" "a36", "pnb_" "a36"]
    "readme" "ReadMe keys: `rdme_…`" ["rdme_" "a60+"]
    "postman" "Postman keys: `PMAK-…`, `PMAT-…`" ["PMAK-" "a24 '- a34", "PMAT-" "a26"]
    "dependency-track" "Dependency-Track keys: `odt_…`" ["odt_" "w30+"]
    "infracost" "Infracost keys: `ico-…`" ["ico-" "!a32"]
    "val-town" "Val Town tokens: `vtwn_…`" ["vtwn_" "u20+"]
    "wakatime" "WakaTime keys: `waka_…`" ["waka_" "u36+"]
    "depot" "Depot tokens: `depot_project_…`, `depot_org_…`" ["depot_project_" "h40+", "depot_org_" "h40+"]
    "apify" "Apify tokens: `apify_api_…`" ["apify_api_" "u30+"]
    "devin" "Devin keys: `apk_user_…`, `apk_…`, `cog_…`" ["apk_user_" "e40+", "apk_" "!e60+", "cog_" "!l52"]
    "chromatic" "Chromatic tokens: `chpt_…`" ["chpt_" "h12+"]
    "stackhawk" "StackHawk keys: `hawk.….…`" ["hawk." "u20 '. u20"]
    "lichess" "Lichess tokens: `lip_…`" ["lip_" "!w20+"]
    "ionic" "Ionic tokens: `ion_…`" ["ion_" "!a42"]
    "thunderstore" "Thunderstore tokens: `tss_…`" ["tss_" "!u24+"]
    "spectral" "SpectralOps tokens: `spu-…`" ["spu-" "!l32"]
    "trufflehog" "TruffleHog keys: `thog-key-…`, `thog-secret-…`" ["thog-key-" "h16", "thog-secret-" "h32"]
    "jsr" "JSR tokens: `jsrp_…`" ["jsrp_" "a30+"]
    "pganalyze" "pganalyze keys: `pgar_…`" ["pgar_" "a27"]
    "jetbrains" "JetBrains permanent tokens: `perm:….….…`, `perm-….….…`" ["perm-" "e4+ '. e4+ '. e20+"]
}
