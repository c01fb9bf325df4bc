//! Chat, mail, documents, shops and other applications.

super::providers! {
    "slack" "Slack tokens and webhooks: `xoxb-…` and similar, `xapp-…`, `hooks.slack.com/services/…`" [
        "xoxb-" "u10+", "xoxp-" "u10+", "xoxa-" "u10+", "xoxe-" "u10+", "xoxr-" "u10+", "xoxs-" "u10+", "xoxo-" "u10+",
        "xoxc-" "u10+", "xoxd-" "s20+", "xoxe." "'xox c1 '- u10+", "xapp-" "u10+", "xwfp-" "u20+",
    ]
    "discord" "Discord bot tokens: `….….…`; MFA tokens: `mfa.…`" ["mfa." "u60+"]
    "telegram" "Telegram bot tokens: `<digits>:AA…`" []
    "webhook" "addresses that are secrets themselves: webhooks of Discord, Teams, Zapier, Make, IFTTT, Tines, Feishu and Google Chat" []
    "twilio" "Twilio keys: `SK` and 32 hexadecimal digits" []
    "sendgrid" "SendGrid keys: `SG.….…`" ["SG." "u16+ '. u16+"]
    "mailchimp" "Mailchimp keys: 32 hexadecimal digits and `-us…`; Mandrill keys: `md-…`" ["md-" "!u22"]
    "mailgun" "Mailgun keys: `key-…` and signing keys" ["key-" "!l32"]
    "mailersend" "MailerSend tokens: `mlsn.…`" ["mlsn." "a30+"]
    "resend" "Resend keys: `re_…`" ["re_" "!a8 '_ a20+"]
    "brevo" "Brevo keys: `xkeysib-…`, `xsmtpsib-…`" ["xkeysib-" "a40+ '- a10+", "xsmtpsib-" "a40+ '- a10+"]
    "klaviyo" "Klaviyo private keys: `pk_` and 34 hexadecimal digits" ["pk_" "!h34", "pk_" "a6 '_ h34"]
    "courier" "Courier keys: `pk_prod_…`, `pk_test_…`" ["pk_prod_" "U20+"]
    "telnyx" "Telnyx keys: `KEY0…`" ["KEY0" "!w40+"]
    "onesignal" "OneSignal keys: `os_v2_app_…`, `os_v2_org_…`" ["os_v2_app_" "l60+", "os_v2_org_" "l60+"]
    "ntfy" "ntfy tokens: `tk_…`" ["tk_" "!l29"]
    "nylas" "Nylas keys: `nyk_…`" ["nyk_" "a40+"]
    "notion" "Notion tokens: `ntn_…`, `secret_…`" ["ntn_" "a40+", "secret_" "!a43"]
    "airtable" "Airtable tokens: `pat….…`" []
    "asana" "Asana tokens: `1/…:…` and `2/…/…:…`" []
    "linear" "Linear keys: `lin_api_…`, `lin_oauth_…`, `lin_wh_…`" ["lin_api_" "a32+", "lin_oauth_" "a32+", "lin_wh_" "a32+"]
    "clickup" "ClickUp tokens: `pk_<digits>_…`" ["pk_" "d5-12 '_ U30+"]
    "miro" "Miro tokens: `eyJtaXJv…`" ["eyJtaXJv" "u20+"]
    "figma" "Figma tokens: `figd_…`, `figp_…`, `figu_…`, `figo_…`" [
        "figd_" "u36+", "figp_" "g36+", "figu_" "g36+", "figo_" "g36+", "figoh_" "g36+", "figor_" "g36+",
    ]
    "canva" "Canva client secrets: `cnvca…`" ["cnvca" "u40+"]
    "frameio" "Frame.io tokens: `fio-u-…`" ["fio-u-" "g40+"]
    "adobe" "Adobe client secrets: `p8e-…`" ["p8e-" "u32+"]
    "dropbox" "Dropbox tokens: `sl.…`" ["sl." "t100+"]
    "contentful" "Contentful tokens: `CFPAT-…`" ["CFPAT-" "u40+"]
    "typeform" "Typeform tokens: `tfp_…`" ["tfp_" "s40+"]
    "hubspot" "HubSpot tokens: `pat-na1-…`, `pat-eu1-…`" [
        "pat-na1-" "a8 '- u20+", "pat-na2-" "a8 '- u20+", "pat-eu1-" "a8 '- u20+", "pat-ap1-" "a8 '- u20+",
    ]
    "salesforce" "Salesforce session ids and consumer keys: `00D…!…`, `3MVG9…`, `5Aep861…`" [
        "3MVG9" "s60+", "5Aep861" "s60+",
    ]
    "intercom" "Intercom tokens: `dG9rO…`" ["dG9rO" "e50+"]
    "zoho" "Zoho tokens: `1000.….…`" ["1000." "h32 '. h32"]
    "shopify" "Shopify tokens: `shpat_…` and similar" [
        "shpat_" "x30+", "shpca_" "x30+", "shppa_" "x30+", "shpss_" "x30+", "shptka_" "x30+", "shpua_" "x30+", "shprt_" "x30+",
        "shpcl_" "x30+",
    ]
    "woocommerce" "WooCommerce keys: `ck_…`, `cs_…`" ["ck_" "!x40", "cs_" "!x40"]
    "shippo" "Shippo tokens: `shippo_live_…`, `shippo_test_…`" ["shippo_live_" "x40", "shippo_test_" "x40"]
    "easypost" "EasyPost keys: `EZAK…`, `EZTK…`" ["EZAK" "a54", "EZTK" "a54"]
    "lob" "Lob keys: `live_…`, `test_…` with 35 hexadecimal digits" ["live_" "!h35", "test_" "!h35", "live_pub_" "!h31", "test_pub_" "!h31"]
    "duffel" "Duffel tokens: `duffel_live_…`, `duffel_test_…`" ["duffel_live_" "g40+", "duffel_test_" "g40+"]
    "facebook" "Meta access tokens: `EAA…`, app tokens `<digits>|…`, Instagram tokens: `IGQV…`" [
        "EAA" "!a60+", "IGQV" "!u60+",
    ]
    "twitter" "X (Twitter) access tokens: `<digits>-…`" []
    "pinterest" "Pinterest tokens: `pina_…`" ["pina_" "u20+"]
    "linkedin" "LinkedIn secrets: `WPL_AP…`" ["WPL_AP" "s16+"]
    "mapbox" "Mapbox tokens: `sk.eyJ…`, `pk.eyJ…`, `tk.eyJ…`" ["sk.eyJ" "t40+", "pk.eyJ" "t40+", "tk.eyJ" "t40+"]
    "maxmind" "MaxMind license keys: `…_mmk`" []
    "adafruit" "Adafruit IO keys: `aio_…`" ["aio_" "!a28"]
    "ubidots" "Ubidots tokens: `BBFF-…`, `BBUS-…`" ["BBFF-" "a30+", "BBUS-" "a30+"]
    "samsara" "Samsara tokens: `samsara_api_…`" ["samsara_api_" "a20+"]
    "nightfall" "Nightfall keys: `NF-…`" ["NF-" "!a32"]
    "stytch" "Stytch secrets: `secret-live-…`, `secret-test-…`" [
        "secret-live-" "g20+", "secret-test-" "g20+",
    ]
    "authress" "Authress keys: `sc_….….acc-….…`" ["sc_" "a5-30 '. a4-6 '. u10+ '. s30+", "ext_" "a5-30 '. a4-6 '. u10+ '. s30+", "scauth_" "a5-30 '. a4-6 '. u10+ '. s30+", "authress_" "a5-30 '. a4-6 '. u10+ '. s30+"]
    "onfido" "Onfido and Persona tokens: `api_live.…`, `api_sandbox.…`, `persona_production_…`" [
        "api_live." "t20+", "api_sandbox." "t20+", "api_live_us." "t20+", "api_live_ca." "t20+",
        "persona_production_" "u20+", "persona_sandbox_" "u20+",
    ]
    "intra42" "42 Intra client secrets: `s-s4t2ud-…`, `s-s4t2af-…`" ["s-s4t2ud-" "x64", "s-s4t2af-" "x64", "u-s4t2ud-" "x64", "u-s4t2af-" "x64"]
    "voiceflow" "Voiceflow keys: `VF.….…`" ["VF." "t40+"]
    "tableau" "Tableau tokens: `…==:…`" []
    "pubnub" "PubNub keys: `sec-c-…`, `pub-c-…`, `sub-c-…`" ["sec-c-" "e40+", "pub-c-" "a8 '- u20+", "sub-c-" "a8 '- u20+"]
    "flexport" "Flexport tokens: `shltm_…`" ["shltm_" "u40"]
    "polar" "Polar tokens: `polar_oat_…`, `polar_pat_…`" ["polar_oat_" "u20+", "polar_pat_" "u20+", "polar_at_" "u20+"]
    "calcom" "Cal.com keys: `cal_live_…`, `cal_test_…`" ["cal_live_" "h20+", "cal_test_" "h20+", "cal_" "!h32"]
    "trigger-dev" "Trigger.dev keys: `tr_prod_…`, `tr_dev_…`, `tr_pat_…`" [
        "tr_prod_" "a16+", "tr_dev_" "a16+", "tr_pat_" "a20+",
    ]
    "bannerbear" "Bannerbear keys: `bb_pr_…`, `bb_ma_…`" ["bb_pr_" "h30", "bb_ma_" "h30"]
    "close" "Close keys: `api_….…`" ["api_" "!a20-24 '. a20-24"]
    "fleetbase" "Fleetbase keys: `flb_live_…`, `flb_test_…`" ["flb_live_" "a20", "flb_test_" "a20"]
    "imagekit" "ImageKit private keys: `private_…`" ["private_" "!e24-40"]
    "locationiq" "LocationIQ tokens: `pk.…`" ["pk." "!a32"]
    "webex" "Webex bot tokens: 64 characters, `_`, 4 characters, `_` and a UUID" []
    "ably" "Ably keys: `….….:…`" []
    "deepl" "DeepL keys: a UUID and `:fx`" []
    "bitwarden" "Bitwarden access tokens: `0.<uuid>.…`" []
    "truenas" "TrueNAS keys: a number, `-` and 64 characters" []
    "inngest" "Inngest signing keys: `signkey-…`" ["signkey-" "u20+"]
}
