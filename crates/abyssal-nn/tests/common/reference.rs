//! The models written down as naively as possible: dense matrices, plain loops, and whitening matrices that can be
//! frozen.

use abyssal_graph::Features;
use abyssal_nn::Mode;
use abyssal_nn::models::{GcnConfig, Head, RSoftGraphAinConfig};
use abyssal_tensor::Matrix;
use abyssal_tensor::ops::{Activation, Centering, Targets};
use abyssal_tensor::random::{Purpose, Stream};

use super::Problem;
use super::linear_algebra::{
    centering_matrix, dense_adjacency, product, singular_values, weighted_sum, with_singular_values,
};

/// The model on one problem.
pub struct Reference {
    config: RSoftGraphAinConfig,
    adjacency: Matrix<f64>,
    centering: Matrix<f64>,
    /// After dropout.
    features: Matrix<f64>,
    mode: Mode,
}

/// What a forward pass of the reference tells.
pub struct Trace {
    pub logits: Matrix<f64>,
    /// The whitening matrix `M` of each layer.
    pub whitening: Vec<Matrix<f64>>,
    /// The smallest distance of an input of ReLU from its kink.
    pub smallest_relu_input: f64,
    /// The smallest `(λ_kept - λ_dropped) / λ_kept` at a truncation.
    pub smallest_gap: f64,
}

impl Reference {
    pub fn new(config: &RSoftGraphAinConfig, problem: &Problem, mode: Mode) -> Self {
        let adjacency = dense_adjacency(&problem.graph);
        let features = dropped_features(&problem.features, config.input_dropout, mode);
        let centering = centering_matrix(problem.graph.nodes());
        Self { config: config.clone(), adjacency, centering, features, mode }
    }

    /// Algorithm 1 of the paper and its classifier. With `frozen` matrices, they are used instead of those that the
    /// embeddings call for: that is the function whose gradient `gradient = "detached"` computes.
    pub fn forward(&self, parameters: &[Matrix<f64>], frozen: Option<&[Matrix<f64>]>) -> Trace {
        let config = &self.config;
        let total = config.aggregated + config.residual + config.initial;
        let (alpha, beta, gamma) =
            (config.aggregated / total, config.residual / total, config.initial / total);
        let (weights, head) = parameters.split_at(parameters.len() - 2);
        let mut trace = Trace {
            logits: Matrix::zeros(0, 0),
            whitening: Vec::new(),
            smallest_relu_input: f64::INFINITY,
            smallest_gap: f64::INFINITY,
        };
        let mut outputs: Vec<Matrix<f64>> = Vec::new();
        for (index, weight) in weights.iter().enumerate() {
            let input = outputs.last().unwrap_or(&self.features);
            let aggregated = product(&product(&self.adjacency, input), weight);
            let combined = if index == 0 {
                product(&self.centering, &aggregated)
            } else {
                // The closed forms of the fuzzy connections, not their running sums.
                let power = |base: f64, exponent: usize| base.powi(exponent as i32);
                let last = |i: usize| power(config.residual_memory, index - 1 - i);
                let initial = |i: usize| power(config.initial_decay, i);
                let connections = outputs.iter().enumerate();
                let connections =
                    connections.map(|(i, output)| (beta * last(i) + gamma * initial(i), output));
                let connections = weighted_sum(&connections.collect::<Vec<_>>());
                match config.centering {
                    Centering::Aggregated => {
                        weighted_sum(&[(alpha, &product(&self.centering, &aggregated)), (1.0, &connections)])
                    }
                    Centering::Combined => {
                        product(&self.centering, &weighted_sum(&[(alpha, &aggregated), (1.0, &connections)]))
                    }
                }
            };
            let matrix = match frozen {
                Some(frozen) => frozen[index].clone(),
                None => self.whitening(&combined, &mut trace.smallest_gap),
            };
            let mut output = product(&combined, &matrix);
            if config.activation == Activation::Relu {
                for value in output.as_mut_slice() {
                    trace.smallest_relu_input = trace.smallest_relu_input.min(value.abs());
                    *value = value.max(0.0);
                }
            }
            drop_values(output.as_mut_slice(), config.hidden_dropout, self.mode, 1 + index as u32);
            trace.whitening.push(matrix);
            outputs.push(output);
        }
        let mut logits = product(outputs.last().unwrap_or(&self.features), &head[0]);
        if config.head == Head::Convolution {
            logits = product(&self.adjacency, &logits);
        }
        add_bias(&mut logits, &head[1]);
        drop_values(logits.as_mut_slice(), config.output_dropout, self.mode, u32::MAX);
        trace.logits = logits;
        trace
    }

    /// `M = a·V f(s²) Vᵀ + (1 - a)·I` from the singular values of `B` itself.
    fn whitening(&self, combined: &Matrix<f64>, smallest_gap: &mut f64) -> Matrix<f64> {
        let config = &self.config;
        let dimension = combined.columns();
        let rank = config.rank.count(dimension, config.rank_rounding);
        let mut decomposition = singular_values(combined);
        decomposition.left = decomposition.right.clone();
        let squares: Vec<f64> = decomposition.values.iter().map(|value| value * value).collect();
        if rank < dimension && squares[rank - 1] > 0.0 {
            *smallest_gap = smallest_gap.min(1.0 - squares[rank] / squares[rank - 1]);
        }
        let floor = squares[0] * dimension as f64 * f64::EPSILON;
        let powers = with_singular_values(&decomposition, |place, value| {
            if place < rank && squares[place] > floor { value.powf(-config.exponent) } else { 0.0 }
        });
        weighted_sum(&[(config.strength, &powers), (1.0 - config.strength, &Matrix::identity(dimension))])
    }
}

/// The mean cross-entropy of the rows that count.
pub fn cross_entropy(logits: &Matrix<f64>, targets: &Targets) -> f64 {
    let losses = targets.rows.iter().zip(&targets.classes).map(|(&row, &class)| {
        let row = logits.row(row as usize);
        row.iter().map(|value| value.exp()).sum::<f64>().ln() - row[class as usize]
    });
    losses.sum::<f64>() / targets.rows.len() as f64
}

/// The features with every value written out, after dropout among the stored ones.
fn dropped_features(features: &Features, rate: f64, mode: Mode) -> Matrix<f64> {
    match features {
        Features::Dense(matrix) => {
            let mut matrix = matrix.cast();
            drop_values(matrix.as_mut_slice(), rate, mode, 0);
            matrix
        }
        Features::Sparse(matrix) => {
            let mut values: Vec<f64> = matrix.values().iter().map(|&value| value.into()).collect();
            drop_values(&mut values, rate, mode, 0);
            let mut dense = Matrix::zeros(matrix.rows(), matrix.columns());
            let mut values = values.into_iter();
            for row in 0..matrix.rows() {
                for (&column, value) in matrix.row(row).0.iter().zip(&mut values) {
                    dense.set(row, column as usize, value);
                }
            }
            dense
        }
    }
}

/// Dropout by its definition: the word of a value's position decides.
fn drop_values(values: &mut [f64], rate: f64, mode: Mode, place: u32) {
    let Mode::Training { seed, pass } = mode else { return };
    if rate == 0.0 {
        return;
    }
    let stream = Stream::new(seed, Purpose::Dropout, pass, place);
    for (position, value) in values.iter_mut().enumerate() {
        let uniform = f64::from(stream.word(position as u64)) / 2f64.powi(32);
        *value = if uniform < rate { 0.0 } else { *value / (1.0 - rate) };
    }
}

/// A graph convolutional network in plain loops: `H ← dropout(ReLU(Â·H·W_t + b_t))`, the last layer bare.
///
/// Gives the logits and the smallest distance of an input of ReLU from its kink.
pub fn gcn(
    config: &GcnConfig,
    problem: &Problem,
    mode: Mode,
    parameters: &[Matrix<f64>],
) -> (Matrix<f64>, f64) {
    let adjacency = dense_adjacency(&problem.graph);
    let mut hidden = dropped_features(&problem.features, config.input_dropout, mode);
    let mut smallest_relu_input = f64::INFINITY;
    for (index, layer) in parameters.chunks_exact(2).enumerate() {
        hidden = product(&adjacency, &product(&hidden, &layer[0]));
        add_bias(&mut hidden, &layer[1]);
        if index + 1 < config.layers {
            for value in hidden.as_mut_slice() {
                smallest_relu_input = smallest_relu_input.min(value.abs());
                *value = value.max(0.0);
            }
            drop_values(hidden.as_mut_slice(), config.hidden_dropout, mode, 1 + index as u32);
        }
    }
    (hidden, smallest_relu_input)
}

fn add_bias(matrix: &mut Matrix<f64>, bias: &Matrix<f64>) {
    for row in 0..matrix.rows() {
        for (value, bias) in matrix.row_mut(row).iter_mut().zip(bias.as_slice()) {
            *value += bias;
        }
    }
}
