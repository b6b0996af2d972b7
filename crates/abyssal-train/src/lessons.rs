//! From a teacher to a course: labels are estimated, filtered and smoothed, and what was made is kept.

use std::path::Path;

use abyssal_graph::formats::npy;
use abyssal_graph::{Dataset, Fingerprint, write_atomically};

use crate::config::{CurriculumConfig, Estimation, TeacherConfig};
use crate::curriculum::{
    Course, Smoother, SoftLabels, auxiliary_graph, auxiliary_graph_to_csv, find_temperature, mean_entropy,
    require_neighbours, tempered,
};
use crate::metrics::targets;
use crate::run::Surroundings;
use crate::teacher::{Hearing, TeacherRecord, Teaching, hear_propagation, read_predictions};
use crate::{Config, TrainError};

/// What a student needs before its first epoch.
pub(crate) struct Lessons {
    pub(crate) course: Course,
    pub(crate) teacher: TeacherRecord,
    /// SHA-256 of what the teacher said and of the graph over which that is smoothed.
    pub(crate) fingerprint: String,
}

/// Checks what can be known of the lessons of a run before anybody is trained: that the file of predictions can be used, and
/// that there are enough nodes for so many neighbours. A run without a teacher has none.
///
/// # Errors
/// If it cannot, or there are not.
pub fn check_lessons(config: &Config, dataset: &Dataset) -> Result<(), TrainError> {
    let Some((curriculum, teacher)) = config.curriculum.as_ref().zip(config.teacher.as_ref()) else {
        return Ok(());
    };
    require_neighbours(curriculum, dataset)?;
    if !teacher.predictions.is_empty() {
        read_predictions(Path::new(&teacher.predictions), teacher.predictions_kind, dataset)?;
    }
    Ok(())
}

/// Prepares the lessons of a run. The teacher's probabilities as it gave them (`teacher.npy`; a run that takes them for its
/// `teacher.predictions` tempers them itself) and the auxiliary graph (`auxiliary-graph.csv`) are kept in its `directory`.
/// `None` if the teacher's training was interrupted.
pub(crate) fn prepare(
    directory: &Path,
    teachers: &Path,
    config: &Config,
    (curriculum, teacher): (&CurriculumConfig, &TeacherConfig),
    dataset: &Dataset,
    surroundings: &mut Surroundings,
) -> Result<Option<Lessons>, TrainError> {
    // A teacher's time is lost if there are too few nodes for so many neighbours.
    require_neighbours(curriculum, dataset)?;
    let teaching = match curriculum.estimation {
        Estimation::LabelPropagation => hear_propagation(dataset),
        Estimation::Teacher => {
            let hearing = Hearing { config, teacher, dataset, teachers, surroundings };
            match hearing.hear()? {
                Some(teaching) => teaching,
                None => return Ok(None),
            }
        }
    };
    let Teaching { probabilities: given, embeddings, mut record } = teaching;
    record.temperature = find_temperature(&given, curriculum.temperature)?;
    let probabilities = tempered(&given, record.temperature);
    record.entropy = mean_entropy(&probabilities);
    let known = targets(dataset, dataset.split().train());
    let labels = SoftLabels::estimated(&probabilities, &known)?.filtered(&known, curriculum.filtered);
    let weights = auxiliary_graph(curriculum, dataset, &embeddings)?;
    let kept = [
        ("teacher.npy", npy::to_bytes(&given)),
        ("auxiliary-graph.csv", auxiliary_graph_to_csv(dataset, &weights)),
    ];
    let mut fingerprint = Fingerprint::new();
    for (name, bytes) in &kept {
        fingerprint.bytes(bytes);
        write_atomically(&directory.join(name), bytes)?;
    }
    // Before there are many tasks: nobody needs them any more.
    drop((given, probabilities, embeddings, kept));
    let smoother = Smoother::new(&weights);
    let course = Course::new(curriculum, config.train.epochs, smoother.tasks(labels, curriculum.steps));
    Ok(Some(Lessons { course, teacher: record, fingerprint: fingerprint.finish() }))
}
