//! The nearest nodes met so far.

use std::cmp::Ordering;
use std::collections::BinaryHeap;

/// A node and its distance, ordered by distance, then by index.
#[derive(Clone, Copy, Debug)]
pub(super) struct Candidate {
    pub(super) distance: f64,
    pub(super) node: u32,
}

impl Ord for Candidate {
    fn cmp(&self, other: &Self) -> Ordering {
        self.distance.total_cmp(&other.distance).then(self.node.cmp(&other.node))
    }
}

impl PartialOrd for Candidate {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Candidate {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Candidate {}

/// The k nearest of the nodes offered, whatever the order they came in.
pub(super) struct Nearest {
    k: usize,
    /// The farthest on top.
    heap: BinaryHeap<Candidate>,
}

impl Nearest {
    /// Nobody yet.
    pub(super) fn new(k: usize) -> Self {
        Self { k, heap: BinaryHeap::with_capacity(k) }
    }

    /// The farthest of k nodes; `None` while there are fewer, and everybody is welcome.
    pub(super) fn farthest(&self) -> Option<Candidate> {
        if self.heap.len() < self.k { None } else { self.heap.peek().copied() }
    }

    /// Takes a node if it is nearer than the farthest, and tells whether it did.
    pub(super) fn offer(&mut self, candidate: Candidate) -> bool {
        match self.farthest() {
            None => self.heap.push(candidate),
            Some(farthest) if candidate < farthest => {
                if let Some(mut top) = self.heap.peek_mut() {
                    *top = candidate;
                }
            }
            Some(_) => return false,
        }
        true
    }

    /// Writes the nodes, the nearest first.
    pub(super) fn write(self, nodes: &mut [u32]) {
        for (node, candidate) in nodes.iter_mut().zip(self.heap.into_sorted_vec()) {
            *node = candidate.node;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_stay_and_ties_go_to_the_smaller_index() {
        let mut nearest = Nearest::new(2);
        for (distance, node, taken) in
            [(3.0, 4, true), (1.0, 9, true), (3.0, 5, false), (1.0, 7, true), (1.0, 8, true), (1.0, 8, false)]
        {
            assert_eq!(nearest.offer(Candidate { distance, node }), taken, "node {node}");
        }
        assert_eq!(nearest.farthest(), Some(Candidate { distance: 1.0, node: 8 }));
        let mut nodes = [0; 2];
        nearest.write(&mut nodes);
        assert_eq!(nodes, [7, 8]);
    }
}
