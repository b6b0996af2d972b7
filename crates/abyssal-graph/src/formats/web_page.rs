//! Web pages in place of data: what a server sends where a file has moved, or a proxy where one has to log in.

use super::FormatError;

/// Whether bytes begin like an HTML page.
pub(crate) fn is_web_page(bytes: &[u8]) -> bool {
    let bytes = bytes.strip_prefix("\u{feff}".as_bytes()).unwrap_or(bytes).trim_ascii_start();
    let begins = |with: &[u8]| bytes.get(..with.len()).is_some_and(|begin| begin.eq_ignore_ascii_case(with));
    begins(b"<!doctype html") || begins(b"<html")
}

/// Refuses a page, given its beginning.
pub(super) fn refuse(bytes: &[u8]) -> Result<(), FormatError> {
    match is_web_page(bytes) {
        true => Err(FormatError::new("this is an HTML page, not data; download it again")),
        false => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_are_recognised_by_their_beginning() {
        for page in ["<!DOCTYPE html>", "<!doctype HTML PUBLIC", "\r\n\t <html lang=en>", "\u{feff}<HTML>"] {
            assert!(is_web_page(page.as_bytes()), "{page:?}");
        }
        for data in [
            "",
            "   ",
            "<htm",
            "<!doctype",
            "<?xml version='1.0'?>",
            "node_id\tfeature",
            "PK\u{3}\u{4}<html>",
        ] {
            assert!(!is_web_page(data.as_bytes()), "{data:?}");
        }
    }
}
