//! The loops of graph attention: scores and weights of edges, sums over neighbours, and their way back.
//!
//! An edge has K numbers, one a head, and a node 2K scores: those of hearing, then those of being heard.

use crate::Scalar;
use crate::ops::Dropout;
use crate::ops::row_sums::dot;
use crate::vectorized::vectorized;

/// Values added side by side, so that sums of products fill vector registers.
const LANES: usize = 8;

vectorized! {
    pub(super) fn drop_values<'a, T>(dropout: Dropout, start: usize, values: &'a mut [T]) {
        dropout.apply(start, values);
    }
}

vectorized! {
    pub(super) fn score_rows<'a, T>(rows: &'a [T], target: &'a [T], source: &'a [T], heads: usize, scores: &'a mut [T]) {
        let width = target.len() / heads;
        for (row, scores) in rows.chunks_exact(target.len()).zip(scores.chunks_exact_mut(2 * heads)) {
            for head in 0..heads {
                let range = head * width..(head + 1) * width;
                scores[head] = dot(&row[range.clone()], &target[range.clone()]);
                scores[heads + head] = dot(&row[range.clone()], &source[range]);
            }
        }
    }
}

vectorized! {
    /// `α` of the rows from `first` on; the largest score is taken out, so that no exponential overflows.
    pub(super) fn attention_weights<'a, T>(
        offsets: &'a [usize],
        indices: &'a [u32],
        scores: &'a [T],
        place: (usize, usize),
        slope: T,
        weights: &'a mut [T],
    ) {
        let (first, heads) = place;
        let start = offsets[0];
        for (row, bounds) in offsets.windows(2).enumerate() {
            if (bounds[0] - start) * heads >= weights.len() {
                break;
            }
            let weights = &mut weights[(bounds[0] - start) * heads..(bounds[1] - start) * heads];
            let neighbours = &indices[bounds[0]..bounds[1]];
            let own = &scores[(first + row) * 2 * heads..][..heads];
            let mut head = 0;
            while head + LANES <= heads {
                attend_heads::<T, LANES>(weights, neighbours, (own, scores), (head, heads), slope);
                head += LANES;
            }
            while head < heads {
                attend_heads::<T, 1>(weights, neighbours, (own, scores), (head, heads), slope);
                head += 1;
            }
        }
    }
}

/// `α` of one node for the `W` heads from `place.0` on, of `place.1` in all.
#[inline(always)]
fn attend_heads<T: Scalar, const W: usize>(
    weights: &mut [T],
    neighbours: &[u32],
    (own, scores): (&[T], &[T]),
    (head, heads): (usize, usize),
    slope: T,
) {
    let own = lanes::<T, W>(own, head);
    let mut largest = [-T::ONE / T::ZERO; W];
    for (weights, &neighbour) in weights.chunks_exact_mut(heads).zip(neighbours) {
        let other = lanes::<T, W>(scores, neighbour as usize * 2 * heads + heads + head);
        let weights = &mut weights[head..head + W];
        for lane in 0..W {
            let score = own[lane] + other[lane];
            let score = if score > T::ZERO { score } else { slope * score };
            largest[lane] = if score > largest[lane] { score } else { largest[lane] };
            weights[lane] = score;
        }
    }
    let mut sums = [T::ZERO; W];
    for weights in weights.chunks_exact_mut(heads) {
        let weights = &mut weights[head..head + W];
        for lane in 0..W {
            let weight = Scalar::exp(weights[lane] - largest[lane]);
            sums[lane] += weight;
            weights[lane] = weight;
        }
    }
    let scales = sums.map(|sum| T::ONE / sum);
    for weights in weights.chunks_exact_mut(heads) {
        let weights = &mut weights[head..head + W];
        for lane in 0..W {
            weights[lane] *= scales[lane];
        }
    }
}

/// `W` values from `start` on.
#[inline(always)]
fn lanes<T: Scalar, const W: usize>(values: &[T], start: usize) -> [T; W] {
    let values = &values[start..start + W];
    std::array::from_fn(|lane| values[lane])
}

vectorized! {
    /// `output_i = ‖_k Σ_j α_ijk · dense_jk`.
    pub(super) fn weigh_rows<'a, T>(
        offsets: &'a [usize],
        indices: &'a [u32],
        weights: &'a [T],
        dense: &'a [T],
        shape: (usize, usize),
        output: &'a mut [T],
    ) {
        let (heads, columns) = shape;
        for (row, bounds) in output.chunks_exact_mut(columns).zip(offsets.windows(2)) {
            row.fill(T::ZERO);
            for edge in bounds[0]..bounds[1] {
                let other = &dense[indices[edge] as usize * columns..][..columns];
                add_weighted(row, other, &weights[edge * heads..][..heads]);
            }
        }
    }
}

vectorized! {
    /// The same over the transpose: `output_j = ‖_k Σ_i α_ijk · dense_ik`.
    pub(super) fn weigh_back<'a, T>(
        offsets: &'a [usize],
        edges: (&'a [u32], &'a [u32]),
        weights: &'a [T],
        dense: &'a [T],
        shape: (usize, usize),
        output: &'a mut [T],
    ) {
        let (indices, sources) = edges;
        let (heads, columns) = shape;
        for (row, bounds) in output.chunks_exact_mut(columns).zip(offsets.windows(2)) {
            row.fill(T::ZERO);
            for edge in bounds[0]..bounds[1] {
                let other = &dense[indices[edge] as usize * columns..][..columns];
                add_weighted(row, other, &weights[sources[edge] as usize * heads..][..heads]);
            }
        }
    }
}

vectorized! {
    /// `⟨left_ik, right_jk⟩` for all edges i → j of the rows from `first` on.
    pub(super) fn multiply_ends<'a, T>(
        offsets: &'a [usize],
        indices: &'a [u32],
        ends: (&'a [T], &'a [T]),
        place: (usize, usize, usize),
        products: &'a mut [T],
    ) {
        let (first, heads, columns) = place;
        let (left, right) = ends;
        let (start, width) = (offsets[0], columns / heads);
        for (row, bounds) in offsets.windows(2).enumerate() {
            if (bounds[0] - start) * heads >= products.len() {
                break;
            }
            let own = &left[(first + row) * columns..][..columns];
            for edge in bounds[0]..bounds[1] {
                let other = &right[indices[edge] as usize * columns..][..columns];
                let products = &mut products[(edge - start) * heads..][..heads];
                let parts = own.chunks_exact(width).zip(other.chunks_exact(width));
                for (product, (own, other)) in products.iter_mut().zip(parts) {
                    *product = dot(own, other);
                }
            }
        }
    }
}

vectorized! {
    /// Turns `ᾱ` into `z̄`, in place, through softmax and LeakyReLU.
    pub(super) fn score_backward<'a, T>(
        offsets: &'a [usize],
        indices: &'a [u32],
        scores: &'a [T],
        weights: &'a [T],
        place: (usize, usize),
        slope: T,
        gradients: &'a mut [T],
    ) {
        let (first, heads) = place;
        let start = offsets[0];
        for (row, bounds) in offsets.windows(2).enumerate() {
            if (bounds[0] - start) * heads >= gradients.len() {
                break;
            }
            let range = (bounds[0] - start) * heads..(bounds[1] - start) * heads;
            let (gradients, weights) = (&mut gradients[range.clone()], &weights[range]);
            let neighbours = &indices[bounds[0]..bounds[1]];
            let own = &scores[(first + row) * 2 * heads..][..heads];
            let mut head = 0;
            while head + LANES <= heads {
                heads_backward::<T, LANES>((gradients, weights), neighbours, (own, scores), (head, heads), slope);
                head += LANES;
            }
            while head < heads {
                heads_backward::<T, 1>((gradients, weights), neighbours, (own, scores), (head, heads), slope);
                head += 1;
            }
        }
    }
}

/// `z̄` of one node for the `W` heads from `place.0` on, of `place.1` in all.
#[inline(always)]
fn heads_backward<T: Scalar, const W: usize>(
    (gradients, weights): (&mut [T], &[T]),
    neighbours: &[u32],
    (own, scores): (&[T], &[T]),
    (head, heads): (usize, usize),
    slope: T,
) {
    let own = lanes::<T, W>(own, head);
    let mut means = [T::ZERO; W];
    for (gradients, weights) in gradients.chunks_exact(heads).zip(weights.chunks_exact(heads)) {
        let (gradients, weights) = (lanes::<T, W>(gradients, head), lanes::<T, W>(weights, head));
        for lane in 0..W {
            means[lane] += weights[lane] * gradients[lane];
        }
    }
    let edges = gradients.chunks_exact_mut(heads).zip(weights.chunks_exact(heads));
    for ((gradients, weights), &neighbour) in edges.zip(neighbours) {
        let other = lanes::<T, W>(scores, neighbour as usize * 2 * heads + heads + head);
        let weights = lanes::<T, W>(weights, head);
        let gradients = &mut gradients[head..head + W];
        for lane in 0..W {
            let factor = if own[lane] + other[lane] > T::ZERO { T::ONE } else { slope };
            gradients[lane] = factor * weights[lane] * (gradients[lane] - means[lane]);
        }
    }
}

vectorized! {
    /// `[Σ_j z̄_ij | Σ_j z̄_ji]` for all nodes i from the first of the offsets on.
    pub(super) fn sum_scores<'a, T>(
        offsets: &'a [usize],
        transposed_offsets: &'a [usize],
        sources: &'a [u32],
        gradients: &'a [T],
        heads: usize,
        sums: &'a mut [T],
    ) {
        let bounds = offsets.windows(2).zip(transposed_offsets.windows(2));
        for (sums, (bounds, transposed_bounds)) in sums.chunks_exact_mut(2 * heads).zip(bounds) {
            let (hearing, heard) = sums.split_at_mut(heads);
            hearing.fill(T::ZERO);
            for gradients in gradients[bounds[0] * heads..bounds[1] * heads].chunks_exact(heads) {
                for (sum, &gradient) in hearing.iter_mut().zip(gradients) {
                    *sum += gradient;
                }
            }
            heard.fill(T::ZERO);
            for &edge in &sources[transposed_bounds[0]..transposed_bounds[1]] {
                for (sum, &gradient) in heard.iter_mut().zip(&gradients[edge as usize * heads..][..heads]) {
                    *sum += gradient;
                }
            }
        }
    }
}

vectorized! {
    /// `[Σ_i hearing_ik·X_ik | Σ_i heard_ik·X_ik]` over some rows.
    pub(super) fn sum_vectors<'a, T>(
        sums: &'a [T],
        rows: &'a [T],
        shape: (usize, usize),
        vectors: &'a mut [T],
    ) {
        let (heads, columns) = shape;
        vectors.fill(T::ZERO);
        let (target, source) = vectors.split_at_mut(columns);
        for (sums, row) in sums.chunks_exact(2 * heads).zip(rows.chunks_exact(columns)) {
            let (hearing, heard) = sums.split_at(heads);
            add_weighted(target, row, hearing);
            add_weighted(source, row, heard);
        }
    }
}

vectorized! {
    /// `row_ik += hearing_ik·t_k + heard_ik·s_k`.
    pub(super) fn add_vectors<'a, T>(sums: &'a [T], target: &'a [T], source: &'a [T], heads: usize, rows: &'a mut [T]) {
        for (sums, row) in sums.chunks_exact(2 * heads).zip(rows.chunks_exact_mut(target.len())) {
            let (hearing, heard) = sums.split_at(heads);
            add_weighted(row, target, hearing);
            add_weighted(row, source, heard);
        }
    }
}

/// `row_k += weights_k · other_k` for each of the equal parts k of a row.
#[inline(always)]
fn add_weighted<T: Scalar>(row: &mut [T], other: &[T], weights: &[T]) {
    let width = row.len() / weights.len();
    // Class scores are narrow. Loops of a length that the compiler knows have no loop about them.
    match width {
        2 => return add_weighted_parts::<T, 2>(row, other, weights),
        3 => return add_weighted_parts::<T, 3>(row, other, weights),
        4 => return add_weighted_parts::<T, 4>(row, other, weights),
        5 => return add_weighted_parts::<T, 5>(row, other, weights),
        6 => return add_weighted_parts::<T, 6>(row, other, weights),
        7 => return add_weighted_parts::<T, 7>(row, other, weights),
        8 => return add_weighted_parts::<T, 8>(row, other, weights),
        _ => {}
    }
    let parts = row.chunks_exact_mut(width).zip(other.chunks_exact(width));
    for ((row, other), &weight) in parts.zip(weights) {
        let (row, rest) = row.as_chunks_mut::<LANES>();
        let (other, other_rest) = other.as_chunks::<LANES>();
        for (row, other) in row.iter_mut().zip(other) {
            for (value, &other) in row.iter_mut().zip(other) {
                *value += weight * other;
            }
        }
        for (value, &other) in rest.iter_mut().zip(other_rest) {
            *value += weight * other;
        }
    }
}

/// The same with parts of `W` columns.
#[inline(always)]
fn add_weighted_parts<T: Scalar, const W: usize>(row: &mut [T], other: &[T], weights: &[T]) {
    let parts = row.as_chunks_mut::<W>().0.iter_mut().zip(other.as_chunks::<W>().0);
    for ((row, other), &weight) in parts.zip(weights) {
        for (value, &other) in row.iter_mut().zip(other) {
            *value += weight * other;
        }
    }
}
