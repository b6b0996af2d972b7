//! Any bytes as the list of test nodes of a Planetoid dataset: what is read is distinct and written the same again.

#![no_main]

use std::collections::BTreeSet;

use abyssal_graph::formats::planetoid;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    if let Ok(nodes) = planetoid::test_index(data) {
        assert_eq!(nodes.iter().collect::<BTreeSet<_>>().len(), nodes.len());
        let written: String = nodes.iter().map(|node| format!("{node}\n")).collect();
        assert_eq!(planetoid::test_index(written.as_bytes()), Ok(nodes));
    }
});
