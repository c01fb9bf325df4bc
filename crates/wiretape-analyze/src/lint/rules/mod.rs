//! The rules, one file for each, and the catalog of them.
//!
//! A rule's file has its code, name, texts and check. Its fixtures are in `fixtures/lint/<name>`; its page
//! `docs/rules/<name>.md` is generated from the file. Helpers for several checks are in `support`.

mod accept_header;
mod answer_after_cancel;
mod arguments_invalid;
mod baseline_not_compared;
mod batch_empty;
mod batch_not_supported;
mod byte_order_mark;
mod cache_fields_missing;
mod cancel_unknown_request;
mod client_capability_missing;
mod client_info_missing;
mod cursor_repeated;
mod definition_added;
mod definition_broken;
mod definition_changed;
mod definition_removed;
mod definition_renamed;
mod description_changed;
mod description_missing;
mod duplicate_key;
mod embedded_newline;
mod error_code_reserved;
mod error_code_type;
mod error_data_shape;
mod error_shape;
mod error_status;
mod event_id_reused;
mod get_content_type;
mod header_annotation_invalid;
mod id_null;
mod id_reused;
mod id_type;
mod initialize_cancelled;
mod initialize_in_batch;
mod initialize_not_first;
mod initialize_twice;
mod initialized_missing;
mod input_request_not_supported;
mod input_required_empty;
mod input_required_not_allowed;
mod input_schema_not_an_object;
mod invalid_arguments_accepted;
mod invalid_json_schema;
mod jsonrpc_version;
mod legacy_error_code;
mod log_not_declared;
mod long_call_without_token;
mod meta_key_form;
mod meta_key_reserved;
mod meta_not_an_object;
mod method_header;
mod method_in_response;
mod method_name;
mod method_not_a_string;
mod name_header;
mod not_a_message;
mod not_utf_8;
mod notification_not_declared;
mod notification_shape;
mod notification_status;
mod notification_with_id;
mod output_schema_not_an_object;
mod param_header;
mod params_not_an_object;
mod params_shape;
mod progress_after_response;
mod progress_beyond_total;
mod progress_not_increasing;
mod progress_token_reused;
mod progress_token_type;
mod progress_token_unknown;
mod protocol_version_unknown;
mod removed_method;
mod request_before_agreement;
mod request_content_type;
mod request_meta_missing;
mod request_state_not_echoed;
mod request_without_id;
mod request_without_response;
mod response_on_get_stream;
mod response_without_id;
mod response_without_request;
mod result_and_error;
mod result_not_an_object;
mod result_shape;
mod result_type_missing;
mod result_type_unknown;
mod retired_error_code;
mod retry_with_same_id;
mod server_cancels_request;
mod server_capability_missing;
mod server_crashed;
mod server_request;
mod server_request_before_initialized;
mod session_id_form;
mod session_id_given;
mod session_id_missing;
mod session_used_after_not_found;
mod stdin_pollution;
mod stdout_pollution;
mod stream_not_primed;
mod structured_content_invalid;
mod structured_content_missing;
mod structured_content_without_text;
mod subscription_id_missing;
mod subscription_not_acknowledged;
mod support;
mod tool_name_duplicate;
mod tool_name_form;
mod undefined_error_code;
mod unknown_method;
mod unknown_session_status;
mod unknown_tool_called;
mod version_header;
mod version_header_missing;
mod version_header_wrong;
mod version_not_echoed;

use super::rule::Rule;

pub(crate) use support::{argument_misfits, speaks_stateless};

/// Every rule, in the order of the codes of each family.
pub static ALL: &[&Rule] = &[
    &not_a_message::RULE,
    &jsonrpc_version::RULE,
    &id_null::RULE,
    &id_type::RULE,
    &id_reused::RULE,
    &response_without_id::RULE,
    &result_and_error::RULE,
    &method_in_response::RULE,
    &method_not_a_string::RULE,
    &method_name::RULE,
    &notification_with_id::RULE,
    &request_without_id::RULE,
    &params_not_an_object::RULE,
    &result_not_an_object::RULE,
    &error_shape::RULE,
    &error_code_type::RULE,
    &error_code_reserved::RULE,
    &batch_not_supported::RULE,
    &batch_empty::RULE,
    &meta_not_an_object::RULE,
    &meta_key_form::RULE,
    &meta_key_reserved::RULE,
    &progress_token_type::RULE,
    &duplicate_key::RULE,
    &params_shape::RULE,
    &result_shape::RULE,
    &notification_shape::RULE,
    &error_data_shape::RULE,
    &unknown_method::RULE,
    &initialize_not_first::RULE,
    &initialize_twice::RULE,
    &request_before_agreement::RULE,
    &server_request_before_initialized::RULE,
    &initialized_missing::RULE,
    &protocol_version_unknown::RULE,
    &version_not_echoed::RULE,
    &client_capability_missing::RULE,
    &server_capability_missing::RULE,
    &notification_not_declared::RULE,
    &log_not_declared::RULE,
    &response_without_request::RULE,
    &request_without_response::RULE,
    &server_crashed::RULE,
    &answer_after_cancel::RULE,
    &initialize_cancelled::RULE,
    &cancel_unknown_request::RULE,
    &initialize_in_batch::RULE,
    &progress_not_increasing::RULE,
    &progress_token_unknown::RULE,
    &progress_after_response::RULE,
    &progress_token_reused::RULE,
    &progress_beyond_total::RULE,
    &long_call_without_token::RULE,
    &tool_name_form::RULE,
    &tool_name_duplicate::RULE,
    &input_schema_not_an_object::RULE,
    &output_schema_not_an_object::RULE,
    &invalid_json_schema::RULE,
    &arguments_invalid::RULE,
    &invalid_arguments_accepted::RULE,
    &unknown_tool_called::RULE,
    &structured_content_invalid::RULE,
    &structured_content_missing::RULE,
    &structured_content_without_text::RULE,
    &description_missing::RULE,
    &cursor_repeated::RULE,
    &header_annotation_invalid::RULE,
    &stdout_pollution::RULE,
    &stdin_pollution::RULE,
    &embedded_newline::RULE,
    &not_utf_8::RULE,
    &byte_order_mark::RULE,
    &version_header_missing::RULE,
    &version_header_wrong::RULE,
    &session_id_missing::RULE,
    &session_id_form::RULE,
    &notification_status::RULE,
    &request_content_type::RULE,
    &get_content_type::RULE,
    &accept_header::RULE,
    &unknown_session_status::RULE,
    &session_used_after_not_found::RULE,
    &event_id_reused::RULE,
    &stream_not_primed::RULE,
    &response_on_get_stream::RULE,
    &request_meta_missing::RULE,
    &client_info_missing::RULE,
    &result_type_missing::RULE,
    &result_type_unknown::RULE,
    &cache_fields_missing::RULE,
    &request_state_not_echoed::RULE,
    &retry_with_same_id::RULE,
    &input_required_empty::RULE,
    &input_required_not_allowed::RULE,
    &input_request_not_supported::RULE,
    &removed_method::RULE,
    &server_request::RULE,
    &subscription_not_acknowledged::RULE,
    &subscription_id_missing::RULE,
    &retired_error_code::RULE,
    &undefined_error_code::RULE,
    &legacy_error_code::RULE,
    &version_header::RULE,
    &method_header::RULE,
    &name_header::RULE,
    &param_header::RULE,
    &error_status::RULE,
    &session_id_given::RULE,
    &server_cancels_request::RULE,
    &definition_broken::RULE,
    &definition_removed::RULE,
    &definition_renamed::RULE,
    &definition_added::RULE,
    &description_changed::RULE,
    &definition_changed::RULE,
    &baseline_not_compared::RULE,
];

/// The rule of that code or name.
pub fn find(word: &str) -> Option<&'static Rule> {
    ALL.iter().copied().find(|rule| rule.name == word || rule.code.eq_ignore_ascii_case(word))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn codes_and_names_are_unique_and_well_formed() {
        let mut seen = BTreeSet::new();
        for rule in ALL {
            assert!(seen.insert(rule.code) && seen.insert(rule.name), "{rule:?} is there twice");
            assert!(rule.code.len() == 4 && rule.code.starts_with(rule.family.letter()), "{rule:?}");
            assert!(
                rule.name
                    .bytes()
                    .all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-'),
                "{rule:?}"
            );
            assert!(rule.section.url.starts_with("https://"), "{rule:?}");
            for text in [rule.what, rule.why, rule.fix] {
                assert!(text.ends_with('.') && !text.contains("  "), "{rule:?}: {text}");
            }
        }
    }
}
