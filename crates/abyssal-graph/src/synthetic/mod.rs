//! Generated datasets. A configuration and a seed give the same dataset on any number of threads.

mod block_model;
mod gaussian_clusters;
mod partition;

use abyssal_tensor::Matrix;
use abyssal_tensor::parallel::for_each_block;
use abyssal_tensor::random::{Purpose, Stream};

use crate::{Features, GraphError};

pub use block_model::BlockModelConfig;
pub use gaussian_clusters::GaussianClustersConfig;

/// What a generator draws; each has random numbers of its own.
#[derive(Clone, Copy)]
enum Draw {
    Arrangement = 0,
    InsideEdges = 1,
    OutsideEdges = 2,
    Centres = 3,
    Features = 4,
    Noise = 5,
}

impl Draw {
    /// The random numbers of this draw, for one of its parts (say, a class).
    fn stream(self, seed: u64, part: usize) -> Stream {
        Stream::new(seed, Purpose::Generation, self as u32, part as u32)
    }
}

/// Features scattered around a centre: `x_i = c(class_i) + N(0, I)`.
///
/// Shapes: `centres` is classes×d, the features are nodes×d.
fn scattered(classes: &[u32], centres: &Matrix<f64>, seed: u64) -> Features {
    /// A normal number costs about as much as this many multiply-adds.
    const WORK: usize = 100;
    let width = centres.columns();
    let stream = Draw::Features.stream(seed, 0);
    let mut features = Matrix::zeros(classes.len(), width);
    for_each_block(features.as_mut_slice(), width, WORK * width, |first, block| {
        for (index, row) in block.chunks_exact_mut(width).enumerate() {
            let node = first + index;
            let centre = centres.row(classes[node] as usize);
            for (column, (value, centre)) in row.iter_mut().zip(centre).enumerate() {
                *value = (centre + stream.normal((node * width + column) as u64)) as f32;
            }
        }
    });
    Features::Dense(features)
}

/// The error for a field outside its range.
fn invalid(field: &'static str, value: impl ToString, range: impl Into<String>) -> GraphError {
    GraphError::InvalidConfig { field, value: value.to_string(), range: range.into() }
}
