//! Who of several candidates teaches.

use std::cmp::Ordering;

use abyssal_tensor::Matrix;
use abyssal_tensor::ops::Targets;

use crate::config::Choice;
use crate::metrics::accuracy;

/// Probabilities below this count as it, so that every loss is finite.
const LEAST_PROBABILITY: f64 = 1e-12;

/// How well one candidate does on the validation nodes.
pub(super) struct Examined {
    accuracy: f64,
    /// What it holds likely of the right class of every validation node.
    right: Vec<f64>,
}

impl Examined {
    /// Examines the probabilities of a candidate, n×C.
    pub(super) fn new(probabilities: &Matrix<f32>, validation: &Targets) -> Self {
        let nodes = validation.rows.iter().zip(&validation.classes);
        let right = nodes.map(|(&node, &class)| f64::from(probabilities.get(node as usize, class as usize)));
        Self { accuracy: accuracy(probabilities, validation), right: right.collect() }
    }

    /// Its accuracy, as a share.
    pub(super) fn accuracy(&self) -> f64 {
        self.accuracy
    }

    /// Its cross-entropy, `-1/v Σ ln p_i` over the v validation nodes.
    pub(super) fn loss(&self) -> f64 {
        loss_of(&[self])
    }

    /// The better of two comes first.
    fn rank(&self, other: &Self) -> Ordering {
        other.accuracy.total_cmp(&self.accuracy).then_with(|| self.loss().total_cmp(&other.loss()))
    }
}

/// The places of those who teach, in their order.
pub(super) fn chosen(choice: Choice, candidates: &[Examined]) -> Vec<usize> {
    let all = 0..candidates.len();
    match choice {
        Choice::Ensemble => all.collect(),
        Choice::Best => {
            all.min_by(|&one, &other| candidates[one].rank(&candidates[other])).into_iter().collect()
        }
        Choice::Grown => grown(candidates),
    }
}

/// An ensemble that is grown one candidate at a time: whoever lowers its validation loss most comes next, until nobody does
/// (Caruana et al., *Ensemble Selection from Libraries of Models*, ICML 2004, each model once).
fn grown(candidates: &[Examined]) -> Vec<usize> {
    let (mut members, mut lowest) = (Vec::new(), f64::INFINITY);
    loop {
        let with = |place: usize| members.iter().copied().chain([place]);
        let loss = |place| loss_of(&with(place).map(|member| &candidates[member]).collect::<Vec<_>>());
        let others = (0..candidates.len()).filter(|place| !members.contains(place));
        let next = others.map(|place| (place, loss(place))).min_by(|one, other| one.1.total_cmp(&other.1));
        match next {
            Some((place, loss)) if loss < lowest => {
                members.push(place);
                lowest = loss;
            }
            _ => break,
        }
    }
    members.sort_unstable();
    members
}

/// The cross-entropy of the mean of some candidates: `-1/v Σ ln (1/m Σ p_i)`, over v nodes and m candidates.
fn loss_of(members: &[&Examined]) -> f64 {
    let nodes = members[0].right.len();
    let mean = |node: usize| members.iter().map(|one| one.right[node]).sum::<f64>() / members.len() as f64;
    -(0..nodes).map(|node| mean(node).max(LEAST_PROBABILITY).ln()).sum::<f64>() / nodes as f64
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Candidates by what they hold likely of the first of two classes, to which all nodes belong.
    fn candidates(likely: &[&[f32]]) -> Vec<Examined> {
        let examined = |likely: &&[f32]| {
            let probabilities =
                Matrix::from_fn(likely.len(), 2, |node, class| [likely[node], 1.0 - likely[node]][class]);
            let rows = (0..likely.len() as u32).collect();
            Examined::new(&probabilities, &Targets { rows, classes: vec![0; likely.len()] })
        };
        likely.iter().map(examined).collect()
    }

    #[test]
    fn of_equally_accurate_ones_the_best_has_the_lower_loss() {
        let three = candidates(&[&[0.9, 0.1], &[0.6, 0.4], &[0.8, 0.4]]);
        assert!(three.iter().all(|one| one.accuracy() == 0.5));
        assert_eq!(chosen(Choice::Best, &three), [2]);
        // Whoever is right more often is better, however doubtful.
        let two = candidates(&[&[0.99, 0.99, 0.49], &[0.51, 0.51, 0.51]]);
        assert_eq!(chosen(Choice::Best, &two), [1]);
        // The first of equal ones.
        assert_eq!(chosen(Choice::Best, &candidates(&[&[0.7], &[0.7]])), [0]);
    }

    #[test]
    fn an_ensemble_grows_by_those_who_know_what_others_do_not() {
        let (ones, others) = ([0.9, 0.9, 0.2, 0.2], [0.2, 0.2, 0.9, 0.9]);
        let (copy, wrong) = (ones, [0.1; 4]);
        let panel = candidates(&[&wrong, &ones, &copy, &others]);
        assert_eq!(chosen(Choice::Grown, &panel), [1, 3]);
        assert_eq!(chosen(Choice::Ensemble, &panel), [0, 1, 2, 3]);
        // By hand: all means are 0.55; with the copy, too, they would be 2/3 and 13/30, whose product is smaller.
        let loss = loss_of(&[&panel[1], &panel[3]]);
        assert!((loss + 0.55_f64.ln()).abs() < 1e-6, "{loss}");
    }

    #[test]
    fn certainty_about_the_wrong_class_is_a_finite_loss() {
        let panel = candidates(&[&[0.0, 0.0], &[0.0, 0.0]]);
        assert!((panel[0].loss() - 1e12_f64.ln()).abs() < 1e-9);
        assert_eq!(chosen(Choice::Grown, &panel), [0]);
    }

    proptest! {
        /// Its loss is at most that of any member by itself, and nobody left out would lower it.
        #[test]
        fn a_grown_ensemble_is_no_worse_than_the_best(
            likely in prop::collection::vec(prop::collection::vec(0.0_f32..=1.0, 7), 1..6),
        ) {
            let panel = candidates(&likely.iter().map(Vec::as_slice).collect::<Vec<_>>());
            let members = chosen(Choice::Grown, &panel);
            let loss = |places: &[usize]| loss_of(&places.iter().map(|&place| &panel[place]).collect::<Vec<_>>());
            let reached = loss(&members);
            for (place, candidate) in panel.iter().enumerate() {
                prop_assert!(reached <= candidate.loss() + 1e-12);
                if !members.contains(&place) {
                    prop_assert!(loss(&[&members[..], &[place]].concat()) >= reached - 1e-12);
                }
            }
        }
    }
}
