//! The file of the labels.

use std::collections::HashMap;
use std::io::Read;

use super::super::Place;
use super::super::limits::check_classes;
use super::super::table::{Row, Table, is_number, shown};
use super::FormatError;
use super::names::NodeNames;
use super::source::{Source, only_array};

/// What stands for a label nobody knows, whatever the others are. In small letters, `none` may well be a class.
const MISSING: [&str; 12] =
    ["", "?", "-1", "-1.0", "NA", "N/A", "<NA>", "nan", "NaN", "None", "null", "NULL"];

/// What the file of the labels says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NodeLabels {
    /// The class of each node; nothing where it is unknown.
    pub labels: Vec<Option<u32>>,
    /// The name of each class.
    pub class_names: Vec<String>,
}

/// Reads labels from a table.
///
/// # Errors
/// If the table is malformed, has not one or two columns, names a node that does not exist, contradicts itself, has
/// another number of rows than there are nodes (one column), or holds no label at all.
pub fn parse_labels(source: impl Read, nodes: &NodeNames) -> Result<NodeLabels, FormatError> {
    of_table(Table::new(source)?, nodes)
}

pub(super) fn read(source: Source, nodes: &NodeNames) -> Result<NodeLabels, FormatError> {
    let (name, array) = match source {
        Source::Table(table) => return of_table(*table, nodes),
        Source::Array(array) => (None, array),
        Source::Archive(mut npz) => {
            let (name, array) = only_array(&mut npz, "one, with a label a node")?;
            (Some(name), array)
        }
    };
    let labels = array.dimensions(1).map(drop).and_then(|()| array.into_text()).and_then(|texts| {
        check_count(texts.len(), nodes, None)?;
        let mut seen = Seen::default();
        let labels = texts.iter().map(|text| seen.number(text.trim())).collect();
        seen.classes(labels)
    });
    labels.map_err(|error| match name {
        Some(name) => error.in_member(&name),
        None => error,
    })
}

fn of_table(table: Table<impl Read>, nodes: &NodeNames) -> Result<NodeLabels, FormatError> {
    if table.width() == 1 {
        return in_order(table, nodes);
    }
    table.expect_width(2, "id and label, or one column with a label for every node")?;
    by_id(table, nodes)
}

/// One label a line. A blank line is a label that is missing, but at the end of the file it is nothing.
fn in_order(mut table: Table<impl Read>, nodes: &NodeNames) -> Result<NodeLabels, FormatError> {
    table.keep_blank_lines();
    let header = table.header().cloned();
    let (mut row, mut labels, mut seen) = (Row::default(), Vec::new(), Seen::default());
    let (mut surplus, mut blank) = (None, false);
    while table.read_row(&mut row)? {
        if labels.len() >= nodes.nodes() {
            let line = *surplus.get_or_insert(row.line());
            // One line more than nodes may be a header that nobody recognised.
            if labels.len() > nodes.nodes() || header.is_some() {
                return Err(too_many(line, nodes));
            }
        }
        blank |= row.width() == 0;
        labels.push(seen.number(row.text(0)));
    }
    let first = match (&header, surplus) {
        (Some(_), _) => FirstLine::Label,
        (None, Some(_)) => seen.first_line(&labels, true, blank),
        (None, None) if labels.len() == nodes.nodes() => {
            seen.first_line(&labels, false, table.ends_with_blank_lines())
        }
        (None, None) => FirstLine::Label,
    };
    match (first, surplus) {
        (FirstLine::Header, _) => seen.without_first_line(&labels),
        (FirstLine::Unclear, _) => {
            let reason = unclear(&seen.texts[0], labels.len(), nodes.nodes());
            Err(FormatError::at(Place::Line(table.begin()), reason))
        }
        (FirstLine::Label, Some(line)) => Err(too_many(line, nodes)),
        (FirstLine::Label, None) => {
            check_count(labels.len(), nodes, header.as_ref())?;
            seen.classes(labels)
        }
    }
}

fn too_many(line: u64, nodes: &NodeNames) -> FormatError {
    let reason = format!("more labels than the {} nodes; give every node one", nodes.nodes());
    FormatError::at(Place::Line(line), reason)
}

fn unclear(word: &str, lines: usize, nodes: usize) -> String {
    let blank = if lines == nodes { " and blank ones at the end" } else { "" };
    format!(
        "{} may be a header or the label of the first node: there are {lines} lines{blank} for {nodes} nodes; if it is a \
         header, write `label` instead; where a label is missing, write `?`, and leave no blank lines",
        shown(word)
    )
}

/// What the first line of a file with one column is, where it is none of the usual headers.
enum FirstLine {
    Label,
    Header,
    Unclear,
}

fn by_id(mut table: Table<impl Read>, nodes: &NodeNames) -> Result<NodeLabels, FormatError> {
    // A node that is known has a label, even if it is called as a column is.
    if table.header().is_some_and(|names| nodes.find(names.text(0)).is_ok()) {
        table.keep_header_as_row();
    }
    let (mut row, mut seen) = (Row::default(), Seen::default());
    let mut labels = vec![None; nodes.nodes()];
    let mut listed = vec![false; nodes.nodes()];
    while table.read_row(&mut row)? {
        let found = nodes.find_cell(&row, 0);
        let node = found.map_err(|error| table.suspect_header(&row, "id", error))? as usize;
        let label = seen.number(row.text(1));
        if listed[node] && labels[node] != label {
            let (id, other) = (shown(row.text(0)), shown(seen.text(labels[node])));
            return Err(row.error(1, format!("node {id} has another label already, {other}; leave one")));
        }
        (labels[node], listed[node]) = (label, true);
    }
    seen.classes(labels)
}

fn check_count(labels: usize, nodes: &NodeNames, header: Option<&Row>) -> Result<(), FormatError> {
    if labels == nodes.nodes() {
        return Ok(());
    }
    let header =
        header.map_or(String::new(), |header| format!(" below the header {}", shown(header.text(0))));
    Err(FormatError::new(format!(
        "{labels} labels{header} for {} nodes; give every node one, or `?`, or use two columns, id and label",
        nodes.nodes()
    )))
}

/// Labels in the order they were met.
#[derive(Default)]
struct Seen {
    texts: Vec<String>,
    numbers: HashMap<String, u32>,
}

impl Seen {
    /// The number of a label; nothing if it is missing.
    fn number(&mut self, text: &str) -> Option<u32> {
        if MISSING.contains(&text) {
            return None;
        }
        if let Some(&number) = self.numbers.get(text) {
            return Some(number);
        }
        // There are at most as many labels as nodes, and nodes have 32-bit numbers.
        let number = self.texts.len() as u32;
        self.texts.push(text.to_owned());
        self.numbers.insert(text.to_owned(), number);
        Some(number)
    }

    /// Tells a header by two signs: the file has one line too many, and the first word is the only one that stands
    /// there once. It is unclear if it may be that one of them deceives, for labels must never move to other nodes:
    /// words of other lines stand there once, or blank lines may or may not be labels that are missing.
    fn first_line(&self, labels: &[Option<u32>], too_many: bool, blank_lines: bool) -> FirstLine {
        let mut counts = vec![0usize; self.texts.len()];
        for &label in labels.iter().flatten() {
            counts[label as usize] += 1;
        }
        let lone_word = labels.first() == Some(&Some(0)) && counts[0] == 1 && !is_number(&self.texts[0]);
        match (lone_word, too_many) {
            (false, _) => FirstLine::Label,
            (true, true) if !blank_lines && counts[1..].iter().all(|&count| count > 1) => FirstLine::Header,
            (true, false) if !blank_lines => FirstLine::Label,
            (true, _) => FirstLine::Unclear,
        }
    }

    /// The classes of all labels but the first, which is a header.
    fn without_first_line(&self, labels: &[Option<u32>]) -> Result<NodeLabels, FormatError> {
        let mut seen = Self::default();
        let labels = labels.iter().skip(1);
        let labels = labels.map(|label| seen.number(self.texts.get((*label)? as usize)?)).collect();
        seen.classes(labels)
    }

    fn text(&self, number: Option<u32>) -> &str {
        number.and_then(|number| self.texts.get(number as usize)).map_or("?", String::as_str)
    }

    /// Sorts the labels: they become classes.
    fn classes(self, labels: Vec<Option<u32>>) -> Result<NodeLabels, FormatError> {
        let integers: Option<Vec<i64>> = self.texts.iter().map(|text| text.parse().ok()).collect();
        let (class_names, classes) = match integers {
            Some(integers) => {
                let (distinct, classes) = ranked(&integers);
                (distinct.iter().map(i64::to_string).collect(), classes)
            }
            None => ranked(&self.texts),
        };
        if class_names.is_empty() {
            return Err(FormatError::new("no node has a label; give some of them one"));
        }
        check_classes(class_names.len())?;
        let labels = labels.into_iter().map(|label| Some(classes[label? as usize])).collect();
        Ok(NodeLabels { labels, class_names })
    }
}

/// The distinct values, ascending, and the place of each value among them.
fn ranked<T: Ord + Clone>(values: &[T]) -> (Vec<T>, Vec<u32>) {
    let mut distinct = values.to_vec();
    distinct.sort_unstable();
    distinct.dedup();
    let place = |value| distinct.binary_search(value).expect("every value is among the distinct ones") as u32;
    let places = values.iter().map(place).collect();
    (distinct, places)
}
