//! Where a pickle would have Python call functions and make objects: what the few calls of Planetoid files give.

use super::array::{Array, Numbers, Shape};
use super::machine::Machine;
use super::values::{Global, Object, Value};
use crate::formats::FormatError;

/// How much of a foreign name is shown in a message.
const SHOWN: usize = 60;

impl<'a> Machine<'a> {
    /// Looks up a name; those that are not known end the reading.
    pub(super) fn global(&mut self) -> Result<(), FormatError> {
        let module = self.line()?;
        let name = self.line()?;
        let Some(global) = Global::find(module, name) else {
            let (module, name) = (shown(module), shown(name));
            let reason = format!(
                "the pickle asks for `{module} {name}`, which Planetoid files do not use; nothing was executed"
            );
            return Err(self.error(reason));
        };
        self.push(Object::Global(global));
        Ok(())
    }

    /// Where Python would call a function: what the few known calls give.
    pub(super) fn reduce(&mut self) -> Result<(), FormatError> {
        let arguments = self.pop()?;
        let function = self.pop()?;
        let Some(&Object::Global(function)) = self.arena.get(function) else {
            return Err(self.misfit("the pickle calls", function, "nothing was executed"));
        };
        let Some(arguments) = self.arena.tuple(arguments) else {
            return Err(self.misfit("a call has for arguments", arguments, "a tuple is expected"));
        };
        let object = match (function, arguments) {
            (Global::Reconstruct, &[class, _, _]) if self.is_global(class, Global::Array) => {
                Object::EmptyArray
            }
            (Global::DefaultDictionary, &[factory]) if self.is_global(factory, Global::List) => {
                Object::Dictionary(Vec::new())
            }
            (Global::Dtype, &[name, _, _]) => {
                let name = self.arena.bytes(name).unwrap_or_default();
                let Some(numbers) = Numbers::named(name) else {
                    let reason = format!(
                        "arrays of numpy type `{}` are not read; {} are",
                        shown(name),
                        Numbers::KNOWN
                    );
                    return Err(self.error(reason));
                };
                Object::UnorderedNumbers(numbers)
            }
            _ => {
                let reason = format!(
                    "a call of {} that Planetoid files do not have; nothing was executed",
                    function.name()
                );
                return Err(self.error(reason));
            }
        };
        self.push(object);
        Ok(())
    }

    /// Where Python would make an object of a class: only a csr_matrix, still empty.
    pub(super) fn new_object(&mut self) -> Result<(), FormatError> {
        let arguments = self.pop()?;
        let class = self.pop()?;
        if !self.is_global(class, Global::Csr)
            || self.arena.tuple(arguments).is_none_or(|tuple| !tuple.is_empty())
        {
            return Err(self.error("only an empty csr_matrix can be made; nothing was executed"));
        }
        self.push(Object::EmptyCsr);
        Ok(())
    }

    /// Where Python would set the state of an object.
    pub(super) fn build(&mut self) -> Result<(), FormatError> {
        let state = self.pop()?;
        let target = self.top()?;
        let built = match self.arena.get(target) {
            Some(Object::EmptyArray) => Object::Array(Box::new(self.filled_array(state)?)),
            Some(Object::UnorderedNumbers(numbers)) => {
                Object::Numbers(self.ordered_numbers(*numbers, state)?)
            }
            Some(Object::EmptyCsr) => match self.arena.get(state) {
                Some(Object::Dictionary(_)) => Object::Csr(state),
                _ => {
                    return Err(self.misfit("a csr_matrix is built from", state, "a dictionary is expected"));
                }
            },
            _ => return Err(self.misfit("a state is set for", target, "nothing was executed")),
        };
        if let Some(object) = self.arena.get_mut(target) {
            *object = built;
        }
        Ok(())
    }

    /// The state of a numpy type: its version, its byte order, and more that numbers do not use.
    fn ordered_numbers(&self, numbers: Numbers, state: Value) -> Result<Numbers, FormatError> {
        let order = match self.arena.tuple(state) {
            Some(&[_, order, ..]) => self.arena.bytes(order),
            _ => None,
        };
        order.and_then(|order| numbers.ordered(order)).ok_or_else(|| {
            let order = order.map_or_else(|| "none".to_owned(), |order| format!("`{}`", shown(order)));
            self.error(format!("the byte order of a numpy type is {order}; `<` or `>` is expected"))
        })
    }

    /// The state of a numpy array: version, shape, type, whether the order is Fortran's, and the bytes.
    fn filled_array(&self, state: Value) -> Result<Array<'a>, FormatError> {
        let Some(&[_, shape, numbers, fortran, bytes]) = self.arena.tuple(state) else {
            return Err(self.misfit("a numpy array is built from", state, "a tuple of five is expected"));
        };
        let Some(&Object::Numbers(numbers)) = self.arena.get(numbers) else {
            return Err(self.misfit(
                "the type of a numpy array is",
                numbers,
                "a type with a byte order is expected",
            ));
        };
        let fortran = match fortran {
            Value::Boolean(fortran) => fortran,
            Value::Integer(fortran) => fortran != 0,
            other => {
                return Err(self.misfit("the order of a numpy array is", other, "a truth value is expected"));
            }
        };
        let Some(bytes) = self.arena.bytes(bytes) else {
            return Err(self.misfit("the contents of a numpy array are", bytes, "a byte string is expected"));
        };
        let shape = self.shape(shape)?;
        let needed = shape.count().and_then(|count| count.checked_mul(numbers.size()));
        if needed != Some(bytes.len()) {
            let needed = needed.map_or_else(|| "more than 2⁶⁴".to_owned(), |needed| needed.to_string());
            let reason =
                format!("a numpy array of shape {shape} needs {needed} bytes, but has {}", bytes.len());
            return Err(self.error(reason));
        }
        Ok(Array { numbers, shape, fortran, bytes })
    }

    fn shape(&self, value: Value) -> Result<Shape, FormatError> {
        let length = |value| match value {
            Value::Integer(length) => u32::try_from(length).ok(),
            _ => None,
        };
        let shape = match self.arena.tuple(value) {
            Some(&[count]) => length(count).map(Shape::Vector),
            Some(&[rows, columns]) => {
                length(rows).zip(length(columns)).map(|(rows, columns)| Shape::Matrix(rows, columns))
            }
            _ => None,
        };
        shape.ok_or_else(|| {
            self.error("the shape of a numpy array must be one or two lengths, none below zero")
        })
    }

    fn is_global(&self, value: Value, global: Global) -> bool {
        matches!(self.arena.get(value), Some(&Object::Global(found)) if found == global)
    }
}

/// Foreign bytes for a message: escaped, and not too many of them.
fn shown(bytes: &[u8]) -> String {
    match bytes.split_at_checked(SHOWN) {
        Some((start, rest)) if !rest.is_empty() => format!("{}…", start.escape_ascii()),
        _ => bytes.escape_ascii().to_string(),
    }
}
