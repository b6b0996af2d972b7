//! Arrays as numpy saves them.

mod convert;
mod header;
#[cfg(test)]
pub(in crate::formats) mod tests;

use std::io::{self, Read};

use abyssal_tensor::Matrix;
use npyz::{DType, Deserialize, Order, TypeChar, TypeRead};

use crate::formats::FormatError;
use header::Header;

pub(in crate::formats) use header::HOLDS_OBJECTS;

/// An array with any number of dimensions; one without dimensions has one element.
#[derive(Clone, Debug, PartialEq)]
pub struct Array {
    /// The length of each dimension.
    pub shape: Vec<usize>,
    /// The elements in C order (the last dimension runs fastest), whatever order the file had.
    pub values: Values,
}

/// The elements of an array, by what they are. How wide they were in the file, and in which byte order, is forgotten.
#[derive(Clone, Debug, PartialEq)]
pub enum Values {
    /// `bool`.
    Bool(Vec<bool>),
    /// Integers of 8 to 64 bits, with sign or without.
    Integers(Vec<i64>),
    /// `float32`.
    Floats(Vec<f32>),
    /// `float64`.
    Doubles(Vec<f64>),
    /// Unicode and byte strings, without the zeros that fill them up.
    Text(Vec<String>),
}

/// The npy file of a matrix: version 1.0, `float32`, C order.
pub fn to_bytes(matrix: &Matrix<f32>) -> Vec<u8> {
    let (rows, columns) = matrix.shape();
    let mut header = format!("{{'descr': '<f4', 'fortran_order': False, 'shape': ({rows}, {columns}), }}");
    // Magic, version, length and header together fill whole blocks of 64 bytes, the last byte being the end of a line.
    const BEFORE: usize = 10;
    let length = (BEFORE + header.len() + 1).next_multiple_of(64) - BEFORE;
    header.extend(std::iter::repeat_n(' ', length - header.len() - 1));
    header.push('\n');
    let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
    bytes.extend((length as u16).to_le_bytes());
    bytes.extend(header.as_bytes());
    bytes.extend(matrix.as_slice().iter().flat_map(|value| value.to_le_bytes()));
    bytes
}

/// What a string takes beside its text: itself, and what an allocator adds.
const STRING_BYTES: u64 = size_of::<String>() as u64 + 32;
/// How much is read at once.
const CHUNK_BYTES: u64 = 1 << 16;

/// Reads an npy file: the magic `\x93NUMPY`, a version, a header (dtype, order, shape), then the elements to the end.
///
/// `limit` is the largest number of bytes the elements may take, in the file as well as in memory.
///
/// # Errors
/// If the file is damaged or has more or fewer elements than its header tells, if it is larger than the limit, or if
/// its dtype is none of those in [`Values`].
pub fn read(mut reader: impl Read, limit: u64) -> Result<Array, FormatError> {
    let header = Header::read(&mut reader)?;
    check_size(&header, limit)?;
    let values = read_values(&header, &mut reader)?;
    let more = io::copy(&mut reader.take(limit), &mut io::sink())?;
    if more > 0 {
        return Err(wrong_size(&header, header.elements * header.item + more));
    }
    let values = match header.parsed.order() {
        Order::C => values,
        Order::Fortran => values.in_c_order(&header.shape),
    };
    Ok(Array { shape: header.shape, values })
}

/// Compares the size told by the header with the limit.
fn check_size(header: &Header, limit: u64) -> Result<(), FormatError> {
    let Header { elements, item, ref shape, ref dtype, .. } = *header;
    let in_memory = match dtype.type_char() {
        TypeChar::Bool => 1,
        TypeChar::Int | TypeChar::Uint => 8,
        TypeChar::ByteStr | TypeChar::UnicodeStr => item.saturating_add(STRING_BYTES),
        _ => item,
    };
    match elements.checked_mul(in_memory.max(item)) {
        Some(bytes) if bytes <= limit => Ok(()),
        _ => {
            let reason =
                format!("an array of shape {shape:?} and dtype {dtype} takes more than {limit} bytes");
            Err(FormatError::new(reason))
        }
    }
}

fn wrong_size(header: &Header, present: u64) -> FormatError {
    let Header { elements, item, .. } = *header;
    FormatError::new(format!(
        "the header tells of {elements} elements of {item} bytes ({} bytes in all), but {present} bytes follow; the \
         file is damaged or cut short",
        elements * item
    ))
}

/// Reads the elements in the order of the file.
fn read_values(header: &Header, reader: &mut dyn Read) -> Result<Values, FormatError> {
    let dtype = &header.dtype;
    let refused = |advice: &str| Err(FormatError::new(format!("dtype {dtype} cannot be read; {advice}")));
    match (dtype.type_char(), header.item) {
        (TypeChar::Bool, _) => Ok(Values::Bool(decode(header, reader, Ok)?)),
        (TypeChar::Int, 1) => integers::<i8>(header, reader),
        (TypeChar::Int, 2) => integers::<i16>(header, reader),
        (TypeChar::Int, 4) => integers::<i32>(header, reader),
        (TypeChar::Int, _) => integers::<i64>(header, reader),
        (TypeChar::Uint, 1) => integers::<u8>(header, reader),
        (TypeChar::Uint, 2) => integers::<u16>(header, reader),
        (TypeChar::Uint, 4) => integers::<u32>(header, reader),
        (TypeChar::Uint, _) => {
            let convert = |value: u64| {
                i64::try_from(value).map_err(|_| {
                    format!("is {value}, beyond {}; such large numbers cannot be read", i64::MAX)
                })
            };
            Ok(Values::Integers(decode(header, reader, convert)?))
        }
        (TypeChar::Float, 4) => Ok(Values::Floats(decode(header, reader, Ok)?)),
        (TypeChar::Float, 8) => Ok(Values::Doubles(decode(header, reader, Ok)?)),
        (TypeChar::ByteStr | TypeChar::UnicodeStr, _) => Ok(Values::Text(decode(header, reader, Ok)?)),
        (TypeChar::Float, _) => refused("save it again with `.astype('float32')`"),
        _ => refused("save it again as booleans, integers, floats or text"),
    }
}

fn integers<T: Deserialize + Into<i64>>(
    header: &Header,
    reader: &mut dyn Read,
) -> Result<Values, FormatError> {
    Ok(Values::Integers(decode(header, reader, |value: T| Ok(value.into()))?))
}

/// Reads elements of one type; `convert` tells what is wrong with an element. Memory grows with what is really there.
fn decode<T: Deserialize, U>(
    header: &Header,
    reader: &mut dyn Read,
    convert: impl Fn(T) -> Result<U, String>,
) -> Result<Vec<U>, FormatError> {
    let element_reader = T::reader(&DType::Plain(header.dtype.clone()));
    let element_reader = element_reader.map_err(|error| FormatError::new(error.to_string()))?;
    let told = header.elements * header.item;
    let at_once = (CHUNK_BYTES / header.item).max(1) * header.item;
    let mut values = Vec::new();
    let mut chunk = Vec::new();
    let mut read = 0;
    while read < told {
        chunk.clear();
        let wanted = at_once.min(told - read);
        reader.take(wanted).read_to_end(&mut chunk)?;
        read += chunk.len() as u64;
        if (chunk.len() as u64) < wanted {
            return Err(wrong_size(header, read));
        }
        values.reserve(chunk.len() / header.item as usize);
        for element in chunk.chunks_exact(header.item as usize) {
            let value = element_reader.read_one(element).map_err(|error| format!("cannot be read: {error}"));
            let value = value.and_then(&convert);
            values.push(
                value.map_err(|reason| FormatError::new(format!("element {} {reason}", values.len())))?,
            );
        }
    }
    Ok(values)
}

impl Array {
    /// About how many bytes of memory the elements take.
    pub(in crate::formats) fn memory(&self) -> u64 {
        let (count, size) = match &self.values {
            Values::Bool(values) => (values.len(), 1),
            Values::Integers(values) => (values.len(), 8),
            Values::Floats(values) => (values.len(), 4),
            Values::Doubles(values) => (values.len(), 8),
            Values::Text(values) => {
                return values.iter().map(|value| STRING_BYTES + value.capacity() as u64).sum();
            }
        };
        count as u64 * size
    }
}

impl Values {
    /// The same elements in C order, from Fortran order (the first dimension runs fastest).
    fn in_c_order(self, shape: &[usize]) -> Self {
        match self {
            Self::Bool(values) => Self::Bool(reordered(values, shape)),
            Self::Integers(values) => Self::Integers(reordered(values, shape)),
            Self::Floats(values) => Self::Floats(reordered(values, shape)),
            Self::Doubles(values) => Self::Doubles(reordered(values, shape)),
            Self::Text(values) => Self::Text(reordered(values, shape)),
        }
    }
}

/// Element `(i, j, …)` stands at `i + shape[0]·(j + shape[1]·…)` before, and at `…·shape[last] + last` afterwards.
fn reordered<T: Default>(mut values: Vec<T>, shape: &[usize]) -> Vec<T> {
    if shape.len() < 2 {
        return values;
    }
    let mut strides = Vec::with_capacity(shape.len());
    let mut stride = 1;
    for length in shape {
        strides.push(stride);
        stride *= length;
    }
    let mut ordered = Vec::with_capacity(values.len());
    let mut index = vec![0; shape.len()];
    let mut source = 0;
    for _ in 0..values.len() {
        ordered.push(std::mem::take(&mut values[source]));
        // Count on by one, the last dimension first.
        for dimension in (0..shape.len()).rev() {
            index[dimension] += 1;
            source += strides[dimension];
            if index[dimension] < shape[dimension] {
                break;
            }
            source -= strides[dimension] * shape[dimension];
            index[dimension] = 0;
        }
    }
    ordered
}
