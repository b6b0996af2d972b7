//! Soft an-isotropic normalisation as an operation of the tape.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::activate::{Mask, finish};
use super::{Activation, Dropout};
use crate::elementwise::scale;
use crate::gemm::{gram_into, rows_of, transposed_product_scratch};
use crate::kernels::Accumulate;
use crate::parallel::{for_each_block, for_each_block_of, sum_while_writing};
use crate::spectral::{Spectrum, Whitening};
use crate::tape::{
    Backward, Buffer, Facts, Gradients, Note, NotedWhitening, Packed, Pool, PooledSpectrum, Recipe, Slot,
    Tape, Value, Variable,
};
use crate::{Matrix, Scalar, TensorError};

/// Whether gradients flow through the whitening matrix.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Gradient {
    /// The exact gradient: `B̄ = Ḣ·M + 2·B·Ḡ`.
    #[default]
    Full,
    /// `M` counts as constant, as in the released code: `B̄ = Ḣ·M`.
    Detached,
}

/// The parameters of the operation.
#[derive(Clone, Copy, Debug)]
pub struct SoftNormalization {
    /// The whitening matrix to apply.
    pub whitening: Whitening,
    /// Whether it is differentiated.
    pub gradient: Gradient,
    /// Applied to the normalised embeddings.
    pub activation: Activation,
}

impl<T: Scalar> Tape<'_, T> {
    /// `H = dropout(σ(B·M))`, `M = a·U f(Λ) Uᵀ + (1 - a)·I`, `BᵀB = U Λ Uᵀ` (see [`crate::spectral`]).
    ///
    /// Shapes: B and H are n×d. Cost: one Gram product, one d×d eigen-decomposition, one n×d×d product.
    ///
    /// # Errors
    /// If `B` holds infinity or NaN.
    pub fn soft_normalize(
        &self,
        normalization: &SoftNormalization,
        input: &Variable<T>,
        dropout: Option<Dropout>,
    ) -> Result<Variable<T>, TensorError> {
        let (rows, columns) = input.shape();
        if normalization.whitening.is_identity(columns) {
            return Ok(self.activate(input, None, normalization.activation, dropout));
        }
        let whitener = match self.recall() {
            Some(note) => self.whitener_again(normalization, note.whitening, dropout),
            None => {
                let mut gram = self.pool().take(columns, columns);
                let mut scratch = self.pool().take(1, transposed_product_scratch(rows, columns, columns));
                gram_into(input, &mut gram, scratch.as_mut_slice());
                self.whitener(normalization, &gram, None, dropout)?
            }
        };
        let mut output = self.pool().take(rows, columns);
        self.apply(&whitener.rule, input, &mut output);
        let Normalized { output, facts, way_back } =
            self.normalized(normalization, &input.value, whitener, output);
        let output = self.record(output, &[input.slot], || SoftNormalize { input: input.slot, way_back });
        Ok(Variable { facts, ..output })
    }

    /// `M` where `BᵀB` is known; a run once more will be told it, and what else the layer found out.
    ///
    /// # Errors
    /// If `BᵀB` holds infinity or NaN.
    pub(super) fn whitener(
        &self,
        normalization: &SoftNormalization,
        gram: &Buffer<T>,
        shift: Option<Buffer<T>>,
        dropout: Option<Dropout>,
    ) -> Result<Whitener<T>, TensorError> {
        let columns = gram.columns();
        let mut spectrum = self.pool().take_spectrum(columns);
        self.pool().with_workspace(columns, |workspace| workspace.decompose(gram, &mut spectrum))?;
        let matrix = self.whitening_matrix(normalization, &spectrum);
        let mut spectrum = (normalization.gradient == Gradient::Full).then_some(spectrum);
        self.note(|| {
            // Nobody goes back along a tape that is run once more.
            let whitening = match spectrum.take() {
                Some(spectrum) => NotedWhitening::Spectrum(spectrum),
                None => NotedWhitening::Matrix(Arc::clone(&matrix)),
            };
            Note { shift, whitening }
        });
        Ok(Whitener { rule: Rule { matrix, activation: normalization.activation, dropout }, spectrum })
    }

    /// The same `M` as it was noted.
    pub(super) fn whitener_again(
        &self,
        normalization: &SoftNormalization,
        noted: NotedWhitening<T>,
        dropout: Option<Dropout>,
    ) -> Whitener<T> {
        let (matrix, spectrum) = match noted {
            NotedWhitening::Matrix(matrix) => (matrix, None),
            NotedWhitening::Spectrum(spectrum) => {
                (self.whitening_matrix(normalization, &spectrum), Some(spectrum))
            }
        };
        Whitener { rule: Rule { matrix, activation: normalization.activation, dropout }, spectrum }
    }

    fn whitening_matrix(&self, normalization: &SoftNormalization, spectrum: &Spectrum<T>) -> Arc<Packed<T>> {
        let columns = spectrum.values.len();
        let mut matrix = self.pool().take(columns, columns);
        self.pool().with_workspace(columns, |workspace| {
            workspace.whitening_matrix(&normalization.whitening, spectrum, &mut matrix);
        });
        Arc::new(Packed::new(&matrix, self.pool()))
    }

    /// All rows of `H`.
    pub(super) fn apply(&self, rule: &Rule<T>, input: &Matrix<T>, output: &mut Buffer<T>) {
        let columns = input.columns();
        for_each_block(output.as_mut_slice(), columns, columns * columns, |first, block| {
            rule.apply(first, rows_of(input, first, block.len() / columns), block);
        });
    }

    /// An embedding that was normalised, with its way back.
    pub(super) fn normalized(
        &self,
        normalization: &SoftNormalization,
        input: &Value<T>,
        whitener: Whitener<T>,
        output: Buffer<T>,
    ) -> Normalized<T> {
        let Whitener { rule, spectrum } = whitener;
        let (output, matrix) = (Arc::new(output), Arc::clone(&rule.matrix));
        let rectified = rule.activation == Activation::Relu && rule.dropout.is_none();
        let whitening = normalization.whitening;
        let exact = spectrum.map(|spectrum| Exact { input: input.clone(), whitening, spectrum });
        // Without exact gradients, B would be kept for this alone.
        let again = self.wants_recipes() && exact.is_some();
        let mask = match again {
            true => Mask::small(rule.activation, rule.dropout, &output, self.pool()),
            false => Mask::new(rule.activation, rule.dropout, &output),
        };
        let recipe =
            again.then(|| Arc::new(Application { input: input.clone(), rule }) as Arc<dyn Recipe<T>>);
        let facts = Facts { recipe, rectified, propagated_sums: None };
        Normalized { output, facts, way_back: WayBack { matrix, exact, mask } }
    }
}

/// How `M` is applied, and what it is made of where gradients flow through it.
pub(super) struct Whitener<T: Scalar> {
    pub(super) rule: Rule<T>,
    spectrum: Option<PooledSpectrum<T>>,
}

/// `H = dropout(σ(B·M))` where `M` is known.
pub(super) struct Rule<T: Scalar> {
    matrix: Arc<Packed<T>>,
    activation: Activation,
    dropout: Option<Dropout>,
}

impl<T: Scalar> Rule<T> {
    /// Some rows of `H` from those of `B`, from row `first` on.
    pub(super) fn apply(&self, first: usize, input: &[T], rows: &mut [T]) {
        T::multiply(rows, Accumulate::Replace, input, self.matrix.panels());
        finish(self.activation, self.dropout, first * self.matrix.columns(), rows);
    }
}

/// A normalised embedding.
pub(super) struct Normalized<T: Scalar> {
    pub(super) output: Arc<Buffer<T>>,
    pub(super) facts: Facts<T>,
    pub(super) way_back: WayBack<T>,
}

/// An embedding that can be normalised again.
struct Application<T: Scalar> {
    input: Value<T>,
    rule: Rule<T>,
}

impl<T: Scalar> Recipe<T> for Application<T> {
    fn write_rows(&self, first: usize, rows: &mut [T]) {
        let count = rows.len() / self.input.columns();
        self.rule.apply(first, rows_of(&self.input, first, count), rows);
    }
}

/// What a normalisation needs on the way back.
pub(super) struct WayBack<T: Scalar> {
    matrix: Arc<Packed<T>>,
    exact: Option<Exact<T>>,
    mask: Mask<T>,
}

/// What the derivative of `M` needs. Where it is not wanted, `B` is not kept.
struct Exact<T: Scalar> {
    input: Value<T>,
    whitening: Whitening,
    spectrum: PooledSpectrum<T>,
}

impl<T: Scalar> WayBack<T> {
    /// The same for a gradient that is [rectified](Gradients::is_rectified) already, or not.
    pub(super) fn of_gradient(self, is_rectified: bool) -> Self {
        let mask = if is_rectified { Mask::Open } else { self.mask };
        Self { mask, ..self }
    }

    /// `2·Ḡ` from `S = BᵀḢ`, which needs all of `Ḣ` and leaves it masked; `None` where `M` counts as constant.
    pub(super) fn gram_gradient(&self, gradient: &mut Buffer<T>, pool: &Pool<T>) -> Option<Packed<T>> {
        let Exact { input, whitening, spectrum } = self.exact.as_ref()?;
        let (rows, columns) = gradient.shape();
        let mut product = pool.take(columns, columns);
        let mut scratch = pool.take(1, transposed_product_scratch(rows, columns, columns));
        let (total, partials) = (product.as_mut_slice(), scratch.as_mut_slice());
        let data = ([gradient.as_mut_slice()], columns);
        sum_while_writing(data, columns * columns, total, partials, |range, [gradient], partial| {
            self.mask.apply_to(range.start * columns, gradient);
            let input = (rows_of(input, range.start, range.len()), columns, 0..columns);
            T::multiply_transposed(partial, Accumulate::Replace, input, (gradient, columns));
        });
        pool.with_workspace(columns, |workspace| workspace.gradient(whitening, spectrum, &mut product));
        scale(&mut product, T::from_f64(2.0));
        Some(Packed::new(&product, pool))
    }

    /// Some rows of `B̄ = Ḣ·M + 2·B·Ḡ`, from `first` on, given those of `Ḣ` and what [`WayBack::gram_gradient`] gave. What is read next is
    /// fetched meanwhile.
    pub(super) fn input_gradient(
        &self,
        first: usize,
        gradient: &mut [T],
        gram_gradient: Option<&Packed<T>>,
        target: &mut [T],
        soon: &[&[T]],
    ) {
        let columns = self.matrix.columns();
        let count = target.len() / columns;
        if self.exact.is_none() {
            self.mask.apply_to(first * columns, gradient);
        }
        T::multiply_fetching(target, Accumulate::Replace, gradient, self.matrix.panels(), soon);
        if let Some((Exact { input, .. }, gram_gradient)) = self.exact.as_ref().zip(gram_gradient) {
            T::multiply(target, Accumulate::Add, rows_of(input, first, count), gram_gradient.panels());
        }
    }

    /// Multiply-adds for a row of [`WayBack::input_gradient`].
    pub(super) fn work_per_row(&self) -> usize {
        let products = if self.exact.is_some() { 2 } else { 1 };
        products * self.matrix.columns() * self.matrix.columns()
    }
}

struct SoftNormalize<T: Scalar> {
    input: Slot,
    way_back: WayBack<T>,
}

impl<T: Scalar> Backward<T> for SoftNormalize<T> {
    /// `B̄ = Ḣ·M + 2·B·Ḡ`, `Ḡ` from `S = BᵀḢ`; the second term only in full mode.
    fn backward(self: Box<Self>, mut gradient: Buffer<T>, gradients: &mut Gradients<T>) {
        let (rows, columns) = gradient.shape();
        let way_back = self.way_back.of_gradient(gradients.is_rectified());
        let gram_gradient = way_back.gram_gradient(&mut gradient, gradients.pool());
        let mut input_gradient = gradients.pool().take(rows, columns);
        let data = [gradient.as_mut_slice(), input_gradient.as_mut_slice()];
        for_each_block_of(data, columns, way_back.work_per_row(), |first, [gradient, block]| {
            way_back.input_gradient(first, gradient, gram_gradient.as_ref(), block, &[]);
        });
        gradients.add(self.input, input_gradient);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::Matrix;
    use crate::gemm::product;
    use crate::ops::check::{check, check_against};
    use crate::random::{Purpose, Stream};
    use crate::tape::Pool;
    use crate::testing::random_matrix;

    const SOFT: Whitening = Whitening { strength: 0.6, exponent: 0.9, rank: 4 };

    fn normalization(whitening: Whitening, gradient: Gradient, activation: Activation) -> SoftNormalization {
        SoftNormalization { whitening, gradient, activation }
    }

    /// The whitening matrix, read off by normalising and dividing: `B·M` for `B = [b; I]` ends in `M`.
    fn frozen(input: &Matrix<f64>, whitening: Whitening) -> Arc<Matrix<f64>> {
        let gram = product(&input.transposed(), input);
        let mut workspace = crate::spectral::SpectralWorkspace::new(gram.rows());
        let mut spectrum = Spectrum::new(gram.rows());
        workspace.decompose(&gram, &mut spectrum).unwrap();
        let mut matrix = Matrix::zeros(gram.rows(), gram.rows());
        workspace.whitening_matrix(&whitening, &spectrum, &mut matrix);
        Arc::new(matrix)
    }

    #[test]
    fn the_full_gradient_is_exact() {
        let dropout = Dropout::new(0.3, Stream::new(1, Purpose::Dropout, 0, 0));
        for activation in [Activation::Relu, Activation::Identity] {
            for whitening in [SOFT, Whitening { rank: 2, ..SOFT }, Whitening { exponent: 1.0, ..SOFT }] {
                let normalization = normalization(whitening, Gradient::Full, activation);
                check("soft normalisation", &[random_matrix(9, 4, 3)], |tape, inputs| {
                    tape.soft_normalize(&normalization, &inputs[0], dropout).unwrap()
                });
            }
        }
    }

    /// Orthogonal columns of equal length: all eigenvalues are equal, where PyTorch's gradient is NaN.
    #[test]
    fn the_full_gradient_is_exact_for_repeated_eigenvalues() {
        let hard = Whitening { strength: 1.0, exponent: 1.0, rank: 4 };
        let orthogonal = Matrix::from_fn(8, 4, |row, column| if row % 4 == column { 1.5 } else { 0.0 });
        for whitening in [SOFT, hard] {
            let normalization = normalization(whitening, Gradient::Full, Activation::Identity);
            check("repeated eigenvalues", std::slice::from_ref(&orthogonal), |tape, inputs| {
                tape.soft_normalize(&normalization, &inputs[0], None).unwrap()
            });
        }
    }

    /// A matrix of rank 2 in 4 dimensions, truncated to its rank: the other eigenvalues are zero.
    #[test]
    fn the_full_gradient_is_exact_for_vanishing_eigenvalues() {
        let deficient = product(&random_matrix(9, 2, 4), &random_matrix(2, 4, 5));
        let normalization =
            normalization(Whitening { rank: 2, ..SOFT }, Gradient::Full, Activation::Identity);
        check("vanishing eigenvalues", &[deficient], |tape, inputs| {
            tape.soft_normalize(&normalization, &inputs[0], None).unwrap()
        });
    }

    #[test]
    fn the_detached_gradient_treats_the_matrix_as_constant() {
        let input = random_matrix(9, 4, 3);
        let matrix = frozen(&input, SOFT);
        let normalization = normalization(SOFT, Gradient::Detached, Activation::Relu);
        check_against(
            "detached",
            &[input],
            |tape, inputs| tape.soft_normalize(&normalization, &inputs[0], None).unwrap(),
            |tape, inputs| {
                let product = tape.linear(&inputs[0], &tape.constant(&matrix));
                tape.activate(&product, None, Activation::Relu, None)
            },
        );
    }

    #[test]
    fn rank_deficient_and_zero_inputs_give_finite_gradients() {
        let hard = Whitening { strength: 1.0, exponent: 1.0, rank: 4 };
        let deficient = product(&random_matrix(9, 2, 4), &random_matrix(2, 4, 5));
        for input in [deficient, Matrix::zeros(9, 4)] {
            let pool = Pool::new();
            let tape = Tape::recording(&pool);
            let variable = tape.parameter(&Arc::new(input));
            let normalization = normalization(hard, Gradient::Full, Activation::Identity);
            let output = tape.soft_normalize(&normalization, &variable, None).unwrap();
            assert!(output.is_finite());
            let mut seed = pool.take(9, 4);
            seed.as_mut_slice().fill(1.0);
            assert!(tape.backward_from(&output, seed).take(&variable).unwrap().is_finite());
        }
    }

    #[test]
    fn not_a_number_is_an_error() {
        let pool = Pool::new();
        let tape = Tape::inference(&pool);
        let input = tape.constant(&Arc::new(Matrix::from_rows(&[[f64::NAN, 1.0], [0.0, 1.0]])));
        let soft = normalization(Whitening { rank: 2, ..SOFT }, Gradient::Full, Activation::Relu);
        assert!(tape.soft_normalize(&soft, &input, None).is_err());
    }
}
