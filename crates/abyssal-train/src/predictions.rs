//! What a model says about every node: `predictions.csv` of its run, and what it says later.

use abyssal_graph::{Dataset, DatasetConfig, Library, Subset};
use abyssal_tensor::Matrix;

use crate::metrics::likeliest;
use crate::teacher::probabilities_of;
use crate::{Config, LastDataset, RunDirectory, TrainError};

impl RunDirectory {
    /// The probability of every class for every node, n×C, with the weights of the finished run, and what was predicted: the data
    /// of `config`, of whose own files features and edges are read as they are now.
    ///
    /// # Errors
    /// If the run is not finished, the data cannot be loaded, or it has other features or classes than the run has learnt.
    pub fn predict<'a>(
        &self,
        config: &Config,
        library: &Library,
        last: &'a mut LastDataset,
    ) -> Result<(Matrix<f32>, &'a Dataset), TrainError> {
        let path = || self.path().to_path_buf();
        let learnt = self.result()?.ok_or_else(|| TrainError::NotFinished { path: path() })?;
        let named = !learnt.class_names.is_empty();
        if !named && config.data.name() == DatasetConfig::FILES {
            return Err(TrainError::UnknownClasses { path: path() });
        }
        let dataset =
            last.get(&config.data, || Ok(config.data.load_unlabelled(library, &learnt.class_names)?))?;
        let (features, class_names) = (dataset.features().columns(), dataset.class_names());
        let differs = |learnt, given| Err(TrainError::OtherTask { path: path(), learnt, given });
        if features != learnt.dataset.features {
            let told = |features| format!("{features} feature{}", if features == 1 { "" } else { "s" });
            return differs(told(learnt.dataset.features), told(features));
        }
        if named && class_names != learnt.class_names {
            let told = |names: &[String]| format!("the classes {}", names.join(", "));
            return differs(told(&learnt.class_names), told(&class_names));
        }
        let scores = self.load_model(config, dataset)?.predict()?;
        Ok((probabilities_of(&scores), dataset))
    }
}

/// One row a node: its name, the likeliest class and its probability, then the probability of every class.
///
/// Shapes: probabilities are n×C.
pub fn classes_to_csv(dataset: &Dataset, probabilities: &Matrix<f32>) -> Vec<u8> {
    let header = ["node", "prediction", "probability"].map(str::to_string);
    let rows = (0..dataset.nodes()).map(|node| {
        let row = probabilities.row(node);
        let class = likeliest(row);
        let first =
            [dataset.node_name(node).to_string(), dataset.class_name(class).to_string(), written(row[class])];
        first.into_iter().chain(row.iter().copied().map(written)).collect()
    });
    csv_of(header.into_iter().chain(columns(dataset)).collect(), rows)
}

/// One row a node: its name, then the probability of every class. [`read_predictions`](crate::read_predictions) reads it.
///
/// Shapes: probabilities are n×C.
pub fn probabilities_to_csv(dataset: &Dataset, probabilities: &Matrix<f32>) -> Vec<u8> {
    let rows = (0..dataset.nodes()).map(|node| {
        let name = dataset.node_name(node).to_string();
        std::iter::once(name).chain(probabilities.row(node).iter().copied().map(written)).collect()
    });
    csv_of(std::iter::once("node".to_string()).chain(columns(dataset)).collect(), rows)
}

/// The columns of the probabilities, one a class.
fn columns(dataset: &Dataset) -> impl Iterator<Item = String> {
    dataset.class_names().into_iter().map(|class| format!("p({class})"))
}

/// A probability as it is written, with enough digits to tell how sure a sure model is.
fn written(probability: f32) -> String {
    format!("{probability:.6}")
}

fn csv_of(header: Vec<String>, rows: impl Iterator<Item = Vec<String>>) -> Vec<u8> {
    let mut table = csv::Writer::from_writer(Vec::new());
    let mut write = |row: Vec<String>| table.write_record(row).expect("writing to memory does not fail");
    write(header);
    rows.for_each(write);
    table.into_inner().expect("writing to memory does not fail")
}

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
