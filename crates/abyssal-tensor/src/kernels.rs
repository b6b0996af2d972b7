//! The dense kernels of faer, one copy for each number type.
//!
//! faer is generic to the last instruction, so whoever calls it with a type parameter compiles it anew in every
//! program and test. These functions are not generic: they are compiled once, here.

use faer::diag::DiagMut;
use faer::dyn_stack::{MemStack, StackReq};
use faer::linalg::evd::{ComputeEigenvectors, self_adjoint_evd, self_adjoint_evd_scratch};
use faer::linalg::matmul;
use faer::{Accum, MatMut, MatRef, Par, Spec};

/// Dense kernels on the calling thread.
pub trait DenseKernels: Sized + 'static {
    /// `C = α·A·B`, or `C += α·A·B`.
    fn multiply(
        output: MatMut<'_, Self>,
        accumulate: Accum,
        left: MatRef<'_, Self>,
        right: MatRef<'_, Self>,
        scale: Self,
    );

    /// The lower triangle of `C = XᵀX`; what is above is arbitrary.
    fn gram_lower(output: MatMut<'_, Self>, tall: MatRef<'_, Self>);

    /// The memory [`DenseKernels::eigen`] needs for a d×d matrix.
    fn eigen_scratch(dimension: usize) -> StackReq;

    /// Eigenvalues (ascending) and eigenvectors (columns) of a symmetric matrix given by its lower triangle; tells
    /// whether the solver converged.
    fn eigen(
        matrix: MatRef<'_, Self>,
        values: &mut [Self],
        vectors: MatMut<'_, Self>,
        stack: &mut MemStack,
    ) -> bool;
}

macro_rules! kernels {
    ($type:ty) => {
        impl DenseKernels for $type {
            fn multiply(
                output: MatMut<'_, Self>,
                accumulate: Accum,
                left: MatRef<'_, Self>,
                right: MatRef<'_, Self>,
                scale: Self,
            ) {
                matmul::matmul(output, accumulate, left, right, scale, Par::Seq);
            }

            fn gram_lower(output: MatMut<'_, Self>, tall: MatRef<'_, Self>) {
                // Panels from the diagonal down. At these sizes this is faster than faer's triangular product, which
                // computes small triangles as squares: measured 126 against 196 µs for 2708×64.
                let dimension = tall.ncols();
                let width = (dimension / 4).max(1).next_multiple_of(16);
                let mut output = output;
                for start in (0..dimension).step_by(width) {
                    let (height, width) = (dimension - start, width.min(dimension - start));
                    let panel = output.as_mut().submatrix_mut(start, start, height, width);
                    let left = tall.transpose().subrows(start, height);
                    let right = tall.subcols(start, width);
                    matmul::matmul(panel, Accum::Replace, left, right, 1.0, Par::Seq);
                }
            }

            fn eigen_scratch(dimension: usize) -> StackReq {
                let vectors = ComputeEigenvectors::Yes;
                self_adjoint_evd_scratch::<Self>(dimension, vectors, Par::Seq, Spec::default())
            }

            fn eigen(
                matrix: MatRef<'_, Self>,
                values: &mut [Self],
                vectors: MatMut<'_, Self>,
                stack: &mut MemStack,
            ) -> bool {
                let values = DiagMut::from_slice_mut(values);
                self_adjoint_evd(matrix, values, Some(vectors), Par::Seq, stack, Spec::default()).is_ok()
            }
        }
    };
}

kernels!(f32);
kernels!(f64);
