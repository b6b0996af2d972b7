//! How the files of a graph name its nodes.

use std::collections::HashMap;

use super::super::table::{Row, shown};
use super::{FormatError, RawDataset};

/// The nodes of a graph by their ids: texts, or numbers from 0.
#[derive(Clone, Debug, Default)]
pub struct NodeNames {
    nodes: usize,
    /// The id of each node; nothing if they are numbers.
    names: Vec<String>,
    numbers: HashMap<String, u32>,
}

impl NodeNames {
    /// Nodes that have only numbers, from 0 on.
    pub fn numbered(nodes: usize) -> Self {
        Self { nodes, ..Self::default() }
    }

    /// The names of a dataset that has been read.
    ///
    /// # Errors
    /// If two nodes have the same name.
    pub fn of(dataset: &RawDataset) -> Result<Self, FormatError> {
        if dataset.node_names.is_empty() {
            return Ok(Self::numbered(dataset.nodes));
        }
        let mut names = Self::default();
        for name in &dataset.node_names {
            if !names.add(name) {
                return Err(FormatError::new(format!("two nodes are called {}", shown(name))));
            }
        }
        Ok(names)
    }

    /// Number of nodes.
    pub fn nodes(&self) -> usize {
        self.nodes
    }

    /// Whether nodes have ids of their own, and are not merely counted.
    pub fn are_given(&self) -> bool {
        !self.names.is_empty()
    }

    /// The number of the node with this id.
    ///
    /// # Errors
    /// With the reason, if there is none.
    pub fn find(&self, id: &str) -> Result<u32, String> {
        if !self.names.is_empty() {
            let found = self.numbers.get(id).copied();
            return found.ok_or_else(|| format!("there is no node {} in the features", shown(id)));
        }
        let found = id.parse::<u32>().ok().filter(|&node| (node as usize) < self.nodes);
        found.ok_or_else(|| {
            let last = self.nodes.saturating_sub(1);
            format!("{} is no node; the features have no ids, so nodes are numbered 0 to {last}", shown(id))
        })
    }

    /// The number of the node whose id is a number.
    ///
    /// # Errors
    /// With the reason, if there is none.
    pub fn find_number(&self, id: i64) -> Result<u32, String> {
        match u32::try_from(id) {
            // Nodes without names are most common in arrays, and these may be long.
            Ok(node) if self.names.is_empty() && (node as usize) < self.nodes => Ok(node),
            _ => self.find(&id.to_string()),
        }
    }

    /// The node that a cell names.
    pub(super) fn find_cell(&self, row: &Row, column: usize) -> Result<u32, FormatError> {
        self.find(row.text(column)).map_err(|reason| row.error(column, reason))
    }

    /// Gives the next node a name; false if another node has it.
    pub(super) fn add(&mut self, name: &str) -> bool {
        if self.numbers.contains_key(name) {
            return false;
        }
        // Files are refused before they have more nodes than 32 bits can number.
        let number = self.nodes as u32;
        self.numbers.insert(name.to_owned(), number);
        self.names.push(name.to_owned());
        self.nodes += 1;
        true
    }

    /// The names; nothing if nodes have only numbers.
    pub(super) fn into_names(self) -> Vec<String> {
        self.names
    }
}
