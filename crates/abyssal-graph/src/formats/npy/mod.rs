//! Arrays as numpy saves them.

mod convert;
mod header;
#[cfg(test)]
pub(in crate::formats) mod tests;

use std::io::Read;

use npyz::{Deserialize, NpyFile, Order, TypeChar};

use crate::formats::FormatError;
use header::{Header, LONGEST_HEADER, LONGEST_PREFIX};

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

/// What a string takes beside its text: itself, and what an allocator adds.
const STRING_BYTES: u64 = size_of::<String>() as u64 + 32;

/// Reads an npy file: the magic `\x93NUMPY`, a version, a header (dtype, order, shape), then the elements to the end.
///
/// `limit` is the largest number of bytes the elements may take, in the file as well as in memory.
///
/// # Errors
/// If the file is damaged or has more or fewer elements than its header tells, if it is larger than the limit, or if
/// its dtype is none of those in [`Values`].
pub fn read(reader: impl Read, limit: u64) -> Result<Array, FormatError> {
    let mut bytes = Vec::new();
    // One byte more than allowed tells a file that is too long from one that just fits.
    let most = limit.saturating_add((LONGEST_PREFIX + LONGEST_HEADER + 1) as u64);
    reader.take(most).read_to_end(&mut bytes)?;
    let header = Header::parse(&bytes)?;
    let data = bytes.get(header.end..).unwrap_or_default();
    check_size(&header, data.len() as u64, limit)?;
    let values = values(&header, data)?;
    let values = match header.parsed.order() {
        Order::C => values,
        Order::Fortran => values.in_c_order(&header.shape),
    };
    Ok(Array { shape: header.shape, values })
}

/// Compares the size told by the header with the limit and with the bytes that are there.
fn check_size(header: &Header, present: u64, limit: u64) -> Result<(), FormatError> {
    let Header { elements, item, ref shape, ref dtype, .. } = *header;
    let in_memory = match dtype.type_char() {
        TypeChar::Bool => 1,
        TypeChar::Int | TypeChar::Uint => 8,
        TypeChar::ByteStr | TypeChar::UnicodeStr => item.saturating_add(STRING_BYTES),
        _ => item,
    };
    let needed = elements.checked_mul(in_memory.max(item)).filter(|&bytes| bytes <= limit);
    if needed.is_none() {
        let reason = format!("an array of shape {shape:?} and dtype {dtype} takes more than {limit} bytes");
        return Err(FormatError::new(reason));
    }
    // No overflow: at most the product above.
    let told = elements * item;
    if told != present {
        let reason = format!(
            "the header tells of {elements} elements of {item} bytes ({told} bytes in all), but {present} bytes \
             follow; the file is damaged or cut short"
        );
        return Err(FormatError::new(reason));
    }
    Ok(())
}

/// Decodes the elements in the order of the file; `data` has exactly as many bytes as they need.
fn values(header: &Header, data: &[u8]) -> Result<Values, FormatError> {
    let dtype = &header.dtype;
    let refused = |advice: &str| Err(FormatError::new(format!("dtype {dtype} cannot be read; {advice}")));
    match (dtype.type_char(), header.item) {
        (TypeChar::Bool, _) => Ok(Values::Bool(decode(header, data, Ok)?)),
        (TypeChar::Int, 1) => integers::<i8>(header, data),
        (TypeChar::Int, 2) => integers::<i16>(header, data),
        (TypeChar::Int, 4) => integers::<i32>(header, data),
        (TypeChar::Int, _) => integers::<i64>(header, data),
        (TypeChar::Uint, 1) => integers::<u8>(header, data),
        (TypeChar::Uint, 2) => integers::<u16>(header, data),
        (TypeChar::Uint, 4) => integers::<u32>(header, data),
        (TypeChar::Uint, _) => {
            let convert = |value: u64| {
                i64::try_from(value).map_err(|_| {
                    format!("is {value}, beyond {}; such large numbers cannot be read", i64::MAX)
                })
            };
            Ok(Values::Integers(decode(header, data, convert)?))
        }
        (TypeChar::Float, 4) => Ok(Values::Floats(decode(header, data, Ok)?)),
        (TypeChar::Float, 8) => Ok(Values::Doubles(decode(header, data, Ok)?)),
        (TypeChar::ByteStr | TypeChar::UnicodeStr, _) => Ok(Values::Text(decode(header, data, Ok)?)),
        (TypeChar::Float, _) => refused("save it again with `.astype('float32')`"),
        _ => refused("save it again as booleans, integers, floats or text"),
    }
}

fn integers<T: Deserialize + Into<i64>>(header: &Header, data: &[u8]) -> Result<Values, FormatError> {
    Ok(Values::Integers(decode(header, data, |value: T| Ok(value.into()))?))
}

/// Decodes elements of one type; `convert` tells what is wrong with an element.
fn decode<T: Deserialize, U>(
    header: &Header,
    data: &[u8],
    convert: impl Fn(T) -> Result<U, String>,
) -> Result<Vec<U>, FormatError> {
    let elements = NpyFile::with_header(header.parsed.clone(), data).data::<T>();
    let elements = elements.map_err(|error| FormatError::new(error.to_string()))?;
    // The header was checked against the data, so this many elements are there.
    let mut values = Vec::with_capacity(header.elements as usize);
    for (index, element) in elements.enumerate() {
        let value = element.map_err(|error| format!("cannot be read: {error}")).and_then(&convert);
        values.push(value.map_err(|reason| FormatError::new(format!("element {index} {reason}")))?);
    }
    Ok(values)
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
