//! What a model says about every node: `predictions.csv`.

use abyssal_graph::{Dataset, Subset};
use abyssal_tensor::Matrix;

use crate::metrics::likeliest;
use crate::teacher::probabilities_of;

/// One row a node: its name, the predicted class and its probability, the true label (empty if unknown), and the set
/// of the split it is in (empty if none).
///
/// Shapes: scores are n×classes. The probability is the softmax of the scores.
pub(crate) fn to_csv(dataset: &Dataset, scores: &Matrix<f32>) -> Vec<u8> {
    let split = dataset.split();
    let mut sets = vec![None; dataset.nodes()];
    for (set, nodes) in [
        (Subset::Train, split.train()),
        (Subset::Validation, split.validation()),
        (Subset::Test, split.test()),
    ] {
        for &node in nodes {
            sets[node as usize] = Some(set);
        }
    }
    let probabilities = probabilities_of(scores);
    let mut table = csv::Writer::from_writer(Vec::new());
    let mut write = |row: [&str; 5]| table.write_record(row).expect("writing to memory does not fail");
    write(["node", "prediction", "probability", "label", "set"]);
    for (node, set) in sets.into_iter().enumerate() {
        let class = likeliest(scores.row(node));
        let probability = probabilities.get(node, class);
        let label = dataset.labels()[node].map(|label| dataset.class_name(label as usize));
        write([
            &dataset.node_name(node),
            &dataset.class_name(class),
            &format!("{probability:.4}"),
            label.as_deref().unwrap_or_default(),
            &set.map(|set| set.to_string()).unwrap_or_default(),
        ]);
    }
    table.into_inner().expect("writing to memory does not fail")
}

#[cfg(test)]
mod tests {
    use abyssal_graph::{Features, Graph, Split};

    use super::*;

    #[test]
    fn every_node_has_a_row_with_names() {
        let dataset = Dataset::new(
            "small",
            Graph::from_edges(4, [(0, 1)]).unwrap(),
            Features::Dense(Matrix::zeros(4, 1)),
            vec![Some(0), Some(1), Some(1), None],
            2,
            Split::new(vec![0], vec![1], vec![2]).unwrap(),
        )
        .unwrap();
        let names = |names: &[&str]| names.iter().map(|name| name.to_string()).collect::<Vec<_>>();
        let dataset =
            dataset.with_names(names(&["cat", "dog"]), names(&["a", "b, the second", "c", "d"])).unwrap();
        let scores = Matrix::from_rows(&[[1.0, 1.0], [0.0, 2f32.ln()], [50.0, -50.0], [0.0, 3f32.ln()]]);
        let text = String::from_utf8(to_csv(&dataset, &scores)).unwrap();
        let expected = "node,prediction,probability,label,set\n\
                        a,cat,0.5000,cat,train\n\
                        \"b, the second\",dog,0.6667,dog,validation\n\
                        c,cat,1.0000,dog,test\n\
                        d,dog,0.7500,,\n";
        assert_eq!(text, expected);
    }
}
