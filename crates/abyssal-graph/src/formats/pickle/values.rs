//! What a pickle is made of.

use super::array::{Array, Numbers};

/// A value: small ones as they are, the others by their place in the arena.
///
/// Nothing owns anything through a value, so nesting of any depth is dropped without recursion, and values that
/// contain themselves do no harm.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Value {
    None,
    Boolean(bool),
    Integer(i32),
    Object(u32),
}

/// What an arena holds. Byte strings stay in the file.
#[derive(Debug)]
pub(super) enum Object<'a> {
    Bytes(&'a [u8]),
    List(Vec<Value>),
    Tuple(Vec<Value>),
    Dictionary(Vec<(Value, Value)>),
    Global(Global),
    /// A numpy type whose byte order is told later.
    UnorderedNumbers(Numbers),
    /// A numpy type.
    Numbers(Numbers),
    /// A numpy array whose contents are told later.
    EmptyArray,
    Array(Box<Array<'a>>),
    /// A scipy matrix whose contents are told later.
    EmptyCsr,
    /// A scipy matrix: the dictionary of its parts.
    Csr(Value),
}

/// The names a pickle may refer to. Each stands for a shape of data; none is ever called.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Global {
    Reconstruct,
    Array,
    Dtype,
    Csr,
    DefaultDictionary,
    List,
}

impl Global {
    /// The name for a module and what it holds, under the old and the new homes of both libraries.
    pub(super) fn find(module: &[u8], name: &[u8]) -> Option<Self> {
        Some(match (module, name) {
            (b"numpy.core.multiarray" | b"numpy._core.multiarray", b"_reconstruct") => Self::Reconstruct,
            (b"numpy", b"ndarray") => Self::Array,
            (b"numpy", b"dtype") => Self::Dtype,
            (b"scipy.sparse.csr" | b"scipy.sparse._csr", b"csr_matrix") => Self::Csr,
            (b"collections", b"defaultdict") => Self::DefaultDictionary,
            (b"__builtin__" | b"builtins", b"list") => Self::List,
            _ => return None,
        })
    }

    /// What Python calls it.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Reconstruct => "numpy.core.multiarray._reconstruct",
            Self::Array => "numpy.ndarray",
            Self::Dtype => "numpy.dtype",
            Self::Csr => "scipy.sparse.csr_matrix",
            Self::DefaultDictionary => "collections.defaultdict",
            Self::List => "list",
        }
    }
}

/// All objects of a pickle.
#[derive(Debug, Default)]
pub(super) struct Arena<'a>(Vec<Object<'a>>);

impl<'a> Arena<'a> {
    /// Keeps an object.
    pub(super) fn insert(&mut self, object: Object<'a>) -> Value {
        self.0.push(object);
        // The reader follows far fewer than 2³² opcodes, and each makes at most one object.
        Value::Object((self.0.len() - 1) as u32)
    }

    /// The object a value stands for, unless it is a small value.
    pub(super) fn get(&self, value: Value) -> Option<&Object<'a>> {
        match value {
            Value::Object(index) => self.0.get(index as usize),
            _ => None,
        }
    }

    /// As [`Arena::get`], to change.
    pub(super) fn get_mut(&mut self, value: Value) -> Option<&mut Object<'a>> {
        match value {
            Value::Object(index) => self.0.get_mut(index as usize),
            _ => None,
        }
    }

    /// The members of a tuple.
    pub(super) fn tuple(&self, value: Value) -> Option<&[Value]> {
        match self.get(value) {
            Some(Object::Tuple(members)) => Some(members),
            _ => None,
        }
    }

    /// A byte string.
    pub(super) fn bytes(&self, value: Value) -> Option<&'a [u8]> {
        match self.get(value) {
            Some(Object::Bytes(bytes)) => Some(bytes),
            _ => None,
        }
    }

    /// What to call a value in a message.
    pub(super) fn describe(&self, value: Value) -> &'static str {
        match value {
            Value::None => "None",
            Value::Boolean(_) => "a truth value",
            Value::Integer(_) => "an integer",
            Value::Object(_) => match self.get(value) {
                None => "nothing",
                Some(Object::Bytes(_)) => "a byte string",
                Some(Object::List(_)) => "a list",
                Some(Object::Tuple(_)) => "a tuple",
                Some(Object::Dictionary(_)) => "a dictionary",
                Some(Object::Global(_)) => "a name",
                Some(Object::UnorderedNumbers(_) | Object::Numbers(_)) => "a numpy type",
                Some(Object::EmptyArray) => "a numpy array without contents",
                Some(Object::Array(_)) => "a numpy array",
                Some(Object::EmptyCsr) => "a csr_matrix without contents",
                Some(Object::Csr(_)) => "a csr_matrix",
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The memory a hostile file can ask for is the number of its opcodes times these.
    #[test]
    fn values_stay_small() {
        assert_eq!(size_of::<Value>(), 8);
        assert!(size_of::<Object<'_>>() <= 32, "{} bytes", size_of::<Object<'_>>());
    }

    #[test]
    fn a_name_is_known_with_its_own_module_only() {
        assert_eq!(Global::find(b"numpy", b"dtype"), Some(Global::Dtype));
        assert_eq!(Global::find(b"builtins", b"list"), Some(Global::List));
        assert_eq!(Global::find(b"builtins", b"eval"), None);
        assert_eq!(Global::find(b"os", b"list"), None);
        assert_eq!(Global::find(b"numpy", b"load"), None);
    }
}
