//! The layer against its parts, its gradients, and what it keeps.

use super::*;
use crate::ops::check::check;
use crate::ops::{Activation, Gradient};
use crate::random::{Purpose, Stream};
use crate::spectral::Whitening;
use crate::tape::Pool;
use crate::testing::random_matrix;
use crate::{Csr, Matrix};

const MIXTURE: Mixture =
    Mixture { aggregated: 0.5, residual: 0.3, initial: 0.2, centering: Centering::Aggregated };

/// Not symmetric, so that the transpose shows; every node is connected to three others and itself.
fn operator(nodes: usize) -> Arc<SparseOperator<f64>> {
    let entries = (0..nodes as u32).flat_map(|row| {
        [0, 1, 5, 11].map(|step| (row, (row + step) % nodes as u32, 0.1 + f64::from((row + step) % 4)))
    });
    Arc::new(SparseOperator::new(Csr::from_entries(nodes, nodes, entries.collect()).unwrap()))
}

fn layer(gradient: Gradient) -> SoftConvolution {
    let whitening = Whitening { strength: 0.6, exponent: 0.9, rank: 3 };
    let normalization = SoftNormalization { whitening, gradient, activation: Activation::Relu };
    SoftConvolution { mixture: MIXTURE, normalization }
}

/// What a layer does: from weights and an embedding with connections to the next ones.
type Layer<'a> = &'a dyn Fn(
    &Tape<f64>,
    (&Arc<SparseOperator<f64>>, &Variable<f64>),
    &Variable<f64>,
    (Memory, Option<Connections<f64>>),
) -> (Variable<f64>, Connections<f64>);

/// Three layers on the first of the inputs, with the others as weights: connections begin, go on and end.
fn three_layers(
    tape: &Tape<f64>,
    operator: &Arc<SparseOperator<f64>>,
    inputs: &[Variable<f64>],
    (keep, decay): (f64, f64),
    layer: Layer,
) -> Variable<f64> {
    let (mut hidden, mut connections, mut share) = (inputs[0].clone(), None, 1.0);
    for weight in &inputs[1..] {
        let memory = Memory { keep, share };
        let (next, after) = layer(tape, (operator, weight), &hidden, (memory, connections));
        (hidden, connections, share) = (next, Some(after), share * decay);
    }
    hidden
}

#[test]
fn gradients() {
    let operator = operator(12);
    let inputs =
        [random_matrix(12, 4, 1), random_matrix(4, 4, 2), random_matrix(4, 4, 3), random_matrix(4, 4, 4)];
    for memory in [(0.4, 0.3), (0.0, 0.0), (0.4, 0.0)] {
        check("soft convolution", &inputs, |tape, inputs| {
            three_layers(tape, &operator, inputs, memory, &|tape, convolution, hidden, connections| {
                let layer = layer(Gradient::Full);
                tape.soft_convolve(&layer, convolution, hidden, connections, None).unwrap()
            })
        });
    }
}

/// Of what reads an embedding that comes from a ReLU, a convolution leaves out on the way back what does not count; others do not.
#[test]
fn gradients_of_embeddings_that_others_read_too() {
    let (operator, layer) = (operator(12), layer(Gradient::Full));
    let inputs = [random_matrix(12, 4, 1), random_matrix(4, 4, 2), random_matrix(4, 4, 3)];
    check("soft convolution beside others", &inputs, |tape, inputs| {
        let convolve = |weight, hidden: &_, share, connections| {
            let memory = Memory { keep: 0.4, share };
            tape.soft_convolve(&layer, (&operator, weight), hidden, (memory, connections), None).unwrap()
        };
        let (first, connections) = convolve(&inputs[1], &inputs[0], 1.0, None);
        let (second, _) = convolve(&inputs[2], &first, 0.3, Some(connections));
        // Everything that is not positive counts here, were it not for the ReLU.
        let elsewhere = tape.propagate(&operator, &first);
        tape.weighted_sum(&[(1.0, &second), (0.5, &elsewhere)])
    });
}

/// What was summed up while rows were written is what another pass over them gives, and none of another operator.
#[test]
fn sums_that_came_with_an_embedding_have_the_same_bits() {
    let pool = Pool::new();
    let tape = Tape::inference(&pool);
    let (ours, others) = (operator(600), operator(600));
    let [input, weight] = [(600, 200, 1), (200, 200, 2)]
        .map(|(rows, columns, seed)| tape.constant(&Arc::new(random_matrix(rows, columns, seed))));
    let connections = (Memory { keep: 0.4, share: 1.0 }, None);
    let (hidden, _) =
        tape.soft_convolve(&layer(Gradient::Full), (&ours, &weight), &input, connections, None).unwrap();
    let came_with = propagated_sums(&ours, &hidden, &pool);
    assert!(Arc::ptr_eq(&came_with, &hidden.facts.propagated_sums.as_ref().unwrap().sums));
    let again = propagated_sums(&others, &hidden, &pool);
    assert!(!Arc::ptr_eq(&came_with, &again));
    assert_eq!(came_with.as_slice(), again.as_slice());
}

/// The embedding after three layers and all gradients for one of it, and how many free n×d buffers there are afterwards.
fn there_and_back(
    sparing: bool,
    operator: &Arc<SparseOperator<f64>>,
    columns: usize,
    layer: Layer,
) -> (Vec<Matrix<f64>>, usize) {
    let pool = Pool::new().sparing(sparing);
    let nodes = operator.matrix().rows();
    let results = {
        let tape = Tape::recording(&pool);
        let weights = (2..5).map(|seed| random_matrix(columns, columns, seed));
        let inputs: Vec<_> = std::iter::once(random_matrix(nodes, columns, 1))
            .chain(weights)
            .map(|input| tape.parameter(&Arc::new(input)))
            .collect();
        let output = three_layers(&tape, operator, &inputs, (0.4, 0.3), layer);
        let mut seed = pool.take(nodes, columns);
        seed.as_mut_slice().copy_from_slice(random_matrix(nodes, columns, 9).as_slice());
        let mut gradients = tape.backward_from(&output, seed);
        let gradients = inputs.iter().map(|input| Matrix::clone(&gradients.take(input).unwrap()));
        std::iter::once(Matrix::clone(&output)).chain(gradients).collect()
    };
    let free = pool.lengths().into_iter().find(|&(length, _)| length == nodes * columns);
    (results, free.map_or(0, |(_, count)| count))
}

fn dropout() -> Option<Dropout> {
    Dropout::new(0.3, Stream::new(1, Purpose::Dropout, 0, 0))
}

/// One after the other, the operations it is made of give the same, also where ranges of rows have several chunks.
#[test]
fn it_equals_its_parts() {
    for (nodes, columns) in [(13, 3), (600, 200)] {
        assert_eq!(nodes == 600, nodes / 2 > chunk_rows(columns), "several chunks");
        for (gradient, dropout) in [
            (Gradient::Full, None),
            (Gradient::Full, dropout()),
            (Gradient::Detached, None),
            (Gradient::Detached, dropout()),
        ] {
            let layer = layer(gradient);
            let whole: Layer = &|tape, convolution, hidden, connections| {
                tape.soft_convolve(&layer, convolution, hidden, connections, dropout).unwrap()
            };
            let parts: Layer = &|tape, (operator, weight), hidden, (memory, connections)| {
                let aggregated = tape.propagate(operator, &tape.linear(hidden, weight));
                let (combined, connections) =
                    tape.combine(&layer.mixture, &aggregated, hidden, memory, connections);
                (tape.soft_normalize(&layer.normalization, &combined, dropout).unwrap(), connections)
            };
            let [(whole, _), (parts, _)] =
                [whole, parts].map(|layer| there_and_back(false, &operator(nodes), columns, layer));
            for (whole, parts) in whole.iter().zip(&parts) {
                let size = parts.as_slice().iter().fold(1.0, |size: f64, value| size.max(value.abs()));
                let dropped = dropout.is_some();
                assert!(
                    whole.max_difference(parts) < 1e-9 * size,
                    "{nodes} nodes, {gradient:?}, dropped: {dropped}"
                );
            }
        }
    }
}

/// Of three layers, two read an embedding that exact gradients can compute again.
#[test]
fn a_sparing_pool_keeps_less_for_the_same_bits() {
    for (gradient, fewer) in [(Gradient::Full, 2), (Gradient::Detached, 0)] {
        for (nodes, columns) in [(13, 3), (600, 200)] {
            let layer: Layer = &|tape, convolution, hidden, connections| {
                tape.soft_convolve(&layer(gradient), convolution, hidden, connections, dropout()).unwrap()
            };
            let [(kept, all), (again, some)] =
                [false, true].map(|sparing| there_and_back(sparing, &operator(nodes), columns, layer));
            assert_eq!(again, kept, "{nodes} nodes, {gradient:?}");
            assert_eq!(some, all - fewer, "{nodes} nodes, {gradient:?}");
        }
    }
}

#[test]
fn what_is_not_finite_is_an_error() {
    let tape = Tape::inference(&Pool::new());
    let mut input = random_matrix(13, 3, 1);
    input.set(2, 1, f64::NAN);
    let (input, weight) = (tape.constant(&Arc::new(input)), tape.constant(&Arc::new(random_matrix(3, 3, 2))));
    let connections = (Memory { keep: 0.4, share: 1.0 }, None);
    let result =
        tape.soft_convolve(&layer(Gradient::Full), (&operator(13), &weight), &input, connections, None);
    assert!(result.is_err());
}
