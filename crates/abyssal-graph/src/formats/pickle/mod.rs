//! A reader of Python pickles that executes nothing.
//!
//! A pickle is a program that makes Python build values, and it may call any function on the way. This reader knows
//! the opcodes of the Planetoid files (protocol 2, as Python 2 wrote them) and six names: those of numpy arrays,
//! numpy types, scipy's csr_matrix and dictionaries of lists. They stand for plain data here. All other opcodes and
//! names are errors.
//!
//! Values live in one arena and refer to each other by number. So a value may be nested to any depth, shared, or
//! contain itself, and costs no more than the bytes that wrote it.

mod array;
mod construction;
mod csr;
mod machine;
mod opcodes;
mod values;

use abyssal_tensor::{Csr, Matrix};

use self::array::Shape;
use self::machine::{Machine, Outcome};
use self::values::{Object, Value};
use super::FormatError;

/// A pickle, read to its end.
pub struct Pickle<'a>(Outcome<'a>);

impl<'a> Pickle<'a> {
    /// Reads the bytes of a whole file. Byte strings inside stay where they are.
    ///
    /// # Errors
    /// If the pickle ends too early or goes on after its end, uses opcodes or names that Planetoid files do not
    /// use, or puts values together that do not fit, such as an array with fewer bytes than its shape needs.
    pub fn read(bytes: &'a [u8]) -> Result<Self, FormatError> {
        Machine::new(bytes).run().map(Self)
    }

    /// The scipy csr_matrix that the pickle is, with the columns of each row sorted and values at the same place
    /// added. Values are rounded to single precision.
    ///
    /// # Errors
    /// If it is something else, a part is missing, offsets do not rise from 0 to the number of entries, or an
    /// entry is outside the matrix.
    pub fn csr(&self) -> Result<Csr<f32>, FormatError> {
        match self.0.arena.get(self.0.root) {
            Some(&Object::Csr(state)) => csr::read(&self.0.arena, state),
            _ => Err(self.expected("a csr_matrix")),
        }
    }

    /// The numpy array of two dimensions that the pickle is. Values are rounded to single precision.
    ///
    /// # Errors
    /// If it is something else.
    pub fn matrix(&self) -> Result<Matrix<f32>, FormatError> {
        let Some(Object::Array(array)) = self.0.arena.get(self.0.root) else {
            return Err(self.expected("a numpy array"));
        };
        let Shape::Matrix(rows, columns) = array.shape else {
            let reason = format!("the array has shape {}; two dimensions are expected", array.shape);
            return Err(FormatError::new(reason));
        };
        let (rows, columns) = (rows as usize, columns as usize);
        Ok(Matrix::from_fn(rows, columns, |row, column| {
            array.float(if array.fortran { column * rows + row } else { row * columns + column })
        }))
    }

    /// The dictionary from nodes to lists of their neighbours that the pickle is, in the order of the file.
    ///
    /// # Errors
    /// If it is something else, a node is below zero or has two lists, or lists are shared so that the dictionary
    /// would be much larger than its file.
    pub fn adjacency(&self) -> Result<Vec<(u32, Vec<u32>)>, FormatError> {
        let Some(Object::Dictionary(items)) = self.0.arena.get(self.0.root) else {
            return Err(self.expected("a dictionary from nodes to lists of neighbours"));
        };
        let mut adjacency = Vec::with_capacity(items.len());
        let mut listed = 0;
        for &(key, value) in items {
            let node = self.node(key).map_err(|found| {
                FormatError::new(format!("a key of the dictionary is {found}; nodes are numbers from 0"))
            })?;
            let Some(Object::List(neighbours)) = self.0.arena.get(value) else {
                let found = self.0.arena.describe(value);
                return Err(FormatError::new(format!(
                    "node {node} has {found} instead of a list of neighbours"
                )));
            };
            listed += neighbours.len();
            // A list that is written once and used for every node would take memory that no file answers for.
            if listed > self.0.opcodes {
                let reason =
                    format!("up to node {node}, {listed} neighbours are listed: more than the file can hold");
                return Err(FormatError::new(reason));
            }
            let neighbours =
                neighbours.iter().map(|&neighbour| self.node(neighbour)).collect::<Result<_, _>>();
            let neighbours = neighbours.map_err(|found| {
                FormatError::new(format!("node {node} has {found} for a neighbour; nodes are numbers from 0"))
            })?;
            adjacency.push((node, neighbours));
        }
        let mut nodes: Vec<u32> = adjacency.iter().map(|&(node, _)| node).collect();
        nodes.sort_unstable();
        match nodes.windows(2).find(|pair| pair[0] == pair[1]) {
            Some(pair) => Err(FormatError::new(format!("node {} has two lists of neighbours", pair[0]))),
            None => Ok(adjacency),
        }
    }

    /// The number of a node, or what stands in its place.
    fn node(&self, value: Value) -> Result<u32, String> {
        match value {
            Value::Integer(number) => u32::try_from(number).map_err(|_| number.to_string()),
            other => Err(self.0.arena.describe(other).to_owned()),
        }
    }

    fn expected(&self, what: &str) -> FormatError {
        FormatError::new(format!("the file holds {}; {what} is expected", self.0.arena.describe(self.0.root)))
    }
}
