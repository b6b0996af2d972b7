//! The planted partition: balanced classes, and edges that prefer to stay inside them.

use abyssal_tensor::random::Stream;

use super::{Draw, invalid};
use crate::{Graph, GraphError};

/// A random graph on balanced classes in which every pair of nodes is joined independently, with one probability
/// inside classes and another between them. The two are chosen so that the expected number of edges is
/// `nodes · average_degree / 2`, of which the expected share `homophily` is inside classes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Partition {
    pub nodes: usize,
    pub classes: usize,
    pub average_degree: f64,
    pub homophily: f64,
}

impl Partition {
    /// Checks the fields, and those of the split that generators add to it.
    pub fn validate(&self, train_per_class: usize, validation: usize) -> Result<(), GraphError> {
        let Self { nodes, classes, average_degree, homophily } = *self;
        if classes < 2 {
            return Err(invalid("classes", classes, "at least 2"));
        }
        // One node a class to train, one for validation, one to test. This also makes some class have two nodes.
        let fewest = classes.saturating_add(2);
        if !(fewest..=u32::MAX as usize).contains(&nodes) {
            return Err(invalid(
                "nodes",
                nodes,
                format!("from {fewest} to {} for {classes} classes", u32::MAX),
            ));
        }
        if !(0.0..=1.0).contains(&homophily) {
            return Err(invalid("homophily", homophily, "in [0, 1]"));
        }
        let limit = self.largest_degree();
        if !(average_degree > 0.0 && average_degree <= limit) {
            let shown = (limit * 10.0).floor() / 10.0;
            let range = format!("above 0 and at most {shown} for {nodes} nodes and this homophily");
            return Err(invalid("average_degree", average_degree, range));
        }
        let most = (nodes - 2) / classes;
        if !(1..=most).contains(&train_per_class) {
            let range = format!("from 1 to {most} for {nodes} nodes in {classes} classes");
            return Err(invalid("train_per_class", train_per_class, range));
        }
        let most = nodes - classes * train_per_class - 1;
        if !(1..=most).contains(&validation) {
            return Err(invalid(
                "validation",
                validation,
                format!("from 1 to {most}, to leave a node to test"),
            ));
        }
        Ok(())
    }

    /// Draws the class of each node, and the graph.
    pub fn draw(&self, seed: u64) -> Result<(Vec<u32>, Graph), GraphError> {
        // Nodes in random order; a class is a stretch of them.
        let arrangement = Draw::Arrangement.stream(seed, 0).permutation(self.nodes);
        let mut classes = vec![0; self.nodes];
        let mut edges = Vec::with_capacity((self.expected_edges() * 1.1) as usize);
        let mut join = |first: u64, second: u64| {
            edges.push((arrangement[first as usize] as u32, arrangement[second as usize] as u32));
        };
        let inside = (self.homophily * self.expected_edges() / self.inside_pairs()).min(1.0);
        let outside = ((1.0 - self.homophily) * self.expected_edges() / self.outside_pairs()).min(1.0);
        for class in 0..self.classes {
            let (start, end) = (self.start(class), self.start(class + 1));
            for &node in &arrangement[start..end] {
                classes[node] = class as u32;
            }
            let (start, size) = (start as u64, (end - start) as u64);
            // Pairs inside the class, row by row of a lower triangle: row r holds the r pairs (r, 0), …, (r, r - 1).
            let (mut row, mut passed) = (1, 0);
            let stream = Draw::InsideEdges.stream(seed, class);
            for_each_success(size * (size - 1) / 2, inside, stream, |pair| {
                while pair - passed >= row {
                    passed += row;
                    row += 1;
                }
                join(start + row, start + pair - passed);
            });
            // Pairs of a node of this class and a node of an earlier one: a rectangle.
            let stream = Draw::OutsideEdges.stream(seed, class);
            for_each_success(size * start, outside, stream, |pair| join(start + pair / start, pair % start));
        }
        Ok((classes, Graph::from_edges(self.nodes, edges)?))
    }

    /// The place of a class's first node in the arrangement; the first classes have one node more than the last
    /// ones where they cannot all be equal.
    fn start(&self, class: usize) -> usize {
        class * (self.nodes / self.classes) + class.min(self.nodes % self.classes)
    }

    fn expected_edges(&self) -> f64 {
        self.nodes as f64 * self.average_degree / 2.0
    }

    fn inside_pairs(&self) -> f64 {
        let (size, larger) = ((self.nodes / self.classes) as f64, (self.nodes % self.classes) as f64);
        // Σ s(s - 1)/2, where a class with one node more has s pairs more.
        self.classes as f64 * size * (size - 1.0) / 2.0 + larger * size
    }

    fn outside_pairs(&self) -> f64 {
        let nodes = self.nodes as f64;
        nodes * (nodes - 1.0) / 2.0 - self.inside_pairs()
    }

    /// The average degree at which one of the two probabilities reaches 1. (A share of 0 asks for no edge.)
    fn largest_degree(&self) -> f64 {
        let limit = |pairs: f64, share: f64| if share > 0.0 { pairs / share } else { f64::INFINITY };
        let edges =
            limit(self.inside_pairs(), self.homophily).min(limit(self.outside_pairs(), 1.0 - self.homophily));
        2.0 * edges / self.nodes as f64
    }
}

/// Calls `visit` with every success among independent trials, ascending, in time proportional to the successes.
///
/// The failures between two successes are geometrically distributed: `⌊ln(1 - u) / ln(1 - p)⌋` for uniform `u`
/// (Batagelj and Brandes: *Efficient generation of large random networks*, 2005).
fn for_each_success(trials: u64, probability: f64, stream: Stream, mut visit: impl FnMut(u64)) {
    if probability <= 0.0 {
        return;
    }
    // Minus infinity for probability 1: then every gap is 0.
    let log_failure = (-probability).ln_1p();
    let mut trial = 0u64;
    for position in 0.. {
        let gap = (-stream.uniform(position)).ln_1p() / log_failure;
        trial = trial.saturating_add(gap as u64);
        if trial >= trials {
            return;
        }
        visit(trial);
        trial += 1;
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn successes(trials: u64, probability: f64, seed: u64) -> Vec<u64> {
        let mut found = Vec::new();
        for_each_success(trials, probability, Draw::Noise.stream(seed, 0), |trial| found.push(trial));
        found
    }

    #[test]
    fn certain_and_impossible_trials() {
        assert_eq!(successes(5, 1.0, 0), [0, 1, 2, 3, 4]);
        assert!(successes(5, 0.0, 0).is_empty());
        assert!(successes(0, 0.5, 0).is_empty());
        assert!(successes(1000, f64::MIN_POSITIVE, 0).is_empty());
    }

    #[test]
    fn every_trial_succeeds_as_often_as_it_should() {
        let mut counts = [0usize; 6];
        for seed in 0..4000 {
            successes(6, 0.3, seed).into_iter().for_each(|trial| counts[trial as usize] += 1);
        }
        // 1200 expected with a standard deviation of 29.
        assert!(counts.iter().all(|count| (1080..1320).contains(count)), "{counts:?}");
    }

    #[test]
    fn probability_one_joins_every_pair_inside_classes() {
        let mut partition = Partition { nodes: 11, classes: 3, average_degree: 1.0, homophily: 1.0 };
        partition.average_degree = partition.largest_degree();
        partition.validate(1, 1).unwrap();
        let (classes, graph) = partition.draw(5).unwrap();
        for first in 0..11 {
            let expected: Vec<u32> = (0..11)
                .filter(|&other| other != first && classes[other as usize] == classes[first as usize])
                .collect();
            assert_eq!(graph.neighbours(first as usize), &expected[..]);
        }
        partition.homophily = 0.0;
        partition.average_degree = partition.largest_degree();
        let (classes, graph) = partition.draw(5).unwrap();
        assert!(graph.pairs().all(|(first, second)| classes[first as usize] != classes[second as usize]));
        assert_eq!(graph.edges(), 4 * 4 + 4 * 3 + 4 * 3);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(16))]

        #[test]
        fn degree_and_homophily_are_near_what_was_asked_for(
            classes in 2usize..9,
            average_degree in 2.0..20.0f64,
            homophily in 0.0..=1.0f64,
            seed: u64,
        ) {
            let partition = Partition { nodes: 2000, classes, average_degree, homophily };
            partition.validate(20, 500).unwrap();
            let (classes_of_nodes, graph) = partition.draw(seed).unwrap();
            let labels: Vec<_> = classes_of_nodes.iter().map(|&class| Some(class)).collect();
            let edges = graph.edges() as f64;
            let measured = 2.0 * edges / 2000.0;
            // Five standard deviations, and a little for graphs of few edges.
            prop_assert!((measured / average_degree - 1.0).abs() < 5.5 / edges.sqrt(), "degree {measured}");
            let measured = graph.edge_homophily(&labels).unwrap();
            let deviation = (homophily * (1.0 - homophily) / edges).sqrt();
            prop_assert!((measured - homophily).abs() < 5.5 * deviation + 2.0 / edges, "homophily {measured}");
            for class in 0..classes as u32 {
                let size = classes_of_nodes.iter().filter(|&&other| other == class).count();
                prop_assert!(size == 2000 / classes || size == 2000 / classes + 1);
            }
        }
    }
}
