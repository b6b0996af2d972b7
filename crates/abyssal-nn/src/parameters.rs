//! Named weights.

use std::sync::Arc;

use abyssal_tensor::random::{Purpose, Stream};
use abyssal_tensor::{Initialization, Matrix, Scalar};

/// What a model says about one of its parameters.
#[derive(Clone, Debug, PartialEq)]
pub struct ParameterSpec {
    /// Its name in files, such as `layers.3.weight`.
    pub name: String,
    /// Its shape: inputs × outputs for weights, 1 × outputs for biases.
    pub shape: (usize, usize),
    /// How it starts.
    pub initialization: Initialization,
    /// The part of the model it belongs to.
    pub group: ParameterGroup,
}

/// Parts of a model that published recipes regularise differently.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ParameterGroup {
    /// What reads the features.
    #[default]
    Input,
    /// What is between: graph convolutions of deep models, coefficients of filters.
    Hidden,
    /// What gives the class scores, where it is not the input as well.
    Output,
}

impl ParameterGroup {
    /// The part a layer belongs to, of so many that lead from the features to the classes. A single one reads the features.
    pub fn of_layer(layer: usize, layers: usize) -> Self {
        match layer {
            0 => Self::Input,
            _ if layer + 1 == layers => Self::Output,
            _ => Self::Hidden,
        }
    }
}

impl ParameterSpec {
    /// A weight matrix with Xavier's uniform initialisation.
    pub fn weight(name: impl Into<String>, inputs: usize, outputs: usize) -> Self {
        let initialization = Initialization::XavierUniform;
        Self { name: name.into(), shape: (inputs, outputs), initialization, group: ParameterGroup::Input }
    }

    /// A bias that starts at zero.
    pub fn bias(name: impl Into<String>, outputs: usize) -> Self {
        let initialization = Initialization::Zeros;
        Self { name: name.into(), shape: (1, outputs), initialization, group: ParameterGroup::Input }
    }

    /// Weight and bias of a linear classifier, named `head.…`.
    pub fn classifier(inputs: usize, classes: usize) -> [Self; 2] {
        [Self::weight("head.weight", inputs, classes), Self::bias("head.bias", classes)]
            .map(|spec| spec.in_group(ParameterGroup::Output))
    }

    /// The same parameter with another start.
    pub fn starting(self, initialization: Initialization) -> Self {
        Self { initialization, ..self }
    }

    /// The same parameter in another part of the model.
    pub fn in_group(self, group: ParameterGroup) -> Self {
        Self { group, ..self }
    }
}

/// The weights of a model, in the order the model listed them.
#[derive(Clone, Debug, PartialEq)]
pub struct Parameters<T> {
    names: Vec<String>,
    values: Vec<Arc<Matrix<T>>>,
}

impl<T: Scalar> Parameters<T> {
    /// Starting weights for a seed. Each parameter has its own sequence of random numbers.
    pub fn initialize(specs: &[ParameterSpec], seed: u64) -> Self {
        let values = specs
            .iter()
            .enumerate()
            .map(|(index, spec)| {
                let stream = Stream::new(seed, Purpose::Initialization, index as u32, 0);
                Arc::new(spec.initialization.draw(spec.shape.0, spec.shape.1, &stream))
            })
            .collect();
        Self { names: specs.iter().map(|spec| spec.name.clone()).collect(), values }
    }

    /// Given weights, by name.
    pub fn from_named(entries: impl IntoIterator<Item = (String, Matrix<T>)>) -> Self {
        let (names, values) = entries.into_iter().map(|(name, value)| (name, Arc::new(value))).unzip();
        Self { names, values }
    }

    /// How many matrices there are.
    pub fn len(&self) -> usize {
        self.values.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.values.is_empty()
    }

    /// How many numbers there are.
    pub fn count(&self) -> usize {
        self.values.iter().map(|value| value.as_slice().len()).sum()
    }

    /// Names and matrices, in order.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &Arc<Matrix<T>>)> {
        self.names.iter().map(String::as_str).zip(&self.values)
    }

    /// A matrix to change in place; it is copied first only if somebody else still holds it.
    pub fn value_mut(&mut self, index: usize) -> &mut Matrix<T> {
        Arc::make_mut(&mut self.values[index])
    }

    /// Copies the values of `other`, without allocating where this is the only holder.
    ///
    /// # Panics
    /// If the two do not have the same shapes.
    pub fn copy_from(&mut self, other: &Self) {
        for (index, source) in other.values.iter().enumerate() {
            self.value_mut(index).as_mut_slice().copy_from_slice(source.as_slice());
        }
    }

    /// Copies of all matrices that share nothing with these.
    pub fn deep_clone(&self) -> Self {
        let values = self.values.iter().map(|value| Arc::new(Matrix::clone(value))).collect();
        Self { names: self.names.clone(), values }
    }
}
