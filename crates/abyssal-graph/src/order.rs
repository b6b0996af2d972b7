//! Orders of nodes.

use crate::Graph;

/// An order of the nodes of a graph.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NodeOrder {
    /// The node at each place.
    nodes: Vec<u32>,
    /// The place of each node.
    places: Vec<u32>,
}

impl NodeOrder {
    /// The nodes as they are.
    pub fn given(nodes: usize) -> Self {
        Self::of((0..nodes as u32).collect())
    }

    /// An order in which neighbours are close to each other, so that whoever goes through the nodes and gathers what their
    /// neighbours have finds much of it in a cache: that of Cuthill and McKee ("Reducing the bandwidth of sparse symmetric
    /// matrices", 1969), reversed.
    ///
    /// Breadth first from a node with the fewest neighbours, and from node to node again by the fewest neighbours; of equal ones the
    /// earlier comes first. One component follows the other.
    pub fn close_neighbours(graph: &Graph) -> Self {
        let graph = graph.undirected();
        let ascending =
            |nodes: &mut [u32]| nodes.sort_unstable_by_key(|&node| (graph.degree(node as usize), node));
        let mut starts: Vec<u32> = (0..graph.nodes() as u32).collect();
        ascending(&mut starts);
        let mut seen = vec![false; graph.nodes()];
        let mut nodes = Vec::with_capacity(graph.nodes());
        for start in starts {
            if std::mem::replace(&mut seen[start as usize], true) {
                continue;
            }
            let mut next = nodes.len();
            nodes.push(start);
            while next < nodes.len() {
                let known = nodes.len();
                for &neighbour in graph.neighbours(nodes[next] as usize) {
                    if !std::mem::replace(&mut seen[neighbour as usize], true) {
                        nodes.push(neighbour);
                    }
                }
                ascending(&mut nodes[known..]);
                next += 1;
            }
        }
        nodes.reverse();
        Self::of(nodes)
    }

    /// The order with these nodes at its places, each of them once.
    fn of(nodes: Vec<u32>) -> Self {
        let mut places = vec![0; nodes.len()];
        for (place, &node) in (0..).zip(&nodes) {
            places[node as usize] = place;
        }
        Self { nodes, places }
    }

    /// The node at each place.
    pub fn nodes(&self) -> &[u32] {
        &self.nodes
    }

    /// The place of each node.
    pub fn places(&self) -> &[u32] {
        &self.places
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// How far apart the places of neighbours are at most.
    fn bandwidth(graph: &Graph) -> u32 {
        graph.pairs().map(|(first, second)| first.abs_diff(second)).max().unwrap_or(0)
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        #[test]
        fn every_node_has_one_place_and_keeps_its_neighbours(
            (nodes, edges, directed) in (1usize..25).prop_flat_map(|nodes| {
                let edge = (0..nodes as u32, 0..nodes as u32);
                (Just(nodes), prop::collection::vec(edge, 0..60), any::<bool>())
            }),
        ) {
            let graph = match directed {
                true => Graph::from_directed_edges(nodes, edges).unwrap().with_self_loops(false),
                false => Graph::from_edges(nodes, edges).unwrap(),
            };
            let order = NodeOrder::close_neighbours(&graph);
            let mut sorted = order.nodes().to_vec();
            sorted.sort_unstable();
            prop_assert_eq!(sorted, (0..nodes as u32).collect::<Vec<_>>());
            let reordered = graph.reordered(&order);
            prop_assert_eq!(reordered.is_directed(), graph.is_directed());
            prop_assert_eq!(reordered.has_self_loops(), graph.has_self_loops());
            for node in 0..nodes {
                let place = order.places()[node] as usize;
                prop_assert_eq!(order.nodes()[place] as usize, node);
                let mut neighbours: Vec<u32> =
                    reordered.neighbours(place).iter().map(|&place| order.nodes()[place as usize]).collect();
                neighbours.sort_unstable();
                prop_assert_eq!(&neighbours[..], graph.neighbours(node));
            }
        }

        /// A path in any order becomes a path again, and two of them lie one behind the other.
        #[test]
        fn paths_are_found(nodes in Just((0..40u32).collect::<Vec<_>>()).prop_shuffle()) {
            let whole: Vec<(u32, u32)> = nodes.windows(2).map(|pair| (pair[0], pair[1])).collect();
            let mut cut = whole.clone();
            cut.remove(20);
            for edges in [whole, cut] {
                let graph = Graph::from_edges(40, edges).unwrap();
                prop_assert_eq!(bandwidth(&graph.reordered(&NodeOrder::close_neighbours(&graph))), 1);
            }
        }
    }

    #[test]
    fn a_grid_is_as_narrow_as_its_shorter_side() {
        // Columns of 3 nodes, their nodes far apart.
        let node = |row: u32, column: u32| (row * 20 + column) * 7 % 60;
        let edges = (0..20).flat_map(|column| {
            let down = (0..2).map(move |row| (node(row, column), node(row + 1, column)));
            let along = (0..3).map(move |row| (node(row, column), node(row, (column + 1).min(19))));
            down.chain(along)
        });
        let graph = Graph::from_edges(60, edges).unwrap();
        let reordered = graph.reordered(&NodeOrder::close_neighbours(&graph));
        assert!(bandwidth(&graph) > 20);
        assert!(bandwidth(&reordered) <= 4, "{}", bandwidth(&reordered));
    }

    #[test]
    fn what_is_given_stays() {
        let graph = Graph::from_edges(4, [(3, 0), (1, 2)]).unwrap();
        assert_eq!(graph.reordered(&NodeOrder::given(4)), graph);
    }
}
