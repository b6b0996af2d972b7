//! Simple graphs.

use std::borrow::Cow;

use crate::{GraphError, NodeOrder};

/// A simple graph: a pattern without weights and without stored self-loops, undirected unless asked for otherwise.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Graph {
    /// Where the neighbours of each node begin, and where those of the last one end.
    offsets: Vec<usize>,
    /// The neighbours of one node after those of another, ascending.
    neighbours: Vec<u32>,
    /// Whether an edge carries messages one way only.
    directed: bool,
    /// Whether a node hears itself when its neighbours are aggregated.
    self_loops: bool,
}

/// The connected components of a graph.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Components {
    /// How many there are.
    pub count: usize,
    /// The component of each node, numbered by their smallest nodes: node 0 is in component 0.
    pub labels: Vec<u32>,
}

impl Graph {
    /// A graph from edges in any order and direction. Self-loops are dropped, repeated edges count once.
    ///
    /// # Errors
    /// If there are no nodes, more than 2³² - 1, or an edge names a node outside `0..nodes`.
    pub fn from_edges(nodes: usize, edges: impl IntoIterator<Item = (u32, u32)>) -> Result<Self, GraphError> {
        let ordered = |(first, second): (u32, u32)| (first.min(second), first.max(second));
        let pairs = distinct(nodes, edges, ordered)?;
        Ok(Self::from_sorted_pairs(nodes, &pairs))
    }

    /// A directed graph from edges `(source, target)` in any order: a node hears the sources of its edges, so its
    /// neighbours are those. Self-loops are dropped, repeated edges count once.
    ///
    /// # Errors
    /// As for [`Graph::from_edges`].
    pub fn from_directed_edges(
        nodes: usize,
        edges: impl IntoIterator<Item = (u32, u32)>,
    ) -> Result<Self, GraphError> {
        let pairs = distinct(nodes, edges, |(source, target)| (target, source))?;
        let mut offsets = vec![0; nodes + 1];
        for &(target, _) in &pairs {
            offsets[target as usize + 1] += 1;
        }
        for node in 0..nodes {
            offsets[node + 1] += offsets[node];
        }
        let neighbours = pairs.into_iter().map(|(_, source)| source).collect();
        Ok(Self { offsets, neighbours, directed: true, self_loops: true })
    }

    /// The same graph, with nodes that hear themselves (as is the default) or do not.
    pub fn with_self_loops(self, self_loops: bool) -> Self {
        Self { self_loops, ..self }
    }

    /// A graph from the neighbours of one node after those of another, ascending for each, and where those of each node begin
    /// and the last ones end. Without directions, both ends of an edge must name each other.
    pub(crate) fn from_rows(offsets: Vec<usize>, neighbours: Vec<u32>, directed: bool) -> Self {
        Self { offsets, neighbours, directed, self_loops: true }
    }

    /// A graph from distinct pairs `(smaller, larger)` in ascending order.
    fn from_sorted_pairs(nodes: usize, pairs: &[(u32, u32)]) -> Self {
        let mut offsets = vec![0; nodes + 1];
        for &(smaller, larger) in pairs {
            offsets[smaller as usize + 1] += 1;
            offsets[larger as usize + 1] += 1;
        }
        for node in 0..nodes {
            offsets[node + 1] += offsets[node];
        }
        let mut next = offsets.clone();
        let mut neighbours = vec![0; 2 * pairs.len()];
        let mut push = |node: u32, neighbour: u32| {
            let place = &mut next[node as usize];
            neighbours[*place] = neighbour;
            *place += 1;
        };
        // In this order a node meets its smaller neighbours first, ascending, then its larger ones, ascending.
        for &(smaller, larger) in pairs {
            push(smaller, larger);
            push(larger, smaller);
        }
        Self { offsets, neighbours, directed: false, self_loops: true }
    }

    /// Number of nodes.
    pub fn nodes(&self) -> usize {
        self.offsets.len() - 1
    }

    /// How many bytes of memory it takes.
    pub(crate) fn bytes(&self) -> usize {
        size_of_val(&*self.offsets) + size_of_val(&*self.neighbours)
    }

    /// Number of edges, each counted once.
    pub fn edges(&self) -> usize {
        if self.directed { self.neighbours.len() } else { self.neighbours.len() / 2 }
    }

    /// Whether an edge carries messages one way only.
    pub fn is_directed(&self) -> bool {
        self.directed
    }

    /// Whether a node hears itself when its neighbours are aggregated.
    pub fn has_self_loops(&self) -> bool {
        self.self_loops
    }

    /// Number of neighbours of a node; in a directed graph, of edges that lead to it.
    pub fn degree(&self, node: usize) -> usize {
        self.offsets[node + 1] - self.offsets[node]
    }

    /// The neighbours of a node, ascending.
    pub fn neighbours(&self, node: usize) -> &[u32] {
        &self.neighbours[self.offsets[node]..self.offsets[node + 1]]
    }

    /// Every edge once in ascending order: as `(smaller, larger)`, or in a directed graph as `(target, source)`.
    pub fn pairs(&self) -> impl Iterator<Item = (u32, u32)> + '_ {
        (0..self.nodes()).flat_map(move |node| {
            let neighbours = self.neighbours(node);
            let first = match self.directed {
                true => 0,
                false => neighbours.partition_point(|&neighbour| (neighbour as usize) < node),
            };
            neighbours[first..].iter().map(move |&neighbour| (node as u32, neighbour))
        })
    }

    /// The graph with those edges alone that `keep` says. It is asked with a node and one of its neighbours; in an
    /// undirected graph it must say the same for both ends.
    pub fn filtered(&self, keep: impl Fn(u32, u32) -> bool) -> Self {
        let mut offsets = vec![0];
        let mut neighbours = Vec::with_capacity(self.neighbours.len());
        for node in 0..self.nodes() {
            let kept = self.neighbours(node).iter().filter(|&&neighbour| keep(node as u32, neighbour));
            neighbours.extend(kept);
            offsets.push(neighbours.len());
        }
        Self { offsets, neighbours, directed: self.directed, self_loops: self.self_loops }
    }

    /// The same graph with its nodes in another order: node i of it is the one that the order has at place i.
    ///
    /// # Panics
    /// If the order is not one of as many nodes.
    pub fn reordered(&self, order: &NodeOrder) -> Self {
        assert_eq!(order.nodes().len(), self.nodes(), "an order needs one place a node");
        let mut offsets = vec![0];
        let mut neighbours = Vec::with_capacity(self.neighbours.len());
        for &node in order.nodes() {
            let first = neighbours.len();
            let places = self.neighbours(node as usize).iter().map(|&other| order.places()[other as usize]);
            neighbours.extend(places);
            neighbours[first..].sort_unstable();
            offsets.push(neighbours.len());
        }
        Self { offsets, neighbours, directed: self.directed, self_loops: self.self_loops }
    }

    /// The same graph without directions.
    pub fn undirected(&self) -> Cow<'_, Self> {
        if !self.directed {
            return Cow::Borrowed(self);
        }
        let graph = Self::from_edges(self.nodes(), self.pairs()).expect("edges of a graph stay inside it");
        Cow::Owned(graph.with_self_loops(self.self_loops))
    }

    /// The connected components, whatever the directions of edges.
    pub fn components(&self) -> Components {
        const UNSEEN: u32 = u32::MAX;
        let graph = self.undirected();
        let mut labels = vec![UNSEEN; self.nodes()];
        let mut count = 0;
        let mut stack = Vec::new();
        for start in 0..self.nodes() {
            if labels[start] != UNSEEN {
                continue;
            }
            labels[start] = count;
            stack.push(start);
            while let Some(node) = stack.pop() {
                for &neighbour in graph.neighbours(node) {
                    if labels[neighbour as usize] == UNSEEN {
                        labels[neighbour as usize] = count;
                        stack.push(neighbour as usize);
                    }
                }
            }
            count += 1;
        }
        Components { count: count as usize, labels }
    }

    /// Whether there is a path between any two nodes.
    pub fn is_connected(&self) -> bool {
        self.components().count == 1
    }

    /// The share of edges that join nodes of one label, among edges whose two ends are labelled; `None` where
    /// there is no such edge.
    ///
    /// # Panics
    /// If there is not one label a node.
    pub fn edge_homophily(&self, labels: &[Option<u32>]) -> Option<f64> {
        assert_eq!(labels.len(), self.nodes(), "edge homophily needs one label a node");
        let (mut same, mut all) = (0usize, 0usize);
        for (smaller, larger) in self.pairs() {
            if let (Some(first), Some(second)) = (labels[smaller as usize], labels[larger as usize]) {
                same += usize::from(first == second);
                all += 1;
            }
        }
        (all > 0).then(|| same as f64 / all as f64)
    }
}

impl Components {
    /// The nodes of the largest component (the first of equally large ones), ascending.
    pub fn largest(&self) -> Vec<u32> {
        let mut sizes = vec![0usize; self.count];
        for &label in &self.labels {
            sizes[label as usize] += 1;
        }
        let largest = (0..self.count).rev().max_by_key(|&component| sizes[component]).unwrap_or(0);
        (0..)
            .zip(&self.labels)
            .filter(|(_, label)| **label as usize == largest)
            .map(|(node, _)| node)
            .collect()
    }
}

/// The edges without loops, put in order by `arranged`, sorted, each once.
fn distinct(
    nodes: usize,
    edges: impl IntoIterator<Item = (u32, u32)>,
    arranged: impl Fn((u32, u32)) -> (u32, u32),
) -> Result<Vec<(u32, u32)>, GraphError> {
    if nodes == 0 {
        return Err(GraphError::EmptyGraph);
    }
    if nodes > u32::MAX as usize {
        return Err(GraphError::TooManyNodes { nodes });
    }
    let mut pairs = Vec::new();
    for (first, second) in edges {
        if first.max(second) as usize >= nodes {
            return Err(GraphError::EdgeOutOfRange { first, second, nodes });
        }
        if first != second {
            pairs.push(arranged((first, second)));
        }
    }
    pairs.sort_unstable();
    pairs.dedup();
    Ok(pairs)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        #[test]
        fn a_graph_holds_the_set_of_its_edges(
            (nodes, edges) in (1usize..25).prop_flat_map(|nodes| {
                let edge = (0..nodes as u32, 0..nodes as u32);
                (Just(nodes), prop::collection::vec(edge, 0..80))
            }),
        ) {
            let graph = Graph::from_edges(nodes, edges.iter().copied()).unwrap();
            let expected: BTreeSet<(u32, u32)> =
                edges.iter().filter(|(a, b)| a != b).map(|&(a, b)| (a.min(b), a.max(b))).collect();
            prop_assert_eq!(graph.pairs().collect::<Vec<_>>(), expected.iter().copied().collect::<Vec<_>>());
            prop_assert_eq!(graph.edges(), expected.len());
            for node in 0..nodes {
                let neighbours: Vec<u32> = (0..nodes as u32)
                    .filter(|&other| expected.contains(&(other.min(node as u32), other.max(node as u32))))
                    .collect();
                prop_assert_eq!(graph.neighbours(node), &neighbours[..]);
                prop_assert_eq!(graph.degree(node), neighbours.len());
            }
            let components = graph.components();
            for (first, second) in graph.pairs() {
                prop_assert_eq!(components.labels[first as usize], components.labels[second as usize]);
            }
            // A component of k nodes has at least k - 1 edges.
            prop_assert!(components.count + graph.edges() >= nodes);
            prop_assert_eq!(components.labels.iter().collect::<BTreeSet<_>>().len(), components.count);
        }
    }

    #[test]
    fn loops_and_repeated_edges_are_dropped() {
        let graph = Graph::from_edges(3, [(0, 1), (1, 0), (2, 2), (0, 1)]).unwrap();
        assert_eq!((graph.nodes(), graph.edges()), (3, 1));
        assert_eq!(graph.neighbours(0), &[1]);
        assert_eq!(graph.degree(2), 0);
    }

    #[test]
    fn components_are_numbered_by_their_smallest_nodes() {
        let graph = Graph::from_edges(6, [(5, 0), (2, 1), (4, 2)]).unwrap();
        assert_eq!(graph.components(), Components { count: 3, labels: vec![0, 1, 1, 2, 1, 0] });
        assert!(!graph.is_connected());
        assert!(Graph::from_edges(3, [(0, 1), (1, 2)]).unwrap().is_connected());
        assert!(Graph::from_edges(1, []).unwrap().is_connected());
    }

    #[test]
    fn a_node_of_a_directed_graph_hears_the_sources_of_its_edges() {
        let graph = Graph::from_directed_edges(4, [(0, 1), (2, 1), (1, 0), (0, 1), (3, 3)]).unwrap();
        assert!(graph.is_directed());
        assert_eq!((graph.edges(), graph.degree(1)), (3, 2));
        assert_eq!(graph.neighbours(1), &[0, 2]);
        assert_eq!(graph.neighbours(0), &[1]);
        assert_eq!(graph.pairs().collect::<Vec<_>>(), [(0, 1), (1, 0), (1, 2)]);
        assert_eq!(graph.components(), Components { count: 2, labels: vec![0, 0, 0, 1] });
        assert_eq!(*graph.undirected(), Graph::from_edges(4, [(0, 1), (1, 2)]).unwrap());
    }

    #[test]
    fn of_equally_large_components_the_first_is_the_largest() {
        let graph = Graph::from_edges(5, [(3, 4), (1, 2)]).unwrap();
        assert_eq!(graph.components().largest(), [1, 2]);
    }

    #[test]
    fn a_graph_without_nodes_is_refused() {
        assert_eq!(Graph::from_edges(0, []), Err(GraphError::EmptyGraph));
    }

    #[test]
    fn an_edge_to_nowhere_is_named() {
        let error = Graph::from_edges(3, [(0, 1), (7, 2)]).unwrap_err();
        assert_eq!(error.to_string(), "edge (7, 2) leaves the graph; with 3 nodes, ids run from 0 to 2");
        // A loop is no excuse.
        assert!(Graph::from_edges(3, [(3, 3)]).is_err());
    }

    #[test]
    fn homophily_counts_edges_with_two_labels() {
        let graph = Graph::from_edges(4, [(0, 1), (1, 2), (2, 3)]).unwrap();
        assert_eq!(graph.edge_homophily(&[Some(0), Some(0), Some(1), None]), Some(0.5));
        assert_eq!(graph.edge_homophily(&[Some(0), None, Some(1), None]), None);
    }
}
