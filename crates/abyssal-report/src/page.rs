//! A page of prose with places for tables.

use crate::{Records, ReportError, ablation, accuracies, backbones, baselines, reference, settings};

/// A place in a page, and the table that belongs there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// Our method beside the paper's numbers and the best baseline, so many layers deep.
    Accuracies(usize),
    /// Ours and the baselines side by side, so many layers deep.
    Baselines(usize),
    /// The student of the released code beside ours.
    Reference,
    /// Our method on other aggregations.
    Backbones,
    /// Our method with parts taken away.
    Ablation,
    /// Where our student's settings are not the paper's.
    Settings,
}

impl Place {
    /// All places of a page.
    pub const ALL: [Self; 8] = [
        Self::Accuracies(32),
        Self::Accuracies(64),
        Self::Baselines(32),
        Self::Baselines(64),
        Self::Reference,
        Self::Backbones,
        Self::Ablation,
        Self::Settings,
    ];

    /// Its name in the markers.
    pub fn name(self) -> String {
        match self {
            Self::Accuracies(layers) => format!("accuracies-{layers}"),
            Self::Baselines(layers) => format!("baselines-{layers}"),
            Self::Reference => "reference".to_string(),
            Self::Backbones => "backbones".to_string(),
            Self::Ablation => "ablation".to_string(),
            Self::Settings => "settings".to_string(),
        }
    }

    fn table(self, records: &Records) -> String {
        let table = match self {
            Self::Accuracies(layers) => accuracies::table(records, layers),
            Self::Baselines(layers) => baselines::table(records, layers),
            Self::Reference => reference::table(records),
            Self::Backbones => backbones::table(records),
            Self::Ablation => ablation::table(records),
            Self::Settings => settings::table(),
        };
        table.to_string()
    }
}

const BEGIN: &str = "<!-- begin ";
const CLOSE: &str = " -->";

/// The page with all tables as they are now. What is outside of its places stays byte for byte.
///
/// # Errors
/// If a marker is missing, doubled, out of order or about no table.
pub fn render(page: &str, records: &Records) -> Result<String, ReportError> {
    for part in page.split(BEGIN).skip(1) {
        let name = part.split_once(CLOSE).map_or(part, |(name, _)| name);
        if Place::ALL.iter().all(|place| place.name() != name) {
            let (name, known) = (name.to_string(), Place::ALL.map(Place::name).join(", "));
            return Err(ReportError::UnknownPlace { name, known });
        }
    }
    Place::ALL.into_iter().try_fold(page.to_string(), |page, place| fill(&page, place, records))
}

/// The page with the table of one place.
fn fill(page: &str, place: Place, records: &Records) -> Result<String, ReportError> {
    let begin = format!("{BEGIN}{}{CLOSE}", place.name());
    let end = format!("<!-- end {}{CLOSE}", place.name());
    let (before, rest) = page.split_at(find(page, &begin)?);
    let Some(length) = rest.find(&end) else {
        find(page, &end)?;
        return Err(ReportError::ReversedMarkers { begin, end });
    };
    find(page, &end)?;
    let table = place.table(records);
    Ok(format!("{before}{begin}\n\n{table}\n{}", &rest[length..]))
}

/// Where a marker is; it must be there exactly once.
fn find(page: &str, marker: &str) -> Result<usize, ReportError> {
    let mut places = page.match_indices(marker).map(|(place, _)| place);
    match (places.next(), places.next()) {
        (Some(place), None) => Ok(place),
        (None, _) => Err(ReportError::MissingMarker { marker: marker.to_string() }),
        (Some(_), Some(_)) => Err(ReportError::DoubledMarker { marker: marker.to_string() }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A page with all places, prose before, between and after them.
    fn page() -> String {
        let place = |place: Place| {
            let name = place.name();
            format!("prose\u{a0}of {name}\r\n<!-- begin {name} -->old<!-- end {name} -->  \n\n")
        };
        Place::ALL.map(place).concat() + "the end, without a line break"
    }

    #[test]
    fn prose_stays_and_rendering_twice_changes_nothing() {
        let records = Records::default();
        let rendered = render(&page(), &records).unwrap();
        assert!(!rendered.contains("old") && rendered.ends_with("  \n\nthe end, without a line break"));
        for place in Place::ALL {
            let name = place.name();
            assert!(
                rendered.contains(&format!("prose\u{a0}of {name}\r\n<!-- begin {name} -->\n\n| ")),
                "{name}"
            );
            assert!(rendered.contains(&format!(" |\n\n<!-- end {name} -->  \n\n")), "{name}");
        }
        assert_eq!(render(&rendered, &records).unwrap(), rendered);
    }

    #[test]
    fn markers_that_are_wrong_are_named() {
        let page = page();
        let (begin, end) = ("<!-- begin ablation -->", "<!-- end ablation -->");
        for (broken, expected) in [
            (page.replace(begin, ""), format!("the page has no `{begin}`")),
            (page.replace(end, ""), format!("the page has no `{end}`")),
            (format!("{page}{begin}"), format!("the page has `{begin}` more than once")),
            (format!("{page}{end}"), format!("the page has `{end}` more than once")),
            (
                page.replace(end, "").replace(begin, &format!("{end}{begin}")),
                format!("`{end}` before `{begin}`"),
            ),
            (
                format!("{page}<!-- begin ablatoin -->"),
                "begin ablatoin -->`, and there is no such table".to_string(),
            ),
            (format!("{page}<!-- begin "), "there are accuracies-32".to_string()),
        ] {
            let error = render(&broken, &Records::default()).unwrap_err().to_string();
            assert!(error.contains(&expected), "{error}");
        }
    }
}
