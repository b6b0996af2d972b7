//! Communities of nodes, and communities of those.

use crate::Graph;

/// No node.
const NOBODY: u32 = u32::MAX;

/// Trees of nodes in which a node has joined the community of its parent.
///
/// Communities grow one node at a time, from those with the fewest neighbours to those with the most, as in Arai et al. ("Rabbit Order:
/// just-in-time parallel reordering for fast graph analysis", 2016). A node, with all who have joined it, joins the community `u` with
/// the largest gain of modularity
///
/// `e_uv - s_u·s_v / 2m`,
///
/// where `e` counts the edges between two communities, `s` the ends of edges in one, and `m` all edges; it stays alone where nobody has a gain.
/// Edges of those who joined are added up when the one they joined has its turn, so every list of edges is read once.
pub(crate) struct Communities {
    /// Nodes that have joined nobody, in the order of their turns.
    alone: Vec<u32>,
    /// The last one that joined each node.
    last_member: Vec<u32>,
    /// Who had joined the same node before each node did.
    earlier_member: Vec<u32>,
}

impl Communities {
    /// The communities of an undirected graph.
    pub(crate) fn of(graph: &Graph) -> Self {
        let mut turns: Vec<u32> = (0..graph.nodes() as u32).collect();
        turns.sort_unstable_by_key(|&node| (graph.degree(node as usize), node));
        let mut growth = Growth::new(graph);
        turns.into_iter().for_each(|node| growth.turn_of(node));
        growth.communities
    }

    /// Who joined a node, the last one first.
    fn members(&self, node: u32) -> impl Iterator<Item = u32> + use<'_> {
        let some = |node: u32| (node != NOBODY).then_some(node);
        std::iter::successors(some(self.last_member[node as usize]), move |&member| {
            some(self.earlier_member[member as usize])
        })
    }

    /// All nodes, each before its members, who follow each other with all of theirs.
    pub(crate) fn nodes(&self) -> Vec<u32> {
        let mut nodes = Vec::with_capacity(self.last_member.len());
        let mut waiting: Vec<u32> = self.alone.iter().rev().copied().collect();
        while let Some(node) = waiting.pop() {
            nodes.push(node);
            waiting.extend(self.members(node));
        }
        nodes
    }
}

/// Communities while they grow.
struct Growth<'a> {
    graph: &'a Graph,
    communities: Communities,
    /// Whom each node has joined; itself, if nobody.
    joined: Vec<u32>,
    /// `s`, of nodes that have joined nobody.
    strengths: Vec<f64>,
    /// `2m`.
    total: f64,
    /// Communities and the number of edges to them, of nodes that have joined another one which had no turn yet.
    edges: Vec<Vec<(u32, u32)>>,
    /// `e_uv` for the node `v` whose turn it is.
    counts: Vec<u32>,
    /// All `u` for which that is not 0.
    others: Vec<u32>,
}

impl<'a> Growth<'a> {
    fn new(graph: &'a Graph) -> Self {
        let nodes = graph.nodes();
        let (last_member, earlier_member) = (vec![NOBODY; nodes], vec![NOBODY; nodes]);
        let strengths: Vec<f64> = (0..nodes).map(|node| graph.degree(node) as f64).collect();
        Self {
            graph,
            communities: Communities { alone: Vec::new(), last_member, earlier_member },
            joined: (0..nodes as u32).collect(),
            total: strengths.iter().sum(),
            strengths,
            edges: vec![Vec::new(); nodes],
            counts: vec![0; nodes],
            others: Vec::new(),
        }
    }

    /// A node joins the community with the largest gain, if there is one.
    fn turn_of(&mut self, node: u32) {
        self.count_edges(node);
        let best = self.best_community(node);
        let counts = &mut self.counts;
        let edges = self.others.drain(..).map(|other| (other, std::mem::take(&mut counts[other as usize])));
        let edges: Vec<(u32, u32)> = edges.collect();
        let Some(best) = best else {
            self.communities.alone.push(node);
            return;
        };
        self.edges[node as usize] = edges;
        self.strengths[best as usize] += self.strengths[node as usize];
        self.joined[node as usize] = best;
        let last = std::mem::replace(&mut self.communities.last_member[best as usize], node);
        self.communities.earlier_member[node as usize] = last;
    }

    /// Counts the edges from a node, and from all who joined it, to every other community.
    fn count_edges(&mut self, node: u32) {
        let Self { graph, communities, joined, edges, counts, others, .. } = self;
        let mut count = |neighbour: u32, edges: u32| {
            let other = community(joined, neighbour);
            if other != node {
                if counts[other as usize] == 0 {
                    others.push(other);
                }
                counts[other as usize] += edges;
            }
        };
        graph.neighbours(node as usize).iter().for_each(|&neighbour| count(neighbour, 1));
        for member in communities.members(node) {
            for (other, edges) in std::mem::take(&mut edges[member as usize]) {
                count(other, edges);
            }
        }
    }

    /// The community to which a node brings the largest gain, the first of equal ones.
    fn best_community(&self, node: u32) -> Option<u32> {
        let mut best = (0.0, None);
        for &other in &self.others {
            let by_chance = self.strengths[other as usize] * self.strengths[node as usize] / self.total;
            let gain = f64::from(self.counts[other as usize]) - by_chance;
            if gain > best.0 {
                best = (gain, Some(other));
            }
        }
        best.1
    }
}

/// The node that has joined nobody in a node's community. The way there becomes shorter as it is gone.
fn community(joined: &mut [u32], mut node: u32) -> u32 {
    loop {
        let target = joined[node as usize];
        if target == node {
            return node;
        }
        let next = joined[target as usize];
        joined[node as usize] = next;
        node = next;
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Two triangles and an edge between them: nodes 0, 1, 4 and 5 have two neighbours, 2 and 3 three.
    #[test]
    fn two_triangles_by_hand() {
        let graph = Graph::from_edges(6, [(0, 1), (0, 2), (1, 2), (2, 3), (3, 4), (3, 5), (4, 5)]).unwrap();
        let communities = Communities::of(&graph);
        // 0 joins 1 (a gain of 1 - 2·2/14, more than 1 - 2·3/14 with node 2), both join 2; 4 joins 5, and they join 3. Between the two there is
        // one edge where chance would have 7·7/14.
        assert_eq!(communities.alone, [2, 3]);
        assert_eq!(communities.nodes(), [2, 1, 0, 3, 5, 4]);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        /// Rings of cliques, their nodes in any order: a clique stays together, but for others that joined one of its nodes, of which there are at most five.
        #[test]
        fn cliques_stay_together(
            (size, places) in (4usize..8).prop_flat_map(|size| {
                (Just(size), Just((0..6 * size as u32).collect::<Vec<_>>()).prop_shuffle())
            }),
        ) {
            let node = |clique: usize, member: usize| places[clique % 6 * size + member];
            let edges = (0..6).flat_map(|clique| {
                let inside = (0..size).flat_map(move |first| (0..first).map(move |second| (first, second)));
                inside
                    .map(move |(first, second)| (node(clique, first), node(clique, second)))
                    .chain([(node(clique, 0), node(clique + 1, 1))])
            });
            let graph = Graph::from_edges(6 * size, edges).unwrap();
            let mut clique_of = vec![0; 6 * size];
            (0..6 * size).for_each(|index| clique_of[places[index] as usize] = index / size);
            let order = Communities::of(&graph).nodes();
            let changes = order.windows(2).filter(|pair| clique_of[pair[0] as usize] != clique_of[pair[1] as usize]);
            prop_assert!(changes.count() <= 5 + 5);
        }
    }

    #[test]
    fn nodes_without_neighbours_stay_alone() {
        let graph = Graph::from_edges(3, []).unwrap();
        assert_eq!(Communities::of(&graph).nodes(), [0, 1, 2]);
    }
}
