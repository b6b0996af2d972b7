//! Whether the first row of a table names its columns.

use super::Row;

/// First words of headers, in lower case.
const NAMES: [&str; 24] = [
    "id", "ids", "node", "nodes", "node_id", "nodeid", "name", "index", "source", "src", "from", "target",
    "dst", "to", "label", "labels", "class", "classes", "y", "split", "mask", "masks", "set", "subset",
];

/// What headers call a column of ids, in lower case. pandas calls it nothing, or `Unnamed: 0` when it reads that again.
const ID_NAMES: [&str; 16] = [
    "",
    "id",
    "ids",
    "node",
    "nodes",
    "nodeid",
    "name",
    "index",
    "idx",
    "key",
    "uid",
    "uuid",
    "user",
    "userid",
    "username",
    "unnamed: 0",
];

/// What people write where a value is missing. It names no column.
const MISSING: [&str; 8] = ["?", "NA", "N/A", "nan", "NaN", "None", "null", "-"];

/// Whether `first` is a header. The rules are told at [`super::Table`].
pub(super) fn is_header(first: &Row, second: Option<&Row>) -> bool {
    if !is_number_free(first) {
        return false;
    }
    let begin = first.text(0);
    // The only column of a table holds no ids, but it may begin with a label such as `user`.
    if NAMES.contains(&begin.to_lowercase().as_str()) || (first.width() > 1 && names_ids(begin)) {
        return true;
    }
    second.is_some_and(|second| {
        (0..first.width()).any(|column| {
            let name = first.text(column);
            !name.is_empty() && !MISSING.contains(&name) && !is_number(name) && is_number(second.text(column))
        })
    })
}

/// Whether a header says that its column holds ids: `node`, `user_id`, `paper id` or `nodeId`, but not `paid` or `grid`.
pub(in crate::formats) fn names_ids(name: &str) -> bool {
    let lower = name.to_lowercase();
    let two_words = ["_id", "-id", " id"].iter().any(|end| lower.ends_with(end));
    let capital = name.strip_suffix("Id").or_else(|| name.strip_suffix("ID"));
    let camel_case = capital.is_some_and(|begin| begin.ends_with(|letter: char| letter.is_lowercase()));
    ID_NAMES.contains(&lower.as_str()) || two_words || camel_case
}

/// Whether no field is a number, but for the column numbers that pandas writes: 0, 1, 2, … after the first field.
pub(super) fn is_number_free(row: &Row) -> bool {
    let counted =
        row.width() > 2 && (1..row.width()).all(|column| row.text(column) == (column - 1).to_string());
    !is_number(row.text(0)) && (counted || (1..row.width()).all(|column| !is_number(row.text(column))))
}

pub(in crate::formats) fn is_number(text: &str) -> bool {
    text.parse::<f64>().is_ok()
}

#[cfg(test)]
mod tests {
    use super::names_ids;
    use crate::formats::table::Table;

    fn has_header(text: &str) -> bool {
        Table::new(text.as_bytes()).unwrap().header().is_some()
    }

    #[test]
    fn headers_are_recognised() {
        for text in [
            "id,label\nalice,red\n",
            "Source;Target\nalice;bob\n",
            "label\nred\n",
            "person,age\nalice,7\n",
            "id,0,1,2\nalice,1,2,3\n",
            ",0,1,2\nalice,1,2,3\n",
            ",width,height\n0,1,2\n",
            "label idx,arxiv category\n0,arxiv cs na\n",
            "node_id\tfeature\tlabel\n",
            "user_id,friendId\nalice,bob\n",
        ] {
            assert!(has_header(text), "{text:?}");
        }
    }

    #[test]
    fn columns_of_ids_are_recognised_by_their_names() {
        for name in [
            "",
            "id",
            "ID",
            "Node",
            "node_id",
            "NODE_ID",
            "nodeId",
            "userID",
            "uid",
            "key",
            "paper_id",
            "paper id",
            "Paper-Id",
            "Unnamed: 0",
        ] {
            assert!(names_ids(name), "{name:?}");
        }
        for name in
            ["paid", "Paid", "PAID", "grid", "valid", "x", "width", "idle", "user_idle", "Unnamed: 1", "age"]
        {
            assert!(!names_ids(name), "{name:?}");
        }
    }

    #[test]
    fn data_is_no_header() {
        for text in [
            "0,1\n1,2\n",
            "alice,red\nbob,blue\n",
            "x1,0.5,0.7\n17,0.1,0.2\n",
            "alice,?\nbob,3\n",
            "0,\n1,3\n",
            "?\n3\n",
            "nan\n3\n",
            "train\nval\n",
            "user\nadministrator\n",
            "x1,17\n17,18\n",
        ] {
            assert!(!has_header(text), "{text:?}");
        }
    }
}
