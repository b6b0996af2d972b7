//! Ranks: how many directions an embedding uses.

use abyssal_tensor::gemm::{gram_into, transposed_product_scratch};
use abyssal_tensor::spectral::{SpectralWorkspace, Spectrum};
use abyssal_tensor::{Matrix, TensorError};

/// Ranks that are not whole numbers; see [`super::Measures`].
pub struct Ranks {
    pub effective: f64,
    pub stable: f64,
}

impl Ranks {
    /// From the eigenvalues `σ²` of the Gram matrix. Those below `σ_1²·d·ε` are its rounding errors and count as 0.
    pub fn of(embedding: &Matrix<f64>) -> Result<Self, TensorError> {
        let (rows, columns) = embedding.shape();
        let mut gram = Matrix::zeros(columns, columns);
        let mut scratch = vec![0.0; transposed_product_scratch(rows, columns, columns)];
        gram_into(embedding, &mut gram, &mut scratch);
        let mut spectrum = Spectrum::new(columns);
        SpectralWorkspace::new(columns).decompose(&gram, &mut spectrum)?;
        let largest = spectrum.values.last().copied().unwrap_or(0.0);
        if largest <= 0.0 {
            return Ok(Self { effective: 0.0, stable: 0.0 });
        }
        let floor = largest * columns as f64 * f64::EPSILON;
        let squares: Vec<f64> = spectrum.values.iter().copied().filter(|&value| value > floor).collect();
        let sum: f64 = squares.iter().map(|square| square.sqrt()).sum();
        let entropy: f64 = squares.iter().map(|square| square.sqrt() / sum).map(|p| -p * p.ln()).sum();
        Ok(Self { effective: entropy.exp(), stable: squares.iter().sum::<f64>() / largest })
    }
}
