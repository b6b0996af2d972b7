//! Writes pickles as Python 2's cPickle did with protocol 2 (`real_data.rs` compares them byte for byte).

use std::collections::BTreeMap;

/// How many items cPickle puts between two marks.
const BATCH: usize = 1000;

/// A pickle in the making. Methods push one value each; [`PickleWriter::raw`] takes opcodes as they are.
pub struct PickleWriter {
    bytes: Vec<u8>,
    stored: u32,
    /// The memo of names and numpy types that were written already.
    memo: BTreeMap<String, u32>,
}

/// A numpy array for the writer.
#[derive(Clone, Debug)]
pub struct Array {
    /// Such as `i4`.
    pub kind: &'static str,
    /// `<`, `>` or `|`.
    pub order: &'static str,
    /// Lengths of the dimensions.
    pub shape: Vec<i32>,
    /// Whether columns stand one after another.
    pub fortran: bool,
    /// The numbers.
    pub bytes: Vec<u8>,
}

impl Array {
    /// Integers of 32 bits in one dimension.
    pub fn integers(values: &[i32]) -> Self {
        let bytes = values.iter().flat_map(|value| value.to_le_bytes()).collect();
        Self { kind: "i4", order: "<", shape: vec![values.len() as i32], fortran: false, bytes }
    }

    /// Single-precision numbers in one dimension.
    pub fn floats(values: &[f32]) -> Self {
        let bytes = values.iter().flat_map(|value| value.to_le_bytes()).collect();
        Self { kind: "f4", order: "<", shape: vec![values.len() as i32], fortran: false, bytes }
    }

    /// The same numbers in another shape.
    pub fn shaped(self, shape: &[i32]) -> Self {
        Self { shape: shape.to_vec(), ..self }
    }
}

/// A scipy csr_matrix for the writer.
#[derive(Clone, Debug)]
pub struct Sparse {
    /// `_shape`.
    pub shape: (i32, i32),
    /// Where rows begin.
    pub indptr: Array,
    /// Columns of entries.
    pub indices: Array,
    /// Values of entries.
    pub data: Array,
}

impl PickleWriter {
    /// A pickle of protocol 2 without a value.
    pub fn new() -> Self {
        Self { bytes: vec![0x80, 2], stored: 0, memo: BTreeMap::new() }
    }

    /// The pickle with its last opcode.
    pub fn finish(mut self) -> Vec<u8> {
        self.bytes.push(b'.');
        self.bytes
    }

    /// Bytes as they are.
    pub fn raw(&mut self, bytes: &[u8]) -> &mut Self {
        self.bytes.extend_from_slice(bytes);
        self
    }

    /// An integer in the shortest form.
    pub fn integer(&mut self, value: i32) -> &mut Self {
        if let Ok(byte) = u8::try_from(value) {
            self.raw(&[b'K', byte])
        } else if let Ok(short) = u16::try_from(value) {
            self.raw(b"M").raw(&short.to_le_bytes())
        } else {
            self.raw(b"J").raw(&value.to_le_bytes())
        }
    }

    /// A byte string.
    pub fn string(&mut self, bytes: &[u8]) -> &mut Self {
        match u8::try_from(bytes.len()) {
            Ok(length) => self.raw(&[b'U', length]),
            Err(_) => self.raw(b"T").raw(&(bytes.len() as u32).to_le_bytes()),
        };
        self.raw(bytes)
    }

    /// Stores the value on top of the stack under the next number of the memo.
    pub fn store(&mut self) -> u32 {
        self.stored += 1;
        match u8::try_from(self.stored) {
            Ok(index) => self.raw(&[b'q', index]),
            Err(_) => {
                let index = self.stored.to_le_bytes();
                self.raw(b"r").raw(&index)
            }
        };
        self.stored
    }

    /// A value of the memo.
    pub fn recall(&mut self, index: u32) -> &mut Self {
        match u8::try_from(index) {
            Ok(index) => self.raw(&[b'h', index]),
            Err(_) => self.raw(b"j").raw(&index.to_le_bytes()),
        }
    }

    /// A name, from the memo if it was written before.
    pub fn global(&mut self, module: &str, name: &str) -> &mut Self {
        let key = format!("{module}\n{name}\n");
        if let Some(&index) = self.memo.get(&key) {
            return self.recall(index);
        }
        self.raw(b"c").raw(key.as_bytes());
        let index = self.store();
        self.memo.insert(key, index);
        self
    }

    /// A numpy array.
    pub fn array(&mut self, array: &Array) -> &mut Self {
        self.global("numpy.core.multiarray", "_reconstruct").global("numpy", "ndarray");
        self.integer(0).raw(b"\x85").string(b"b").raw(b"\x87R").store();
        self.raw(b"(").integer(1);
        for &length in &array.shape {
            self.integer(length);
        }
        self.raw(if array.shape.len() == 1 { b"\x85" } else { b"\x86" });
        self.dtype(array.kind, array.order);
        self.raw(if array.fortran { b"\x88" } else { b"\x89" });
        self.string(&array.bytes).raw(b"tb")
    }

    /// A numpy type, from the memo if it was written before.
    pub fn dtype(&mut self, kind: &str, order: &str) -> &mut Self {
        let key = format!("{order}{kind}");
        if let Some(&index) = self.memo.get(&key) {
            return self.recall(index);
        }
        self.global("numpy", "dtype").string(kind.as_bytes()).integer(0).integer(1).raw(b"\x87R");
        let index = self.store();
        self.memo.insert(key, index);
        self.raw(b"(")
            .integer(3)
            .string(order.as_bytes())
            .raw(b"NNN")
            .integer(-1)
            .integer(-1)
            .integer(0)
            .raw(b"tb")
    }

    /// A scipy csr_matrix.
    pub fn csr(&mut self, matrix: &Sparse) -> &mut Self {
        self.global("scipy.sparse.csr", "csr_matrix").raw(b")\x81").store();
        self.raw(b"}").store();
        self.raw(b"(").key("format").string(b"csr");
        self.key("_shape").integer(matrix.shape.0).integer(matrix.shape.1).raw(b"\x86");
        self.key("indptr").array(&matrix.indptr);
        self.key("_cs_matrix__has_sorted_indices").raw(b"\x88");
        self.key("indices").array(&matrix.indices);
        self.key("maxprint").integer(50);
        self.key("data").array(&matrix.data);
        self.raw(b"ub")
    }

    fn key(&mut self, name: &str) -> &mut Self {
        self.string(name.as_bytes()).store();
        self
    }

    /// A dictionary from nodes to lists of neighbours.
    pub fn adjacency(&mut self, adjacency: &[(i32, Vec<i32>)]) -> &mut Self {
        self.global("collections", "defaultdict").global("__builtin__", "list").raw(b"\x85R").store();
        for batch in adjacency.chunks(BATCH) {
            if batch.len() > 1 {
                self.raw(b"(");
            }
            for (node, neighbours) in batch {
                self.integer(*node).list(neighbours);
            }
            self.raw(if batch.len() > 1 { b"u" } else { b"s" });
        }
        self
    }

    fn list(&mut self, items: &[i32]) -> &mut Self {
        self.raw(b"]").store();
        for batch in items.chunks(BATCH) {
            if batch.len() > 1 {
                self.raw(b"(");
            }
            for &item in batch {
                self.integer(item);
            }
            self.raw(if batch.len() > 1 { b"e" } else { b"a" });
        }
        self
    }
}

/// The pickle of a numpy array.
pub fn array(array: &Array) -> Vec<u8> {
    let mut writer = PickleWriter::new();
    writer.array(array);
    writer.finish()
}

/// The pickle of a csr_matrix.
pub fn csr(matrix: &Sparse) -> Vec<u8> {
    let mut writer = PickleWriter::new();
    writer.csr(matrix);
    writer.finish()
}

/// The pickle of a dictionary from nodes to lists of neighbours.
pub fn adjacency(adjacency: &[(i32, Vec<i32>)]) -> Vec<u8> {
    let mut writer = PickleWriter::new();
    writer.adjacency(adjacency);
    writer.finish()
}

/// A pickle of opcodes as they are, without the last one.
pub fn raw(opcodes: &[u8]) -> Vec<u8> {
    let mut writer = PickleWriter::new();
    writer.raw(opcodes);
    writer.finish()
}
