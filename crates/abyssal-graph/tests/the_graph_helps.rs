//! The block model is the task it claims to be: hard from features alone, easy with the graph's help.

use abyssal_graph::synthetic::BlockModelConfig;
use abyssal_graph::{Dataset, Features, normalized_adjacency};
use abyssal_tensor::Matrix;

/// The test accuracy of guessing the class whose training nodes have the nearest mean.
fn nearest_mean_accuracy(dataset: &Dataset, embeddings: &Matrix<f32>) -> f64 {
    let label = |node: u32| dataset.labels()[node as usize].expect("split nodes are labelled") as usize;
    let mut means = Matrix::<f64>::zeros(dataset.classes(), embeddings.columns());
    let mut counts = vec![0.0; dataset.classes()];
    for &node in dataset.split().train() {
        counts[label(node)] += 1.0;
        for (mean, &value) in means.row_mut(label(node)).iter_mut().zip(embeddings.row(node as usize)) {
            *mean += f64::from(value);
        }
    }
    let distance = |node: u32, class: usize| -> f64 {
        let pairs = embeddings.row(node as usize).iter().zip(means.row(class));
        pairs.map(|(&value, sum)| (f64::from(value) - sum / counts[class]).powi(2)).sum()
    };
    let test = dataset.split().test();
    let right = |&&node: &&u32| {
        let nearest = (0..dataset.classes()).min_by(|&a, &b| distance(node, a).total_cmp(&distance(node, b)));
        nearest == Some(label(node))
    };
    test.iter().filter(right).count() as f64 / test.len() as f64
}

/// Steps are averaged instead of taking the last one: a training node without neighbours keeps its features at any
/// depth while those of all others shrink, and would carry the mean of its class away.
#[test]
fn features_alone_tell_little_and_averages_over_the_graph_tell_much() {
    for seed in 0..4 {
        let dataset = BlockModelConfig { seed, ..BlockModelConfig::default() }.generate().unwrap();
        let Features::Dense(features) = dataset.features() else { panic!("the block model is dense") };
        let alone = nearest_mean_accuracy(&dataset, features);
        assert!((0.35..0.55).contains(&alone), "seed {seed}: {alone} from features alone");

        let operator = normalized_adjacency::<f32>(dataset.graph());
        let (mut embeddings, mut next, mut sum) = (features.clone(), features.clone(), features.clone());
        for step in 1..=16 {
            operator.multiply_into(&embeddings, &mut next);
            std::mem::swap(&mut embeddings, &mut next);
            for (sum, value) in sum.as_mut_slice().iter_mut().zip(embeddings.as_slice()) {
                *sum += value;
            }
            // The sum serves as well as the mean: distances to all classes scale alike.
            if step == 8 || step == 16 {
                let together = nearest_mean_accuracy(&dataset, &sum);
                assert!(together > 0.8, "seed {seed}: {together} after {step} steps");
            }
        }
    }
}
