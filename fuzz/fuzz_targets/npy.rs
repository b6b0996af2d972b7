//! Any bytes as an npy array, and the array as anything a reader of datasets could ask for.

#![no_main]

use abyssal_graph::formats::npy;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let Ok(array) = npy::read(data, 1 << 24) else { return };
    let elements: usize = array.shape.iter().product();
    let _ = array.dimensions(1);
    if let Ok(integers) = array.clone().into_integers() {
        assert_eq!(integers.len(), elements);
    }
    if let Ok(floats) = array.clone().into_floats() {
        assert_eq!(floats.len(), elements);
    }
    if let Ok(bools) = array.clone().into_bools() {
        assert_eq!(bools.len(), elements);
    }
    if let Ok(text) = array.into_text() {
        assert_eq!(text.len(), elements);
    }
});
