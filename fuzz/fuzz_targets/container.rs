//! Abyssal's own file of a dataset, as imported graphs and the cache have it: what can be read is written the same.
#![no_main]

use abyssal_graph::formats::container;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    if let Ok(raw) = container::read(data) {
        let written = container::write(&raw);
        let again = container::read(&written).expect("what was written can be read");
        assert_eq!(container::write(&again), written);
    }
});
