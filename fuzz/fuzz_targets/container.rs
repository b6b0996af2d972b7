//! Abyssal's own file of a dataset, as imported graphs and the cache have it: what can be read is written the same, also
//! where its checksum was made to fit.
#![no_main]

use abyssal_graph::formats::container;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let sealed = container::resealed(data);
    for bytes in [Some(data), sealed.as_deref()].into_iter().flatten() {
        if let Ok(raw) = container::read(bytes) {
            let written = container::write(&raw);
            let again = container::read(&written).expect("what was written can be read");
            assert_eq!(container::write(&again), written);
        }
    }
});
