//! Pickles that want to do harm, and pickles that are broken. Each ends in an error.

use abyssal_graph::formats::pickle::Pickle;
use abyssal_graph::formats::{FormatError, Place};

use crate::writer::{self, Array, PickleWriter, raw};

fn error_of(bytes: &[u8]) -> FormatError {
    match Pickle::read(bytes) {
        Ok(_) => panic!("the pickle was read"),
        Err(error) => error,
    }
}

/// Reads a pickle that is harmless but strange, and asks it for everything.
fn ask_everything(bytes: &[u8]) -> [String; 3] {
    let pickle = Pickle::read(bytes).expect("the pickle can be read");
    let errors = [pickle.csr().err(), pickle.matrix().err(), pickle.adjacency().err()];
    errors.map(|error| error.expect("it is none of the three").reason)
}

/// A pickle that would have Python call a function with one byte string.
fn call(module: &str, function: &str, argument: &[u8]) -> Vec<u8> {
    let mut writer = PickleWriter::new();
    writer.global(module, function).string(argument).raw(b"\x85R").store();
    writer.finish()
}

#[test]
fn a_pickle_that_calls_os_system() {
    let error = error_of(&call("os", "system", b"rm -r /"));
    assert_eq!(error.place, Place::Byte(2));
    assert_eq!(
        error.reason,
        "the pickle asks for `os system`, which Planetoid files do not use; nothing was executed"
    );
}

#[test]
fn posix_system_through_reduce() {
    let error = error_of(&call("posix", "system", b"rm -r /"));
    assert!(
        error.reason.contains("`posix system`") && error.reason.ends_with("nothing was executed"),
        "{error}"
    );
    // The same inside of a list, and with the name from the memo.
    let error = error_of(&raw(b"]cposix\nsystem\nq\x010h\x01U\x02id\x85Ra"));
    assert_eq!(error.place, Place::Byte(3));
}

#[test]
fn known_names_are_not_called_with_foreign_arguments() {
    for opcodes in [
        &b"ccollections\ndefaultdict\ncnumpy\nndarray\n\x85R"[..],
        b"c__builtin__\nlist\n)R",
        b"cnumpy\nndarray\n)R",
        b"cnumpy.core.multiarray\n_reconstruct\nc__builtin__\nlist\nK\x00\x85U\x01b\x87R",
        b"cscipy.sparse.csr\ncsr_matrix\n)R",
        b"cnumpy\nndarray\n)\x81",
        b"cscipy.sparse.csr\ncsr_matrix\nN\x85\x81",
        b"]}b",
        b"])R",
        b"cnumpy\ndtype\n}b",
    ] {
        let error = error_of(&raw(opcodes));
        assert!(error.reason.contains("nothing was executed"), "{}: {error}", opcodes.escape_ascii());
    }
}

#[test]
fn names_are_shown_escaped_and_short() {
    let mut opcodes = b"cevil\x1b[2J\xff\n".to_vec();
    opcodes.extend([b'x'; 100_000]);
    opcodes.push(b'\n');
    let error = error_of(&raw(&opcodes));
    assert!(error.reason.contains(r"`evil\x1b[2J\xff xxx") && error.reason.len() < 300, "{error}");
}

#[test]
fn lists_nested_a_hundred_thousand_deep() {
    let mut opcodes = vec![b']'; 100_001];
    opcodes.extend([b'a'; 100_000]);
    assert_eq!(ask_everything(&raw(&opcodes))[0], "the file holds a list; a csr_matrix is expected");
}

#[test]
fn tuples_nested_a_hundred_thousand_deep() {
    let mut opcodes = vec![b')'];
    opcodes.extend([0x85; 100_000]);
    assert_eq!(ask_everything(&raw(&opcodes))[1], "the file holds a tuple; a numpy array is expected");
}

#[test]
fn a_hundred_thousand_marks() {
    let marks = vec![b'('; 100_000];
    assert_eq!(error_of(&raw(&marks)).reason, "a value is needed, but the stack is empty");
    let mut closed = marks;
    closed.extend([b't'; 100_000]);
    assert_eq!(ask_everything(&raw(&closed))[0], "the file holds a tuple; a csr_matrix is expected");
}

#[test]
fn more_opcodes_than_any_planetoid_file_has() {
    let error = error_of(&raw(&vec![b']'; 3_000_000]));
    assert_eq!(error.reason, "more than 3000000 opcodes; Planetoid files have fewer");
}

#[test]
fn a_byte_string_that_announces_two_gigabytes() {
    let error = error_of(&raw(b"T\xff\xff\xff\x7fshort"));
    assert_eq!(error.place, Place::Byte(2));
    assert_eq!(error.reason, "a byte string of 2147483647 bytes is announced, but 6 are left");
}

#[test]
fn a_byte_string_of_negative_length() {
    assert_eq!(error_of(&raw(b"T\xff\xff\xff\xff")).reason, "a byte string of -1 bytes is announced");
}

#[test]
fn an_array_whose_shape_declares_two_to_the_sixty_elements() {
    let array = Array::integers(&[1, 2]).shaped(&[1 << 30, 1 << 30]);
    let reason = error_of(&writer::array(&array)).reason;
    assert_eq!(
        reason,
        format!("a numpy array of shape (1073741824, 1073741824) needs {} bytes, but has 8", 1u64 << 62)
    );
}

#[test]
fn an_array_whose_size_overflows() {
    let array = Array { kind: "f8", ..Array::floats(&[1.0, 2.0]) }.shaped(&[i32::MAX, i32::MAX]);
    assert!(error_of(&writer::array(&array)).reason.contains("needs more than 2⁶⁴ bytes, but has 8"));
}

#[test]
fn an_array_with_too_few_or_too_many_bytes() {
    for shape in [&[3][..], &[1], &[2, 2], &[2, 0]] {
        let error = error_of(&writer::array(&Array::integers(&[1, 2]).shaped(shape)));
        assert!(error.reason.ends_with("bytes, but has 8"), "{error}");
    }
    let error = error_of(&writer::array(&Array::integers(&[1]).shaped(&[-1])));
    assert!(error.reason.starts_with("the shape of a numpy array must be"), "{error}");
}

#[test]
fn an_array_of_objects() {
    let error = error_of(&writer::array(&Array { kind: "O8", order: "|", ..Array::integers(&[1]) }));
    assert_eq!(error.reason, "arrays of numpy type `O8` are not read; i4, i8, u1, f4 and f8 are");
}

#[test]
fn an_array_without_a_byte_order() {
    for order in ["|", "=", ""] {
        let error = error_of(&writer::array(&Array { order, ..Array::integers(&[1]) }));
        let expected = format!("the byte order of a numpy type is `{order}`; `<` or `>` is expected");
        assert_eq!(error.reason, expected);
    }
}

#[test]
fn a_pickle_cut_at_every_length() {
    let whole = {
        let mut writer = PickleWriter::new();
        let vector = Array::integers(&[0, 1]);
        let data = Array::floats(&[0.5]);
        let indices = Array::integers(&[3]);
        writer.csr(&writer::Sparse { shape: (1, 4), indptr: vector, indices, data });
        writer.finish()
    };
    assert!(Pickle::read(&whole).unwrap().csr().is_ok());
    for length in 0..whole.len() {
        error_of(&whole[..length]);
    }
    assert_eq!(
        error_of(&whole[..whole.len() - 1]).reason,
        format!("the file ends after {} bytes, in the middle of its data", whole.len() - 1)
    );
}

#[test]
fn bytes_after_the_end() {
    let mut bytes = raw(b"]");
    bytes.extend(b"more");
    assert_eq!(error_of(&bytes).reason, "the pickle ends here, but 4 more bytes follow");
}

#[test]
fn values_left_on_the_stack() {
    for opcodes in [&b"]]"[..], b"(]t(]", b"]("] {
        let error = error_of(&raw(opcodes));
        assert!(
            ["the pickle ends in the middle of a value", "a value is needed, but the stack is empty"]
                .contains(&error.reason.as_str())
        );
    }
}

#[test]
fn a_memo_that_was_never_stored() {
    assert_eq!(error_of(&raw(b"]q\x01h\x02")).reason, "memo 2 is asked for, but was never stored");
    assert_eq!(error_of(&raw(b"]q\x01h\x00")).reason, "memo 0 is asked for, but was never stored");
    assert_eq!(
        error_of(&raw(b"j\xff\xff\xff\xff")).reason,
        "memo 4294967295 is asked for, but was never stored"
    );
}

#[test]
fn a_memo_far_beyond_what_was_read() {
    let error = error_of(&raw(b"]r\xff\xff\xff\xff"));
    assert_eq!(error.reason, "memo 4294967295 is stored after only 3 opcodes");
}

#[test]
fn stop_on_an_empty_stack() {
    let error = error_of(&raw(b""));
    assert_eq!(
        (error.place, error.reason.as_str()),
        (Place::Byte(2), "a value is needed, but the stack is empty")
    );
}

#[test]
fn an_empty_file() {
    assert_eq!(error_of(b"").reason, "the file ends after 0 bytes, in the middle of its data");
}

#[test]
fn a_list_that_contains_itself() {
    assert_eq!(ask_everything(&raw(b"]q\x01h\x01a"))[0], "the file holds a list; a csr_matrix is expected");
    let errors = ask_everything(&raw(b"}K\x05]q\x01h\x01as"));
    assert_eq!(errors[2], "node 5 has a list for a neighbour; nodes are numbers from 0");
}

#[test]
fn a_dictionary_and_a_matrix_that_contain_themselves() {
    assert_eq!(
        ask_everything(&raw(b"}q\x01h\x01h\x01s"))[2],
        "a key of the dictionary is a dictionary; nodes are numbers from 0"
    );
    let matrix = raw(b"cscipy.sparse.csr\ncsr_matrix\n)\x81q\x01}U\x06_shapeh\x01sb");
    assert_eq!(ask_everything(&matrix)[0], "two lengths, none below zero, are expected");
    let array =
        raw(b"cnumpy.core.multiarray\n_reconstruct\ncnumpy\nndarray\nK\x00\x85U\x01b\x87Rq\x01h\x01b");
    let expected = "a numpy array is built from a numpy array without contents; a tuple of five is expected";
    assert_eq!(error_of(&array).reason, expected);
}

#[test]
fn a_billion_laughs() {
    // Each list holds the one before twice: 2⁶⁰ elements if anybody wrote them out.
    let mut writer = PickleWriter::new();
    writer.raw(b"(]").store();
    for laugh in 1..=60 {
        writer.raw(b"]").store();
        writer.recall(laugh).raw(b"a").recall(laugh).raw(b"a");
    }
    writer.raw(b"t");
    assert_eq!(ask_everything(&writer.finish())[0], "the file holds a tuple; a csr_matrix is expected");
}

#[test]
fn one_long_list_shared_by_all_nodes() {
    let mut writer = PickleWriter::new();
    writer.raw(b"}(").integer(0).raw(b"]").store();
    writer.raw(b"(");
    for neighbour in 0..50_000 {
        writer.integer(neighbour);
    }
    writer.raw(b"e");
    for node in 1..50_000 {
        writer.integer(node).recall(1);
    }
    writer.raw(b"u");
    let reason = &ask_everything(&writer.finish())[2];
    assert!(reason.ends_with("neighbours are listed: more than the file can hold"), "{reason}");
}

#[test]
fn opcodes_that_planetoid_files_do_not_use() {
    let reason = |opcode: u8| error_of(&raw(&[opcode])).reason;
    assert_eq!(reason(b'i'), "opcode 0x69 (INST) is not one that Planetoid files use");
    assert_eq!(reason(0x93), "opcode 0x93 (STACK_GLOBAL) is not one that Planetoid files use");
    assert!(reason(0xfe).starts_with("opcode 0xfe (which Python does not know either)"));
    assert_eq!(error_of(&raw(b"NX")).place, Place::Byte(3));
}

#[test]
fn newer_protocols() {
    assert_eq!(error_of(b"\x80\x04]\x94.").reason, "pickle protocol 4; Planetoid files have protocol 2");
}

#[test]
fn opcodes_on_values_they_do_not_fit() {
    for (opcodes, expected) in [
        (&b"NNa"[..], "something is appended to None; only lists grow"),
        (b"}(K\x01e", "something is appended to a dictionary; only lists grow"),
        (b"]NNs", "an item is set in a list; only dictionaries have items"),
        (b"}(Nu", "a dictionary gets a key without a value"),
        (b"e", "a mark is needed, but none was set"),
        (b"](a", "a value is needed, but the stack is empty"),
        (b"N\x86", "a value is needed, but the stack is empty"),
        (
            b"cscipy.sparse.csr\ncsr_matrix\n)\x81]b",
            "a csr_matrix is built from a list; a dictionary is expected",
        ),
    ] {
        assert_eq!(error_of(&raw(opcodes)).reason, expected, "{}", opcodes.escape_ascii());
    }
}
