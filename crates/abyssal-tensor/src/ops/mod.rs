//! The operations of the tape: one file each, forward and backward side by side, with a gradient check below.
//!
//! They are methods of [`crate::tape::Tape`]: `tape.linear(&x, &w)`.

mod activate;
mod attention;
mod average_heads;
mod batch_normalize;
mod combine;
mod concatenate;
mod concatenate_shares;
mod consistency;
mod cross_entropy;
mod drop_rows;
mod dropout;
mod gate;
mod group_normalize;
mod layer_normalize;
mod linear;
mod maximum;
mod mix;
mod neighbour_maximum;
mod node_normalize;
mod pair_normalize;
mod propagate;
mod row_normalize;
mod row_sums;
mod scaled_sum;
mod soft_convolve;
mod soft_cross_entropy;
mod soft_normalize;
mod softmax;
mod sparse_linear;
mod weighted_sum;

pub use activate::Activation;
pub use combine::{Centering, Connections, Memory, Mixture};
pub use cross_entropy::{Targets, mean_cross_entropy};
pub use dropout::Dropout;
pub use pair_normalize::PairNormalization;
pub use soft_convolve::SoftConvolution;
pub use soft_cross_entropy::SoftTargets;
pub use soft_normalize::{Gradient, SoftNormalization};

#[cfg(test)]
pub(crate) mod check {
    //! Gradient checks of whole operations.

    use std::sync::Arc;

    use crate::Matrix;
    use crate::tape::{Pool, Tape, Variable};
    use crate::testing::{assert_gradient, random_matrix};

    /// Checks the gradients of `operation` with respect to each input, for a random linear function of its output.
    pub fn check(
        what: &str,
        inputs: &[Matrix<f64>],
        operation: impl Fn(&Tape<f64>, &[Variable<f64>]) -> Variable<f64>,
    ) {
        check_against(what, inputs, &operation, &operation);
    }

    /// As [`check`], where the differences are taken of another function that agrees with the operation at the
    /// point itself, for operations that treat a part as constant.
    pub fn check_against(
        what: &str,
        inputs: &[Matrix<f64>],
        operation: impl Fn(&Tape<f64>, &[Variable<f64>]) -> Variable<f64>,
        function: impl Fn(&Tape<f64>, &[Variable<f64>]) -> Variable<f64>,
    ) {
        let pool = Pool::new();
        let tape = Tape::recording(&pool);
        let variables: Vec<_> = inputs.iter().map(|input| tape.parameter(&Arc::new(input.clone()))).collect();
        let output = operation(&tape, &variables);
        let weights = random_matrix(output.rows(), output.columns(), 77);
        let mut seed = pool.take(output.rows(), output.columns());
        seed.as_mut_slice().copy_from_slice(weights.as_slice());
        let mut gradients = tape.backward_from(&output, seed);
        for (index, variable) in variables.iter().enumerate() {
            let gradient = gradients.take(variable).expect("every input gets a gradient");
            assert_gradient(&format!("{what}, input {index}"), &inputs[index], &gradient, |probe| {
                let tape = Tape::inference(&pool);
                let mut inputs = inputs.to_vec();
                inputs[index] = probe.clone();
                let variables: Vec<_> =
                    inputs.into_iter().map(|input| tape.parameter(&Arc::new(input))).collect();
                let output = function(&tape, &variables);
                output.as_slice().iter().zip(weights.as_slice()).map(|(value, weight)| value * weight).sum()
            });
        }
    }
}
