//! Arrays as what the reader of a dataset needs.

use super::{Array, Values};
use crate::formats::FormatError;

impl Array {
    /// The shape, if the array has `dimensions` of them.
    ///
    /// # Errors
    /// If it has another number of dimensions.
    pub fn dimensions(&self, dimensions: usize) -> Result<&[usize], FormatError> {
        if self.shape.len() != dimensions {
            let shape = &self.shape;
            let reason =
                format!("an array of shape {shape:?} where one with {dimensions} dimensions is needed");
            return Err(FormatError::new(reason));
        }
        Ok(&self.shape)
    }

    /// The elements as integers: booleans as 0 and 1, floats if they are whole.
    ///
    /// # Errors
    /// If the array holds text, or a float that is not whole or does not fit into 64 bits.
    pub fn into_integers(self) -> Result<Vec<i64>, FormatError> {
        match self.values {
            Values::Bool(values) => Ok(values.into_iter().map(i64::from).collect()),
            Values::Integers(values) => Ok(values),
            Values::Floats(values) => convert(values, |value| whole(f64::from(value))),
            Values::Doubles(values) => convert(values, whole),
            Values::Text(_) => Err(not_numbers()),
        }
    }

    /// The elements as floats, rounded if need be; booleans as 0 and 1.
    ///
    /// # Errors
    /// If the array holds text, or a finite number beyond the range of `f32`.
    pub fn into_floats(self) -> Result<Vec<f32>, FormatError> {
        match self.values {
            Values::Bool(values) => Ok(values.into_iter().map(|value| f32::from(u8::from(value))).collect()),
            Values::Integers(values) => Ok(values.into_iter().map(|value| value as f32).collect()),
            Values::Floats(values) => Ok(values),
            Values::Doubles(values) => convert(values, |value| {
                let float = value as f32;
                match float.is_infinite() && value.is_finite() {
                    true => Err(format!("is {value}, beyond the range of 32-bit floats")),
                    false => Ok(float),
                }
            }),
            Values::Text(_) => Err(not_numbers()),
        }
    }

    /// The elements as booleans; numbers have to be 0 or 1.
    ///
    /// # Errors
    /// If the array holds text or another number.
    pub fn into_bools(self) -> Result<Vec<bool>, FormatError> {
        match self.values {
            Values::Bool(values) => Ok(values),
            Values::Integers(values) => convert(values, |value| truth(value == 0, value == 1, value)),
            Values::Floats(values) => convert(values, |value| truth(value == 0.0, value == 1.0, value)),
            Values::Doubles(values) => convert(values, |value| truth(value == 0.0, value == 1.0, value)),
            Values::Text(_) => Err(not_numbers()),
        }
    }

    /// The elements as text; numbers are written out.
    ///
    /// # Errors
    /// Never; it gives a result like the other three, so that each can stand where one is asked for.
    pub fn into_text(self) -> Result<Vec<String>, FormatError> {
        fn written<T: ToString>(values: Vec<T>) -> Vec<String> {
            values.iter().map(T::to_string).collect()
        }
        Ok(match self.values {
            Values::Bool(values) => written(values),
            Values::Integers(values) => written(values),
            Values::Floats(values) => written(values),
            Values::Doubles(values) => written(values),
            Values::Text(values) => values,
        })
    }
}

fn convert<T: Copy, U>(
    values: Vec<T>,
    convert: impl Fn(T) -> Result<U, String>,
) -> Result<Vec<U>, FormatError> {
    let tell = |index, reason: String| FormatError::new(format!("element {index} {reason}"));
    let values = values.into_iter().enumerate();
    values.map(|(index, value)| convert(value).map_err(|reason| tell(index, reason))).collect()
}

fn whole(value: f64) -> Result<i64, String> {
    // 2⁶³ is the first float that is too large.
    let limit = 2f64.powi(63);
    match value.fract() == 0.0 && (-limit..limit).contains(&value) {
        true => Ok(value as i64),
        false => Err(format!("is {value}, where an integer is needed")),
    }
}

fn truth(zero: bool, one: bool, value: impl std::fmt::Display) -> Result<bool, String> {
    match zero || one {
        true => Ok(one),
        false => Err(format!("is {value}, where true or false, 1 or 0 is needed")),
    }
}

fn not_numbers() -> FormatError {
    FormatError::new("holds text where numbers are needed")
}
