//! The stack machine that a pickle is a program for, without the instructions that could do anything but build data.

use super::opcodes;
use super::values::{Arena, Object, Value};
use crate::formats::{FormatError, Place};

/// The most opcodes a pickle may have. Each costs fewer than 50 bytes of memory (an object, its entry on the stack,
/// in the memo or in a list), so this bounds what a file of empty lists can ask for. PubMed's graph has 178,216.
pub(super) const MOST_OPCODES: usize = 3_000_000;

/// A pickle that was followed to its end.
pub(super) struct Outcome<'a> {
    pub(super) arena: Arena<'a>,
    pub(super) root: Value,
    /// How many opcodes it took: no value was written down more often.
    pub(super) opcodes: usize,
}

/// A machine in the middle of its work.
pub(super) struct Machine<'a> {
    bytes: &'a [u8],
    position: usize,
    /// Where the opcode at work began.
    start: usize,
    opcodes: usize,
    pub(super) arena: Arena<'a>,
    stack: Vec<Value>,
    /// The height of the stack at each mark.
    marks: Vec<usize>,
    memo: Vec<Option<Value>>,
}

impl<'a> Machine<'a> {
    /// A machine before its first opcode.
    pub(super) fn new(bytes: &'a [u8]) -> Self {
        let (arena, stack, marks, memo) = Default::default();
        Self { bytes, position: 0, start: 0, opcodes: 0, arena, stack, marks, memo }
    }

    /// Follows the pickle to its end.
    pub(super) fn run(mut self) -> Result<Outcome<'a>, FormatError> {
        loop {
            self.start = self.position;
            self.opcodes += 1;
            if self.opcodes > MOST_OPCODES {
                return Err(
                    self.error(format!("more than {MOST_OPCODES} opcodes; Planetoid files have fewer"))
                );
            }
            match self.byte()? {
                opcodes::STOP => break,
                opcode => self.follow(opcode)?,
            }
        }
        let root = self.pop()?;
        if !self.stack.is_empty() || !self.marks.is_empty() {
            return Err(self.error("the pickle ends in the middle of a value"));
        }
        if self.position < self.bytes.len() {
            let rest = self.bytes.len() - self.position;
            return Err(self.error(format!("the pickle ends here, but {rest} more bytes follow")));
        }
        Ok(Outcome { arena: self.arena, root, opcodes: self.opcodes })
    }

    fn follow(&mut self, opcode: u8) -> Result<(), FormatError> {
        match opcode {
            opcodes::PROTO => self.protocol()?,
            opcodes::NONE => self.stack.push(Value::None),
            opcodes::NEWTRUE => self.stack.push(Value::Boolean(true)),
            opcodes::NEWFALSE => self.stack.push(Value::Boolean(false)),
            opcodes::BININT => {
                let number = i32::from_le_bytes(self.array()?);
                self.stack.push(Value::Integer(number));
            }
            opcodes::BININT1 => {
                let number = self.byte()?;
                self.stack.push(Value::Integer(i32::from(number)));
            }
            opcodes::BININT2 => {
                let number = u16::from_le_bytes(self.array()?);
                self.stack.push(Value::Integer(i32::from(number)));
            }
            opcodes::SHORT_BINSTRING => {
                let length = self.byte()?;
                self.string(usize::from(length))?;
            }
            opcodes::BINSTRING => {
                let length = i32::from_le_bytes(self.array()?);
                let length = usize::try_from(length)
                    .map_err(|_| self.error(format!("a byte string of {length} bytes is announced")))?;
                self.string(length)?;
            }
            opcodes::EMPTY_LIST => self.push(Object::List(Vec::new())),
            opcodes::EMPTY_TUPLE => self.push(Object::Tuple(Vec::new())),
            opcodes::EMPTY_DICT => self.push(Object::Dictionary(Vec::new())),
            opcodes::TUPLE1 => self.tuple::<1>()?,
            opcodes::TUPLE2 => self.tuple::<2>()?,
            opcodes::TUPLE3 => self.tuple::<3>()?,
            opcodes::TUPLE => {
                let members = self.pop_to_mark()?;
                self.push(Object::Tuple(members));
            }
            opcodes::MARK => self.marks.push(self.stack.len()),
            opcodes::APPEND => {
                let item = self.pop()?;
                self.append(&[item])?;
            }
            opcodes::APPENDS => {
                let items = self.pop_to_mark()?;
                self.append(&items)?;
            }
            opcodes::SETITEM => {
                let value = self.pop()?;
                let key = self.pop()?;
                self.set(&[key, value])?;
            }
            opcodes::SETITEMS => {
                let items = self.pop_to_mark()?;
                self.set(&items)?;
            }
            opcodes::BINPUT => {
                let index = self.byte()?;
                self.memorize(u32::from(index))?;
            }
            opcodes::LONG_BINPUT => {
                let index = u32::from_le_bytes(self.array()?);
                self.memorize(index)?;
            }
            opcodes::BINGET => {
                let index = self.byte()?;
                self.recall(u32::from(index))?;
            }
            opcodes::LONG_BINGET => {
                let index = u32::from_le_bytes(self.array()?);
                self.recall(index)?;
            }
            opcodes::GLOBAL => self.global()?,
            opcodes::REDUCE => self.reduce()?,
            opcodes::NEWOBJ => self.new_object()?,
            opcodes::BUILD => self.build()?,
            foreign => {
                let name = opcodes::foreign_name(foreign).unwrap_or("which Python does not know either");
                let reason = format!("opcode {foreign:#04x} ({name}) is not one that Planetoid files use");
                return Err(self.error(reason));
            }
        }
        Ok(())
    }

    fn protocol(&mut self) -> Result<(), FormatError> {
        match self.byte()? {
            0..=2 => Ok(()),
            newer => Err(self.error(format!("pickle protocol {newer}; Planetoid files have protocol 2"))),
        }
    }

    fn string(&mut self, length: usize) -> Result<(), FormatError> {
        let bytes = self.take(length)?;
        self.push(Object::Bytes(bytes));
        Ok(())
    }

    fn tuple<const LENGTH: usize>(&mut self) -> Result<(), FormatError> {
        let mut members = vec![Value::None; LENGTH];
        for member in members.iter_mut().rev() {
            *member = self.pop()?;
        }
        self.push(Object::Tuple(members));
        Ok(())
    }

    fn append(&mut self, items: &[Value]) -> Result<(), FormatError> {
        let target = self.top()?;
        match self.arena.get_mut(target) {
            Some(Object::List(list)) => list.extend_from_slice(items),
            _ => return Err(self.misfit("something is appended to", target, "only lists grow")),
        }
        Ok(())
    }

    fn set(&mut self, items: &[Value]) -> Result<(), FormatError> {
        let target = self.top()?;
        let (pairs, rest) = items.as_chunks::<2>();
        match self.arena.get_mut(target) {
            Some(Object::Dictionary(_)) if !rest.is_empty() => {
                return Err(self.error("a dictionary gets a key without a value"));
            }
            Some(Object::Dictionary(dictionary)) => {
                dictionary.extend(pairs.iter().map(|&[key, value]| (key, value)));
            }
            _ => return Err(self.misfit("an item is set in", target, "only dictionaries have items")),
        }
        Ok(())
    }

    fn memorize(&mut self, index: u32) -> Result<(), FormatError> {
        let value = self.top()?;
        let place = index as usize;
        // Python numbers the memo from 0 or from 1 in the order of storing, so a file cannot ask for a large memo.
        if place > self.opcodes {
            let reason = format!("memo {index} is stored after only {} opcodes", self.opcodes);
            return Err(self.error(reason));
        }
        if place >= self.memo.len() {
            self.memo.resize(place + 1, None);
        }
        self.memo[place] = Some(value);
        Ok(())
    }

    fn recall(&mut self, index: u32) -> Result<(), FormatError> {
        match self.memo.get(index as usize) {
            Some(&Some(value)) => self.stack.push(value),
            _ => return Err(self.error(format!("memo {index} is asked for, but was never stored"))),
        }
        Ok(())
    }

    pub(super) fn push(&mut self, object: Object<'a>) {
        let value = self.arena.insert(object);
        self.stack.push(value);
    }

    /// The highest value above the last mark.
    pub(super) fn top(&self) -> Result<Value, FormatError> {
        let floor = self.marks.last().copied().unwrap_or(0);
        match self.stack.last() {
            Some(&value) if self.stack.len() > floor => Ok(value),
            _ => Err(self.error("a value is needed, but the stack is empty")),
        }
    }

    pub(super) fn pop(&mut self) -> Result<Value, FormatError> {
        let value = self.top()?;
        self.stack.pop();
        Ok(value)
    }

    fn pop_to_mark(&mut self) -> Result<Vec<Value>, FormatError> {
        let mark = self.marks.pop().ok_or_else(|| self.error("a mark is needed, but none was set"))?;
        Ok(self.stack.split_off(mark))
    }

    fn byte(&mut self) -> Result<u8, FormatError> {
        self.array::<1>().map(|[byte]| byte)
    }

    fn array<const LENGTH: usize>(&mut self) -> Result<[u8; LENGTH], FormatError> {
        match self.bytes[self.position..].first_chunk() {
            Some(chunk) => {
                self.position += LENGTH;
                Ok(*chunk)
            }
            None => Err(self.truncated()),
        }
    }

    fn take(&mut self, length: usize) -> Result<&'a [u8], FormatError> {
        match self.bytes[self.position..].split_at_checked(length) {
            Some((taken, _)) => {
                self.position += length;
                Ok(taken)
            }
            None => {
                let left = self.bytes.len() - self.position;
                Err(self.error(format!("a byte string of {length} bytes is announced, but {left} are left")))
            }
        }
    }

    /// The bytes up to the next end of line, which is passed over.
    pub(super) fn line(&mut self) -> Result<&'a [u8], FormatError> {
        let rest = &self.bytes[self.position..];
        match rest.iter().position(|&byte| byte == b'\n') {
            Some(length) => {
                self.position += length + 1;
                Ok(&rest[..length])
            }
            None => Err(self.truncated()),
        }
    }

    fn truncated(&self) -> FormatError {
        self.error(format!("the file ends after {} bytes, in the middle of its data", self.bytes.len()))
    }

    pub(super) fn misfit(&self, before: &str, value: Value, after: &str) -> FormatError {
        self.error(format!("{before} {}; {after}", self.arena.describe(value)))
    }

    pub(super) fn error(&self, reason: impl Into<String>) -> FormatError {
        FormatError::at(Place::Byte(self.start as u64), reason)
    }
}
