//! Payment, banking and currencies.

super::providers! {
    "stripe" "keys in the style of Stripe: `sk_live_…`, `rk_test_…`, `whsec_…`" [
        "sk_live_" "u10+", "sk_test_" "u10+", "sk_prod_" "u10+", "rk_live_" "a10+", "rk_test_" "a10+", "rk_prod_" "a10+",
        "whsec_" "e16+", "sk_org_" "w20+", "ek_live_" "w10+", "ek_test_" "w10+",
    ]
    "stripe-intent" "client secrets of Stripe intents: `pi_…_secret_…`" [
        "pi_" "a20+ '_secret_ a20+", "seti_" "a20+ '_secret_ a20+",
    ]
    "square" "Square tokens: `EAAA…`, `sq0atp-…`, `sq0csp-…`" [
        "sq0atp-" "u22+", "sq0csp-" "u40+", "sq0idp-" "u22+", "EAAA" "!u56+",
    ]
    "braintree" "Braintree tokens: `access_token$production$…`, `production_…_…`" []
    "adyen" "Adyen keys: `AQE…`" ["AQE" "!s80+"]
    "plaid" "Plaid tokens: `access-sandbox-…`, `access-production-…`, `access-development-…`" [
        "access-sandbox-" "x8 '- u20+", "access-production-" "x8 '- u20+", "access-development-" "x8 '- u20+",
        "link-sandbox-" "x8 '- u20+", "link-production-" "x8 '- u20+",
    ]
    "razorpay" "Razorpay keys: `rzp_live_…`, `rzp_test_…`" ["rzp_live_" "a14+", "rzp_test_" "a14+"]
    "flutterwave" "Flutterwave keys: `FLWSECK-…`, `FLWSECK_TEST-…`" ["FLWSECK-" "u12+", "FLWSECK_TEST-" "u12+", "FLWSECK_TEST" "a12+", "FLWPUBK_TEST-" "u20+", "FLWPUBK-" "u20+"]
    "gocardless" "GoCardless tokens: `live_…`, `sandbox_…`" ["live_" "!g40", "sandbox_" "!g40"]
    "checkout-com" "Checkout.com keys, and others of the form `sk_` with 26 characters and more" ["sk_sbox_" "s26+", "sk_" "!a26+"]
    "paddle" "Paddle keys: `pdl_live_apikey_…`, `pdl_sdbx_apikey_…`, `pdl_ntfset_…`" [
        "pdl_live_apikey_" "w40+", "pdl_sdbx_apikey_" "w40+", "pdl_ntfset_" "w40+",
    ]
    "mollie" "Mollie and Chargebee keys: `live_…`, `test_…` with 30 characters and more" ["live_" "!a30-50", "test_" "!a30-50"]
    "xendit" "Xendit keys: `xnd_production_…`, `xnd_development_…`" ["xnd_production_" "a40+", "xnd_development_" "a40+"]
    "midtrans" "Midtrans keys: `Mid-server-…`, `SB-Mid-server-…`" ["Mid-server-" "u20+"]
    "asaas" "Asaas tokens: `$aact_…`" ["aact_" "s20+"]
    "pagarme" "Pagar.me keys: `ak_live_…`, `ak_test_…`" ["ak_live_" "a30", "ak_test_" "a30"]
    "mercado-pago" "Mercado Pago tokens: `APP_USR-…`, `TEST-…`" ["APP_USR-" "u30+", "TEST-" "d14-20 '- d6 '- h32 '- d4+"]
    "mercury" "Mercury tokens: `mercury_production_…`" ["mercury_production_" "w40+", "mercury_sandbox_" "w40+"]
    "ramp" "Ramp client secrets: `ramp_sec_…`" ["ramp_sec_" "a40+", "ramp_id_" "a40+"]
    "brex" "Brex tokens: `bxt_…`" ["bxt_" "w30+"]
    "alchemy" "Alchemy keys: `alcht_…`" ["alcht_" "a25+"]
    "dfuse" "dfuse keys: `web_…`, `server_…`" ["web_" "!h32", "server_" "!h32"]
    "secret-live" "keys of the form `secret_live_…`, `secret_test_…`" ["secret_live_" "w20+", "secret_test_" "w20+"]
    "settlemint" "SettleMint tokens: `sm_aat_…`, `sm_pat_…`, `sm_sat_…`" ["sm_aat_" "a16+", "sm_pat_" "a16+", "sm_sat_" "a16+"]
}
