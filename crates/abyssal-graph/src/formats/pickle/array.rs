//! Numpy arrays: numbers in the bytes of the file.

use std::fmt;

/// The numbers of an array: their kind and byte order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Numbers {
    kind: Kind,
    big_endian: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Integer32,
    Integer64,
    Byte,
    Float32,
    Float64,
}

impl Numbers {
    /// The kinds of numbers [`Numbers::named`] knows, for messages.
    pub(super) const KNOWN: &'static str = "i4, i8, u1, f4 and f8";

    /// Numpy's name for a kind, such as `i4`. The order is little-endian until another one is told.
    pub(super) fn named(name: &[u8]) -> Option<Self> {
        let kind = match name {
            b"i4" => Kind::Integer32,
            b"i8" => Kind::Integer64,
            b"u1" => Kind::Byte,
            b"f4" => Kind::Float32,
            b"f8" => Kind::Float64,
            _ => return None,
        };
        Some(Self { kind, big_endian: false })
    }

    /// The same kind in a byte order: `<`, `>`, or `|` for single bytes, which have none.
    pub(super) fn ordered(self, order: &[u8]) -> Option<Self> {
        match order {
            b"<" => Some(Self { big_endian: false, ..self }),
            b">" => Some(Self { big_endian: true, ..self }),
            b"|" if self.kind == Kind::Byte => Some(self),
            _ => None,
        }
    }

    /// Bytes of one number.
    pub(super) fn size(self) -> usize {
        match self.kind {
            Kind::Byte => 1,
            Kind::Integer32 | Kind::Float32 => 4,
            Kind::Integer64 | Kind::Float64 => 8,
        }
    }
}

/// The shape of an array.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Shape {
    Vector(u32),
    Matrix(u32, u32),
}

impl Shape {
    /// How many numbers it has room for, or `None` if nobody has room for them.
    pub(super) fn count(self) -> Option<usize> {
        match self {
            Self::Vector(length) => Some(length as usize),
            Self::Matrix(rows, columns) => (rows as usize).checked_mul(columns as usize),
        }
    }
}

impl fmt::Display for Shape {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Vector(length) => write!(formatter, "({length},)"),
            Self::Matrix(rows, columns) => write!(formatter, "({rows}, {columns})"),
        }
    }
}

/// A numpy array of one or two dimensions. Its bytes are as many as its shape needs.
#[derive(Debug)]
pub(super) struct Array<'a> {
    pub(super) numbers: Numbers,
    pub(super) shape: Shape,
    /// Whether the numbers stand column after column.
    pub(super) fortran: bool,
    pub(super) bytes: &'a [u8],
}

impl Array<'_> {
    /// How many numbers there are.
    pub(super) fn count(&self) -> usize {
        self.bytes.len() / self.numbers.size()
    }

    /// A number by its place in the file, rounded to single precision.
    ///
    /// # Panics
    /// If `place` is not below [`Array::count`].
    pub(super) fn float(&self, place: usize) -> f32 {
        match self.numbers.kind {
            Kind::Integer32 => i32::from_le_bytes(self.word(place)) as f32,
            Kind::Integer64 => i64::from_le_bytes(self.word(place)) as f32,
            Kind::Byte => f32::from(self.bytes[place]),
            Kind::Float32 => f32::from_le_bytes(self.word(place)),
            Kind::Float64 => f64::from_le_bytes(self.word(place)) as f32,
        }
    }

    /// All numbers in the order of the file, if they are integers of 32 or 64 bits.
    pub(super) fn integers(&self) -> Option<Box<dyn Iterator<Item = i64> + '_>> {
        let places = 0..self.count();
        match self.numbers.kind {
            Kind::Integer32 => {
                Some(Box::new(places.map(|place| i64::from(i32::from_le_bytes(self.word(place))))))
            }
            Kind::Integer64 => Some(Box::new(places.map(|place| i64::from_le_bytes(self.word(place))))),
            Kind::Byte | Kind::Float32 | Kind::Float64 => None,
        }
    }

    /// The bytes of a number, the lowest first.
    fn word<const SIZE: usize>(&self, place: usize) -> [u8; SIZE] {
        let mut word = self.bytes.as_chunks::<SIZE>().0[place];
        if self.numbers.big_endian {
            word.reverse();
        }
        word
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn array<'a>(kind: &[u8], order: &[u8], bytes: &'a [u8]) -> Array<'a> {
        let numbers = Numbers::named(kind).and_then(|numbers| numbers.ordered(order)).expect("a known type");
        let shape = Shape::Vector((bytes.len() / numbers.size()) as u32);
        Array { numbers, shape, fortran: false, bytes }
    }

    fn floats(array: &Array<'_>) -> Vec<f32> {
        (0..array.count()).map(|place| array.float(place)).collect()
    }

    #[test]
    fn every_kind_is_read_in_both_orders() {
        let cases: [(&[u8], Vec<u8>, f32); 4] = [
            (b"i4", (-3i32).to_le_bytes().to_vec(), -3.0),
            (b"i8", (-70_000_000_000i64).to_le_bytes().to_vec(), -7e10),
            (b"f4", 0.1f32.to_le_bytes().to_vec(), 0.1),
            (b"f8", 0.1f64.to_le_bytes().to_vec(), 0.1),
        ];
        for (kind, mut bytes, expected) in cases {
            assert_eq!(floats(&array(kind, b"<", &bytes)), [expected]);
            bytes.reverse();
            assert_eq!(floats(&array(kind, b">", &bytes)), [expected]);
        }
        for order in [b"<", b">", b"|"] {
            assert_eq!(floats(&array(b"u1", order, &[0, 255])), [0.0, 255.0]);
        }
    }

    #[test]
    fn only_integers_are_integers() {
        let integers =
            |kind, order, bytes| array(kind, order, bytes).integers().map(Iterator::collect::<Vec<_>>);
        assert_eq!(integers(b"i4", b"<", &[1, 0, 0, 0, 255, 255, 255, 255]), Some(vec![1, -1]));
        assert_eq!(integers(b"i8", b">", &[0, 0, 0, 0, 0, 0, 1, 2]), Some(vec![258]));
        assert_eq!(integers(b"f4", b"<", &[0; 4]), None);
        assert_eq!(integers(b"u1", b"|", &[0; 4]), None);
    }

    #[test]
    fn kinds_and_orders_that_numpy_has_and_planetoid_has_not_are_unknown() {
        for kind in [&b"O8"[..], b"V8", b"S1", b"c16", b"i2", b""] {
            assert_eq!(Numbers::named(kind), None);
        }
        let integers = Numbers::named(b"i4").unwrap();
        for order in [&b"|"[..], b"=", b"", b"<<"] {
            assert_eq!(integers.ordered(order), None);
        }
    }
}
