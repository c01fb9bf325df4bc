#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| wiretape_fuzz::replay(data));
