//! BernNet (He, Wei, Huang and Xu: *BernNet: learning arbitrary graph spectral filters via Bernstein approximation*,
//! NeurIPS 2021): a learnt filter given by its values along the spectrum.

use std::f64::consts::PI;
use std::sync::Arc;

use documented::DocumentedFields;
use serde::{Deserialize, Serialize};

use abyssal_tensor::gemm::product;
use abyssal_tensor::ops::Activation;
use abyssal_tensor::tape::Variable;
use abyssal_tensor::{Initialization, Matrix, Scalar};

use super::{Model, ModelSettings, TaskShape};
use crate::error::{require_rate, require_size};
use crate::perceptron::Perceptron;
use crate::{GraphInput, NnError, Operator, ParameterGroup, ParameterSpec, Pass};

/// `Z = Σ_k ReLU(θ_k)·C(K,k)/2^K·(2I - L)^{K-k}·L^k·MLP(X)`, k = 0 … K, with `L = I - P`, `P = D^-½ A D^-½`; the
/// perceptron has two layers.
///
/// `θ_k` is about the filter's value at the eigenvalue `2k/K` of `L`; all start at 1, which lets everything pass.
/// The same polynomial is computed as `Σ_j γ_j·T_j(P)` with Chebyshev's `T_j` and `γ = ReLU(θ)·C`, where the constant
/// `C` changes the basis: `K` products with `P` instead of `K·(K+3)/2`.
///
/// Dropout as in the released code: of the features, of the hidden embedding, and of the scores that are filtered.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, DocumentedFields)]
#[serde(default, deny_unknown_fields)]
pub struct BernnetConfig {
    /// `K`, the order of the filter, at least 1.
    pub layers: usize,
    /// `d`, the width of the perceptron's hidden layer, at least 1.
    pub hidden: usize,
    /// Dropout of the features, in [0, 1).
    pub input_dropout: f64,
    /// Dropout of the hidden embedding, in [0, 1).
    pub hidden_dropout: f64,
    /// Dropout of the scores before they are filtered, in [0, 1).
    pub score_dropout: f64,
}

impl Default for BernnetConfig {
    fn default() -> Self {
        Self { layers: 10, hidden: 64, input_dropout: 0.5, hidden_dropout: 0.5, score_dropout: 0.5 }
    }
}

impl ModelSettings for BernnetConfig {
    const SUMMARY: &'static str =
        "perceptron, then a learnt filter of Bernstein polynomials (He et al., 2021)";
    const ALIASES: &'static [(&'static str, &'static str)] =
        &[("L", "layers"), ("K", "layers"), ("d", "hidden"), ("dprate", "score_dropout")];

    fn validate(&self) -> Result<(), NnError> {
        require_size(self.layers, self.hidden)?;
        require_rate("input_dropout", self.input_dropout)?;
        require_rate("hidden_dropout", self.hidden_dropout)?;
        require_rate("score_dropout", self.score_dropout)
    }

    fn build<T: Scalar>(&self, task: TaskShape) -> Box<dyn Model<T>> {
        let BernnetConfig { layers: order, hidden, input_dropout, hidden_dropout, score_dropout } = *self;
        let perceptron = Perceptron { layers: 2, hidden, input_dropout, hidden_dropout };
        let change = Arc::new(bernstein_in_chebyshev(order).cast());
        Box::new(Bernnet { perceptron, order, score_dropout, change, task })
    }
}

struct Bernnet<T> {
    perceptron: Perceptron,
    order: usize,
    score_dropout: f64,
    /// `C`, (K+1)×(K+1).
    change: Arc<Matrix<T>>,
    task: TaskShape,
}

impl<T: Scalar> Model<T> for Bernnet<T> {
    fn specs(&self) -> Vec<ParameterSpec> {
        let mut specs = self.perceptron.specs(self.task);
        specs.push(ParameterSpec {
            name: "coefficients".to_string(),
            shape: (1, self.order + 1),
            initialization: Initialization::Ones,
            group: ParameterGroup::Hidden,
        });
        specs
    }

    fn has_dropout(&self) -> bool {
        self.perceptron.has_dropout() || self.score_dropout > 0.0
    }

    fn forward(&self, pass: &Pass<T>, graph: &GraphInput<T>) -> Result<Variable<T>, NnError> {
        let tape = pass.tape;
        let (of_perceptron, coefficients) = pass.parameters.split_at(self.perceptron.parameters());
        let mut scores = self.perceptron.forward(pass, graph, of_perceptron, |_| ());
        let dropout = pass.dropout(self.score_dropout, self.perceptron.output_place());
        if dropout.is_some() {
            scores = tape.activate(&scores, None, Activation::Identity, dropout);
        }
        let mut terms = vec![scores];
        for step in 0..self.order {
            let spread = tape.propagate(graph.operator(Operator::Neighbours), &terms[step]);
            let term = match step {
                0 => spread,
                _ => tape.weighted_sum(&[(2.0, &spread), (-1.0, &terms[step - 1])]),
            };
            pass.observe(&term);
            terms.push(term);
        }
        let positive = tape.activate(&coefficients[0], None, Activation::Relu, None);
        let mixture = tape.linear(&positive, &tape.constant(&self.change));
        Ok(tape.mix(&mixture, &terms.iter().collect::<Vec<_>>()))
    }
}

/// Row k has the coefficients of `C(K,k)/2^K·(1+x)^{K-k}·(1-x)^k` in Chebyshev's basis. Shape (K+1)×(K+1).
///
/// `x = cos φ` is an eigenvalue of `P`. The coefficients are cosine sums over `K + 1` angles, which are exact for
/// polynomials of this order: a product of the polynomials' values with a table of cosines.
fn bernstein_in_chebyshev(order: usize) -> Matrix<f64> {
    let points = order + 1;
    // j·φ_point with φ_point = π·(2·point + 1)/(2K + 2), by its multiple of π/(2K + 2), which repeats after 4K + 4.
    let cosines: Vec<f64> =
        (0..4 * points).map(|step| (PI * step as f64 / (2 * points) as f64).cos()).collect();
    let cosine = |j: usize, point: usize| cosines[j * (2 * point + 1) % cosines.len()];
    let basis = Matrix::from_fn(points, points, |point, j| {
        cosine(j, point) * if j == 0 { 1.0 } else { 2.0 } / points as f64
    });
    product(&bernstein_values(order, |point| cosine(1, point)), &basis)
}

/// `C(K,k)·((1+x)/2)^(K-k)·((1-x)/2)^k` in row k, for one x a column.
///
/// Through logarithms: at high orders the factors leave the numbers.
fn bernstein_values(order: usize, x: impl Fn(usize) -> f64) -> Matrix<f64> {
    let logarithms: Vec<(f64, f64)> =
        (0..=order).map(x).map(|x| (((1.0 + x) / 2.0).ln(), ((1.0 - x) / 2.0).ln())).collect();
    let binomials: Vec<f64> =
        (0..=order).map(|k| (1..=k).map(|i| ((order - k + i) as f64 / i as f64).ln()).sum()).collect();
    Matrix::from_fn(order + 1, order + 1, |k, point| {
        let (low, high) = logarithms[point];
        (binomials[k] + (order - k) as f64 * low + k as f64 * high).exp()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Bernstein's polynomials sum to 1, so that `θ = 1` lets everything pass; single ones are as defined.
    #[test]
    fn the_basis_is_changed() {
        for order in [1, 2, 10, 64, 256] {
            let change = bernstein_in_chebyshev(order);
            for j in 0..=order {
                let sum: f64 = (0..=order).map(|k| change.get(k, j)).sum();
                assert!((sum - f64::from(j == 0)).abs() < 1e-12, "order {order}, T_{j}: {sum}");
            }
        }
        // 1/4·(1+x)² = 3/8 + 1/2·T_1 + 1/8·T_2.
        let change = bernstein_in_chebyshev(2);
        let expected = Matrix::from_rows(&[[0.375, 0.5, 0.125], [0.25, 0.0, -0.25], [0.375, -0.5, 0.125]]);
        assert!(change.max_difference(&expected) < 1e-15);
    }
}
