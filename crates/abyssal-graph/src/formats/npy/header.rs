//! What stands before the elements of an array: its dtype, order and shape.

use std::io::Read;

use npyz::{DType, NpyHeader, TypeStr};

use crate::formats::FormatError;

/// The longest header in bytes; numpy refuses longer ones, too.
const LONGEST_HEADER: usize = 10_000;
const MAGIC: &[u8] = b"\x93NUMPY";
/// An array of plain numbers needs two: those of the dictionary and of the shape.
const MOST_BRACKETS: usize = 8;
/// As numpy since version 2.
const MOST_DIMENSIONS: usize = 64;

/// The reason why arrays of Python objects are refused.
pub(in crate::formats) const HOLDS_OBJECTS: &str =
    "holds Python objects, which only unpickling could read; save it again without them";

/// A header that was checked: its shape has `elements` elements of `item` bytes.
pub(super) struct Header {
    pub(super) parsed: NpyHeader,
    pub(super) dtype: TypeStr,
    pub(super) shape: Vec<usize>,
    pub(super) elements: u64,
    pub(super) item: u64,
}

impl Header {
    /// Reads up to the first element.
    pub(super) fn read(reader: &mut dyn Read) -> Result<Self, FormatError> {
        let bytes = checked_bytes(reader)?;
        let parsed = NpyHeader::from_reader(&bytes[..]).map_err(|error| {
            // The parser draws a picture of the header below the first line.
            let error = error.to_string();
            let reason = error.lines().next().unwrap_or_default().trim_end_matches([':', ' ']);
            FormatError::new(format!("the header of the array is damaged: {reason}"))
        })?;
        if parsed.uses_pickled_array() {
            return Err(FormatError::new(HOLDS_OBJECTS));
        }
        let DType::Plain(dtype) = parsed.dtype() else {
            let reason = "a structured array cannot be read; save each of its fields as an array of its own";
            return Err(FormatError::new(reason));
        };
        if parsed.shape().len() > MOST_DIMENSIONS {
            let dimensions = parsed.shape().len();
            let reason = format!("an array of {dimensions} dimensions; there can be {MOST_DIMENSIONS}");
            return Err(FormatError::new(reason));
        }
        let shape: Option<Vec<usize>> =
            parsed.shape().iter().map(|&length| usize::try_from(length).ok()).collect();
        let elements = parsed.shape().iter().try_fold(1u64, |product, &length| product.checked_mul(length));
        let (Some(shape), Some(elements)) = (shape, elements) else { return Err(too_large()) };
        let item = dtype.num_bytes().unwrap_or(0) as u64;
        if item == 0 {
            // Any number of them takes no room in the file, so nothing would bound the memory they need.
            return Err(FormatError::new(format!(
                "elements of dtype {dtype} hold nothing; remove the array"
            )));
        }
        Ok(Self { parsed, dtype, shape, elements, item })
    }
}

/// All bytes before the first element: magic, version, length of the header, header. They are safe to parse.
fn checked_bytes(reader: &mut dyn Read) -> Result<Vec<u8>, FormatError> {
    let mut bytes = Vec::new();
    let mut read = |bytes: &mut Vec<u8>, count: usize| {
        let read = reader.take(count as u64).read_to_end(bytes)?;
        match read == count {
            true => Ok(()),
            false => Err(FormatError::new("the array is cut short: its header is incomplete")),
        }
    };
    let complete = read(&mut bytes, 8);
    if !bytes.starts_with(MAGIC) {
        return Err(FormatError::new("not an npy array: it does not begin with `\\x93NUMPY`"));
    }
    complete?;
    let width = match (bytes[6], bytes[7]) {
        (1, 0) => 2,
        (2 | 3, 0) => 4,
        (major, minor) => {
            let reason =
                format!("npy version {major}.{minor} is unknown; versions 1.0, 2.0 and 3.0 can be read");
            return Err(FormatError::new(reason));
        }
    };
    read(&mut bytes, width)?;
    let length = bytes[8..].iter().rev().fold(0usize, |length, &byte| length << 8 | usize::from(byte));
    if length > LONGEST_HEADER {
        let reason = format!("a header of {length} bytes; numpy's have at most {LONGEST_HEADER}");
        return Err(FormatError::new(reason));
    }
    read(&mut bytes, length)?;
    let text = std::str::from_utf8(&bytes[8 + width..]);
    check_text(text.map_err(|_| FormatError::new("the header of the array is damaged: it is not text"))?)?;
    Ok(bytes)
}

/// Lets pass what numpy writes and npyz can parse safely: npyz recurses into brackets, some of them twice, and
/// multiplies the lengths of a shape without looking at the result.
fn check_text(text: &str) -> Result<(), FormatError> {
    if text.contains('\\') {
        return Err(FormatError::new("the header of the array is damaged: it has a backslash"));
    }
    // Without backslashes, every second piece is inside quotes.
    let (mut brackets, mut product) = (0, 1u64);
    for piece in text.split('\'').step_by(2) {
        // The only words are `True` and `False`. Numbers have neither signs nor prefixes.
        let known = |symbol: char| symbol.is_ascii_digit() || "{}()[],: \nTrueFals".contains(symbol);
        if let Some(symbol) = piece.chars().find(|&symbol| !known(symbol)) {
            let reason = format!("the header of the array is damaged: it has {symbol:?} outside of quotes");
            return Err(FormatError::new(reason));
        }
        brackets += piece.matches(['{', '(', '[']).count();
        for number in piece.split(|symbol: char| !symbol.is_ascii_digit()).filter(|run| !run.is_empty()) {
            let number: u64 = number.parse().map_err(|_| too_large())?;
            product = product.checked_mul(number.max(1)).ok_or_else(too_large)?;
        }
    }
    if brackets > MOST_BRACKETS {
        let reason = format!(
            "the header of the array has {brackets} brackets, as only a structured array would; save each of its \
             fields as an array of its own"
        );
        return Err(FormatError::new(reason));
    }
    Ok(())
}

fn too_large() -> FormatError {
    FormatError::new("the shape of the array has more elements than 64 bits can count")
}
