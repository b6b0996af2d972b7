use super::*;

/// A file with the header numpy would write.
pub(in crate::formats) fn npy(dtype: &str, fortran: bool, shape: &[usize], data: &[u8]) -> Vec<u8> {
    let lengths: String = shape.iter().map(|length| format!("{length}, ")).collect();
    let order = if fortran { "True" } else { "False" };
    with_header(&format!("{{'descr': '{dtype}', 'fortran_order': {order}, 'shape': ({lengths}), }}"), data)
}

/// A one-dimensional array of 32-bit integers.
pub(in crate::formats) fn integers(values: &[i32]) -> Vec<u8> {
    npy(
        "<i4",
        false,
        &[values.len()],
        &values.iter().flat_map(|value| value.to_le_bytes()).collect::<Vec<_>>(),
    )
}

/// A one-dimensional array of 32-bit floats.
pub(in crate::formats) fn floats(values: &[f32]) -> Vec<u8> {
    npy(
        "<f4",
        false,
        &[values.len()],
        &values.iter().flat_map(|value| value.to_le_bytes()).collect::<Vec<_>>(),
    )
}

fn with_header(text: &str, data: &[u8]) -> Vec<u8> {
    let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
    bytes.extend((text.len() as u16).to_le_bytes());
    bytes.extend(text.as_bytes());
    bytes.extend(data);
    bytes
}

fn read_all(bytes: &[u8]) -> Result<Array, FormatError> {
    read(bytes, 1 << 20)
}

fn reason(bytes: &[u8]) -> String {
    read_all(bytes).expect_err("the file is hostile").reason
}

#[test]
fn integers_of_every_width_and_order() {
    let expected = Array { shape: vec![2], values: Values::Integers(vec![1, 100]) };
    for (dtype, data) in [
        ("|i1", &[1, 100][..]),
        ("|u1", &[1, 100]),
        ("<i2", &[1, 0, 100, 0]),
        (">u2", &[0, 1, 0, 100]),
        ("<u4", &[1, 0, 0, 0, 100, 0, 0, 0]),
        (">i4", &[0, 0, 0, 1, 0, 0, 0, 100]),
        ("<i8", &[1, 0, 0, 0, 0, 0, 0, 0, 100, 0, 0, 0, 0, 0, 0, 0]),
        (">u8", &[0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 100]),
    ] {
        assert_eq!(read_all(&npy(dtype, false, &[2], data)).unwrap(), expected, "{dtype}");
    }
    let negative = read_all(&npy("<i2", false, &[1], &[0xfe, 0xff])).unwrap();
    assert_eq!(negative.into_integers().unwrap(), vec![-2]);
}

#[test]
fn big_endian_equals_little_endian() {
    let numbers = [0.5f64, -3.25, f64::INFINITY];
    let big: Vec<u8> = numbers.iter().flat_map(|number| number.to_be_bytes()).collect();
    let little: Vec<u8> = numbers.iter().flat_map(|number| number.to_le_bytes()).collect();
    let read = |dtype, data| read_all(&npy(dtype, false, &[3], data)).unwrap();
    assert_eq!(read(">f8", &big), read("<f8", &little));
    assert_eq!(read(">f8", &big).values, Values::Doubles(numbers.to_vec()));
}

#[test]
fn fortran_order_equals_c_order() {
    let rows = read_all(&npy("|u1", false, &[2, 3, 2], &[0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11])).unwrap();
    let columns = read_all(&npy("|u1", true, &[2, 3, 2], &[0, 6, 2, 8, 4, 10, 1, 7, 3, 9, 5, 11])).unwrap();
    assert_eq!(rows, columns);
    // Dimensions without elements have no order.
    assert_eq!(read_all(&npy("|u1", true, &[2, 0], &[])).unwrap().shape, vec![2, 0]);
}

#[test]
fn a_zero_dimensional_array_has_one_element() {
    let array = read_all(&npy("|b1", false, &[], &[1])).unwrap();
    assert_eq!(array, Array { shape: vec![], values: Values::Bool(vec![true]) });
}

#[test]
fn an_empty_array_is_one() {
    let array = read_all(&npy("<f4", false, &[0, 5], &[])).unwrap();
    assert_eq!(array, Array { shape: vec![0, 5], values: Values::Floats(vec![]) });
}

#[test]
fn text_loses_the_zeros_at_its_end() {
    let unicode: Vec<u8> =
        ['ä', '→', '\0', 'a', '\0', '\0'].iter().flat_map(|&c| (c as u32).to_be_bytes()).collect();
    let array = read_all(&npy(">U3", false, &[2], &unicode)).unwrap();
    assert_eq!(array.into_text().unwrap(), ["ä→", "a"]);
    let array = read_all(&npy("|S4", false, &[2], "csr\0ü\0\0".as_bytes())).unwrap();
    assert_eq!(array.into_text().unwrap(), ["csr", "ü"]);
}

#[test]
fn text_that_is_none_is_refused() {
    assert!(reason(&npy("|S2", false, &[2], b"ok\xff\xfe")).starts_with("element 1 cannot be read"));
    assert!(reason(&npy("<U1", false, &[1], &[0, 0xd8, 0, 0])).starts_with("element 0 cannot be read"));
    assert!(reason(&npy("<U1", false, &[1], &[0xff; 4])).starts_with("element 0 cannot be read"));
}

#[test]
fn a_boolean_other_than_0_and_1_is_refused() {
    assert_eq!(
        reason(&npy("|b1", false, &[2], &[1, 2])),
        "element 1 cannot be read: invalid value for bool: 2"
    );
}

#[test]
fn versions_2_and_3_have_longer_length_fields() {
    let text = "{'descr': '|u1', 'fortran_order': False, 'shape': (1,), }\n";
    for version in [2, 3] {
        let mut bytes = b"\x93NUMPY".to_vec();
        bytes.extend([version, 0]);
        bytes.extend((text.len() as u32).to_le_bytes());
        bytes.extend(text.as_bytes());
        bytes.push(9);
        assert_eq!(read_all(&bytes).unwrap().into_integers().unwrap(), vec![9]);
    }
    let reason = reason(b"\x93NUMPY\x04\x00\x00\x00");
    assert_eq!(reason, "npy version 4.0 is unknown; versions 1.0, 2.0 and 3.0 can be read");
}

#[test]
fn a_header_that_promises_more_elements_than_there_are_is_refused() {
    let reason = reason(&npy("<i4", false, &[1000], &[0; 12]));
    let expected = "the header tells of 1000 elements of 4 bytes (4000 bytes in all), but 12 bytes follow; the file \
                    is damaged or cut short";
    assert_eq!(reason, expected);
}

#[test]
fn a_header_that_promises_fewer_elements_than_there_are_is_refused() {
    let reason = reason(&npy("<i4", false, &[2], &[0; 12]));
    assert!(reason.contains("2 elements of 4 bytes (8 bytes in all), but 12 bytes follow"), "{reason}");
}

#[test]
fn an_array_larger_than_the_limit_is_refused() {
    let bytes = npy("|u1", false, &[100], &[0; 100]);
    // Each of them takes eight bytes in memory.
    assert!(read(&bytes[..], 800).is_ok());
    let reason = read(&bytes[..], 799).unwrap_err().reason;
    assert_eq!(reason, "an array of shape [100] and dtype |u1 takes more than 799 bytes");
}

#[test]
fn a_shape_beyond_64_bits_is_refused() {
    for shape in
        ["4294967296, 4294967296, 2", "18446744073709551616", "18446744073709551615, 18446744073709551615, 0"]
    {
        let text = format!("{{'descr': '|u1', 'fortran_order': False, 'shape': ({shape},), }}");
        let reason = reason(&with_header(&text, &[]));
        assert_eq!(reason, "the shape of the array has more elements than 64 bits can count");
    }
    // The product fits, its bytes do not.
    let text = "{'descr': '<f8', 'fortran_order': False, 'shape': (9223372036854775808,), }";
    assert!(reason(&with_header(text, &[])).contains("takes more than"));
}

#[test]
fn a_header_of_4_gib_is_refused() {
    let reason = reason(b"\x93NUMPY\x02\x00\xff\xff\xff\xff{}");
    assert_eq!(reason, "a header of 4294967295 bytes; numpy's have at most 10000");
}

#[test]
fn a_header_nested_5000_deep_is_refused() {
    for (open, close) in [("(", ")"), ("[", "]"), ("{", "}")] {
        let nested = format!("{}{}", open.repeat(4900), close.repeat(4900));
        let reason = reason(&with_header(&nested, &[]));
        assert!(reason.starts_with("the header of the array has 4900 brackets"), "{reason}");
    }
}

#[test]
fn headers_numpy_would_not_write_are_refused() {
    for text in [
        "",
        "{}",
        "[1, 2]",
        "{'descr': '<f4', 'fortran_order': False}",
        "{'descr': '<f4', 'fortran_order': 0, 'shape': (1,)}",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (-1,)}",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (0x10,)}",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (1e3,)}",
        "{'descr': '<f4', 'fortran_order': False, 'sh\\x61pe': (1,)}",
        "{\"descr\": \"<f4\", \"fortran_order\": False, \"shape\": (1,)}",
        "{'descr': 'é', 'fortran_order': False, 'shape': (1,)}",
        "{'descr': '<f4",
        "'''",
    ] {
        let reason = reason(&with_header(text, &[0; 4]));
        assert!(reason.starts_with("the header of the array is damaged"), "{text}: {reason}");
        assert!(!reason.contains('\n'), "{reason}");
    }
}

#[test]
fn every_beginning_of_a_file_is_refused() {
    let bytes = npy("<i4", false, &[2], &[0; 8]);
    for length in 0..bytes.len() {
        assert!(read_all(&bytes[..length]).is_err(), "{length}");
    }
    assert_eq!(reason(b"PK\x03\x04"), "not an npy array: it does not begin with `\\x93NUMPY`");
}

#[test]
fn too_many_dimensions_are_refused() {
    assert_eq!(read_all(&npy("|u1", false, &[1; 64], &[5])).unwrap().shape.len(), 64);
    assert_eq!(reason(&npy("|u1", true, &[1; 65], &[5])), "an array of 65 dimensions; there can be 64");
}

#[test]
fn half_precision_is_refused() {
    let reason = reason(&npy("<f2", false, &[1], &[0; 2]));
    assert_eq!(reason, "dtype <f2 cannot be read; save it again with `.astype('float32')`");
}

#[test]
fn objects_are_refused() {
    let reason = reason(&npy("|O", false, &[1], b"\x80\x04K\x01."));
    let expected = "holds Python objects, which only unpickling could read; save it again without them";
    assert_eq!(reason, expected);
}

#[test]
fn other_dtypes_are_refused() {
    for (dtype, size) in [("<c8", 8), ("<M8[s]", 8), ("|V3", 3), ("<f16", 16)] {
        assert!(
            reason(&npy(dtype, false, &[1], &vec![0; size])).contains("cannot be read; save it again"),
            "{dtype}"
        );
    }
    let text = "{'descr': [('a', '<i4'), ('b', '<f4')], 'fortran_order': False, 'shape': (1,), }";
    assert!(reason(&with_header(text, &[0; 8])).starts_with("a structured array"));
}

#[test]
fn text_without_room_for_any_is_refused() {
    // Otherwise a file without data could ask for memory for any number of strings.
    for dtype in ["|S0", "<U0"] {
        assert!(reason(&npy(dtype, false, &[100], &[])).contains("hold nothing"));
    }
}

#[test]
fn integers_beyond_63_bits_are_refused() {
    let reason = reason(&npy("<u8", false, &[1], &[0xff; 8]));
    assert!(reason.starts_with("element 0 is 18446744073709551615, beyond 9223372036854775807"), "{reason}");
}

#[test]
fn conversions_keep_the_numbers_or_tell_why_not() {
    let array = |values| Array { shape: vec![2], values };
    let bools = || array(Values::Bool(vec![false, true]));
    let wholes = || array(Values::Floats(vec![0.0, 1.0]));
    let halves = || array(Values::Doubles(vec![0.0, 1.5]));
    for numbers in
        [bools(), wholes(), array(Values::Integers(vec![0, 1])), array(Values::Doubles(vec![0.0, 1.0]))]
    {
        assert_eq!(numbers.clone().into_integers().unwrap(), [0, 1]);
        assert_eq!(numbers.clone().into_floats().unwrap(), [0.0, 1.0]);
        assert_eq!(numbers.into_bools().unwrap(), [false, true]);
    }
    assert_eq!(halves().into_floats().unwrap(), [0.0, 1.5]);
    assert_eq!(halves().into_text().unwrap(), ["0", "1.5"]);
    assert_eq!(bools().into_text().unwrap(), ["false", "true"]);
    let text = array(Values::Text(vec!["a".to_owned(), "b".to_owned()]));
    assert_eq!(text.clone().into_text().unwrap(), ["a", "b"]);
    for error in
        [text.clone().into_integers().err(), text.clone().into_floats().err(), text.into_bools().err()]
    {
        assert_eq!(error.unwrap().reason, "holds text where numbers are needed");
    }
    assert_eq!(halves().into_integers().unwrap_err().reason, "element 1 is 1.5, where an integer is needed");
    for value in [f64::NAN, f64::INFINITY, 2f64.powi(63)] {
        assert!(array(Values::Doubles(vec![0.0, value])).into_integers().is_err());
    }
    let error = halves().into_bools().unwrap_err();
    assert_eq!(error.reason, "element 1 is 1.5, where true or false, 1 or 0 is needed");
    let large = array(Values::Doubles(vec![1.0, 1e300]));
    assert!(large.into_floats().unwrap_err().reason.contains("beyond the range of 32-bit floats"));
    assert_eq!(wholes().dimensions(1).unwrap(), [2]);
    let error = wholes().dimensions(2).unwrap_err();
    assert_eq!(error.reason, "an array of shape [2] where one with 2 dimensions is needed");
}
