//! How fast the kernels are, beside what this machine can do: `cargo bench -p abyssal-tensor`.
//!
//! Dense kernels count arithmetic (an item is one floating point operation), sparse and elementwise ones count memory (bytes
//! that must be read or written at least once). `peak` measures the machine: fused multiply-adds on one thread, and copying
//! more than fits into caches. Shapes are those of Pubmed at width 64, unless the argument says otherwise.

use std::sync::Arc;

use abyssal_tensor::gemm::{
    Panels, gram_into, multiply_into, transposed_product_into, transposed_product_scratch,
};
use abyssal_tensor::spectral::{SpectralWorkspace, Spectrum, Whitening};
use abyssal_tensor::tape::{Pool, Tape};
use abyssal_tensor::testing::random_matrix;
use abyssal_tensor::{Csr, Matrix, SparseOperator};
use divan::Bencher;
use divan::counter::{BytesCount, ItemsCount};

const NODES: usize = 19_717;
const EDGES: usize = 44_324;
const WIDTH: usize = 64;
const WIDTHS: [usize; 3] = [64, 128, 256];

fn main() {
    divan::main();
}

fn tall(width: usize) -> Matrix<f32> {
    random_matrix(NODES, width, 1).cast()
}

/// As many entries as Pubmed with its self-loops, at places that jump about.
fn adjacency() -> SparseOperator<f32> {
    let place = |index: usize| (index as u32).wrapping_mul(2_654_435_761) % NODES as u32;
    let edges = (0..EDGES).map(|index| (place(2 * index), place(2 * index + 1)));
    let loops = (0..NODES as u32).map(|node| (node, node, 1.0));
    let entries = edges.flat_map(|(first, second)| [(first, second, 0.5), (second, first, 0.5)]).chain(loops);
    SparseOperator::new(Csr::from_entries(NODES, NODES, entries.collect()).expect("all entries are inside"))
}

mod peak {
    use super::*;

    const ROUNDS: usize = 100_000;
    /// Enough sums to hide the latency of an operation.
    const SUMS: usize = 16;

    /// Starts from a value; gives the sums, and how many values a register holds.
    struct MultiplyAdds(f32);

    impl pulp::WithSimd for MultiplyAdds {
        type Output = (f32, usize);

        #[inline(always)]
        fn with_simd<S: pulp::Simd>(self, simd: S) -> (f32, usize) {
            let (factor, addend) = (simd.splat_f32s(0.999), simd.splat_f32s(0.001));
            let mut sums = [simd.splat_f32s(self.0); SUMS];
            for _ in 0..ROUNDS {
                for sum in &mut sums {
                    *sum = simd.mul_add_f32s(*sum, factor, addend);
                }
            }
            let total = sums.into_iter().map(|sum| simd.reduce_sum_f32s(sum)).sum();
            (total, size_of::<S::f32s>() / size_of::<f32>())
        }
    }

    #[divan::bench]
    fn multiply_add(bencher: Bencher) {
        let run = || pulp::Arch::new().dispatch(MultiplyAdds(divan::black_box(0.5)));
        let (_, lanes) = run();
        bencher.counter(ItemsCount::new(2 * SUMS * lanes * ROUNDS)).bench_local(run);
    }

    #[divan::bench(sample_count = 20)]
    fn copy(bencher: Bencher) {
        let source = vec![1.0f32; 64 << 20];
        let mut target = vec![0.0f32; source.len()];
        bencher.counter(BytesCount::new(2 * size_of_val(&source[..]))).bench_local(|| {
            target.copy_from_slice(divan::black_box(&source));
        });
    }
}

mod dense {
    use super::*;

    /// `X·W`.
    #[divan::bench(args = WIDTHS)]
    fn multiply(bencher: Bencher, width: usize) {
        let (left, right): (_, Matrix<f32>) = (tall(width), random_matrix(width, width, 2).cast());
        let mut output = Matrix::zeros(NODES, width);
        let operations = ItemsCount::new(2 * NODES * width * width);
        let mut room = Matrix::zeros(1, Panels::<f32>::length(width, width));
        let right = Panels::new(&right, room.as_mut_slice());
        bencher.counter(operations).bench_local(|| multiply_into(&left, right, &mut output));
    }

    /// `XᵀY`.
    #[divan::bench(args = WIDTHS)]
    fn transposed_product(bencher: Bencher, width: usize) {
        let (left, right) = (tall(width), tall(width));
        let mut output = Matrix::zeros(width, width);
        let mut scratch = Matrix::zeros(1, transposed_product_scratch(NODES, width, width));
        let operations = ItemsCount::new(2 * NODES * width * width);
        bencher
            .counter(operations)
            .bench_local(|| transposed_product_into(&left, &right, &mut output, scratch.as_mut_slice()));
    }

    /// `XᵀX`, half of which is enough.
    #[divan::bench(args = WIDTHS)]
    fn gram(bencher: Bencher, width: usize) {
        let input = tall(width);
        let mut output = Matrix::zeros(width, width);
        let mut scratch = Matrix::zeros(1, transposed_product_scratch(NODES, width, width));
        let operations = ItemsCount::new(NODES * width * (width + 1));
        bencher.counter(operations).bench_local(|| gram_into(&input, &mut output, scratch.as_mut_slice()));
    }
}

mod spectral {
    use super::*;

    fn gram_of(width: usize) -> Matrix<f32> {
        let input = tall(width);
        let mut gram = Matrix::zeros(width, width);
        let mut scratch = Matrix::zeros(1, transposed_product_scratch(NODES, width, width));
        gram_into(&input, &mut gram, scratch.as_mut_slice());
        gram
    }

    /// `G = U Λ Uᵀ`; about 9·d³ operations.
    #[divan::bench(args = WIDTHS)]
    fn eigen_decomposition(bencher: Bencher, width: usize) {
        let gram = gram_of(width);
        let mut workspace = SpectralWorkspace::new(width);
        let mut spectrum = Spectrum::new(width);
        bencher.counter(ItemsCount::new(9 * width.pow(3))).bench_local(|| {
            workspace.decompose(&gram, &mut spectrum).expect("a finite matrix");
        });
    }

    fn decomposed(width: usize) -> (Matrix<f32>, Whitening, SpectralWorkspace<f32>, Spectrum<f32>) {
        let gram = gram_of(width);
        let mut workspace = SpectralWorkspace::new(width);
        let mut spectrum = Spectrum::new(width);
        workspace.decompose(&gram, &mut spectrum).expect("a finite matrix");
        (gram, Whitening { strength: 0.3, exponent: 1.0, rank: width }, workspace, spectrum)
    }

    /// `M` from a spectrum: d³ operations, half of a product.
    #[divan::bench(args = WIDTHS)]
    fn whitening_matrix(bencher: Bencher, width: usize) {
        let (_, whitening, mut workspace, spectrum) = decomposed(width);
        let mut matrix = Matrix::zeros(width, width);
        bencher
            .counter(ItemsCount::new(width.pow(3)))
            .bench_local(|| workspace.whitening_matrix(&whitening, &spectrum, &mut matrix));
    }

    /// `Ḡ` from the gradient with respect to `M`: four products, 8·d³ operations, and d² divided differences.
    #[divan::bench(args = WIDTHS)]
    fn gradient(bencher: Bencher, width: usize) {
        let (gram, whitening, mut workspace, spectrum) = decomposed(width);
        bencher.counter(ItemsCount::new(8 * width.pow(3))).with_inputs(|| gram.clone()).bench_local_values(
            |mut matrix| {
                workspace.gradient(&whitening, &spectrum, &mut matrix);
                matrix
            },
        );
    }
}

mod sparse {
    use super::*;

    /// `Â·H`: a row of H for every entry, and the result.
    #[divan::bench(args = [16, 64, 128])]
    fn propagate(bencher: Bencher, width: usize) {
        let (operator, dense) = (adjacency(), tall(width));
        let mut output = Matrix::zeros(NODES, width);
        let entries = operator.matrix().stored();
        let bytes = BytesCount::new(4 * (entries * (width + 2) + NODES * width));
        bencher.counter(bytes).bench_local(|| operator.matrix().multiply_into(&dense, &mut output));
    }

    /// Attention over all edges, 8 heads: scores, softmax and weighted sum.
    #[divan::bench]
    fn attend(bencher: Bencher) {
        let (operator, values) = (Arc::new(adjacency()), Arc::new(tall(WIDTH)));
        let vectors = |seed| Arc::new(random_matrix(8, WIDTH / 8, seed).cast::<f32>());
        let (source, target) = (vectors(3), vectors(4));
        let pool = Pool::new();
        let entries = operator.matrix().stored();
        bencher.counter(BytesCount::new(4 * (entries * (WIDTH + 2 * 8) + NODES * WIDTH))).bench_local(|| {
            let tape = Tape::inference(&pool);
            let [values, source, target] = [&values, &source, &target].map(|matrix| tape.constant(matrix));
            divan::black_box(tape.attend(&operator, &values, &source, &target, 0.2, None));
        });
    }
}
