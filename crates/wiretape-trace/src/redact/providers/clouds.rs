//! Clouds, hosting and networks.

super::providers! {
    "aws" "AWS access key ids with the secret next to them, session tokens and Bedrock keys: `AKIA…`, `ASIA…`, `ABIA…`, `ACCA…`, `ABSK…`, `IQoJb3JpZ2lu…`, `bedrock-api-key-…`, AppSync keys: `da2-…`" [
        "AKIA" "U16", "ASIA" "U16", "ABIA" "U16", "ACCA" "U16", "ABSK" "b100+", "bedrock-api-key-" "e20+",
        "IQoJb3JpZ2lu" "e100+", "FwoGZXIvYXdz" "e100+", "da2-" "!l26",
    ]
    "amazon" "Amazon seller and login secrets: `amzn.mws.…`, `amzn1.oa2-cs.v1.…`" [
        "amzn.mws." "x8 '- x4 '- x4 '- x4 '- x12", "amzn1.oa2-cs.v1." "x64",
    ]
    "firebase" "Firebase Cloud Messaging keys: `AAAA…:APA91b…`" []
    "baidu" "Baidu Cloud keys: `bce-v3/ALTAK-…`" ["bce-v3/ALTAK-" "a16+ '/ x40"]
    "google" "Google API keys, OAuth tokens and client secrets: `AIza…`, `ya29.…`, `1//0…`, `GOCSPX-…`, `AQ.Ab…`" [
        "AIza" "u35+", "ya29." "t20+", "1//0" "u30+", "GOCSPX-" "u24+", "AQ." "'Ab u40+",
    ]
    "azure" "Azure client secrets and keys with a signature in them: `…Q~…`, `…AZDO…`, `…AzFu…`, `…+ASt…`" []
    "alibaba" "Alibaba Cloud access key ids: `LTAI…`, `STS.…`" ["LTAI" "a12-26", "STS." "#a20+"]
    "tencent" "Tencent Cloud secret ids: `AKID…`" ["AKID" "#a32+"]
    "yandex" "Yandex Cloud keys and tokens: `AQVN…`, `t1.…`, `y0_…`" [
        "AQVN" "u35+", "t1." "u20+ '. u86", "y0_" "!u50+",
    ]
    "scaleway" "Scaleway access keys: `SCW…`" ["SCW" "!U17"]
    "digitalocean" "DigitalOcean tokens: `dop_v1_…`, `doo_v1_…`, `dor_v1_…`" [
        "dop_v1_" "x64+", "doo_v1_" "x64+", "dor_v1_" "x64+",
    ]
    "heroku" "Heroku API keys: `HRKU-…`" ["HRKU-" "u36+"]
    "fly" "Fly.io tokens: `fo1_…`, `fm1r_…`, `fm2_…`" [
        "fo1_" "u40+", "fm1r_" "e80+", "fm1a_" "e80+", "fm2_" "e80+",
    ]
    "cloudflare" "Cloudflare tokens: `cfut_…`, `cfat_…`, `cfk_…`, origin CA keys `v1.0-…`" [
        "cfut_" "a40+", "cfat_" "a40+", "cfk_" "a40+", "v1.0-" "h24 '- h100+", "v1.0-" "u140+",
    ]
    "vercel" "Vercel tokens: `vcp_…`, `vck_…`, `vca_…`, `vcr_…`, `vci_…`, `vercel_blob_rw_…`" [
        "vcp_" "u24+", "vck_" "u40+", "vca_" "u40+", "vcr_" "u40+", "vci_" "u40+", "vercel_blob_rw_" "w30+",
    ]
    "netlify" "Netlify tokens: `nfp_…`, `nfc_…`, `nfo_…`, `nfu_…`, `nfb_…`" [
        "nfp_" "a36+", "nfc_" "a36+", "nfo_" "a36+", "nfu_" "a36+", "nfb_" "a36+",
    ]
    "render" "Render API keys: `rnd_…`" ["rnd_" "a28+"]
    "railway" "Railway tokens: `rw_Fe26.2**…`" ["rw_Fe26.2**" "s40+"]
    "scalingo" "Scalingo tokens: `tk-us-…`" ["tk-us-" "u48"]
    "upcloud" "UpCloud tokens: `ucat_…`" ["ucat_" "a24+"]
    "tailscale" "Tailscale keys: `tskey-…`" ["tskey-" "u20+"]
    "defined-networking" "Defined Networking keys: `dnkey-…`" ["dnkey-" "g26 '- g40+"]
    "ngrok" "ngrok credentials: `cr_…`, `ak_…`, `ngrok_…`" ["cr_" "#a27 '_ a16+", "ak_" "#a27", "ngrok_" "#a30+"]
    "dockerhub" "Docker Hub tokens: `dckr_pat_…`, `dckr_oat_…`" ["dckr_pat_" "u20+", "dckr_oat_" "u20+"]
    "docker-swarm" "Docker Swarm join tokens and unlock keys: `SWMTKN-1-…`, `SWMKEY-1-…`" [
        "SWMTKN-1-" "l40+ '- l20+", "SWMKEY-1-" "b40+",
    ]
    "openshift" "OpenShift tokens: `sha256~…`" []
    "terraform" "Terraform Cloud tokens: `….atlasv1.…`" []
    "vault" "HashiCorp Vault tokens: `hvs.…`, `hvb.…`, `hvr.…`, older ones `s.…`" [
        "hvs." "t24+", "hvb." "t24+", "hvr." "t24+",
    ]
    "doppler" "Doppler tokens: `dp.pt.…` and similar" [
        "dp.pt." "a40+", "dp.ct." "a40+", "dp.sa." "a40+", "dp.st." "t40+", "dp.scim." "a40+", "dp.audit." "a40+",
        "dp.said." "a40+",
    ]
    "infisical" "Infisical service tokens: `st.….…`" ["st." "x24 '. x32+ '. x32+"]
    "pulumi" "Pulumi tokens: `pul-…`" ["pul-" "l40+"]
    "1password" "1Password secret keys and service account tokens: `A3-…`, `ops_eyJ…`" [
        "A3-" "U6 '- U5+ '- U5+ '- U5 '- U5", "ops_eyJ" "e80+",
    ]
    "age" "age secret keys: `AGE-SECRET-KEY-1…`" ["AGE-SECRET-KEY-1" "U50+"]
    "cloudsmith" "Cloudsmith keys: `csa_…`" ["csa_" "a36-44"]
    "cockroachdb-cloud" "CockroachDB Cloud keys: `CCDB1_…`" ["CCDB1_" "a22 '_ a40"]
    "zuplo" "Zuplo and Unkey keys: `zpka_…`, `unkey_…`" ["zpka_" "l32 '_ h8", "unkey_" "a16+"]
    "salad" "SaladCloud keys: `salad_cloud_…`" ["salad_cloud_" "w10+"]
    "akamai" "Akamai EdgeGrid tokens: `akab-…`" ["akab-" "l16+ '- l16+"]
    "boundary" "HashiCorp Boundary tokens: `at_…`" ["at_" "a10 '_s1 u60+"]
    "rancher" "Rancher tokens: `token-…:…`" ["token-" "l5 ': l54"]
    "runpod" "RunPod keys: `rpa_…`" ["rpa_" "a30+"]
    "modal" "Modal token ids and secrets: `ak-…`, `as-…`" ["as-" "!a22", "ak-" "!a22"]
}
