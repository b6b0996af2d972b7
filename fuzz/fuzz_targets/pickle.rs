//! Any bytes as a pickle, asked for everything a pickle can be.

#![no_main]

use abyssal_graph::formats::pickle::Pickle;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    if let Ok(pickle) = Pickle::read(data) {
        let _ = pickle.csr();
        let _ = pickle.matrix();
        let _ = pickle.adjacency();
    }
});
