//! A training pass after the first one allocates no matrices.
//!
//! The only test of its binary: the counting allocator sees every thread of the process.

// An allocator is unsafe by its trait; this one only counts and passes on.
#![allow(unsafe_code)]

mod common;

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::Barrier;
use std::sync::atomic::{AtomicUsize, Ordering};

use abyssal_graph::Features;
use abyssal_nn::aggregation::Neighbourhood;
use abyssal_nn::models::{GatConfig, GinConfig, ModelConfig, RSoftGraphAinConfig};
use abyssal_nn::{Mode, Pass};
use abyssal_tensor::Csr;
use abyssal_tensor::gemm::product;
use abyssal_tensor::ops::Gradient;
use abyssal_tensor::parallel::{block_rows, for_each_block, with_threads};
use abyssal_tensor::tape::{Pool, Tape};
use abyssal_tensor::testing::random_matrix;

use common::{Problem, Setup, connected_graph, random_features, sparse_features};

/// From this many bytes on, an allocation could be a matrix. The smallest embedding here has 40,000, a weight between
/// layers 6,400; lists of variables, steps and gradients, which do grow anew in every pass, stay below.
const MATRIX_SIZED: usize = 5000;
const THREADS: usize = 2;

static LARGE: AtomicUsize = AtomicUsize::new(0);

struct Counting;

// SAFETY: every method passes its arguments on to the system's allocator unchanged.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count(layout.size());
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        count(layout.size());
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        count(size);
        unsafe { System.realloc(pointer, layout, size) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

fn count(bytes: usize) {
    if bytes >= MATRIX_SIZED {
        LARGE.fetch_add(1, Ordering::SeqCst);
    }
}

/// How many large allocations `operation` makes, on any thread.
fn large_allocations(operation: impl FnOnce()) -> usize {
    let before = LARGE.load(Ordering::SeqCst);
    operation();
    LARGE.load(Ordering::SeqCst) - before
}

/// One epoch as a training loop runs it: forward, loss, backward, and all gradients taken.
fn train(setup: &Setup<f32>, pool: &Pool<f32>, epoch: u32) {
    let tape = Tape::recording(pool);
    let pass = Pass::new(&tape, &setup.parameters, Mode::Training { seed: 1, epoch });
    let logits = setup.model.forward(&pass, &setup.input).expect("finite embeddings");
    let loss = tape.cross_entropy(&logits, &setup.targets);
    let parameters = pass.parameters;
    let mut gradients = tape.backward(&loss);
    assert!(parameters.iter().all(|parameter| gradients.take(parameter).is_some()));
}

/// faer's product keeps scratch memory for each thread, made when the thread first needs it. Which thread that is in
/// a training pass is a matter of luck, so every thread multiplies once beforehand: they wait for each other.
fn warm_up_threads() {
    let columns = 64;
    let barrier = Barrier::new(THREADS);
    let mut blocks = vec![0u8; THREADS * block_rows(columns) * columns];
    for_each_block(&mut blocks, columns, usize::MAX, |_, _| {
        barrier.wait();
        product(&random_matrix(512, 64, 1).cast::<f32>(), &random_matrix(64, 64, 2).cast());
    });
}

/// The second and the third training pass over one pool take every matrix from it, full and detached, attentive
/// and isomorphic, on dense, on sparse and on symmetric sparse features.
#[test]
fn passes_after_the_first_allocate_no_matrices() {
    let (dense, sparse) = (random_features(2000, 40, 2), sparse_features(2000, 40, 2));
    // A symmetric matrix shares its memory with its transpose; its values after dropout are not symmetric.
    let ones = (0..2000).map(|node| (node, node, 1.0)).collect();
    let symmetric = Features::Sparse(Csr::from_entries(2000, 2000, ones).unwrap());
    for (name, features) in [("dense", dense), ("sparse", sparse), ("symmetric", symmetric)] {
        let problem = Problem::new(connected_graph(2000, 6000, 1), features, 5);
        let normalized = |gradient| {
            ModelConfig::RSoftGraphAin(RSoftGraphAinConfig {
                layers: 6,
                hidden: 40,
                gradient,
                input_dropout: 0.3,
                hidden_dropout: 0.3,
                ..Default::default()
            })
        };
        let gin = |neighbourhood| ModelConfig::Gin(GinConfig { neighbourhood, ..Default::default() });
        for config in [
            normalized(Gradient::Full),
            normalized(Gradient::Detached),
            ModelConfig::Gat(GatConfig::default()),
            gin(Neighbourhood::Sum),
            gin(Neighbourhood::Max),
        ] {
            let counts = with_threads(THREADS, || {
                warm_up_threads();
                let setup = problem.setup::<f32>(&config, 3);
                let pool = Pool::new();
                [0, 1, 2].map(|epoch| large_allocations(|| train(&setup, &pool, epoch)))
            });
            let [first, second, third] = counts.unwrap();
            // The counter counts: the first pass fills the pool.
            assert!(first > 10, "{name} features, {config:?}: {first} allocations in the first pass");
            assert_eq!((second, third), (0, 0), "{name} features, {config:?}: allocations in later passes");
        }
    }
    for name in ModelConfig::NAMES {
        let sized =
            ModelConfig::RSoftGraphAin(RSoftGraphAinConfig { layers: 6, hidden: 40, ..Default::default() });
        let config = ModelConfig::named(name).unwrap().sized_like(&sized);
        for features in [random_features(2000, 40, 2), sparse_features(2000, 40, 2)] {
            let problem = Problem::new(connected_graph(2000, 6000, 1), features, 5);
            let counts = with_threads(THREADS, || {
                warm_up_threads();
                let setup = problem.setup::<f32>(&config, 3);
                let pool = Pool::new();
                [0, 1, 2].map(|epoch| large_allocations(|| train(&setup, &pool, epoch)))
            });
            let [_, second, third] = counts.unwrap();
            assert_eq!((second, third), (0, 0), "{name}: allocations in later passes");
        }
    }
}
