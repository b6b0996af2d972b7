//! From a teacher to a course: labels are estimated, filtered and smoothed, and what was made is kept.

use std::path::Path;

use abyssal_graph::formats::npy;
use abyssal_graph::{Dataset, write_atomically};

use crate::config::{CurriculumConfig, Estimation, TeacherConfig};
use crate::curriculum::{
    Course, Smoother, SoftLabels, auxiliary_graph, auxiliary_graph_to_csv, find_temperature, mean_entropy,
    tempered,
};
use crate::metrics::targets;
use crate::run::Surroundings;
use crate::teacher::{Hearing, TeacherRecord, Teaching, hear_propagation};
use crate::{Config, TrainError};

/// What a student needs before its first epoch.
pub(crate) struct Lessons {
    pub(crate) course: Course,
    pub(crate) teacher: TeacherRecord,
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
    write_atomically(&directory.join("teacher.npy"), &npy::to_bytes(&given))?;
    write_atomically(&directory.join("auxiliary-graph.csv"), &auxiliary_graph_to_csv(dataset, &weights))?;
    // Before there are many tasks: nobody needs them any more.
    drop((given, probabilities, embeddings));
    let smoother = Smoother::new(&weights);
    let course = Course::new(curriculum, config.train.epochs, smoother.tasks(labels, curriculum.steps));
    Ok(Some(Lessons { course, teacher: record }))
}
