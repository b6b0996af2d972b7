//! Abyssal's own file of a dataset, as imported graphs and the cache have it.
#![no_main]

use abyssal_graph::formats::container;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    if let Ok(raw) = container::read(data) {
        assert_eq!(container::read(&container::write(&raw)), Ok(raw));
    }
});
