//! Orders of nodes.

use crate::Graph;
use crate::communities::Communities;

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
    /// neighbours have finds much of it in a cache: community by community, and in each again.
    pub fn close_neighbours(graph: &Graph) -> Self {
        Self::of(Communities::of(&graph.undirected()).nodes())
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
    }

    #[test]
    fn what_is_given_stays() {
        let graph = Graph::from_edges(4, [(3, 0), (1, 2)]).unwrap();
        assert_eq!(graph.reordered(&NodeOrder::given(4)), graph);
    }
}
