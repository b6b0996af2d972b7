//! A training pass after the first one allocates no matrices.
//!
//! The only test of its binary: the counting allocator sees every thread of the process.

// An allocator is unsafe by its trait; this one only counts and passes on.
#![allow(unsafe_code)]

mod common;

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Barrier, Mutex, PoisonError};

use abyssal_graph::Features;
use abyssal_nn::models::{GatConfig, ModelConfig, RSoftGraphAinConfig};
use abyssal_nn::{Mode, Pass};
use abyssal_tensor::Csr;
use abyssal_tensor::gemm::product;
use abyssal_tensor::ops::Gradient;
use abyssal_tensor::parallel::{block_rows, for_each_block, with_threads};
use abyssal_tensor::tape::{Pool, Tape};
use abyssal_tensor::testing::random_matrix;

use common::zoo::models;
use common::{Problem, Setup, connected_graph, random_features, sparse_features};

/// From this many bytes on, an allocation could be a matrix. The smallest embedding here has 40,000, a weight between
/// layers 6,400; lists of variables, steps and gradients, which do grow anew in every pass, stay below: 128 variables have 6,144.
const MATRIX_SIZED: usize = 6400;
const THREADS: usize = 2;

static LARGE: AtomicUsize = AtomicUsize::new(0);
/// Bytes of the largest allocation since it was last set.
static LARGEST: AtomicUsize = AtomicUsize::new(0);
/// Held by the test whose allocations are counted.
static COUNTED: Mutex<()> = Mutex::new(());

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
    LARGEST.fetch_max(bytes, Ordering::SeqCst);
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
    let pass = Pass::new(&tape, &setup.parameters, Mode::Training { seed: 1, pass: epoch });
    let logits = setup.model.forward(&pass, &setup.input).expect("finite embeddings");
    let loss = tape.cross_entropy(&logits, &setup.targets);
    let parameters = pass.parameters;
    let mut gradients = tape.backward(&loss);
    assert!(parameters.iter().all(|parameter| gradients.take(parameter).is_some()));
}

/// faer's product keeps scratch memory for each thread, made when the thread first needs it. Which thread that is in
/// a training pass is a matter of luck, so every thread multiplies once beforehand: they wait for each other.
fn warm_up_threads() {
    let (rows, columns) = (128, 64);
    assert_eq!(block_rows(THREADS * rows, columns), rows, "a block for each thread");
    let barrier = Barrier::new(THREADS);
    let mut blocks = vec![0u8; THREADS * rows * columns];
    for_each_block(&mut blocks, columns, usize::MAX, |_, _| {
        barrier.wait();
        product(&random_matrix(512, 64, 1).cast::<f32>(), &random_matrix(64, 64, 2).cast());
    });
}

/// The second and the third training pass over one pool take every matrix from it, with every model, on dense, on sparse
/// and on symmetric sparse features. DropEdge makes a new graph in every pass and is left out.
#[test]
fn passes_after_the_first_allocate_no_matrices() {
    let _alone = COUNTED.lock().unwrap_or_else(PoisonError::into_inner);
    let (dense, sparse) = (random_features(2000, 40, 2), sparse_features(2000, 40, 2));
    // A symmetric matrix shares its memory with its transpose; its values after dropout are not symmetric.
    let ones = (0..2000).map(|node| (node, node, 1.0)).collect();
    let symmetric = Features::Sparse(Csr::from_entries(2000, 2000, ones).unwrap());
    let detached =
        RSoftGraphAinConfig { gradient: Gradient::Detached, layers: 5, hidden: 40, ..Default::default() };
    let mut models = models(5, 40);
    models.retain(|(_, config)| !matches!(config, ModelConfig::Modular(config) if config.drop_edge > 0.0));
    models.push(("detached".into(), ModelConfig::RSoftGraphAin(detached)));
    for (kind, features) in [("dense", dense), ("sparse", sparse), ("symmetric", symmetric)] {
        let problem = Problem::new(connected_graph(2000, 6000, 1), features, 5);
        for (name, config) in &models {
            let counts = with_threads(THREADS, || {
                warm_up_threads();
                let setup = problem.setup::<f32>(config, 3);
                let pool = Pool::new();
                [0, 1, 2].map(|epoch| large_allocations(|| train(&setup, &pool, epoch)))
            });
            let [first, second, third] = counts.unwrap();
            // The counter counts: the first pass fills the pool.
            assert!(first > 0, "{kind} features, {name}: {first} allocations in the first pass");
            assert_eq!((second, third), (0, 0), "{kind} features, {name}: allocations in later passes");
        }
    }
}

/// No model gathers messages on edges, an edges×d matrix: on a graph with thirty times as many edges as nodes its largest
/// allocation stays far below that. Attention keeps a number an edge and a head.
#[test]
fn no_model_makes_messages_on_edges() {
    let _alone = COUNTED.lock().unwrap_or_else(PoisonError::into_inner);
    let problem = Problem::new(connected_graph(1000, 30_000, 1), sparse_features(1000, 40, 2), 5);
    let entries = 2 * problem.graph.edges();
    let eight_heads = GatConfig { hidden: 64, heads: 8, ..Default::default() };
    let mut models = models(3, 64);
    models.push(("8 heads".into(), ModelConfig::Gat(eight_heads)));
    for (name, config) in models {
        let largest = with_threads(THREADS, || {
            warm_up_threads();
            let setup = problem.setup::<f32>(&config, 3);
            // The operators of the graph are made in the first pass.
            train(&setup, &Pool::new(), 0);
            LARGEST.store(0, Ordering::SeqCst);
            train(&setup, &Pool::new(), 1);
            LARGEST.load(Ordering::SeqCst)
        });
        let (largest, messages) = (largest.unwrap(), entries * 64 * size_of::<f32>());
        assert!(largest < messages / 4, "{name}: {largest} bytes at once, messages would have {messages}");
        assert!(largest >= 1000 * 5 * size_of::<f32>(), "{name}: {largest} bytes are less than scores have");
    }
}
