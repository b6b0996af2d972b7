//! The state of a run on disk: weights, optimiser, best weights and counters in one safetensors file.

use std::borrow::Cow;
use std::collections::HashMap;
use std::fs::{self, File};
use std::path::Path;
use std::sync::Arc;

use safetensors::tensor::{Dtype, SafeTensorError, SafeTensors, View, serialize_to_file};
use serde::{Deserialize, Serialize};

use abyssal_graph::write_atomically_with;
use abyssal_nn::Parameters;
use abyssal_tensor::Matrix;
use abyssal_tensor::optimizer::{Adam, Moments};

use crate::result::Data;
use crate::{Best, Config, TrainError, TrainerState, VERSION};

/// Raised when the layout of checkpoints changes.
const FORMAT: u32 = 2;
/// The entry of the file's metadata that holds [`Header`].
const HEADER: &str = "abyssal";

/// What a checkpoint holds besides matrices. Random numbers are counter-based: seed and epoch are their position.
#[derive(Debug, Serialize, Deserialize)]
struct Header {
    format: u32,
    version: String,
    config_fingerprint: String,
    data: Data,
    seed: u64,
    epoch: usize,
    optimizer_steps: u64,
    best: Best,
    seconds: f64,
}

/// Writes the state of a run.
pub(crate) fn save(
    path: &Path,
    (config, data): (&Config, &Data),
    state: &TrainerState,
    seconds: f64,
) -> Result<(), TrainError> {
    let header = Header {
        format: FORMAT,
        version: VERSION.to_string(),
        config_fingerprint: config.fingerprint(),
        data: data.clone(),
        seed: config.seed,
        epoch: state.epoch,
        optimizer_steps: state.optimizer.steps(),
        best: state.best,
        seconds,
    };
    let mut tensors = Vec::new();
    for ((name, value), moments) in state.parameters.iter().zip(state.optimizer.moments()) {
        tensors.push((format!("parameters.{name}"), &**value));
        tensors.push((format!("first_moments.{name}"), &moments.first));
        tensors.push((format!("second_moments.{name}"), &moments.second));
    }
    for (name, value) in state.best_parameters.iter() {
        tensors.push((format!("best.{name}"), &**value));
    }
    let header = serde_json::to_string(&header).expect("a header is plain data");
    write_tensors(path, tensors, HashMap::from([(HEADER.to_string(), header)]))
}

/// Reads the state of a run, and the seconds it took so far, into the shape of a fresh state.
pub(crate) fn load(
    path: &Path,
    (config, data): (&Config, &Data),
    fresh: &TrainerState,
) -> Result<(TrainerState, f64), TrainError> {
    let bytes = fs::read(path).map_err(TrainError::io("read", path))?;
    let damaged = |reason: String| TrainError::DamagedCheckpoint { path: path.to_path_buf(), reason };
    let tensors = SafeTensors::deserialize(&bytes).map_err(|error| damaged(error.to_string()))?;
    let (_, metadata) = SafeTensors::read_metadata(&bytes).map_err(|error| damaged(error.to_string()))?;
    let header = metadata.metadata().as_ref().and_then(|entries| entries.get(HEADER));
    let header = header.ok_or_else(|| damaged("it has no header of Abyssal".to_string()))?;
    let header: Header = serde_json::from_str(header).map_err(|error| damaged(error.to_string()))?;
    if header.format != FORMAT {
        return Err(damaged(format!("it has format {}, this program reads {FORMAT}", header.format)));
    }
    if header.config_fingerprint != config.fingerprint() {
        return Err(TrainError::OtherConfiguration {
            path: path.to_path_buf(),
            difference: "its fingerprint differs from that of config.toml".to_string(),
        });
    }
    data.require_same(path, &header.data)?;
    let read = |prefix: &str, name: &str, shape| {
        read_tensor(&tensors, &format!("{prefix}.{name}"), shape).map_err(&damaged)
    };
    let mut parameters = Vec::new();
    let mut best = Vec::new();
    let mut moments = Vec::new();
    for (name, value) in fresh.parameters.iter() {
        let shape = value.shape();
        parameters.push((name.to_string(), read("parameters", name, shape)?));
        best.push((name.to_string(), read("best", name, shape)?));
        moments.push(Moments {
            first: read("first_moments", name, shape)?,
            second: read("second_moments", name, shape)?,
        });
    }
    let state = TrainerState {
        epoch: header.epoch,
        parameters: Parameters::from_named(parameters),
        optimizer: Adam::restore(config.train.adam(), header.optimizer_steps, moments),
        best: header.best,
        best_parameters: Parameters::from_named(best),
    };
    Ok((state, header.seconds))
}

/// Writes the weights of a model by themselves.
pub(crate) fn save_model(
    path: &Path,
    config: &Config,
    parameters: &Parameters<f32>,
) -> Result<(), TrainError> {
    let tensors = parameters.iter().map(|(name, value)| (name.to_string(), &**value)).collect();
    // One entry only: the order of several would change from run to run, and the file with it.
    write_tensors(path, tensors, HashMap::from([("config".to_string(), config.to_toml())]))
}

/// Reads the weights of a model by themselves, into the shapes of fresh ones.
pub(crate) fn load_model(path: &Path, fresh: &Parameters<f32>) -> Result<Parameters<f32>, TrainError> {
    let bytes = fs::read(path).map_err(TrainError::io("read", path))?;
    let damaged = |reason: String| TrainError::DamagedModel { path: path.to_path_buf(), reason };
    let tensors = SafeTensors::deserialize(&bytes).map_err(|error| damaged(error.to_string()))?;
    let read = |(name, value): (&str, &Arc<Matrix<f32>>)| {
        Ok((name.to_string(), read_tensor(&tensors, name, value.shape()).map_err(damaged)?))
    };
    Ok(Parameters::from_named(fresh.iter().map(read).collect::<Result<Vec<_>, TrainError>>()?))
}

fn write_tensors(
    path: &Path,
    tensors: Vec<(String, &Matrix<f32>)>,
    metadata: HashMap<String, String>,
) -> Result<(), TrainError> {
    let tensors = tensors.into_iter().map(|(name, matrix)| (name, MatrixView::of(matrix)));
    let written = write_atomically_with(path, |scratch| {
        // Those of any new file: the library's files are for nobody but their owner.
        let permissions = File::create(scratch)?.metadata()?.permissions();
        serialize_to_file(tensors, Some(metadata), scratch).map_err(|error| match error {
            SafeTensorError::IoError(error) => error,
            other => std::io::Error::other(other),
        })?;
        fs::set_permissions(scratch, permissions)
    });
    Ok(written?)
}

/// A matrix as a file has it. Its bytes are made when they are written: of ten thousand layers, a copy more or less is much.
struct MatrixView<'a> {
    shape: [usize; 2],
    values: &'a [f32],
}

impl<'a> MatrixView<'a> {
    fn of(matrix: &'a Matrix<f32>) -> Self {
        Self { shape: [matrix.rows(), matrix.columns()], values: matrix.as_slice() }
    }
}

impl View for MatrixView<'_> {
    fn dtype(&self) -> Dtype {
        Dtype::F32
    }

    fn shape(&self) -> &[usize] {
        &self.shape
    }

    fn data(&self) -> Cow<'_, [u8]> {
        self.values.iter().flat_map(|value| value.to_le_bytes()).collect()
    }

    fn data_len(&self) -> usize {
        size_of_val(self.values)
    }
}

fn read_tensor(tensors: &SafeTensors, name: &str, shape: (usize, usize)) -> Result<Matrix<f32>, String> {
    let view = tensors.tensor(name).map_err(|error| format!("{name}: {error}"))?;
    if view.dtype() != Dtype::F32 || view.shape() != [shape.0, shape.1] {
        return Err(format!("{name} has another shape than the model"));
    }
    let values: Vec<f32> =
        view.data().as_chunks::<4>().0.iter().map(|bytes| f32::from_le_bytes(*bytes)).collect();
    Ok(Matrix::from_slice(shape.0, shape.1, &values))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Any new file here has the permissions these must have.
    #[test]
    fn files_hold_what_was_written_and_are_open_to_whom_the_user_says() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("file.safetensors");
        let matrices =
            [Matrix::from_rows(&[[1.5f32, -2.0, f32::MIN_POSITIVE]]), Matrix::from_rows(&[[0.1f32], [-0.0]])];
        let tensors =
            matrices.iter().zip(["first", "second"]).map(|(matrix, name)| (name.to_string(), matrix));
        write_tensors(&path, tensors.collect(), HashMap::from([("key".to_string(), "value".to_string())]))
            .unwrap();
        let bytes = fs::read(&path).unwrap();
        let read = SafeTensors::deserialize(&bytes).unwrap();
        for (matrix, name) in matrices.iter().zip(["first", "second"]) {
            let again = read_tensor(&read, name, matrix.shape()).unwrap();
            let bits = |matrix: &Matrix<f32>| {
                matrix.as_slice().iter().map(|value| value.to_bits()).collect::<Vec<_>>()
            };
            assert_eq!(bits(&again), bits(matrix));
        }
        let other = directory.path().join("other");
        fs::write(&other, b"").unwrap();
        let permissions = |path| fs::metadata(path).unwrap().permissions();
        assert_eq!(permissions(&path), permissions(&other));
        assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 2);
    }
}
