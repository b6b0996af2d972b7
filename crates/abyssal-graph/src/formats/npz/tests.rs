use std::io::{Cursor, Write};
use std::sync::LazyLock;

use zip::ZipWriter;
use zip::write::SimpleFileOptions;

use super::*;
use crate::formats::npy::tests::{integers, npy};

/// An archive with these members, the first of them stored, the others deflated.
pub(in crate::formats) fn archive(members: &[(&str, Vec<u8>)]) -> Vec<u8> {
    let mut writer = ZipWriter::new(Cursor::new(Vec::new()));
    let mut method = CompressionMethod::Stored;
    for (name, bytes) in members {
        let options = SimpleFileOptions::default().compression_method(method);
        writer.start_file(*name, options).expect("a new member");
        writer.write_all(bytes).expect("memory can be written to");
        method = CompressionMethod::Deflated;
    }
    writer.finish().expect("memory can be written to").into_inner()
}

/// An opened archive of arrays.
pub(in crate::formats) fn npz(arrays: &[(&str, Vec<u8>)]) -> Npz<Cursor<Vec<u8>>> {
    let names: Vec<String> = arrays.iter().map(|(name, _)| format!("{name}.npy")).collect();
    let members: Vec<_> =
        names.iter().zip(arrays).map(|(name, (_, bytes))| (&name[..], bytes.clone())).collect();
    Npz::open(Cursor::new(archive(&members))).expect("the archive was just made")
}

fn refusal(bytes: Vec<u8>) -> String {
    Npz::open(Cursor::new(bytes)).expect_err("the archive is hostile").reason
}

/// A member of 1 GiB of zeros, deflated.
static BOMB: LazyLock<Vec<u8>> = LazyLock::new(|| {
    let mut writer = ZipWriter::new(Cursor::new(Vec::new()));
    let options = SimpleFileOptions::default().compression_method(CompressionMethod::Deflated);
    writer.start_file("bomb.npy", options).expect("a new member");
    let zeros = vec![0; 1 << 20];
    for _ in 0..1 << 10 {
        writer.write_all(&zeros).expect("memory can be written to");
    }
    writer.finish().expect("memory can be written to").into_inner()
});

/// Overwrites `bytes` at `offset` after every occurrence of a signature.
fn patch(archive: &mut [u8], signature: &[u8; 4], offset: usize, bytes: &[u8]) {
    let places: Vec<usize> =
        (0..archive.len() - 4).filter(|&at| archive[at..].starts_with(signature)).collect();
    assert!(!places.is_empty(), "the archive has no such record");
    for place in places {
        archive[place + offset..][..bytes.len()].copy_from_slice(bytes);
    }
}

const LOCAL: &[u8; 4] = b"PK\x03\x04";
const CENTRAL: &[u8; 4] = b"PK\x01\x02";

#[test]
fn arrays_are_read_by_name() {
    let mut npz = npz(&[("labels", integers(&[3, 1])), ("adj/data", integers(&[7]))]);
    assert_eq!(npz.names().collect::<Vec<_>>(), ["adj/data", "labels"]);
    assert!(npz.contains("labels") && !npz.contains("labels.npy"));
    assert_eq!(npz.vector("adj/data", Array::into_integers).unwrap(), [7]);
    assert_eq!(npz.vector("labels", Array::into_integers).unwrap(), [3, 1]);
    let error = npz.array("label").unwrap_err();
    assert_eq!(error.reason, "the archive has no array `label`, but adj/data, labels");
    let error = tests::npz(&[]).array("label").unwrap_err();
    assert_eq!(error.reason, "the archive has no array `label`, but no array at all");
}

#[test]
fn errors_tell_which_array_is_wrong() {
    let mut npz = npz(&[("matrix", npy("|u1", false, &[1, 1], &[0]))]);
    let error = npz.vector("matrix", Array::into_integers).unwrap_err();
    let expected = "an array of shape [1, 1] where one with 1 dimensions is needed, matrix";
    assert_eq!(error.to_string(), expected);
}

#[test]
fn objects_nobody_asks_for_do_no_harm() {
    let mut npz = npz(&[("names", npy("|O", false, &[], b"\x80\x04K\x01.")), ("labels", integers(&[4]))]);
    assert_eq!(npz.vector("labels", Array::into_integers).unwrap(), [4]);
    let error = npz.array("names").unwrap_err();
    assert!(error.to_string().starts_with("holds Python objects"), "{error}");
}

#[test]
fn a_zip_bomb_is_refused() {
    assert!(BOMB.len() < 2 << 20, "{}", BOMB.len());
    let mut npz = Npz::open(Cursor::new(&BOMB[..])).unwrap();
    let reason = npz.array("bomb").unwrap_err().reason;
    assert!(reason.starts_with("takes 1073741824 bytes, where an archive of this size may take"), "{reason}");
}

#[test]
fn a_zip_bomb_that_lies_about_its_size_is_refused() {
    let mut bytes = BOMB.clone();
    // The size is told in 4 bytes at 24 of the central record.
    patch(&mut bytes, CENTRAL, 24, &1000u32.to_le_bytes());
    let mut npz = Npz::open(Cursor::new(bytes)).unwrap();
    let reason = npz.array("bomb").unwrap_err().reason;
    assert!(reason.contains("larger than its declared"), "{reason}");
}

#[test]
fn many_members_that_are_large_together_are_refused() {
    // Eight bytes each in memory.
    let large = npy("|u1", false, &[7 << 20], &vec![0; 7 << 20]);
    let mut npz =
        npz(&[("stored", integers(&[1])), ("a", large.clone()), ("b", large.clone()), ("c", large)]);
    for name in ["a", "b", "a", "b"] {
        assert!(npz.array(name).is_ok());
    }
    let reason = npz.array("c").unwrap_err().reason;
    assert!(reason.starts_with("an array of shape [7340032] and dtype |u1 takes more than 1"), "{reason}");
    assert!(npz.array("stored").is_ok());
}

#[test]
fn names_that_lead_out_are_refused() {
    for name in ["../x.npy", "a/../../x.npy", "/etc/x.npy", "C:x.npy", "a\\x.npy", "..\\x.npy", "a/.."] {
        // The writer would correct some of them, so a name of that length is replaced.
        let placeholder = "z".repeat(name.len());
        let mut bytes = archive(&[(&placeholder, integers(&[1]))]);
        patch(&mut bytes, LOCAL, 30, name.as_bytes());
        patch(&mut bytes, CENTRAL, 46, name.as_bytes());
        let reason = refusal(bytes);
        assert!(reason.contains(&format!("a member named {name:?}")), "{reason}");
    }
    // Dots alone lead nowhere.
    assert!(npz(&[("a..b", integers(&[1]))]).contains("a..b"));
}

#[test]
fn two_members_of_one_name_are_refused() {
    let mut bytes = archive(&[("a.npy", integers(&[1])), ("b.npy", integers(&[2]))]);
    patch(&mut bytes, LOCAL, 30, b"a.npy");
    patch(&mut bytes, CENTRAL, 46, b"a.npy");
    assert_eq!(refusal(bytes), "two members of the archive have the same name; get or save it again");
}

#[test]
fn an_encrypted_member_is_refused() {
    let mut bytes = archive(&[("a.npy", integers(&[1]))]);
    patch(&mut bytes, LOCAL, 6, &[1]);
    patch(&mut bytes, CENTRAL, 8, &[1]);
    let error = Npz::open(Cursor::new(bytes)).unwrap().array("a").unwrap_err();
    assert_eq!(error.reason, "is encrypted; save it again without a password");
}

#[test]
fn other_ways_of_compression_are_refused() {
    let mut bytes = archive(&[("a.npy", integers(&[1]))]);
    patch(&mut bytes, LOCAL, 8, &[12]);
    patch(&mut bytes, CENTRAL, 10, &[12]);
    let reason = Npz::open(Cursor::new(bytes)).unwrap().array("a").unwrap_err().reason;
    assert!(reason.ends_with("save it again with `numpy.savez_compressed`"), "{reason}");
}

#[test]
fn a_flipped_byte_is_damage() {
    let values: Vec<i32> = (0..1000).collect();
    for members in [vec![("a.npy", integers(&values))], vec![("z", vec![]), ("a.npy", integers(&values))]] {
        let bytes = archive(&members);
        // The member ends where the list of members begins.
        let end = (0..bytes.len()).find(|&at| bytes[at..].starts_with(CENTRAL)).unwrap();
        for back in [100, 400, 700, 1000] {
            let mut damaged = bytes.clone();
            damaged[end - back] ^= 4;
            let reason = Npz::open(Cursor::new(damaged)).unwrap().array("a").unwrap_err().reason;
            assert!(reason.starts_with("the archive is damaged"), "{reason}");
        }
    }
}

#[test]
fn a_truncated_archive_is_refused() {
    let bytes = archive(&[("a.npy", integers(&[1, 2, 3])), ("b.npy", integers(&[4; 1000]))]);
    for length in 0..bytes.len() {
        let reason = refusal(bytes[..length].to_vec());
        assert!(reason.starts_with("not a zip archive, or one that is damaged or cut short"), "{reason}");
    }
}

#[test]
fn a_page_of_html_is_no_archive() {
    for page in ["<!DOCTYPE html><p>not found</p>", "\n <html lang='en'>"] {
        assert_eq!(refusal(page.into()), "this is an HTML page, not data; download it again");
    }
}

#[test]
fn too_many_members_are_refused() {
    let names: Vec<String> = (0..=archive::MOST_MEMBERS).map(|index| format!("{index}.npy")).collect();
    let members: Vec<_> = names.iter().map(|name| (&name[..], vec![])).collect();
    assert_eq!(refusal(archive(&members)), "an archive of 10001 members; there can be 10000");
    let mut npz = Npz::open(Cursor::new(archive(&members[1..]))).unwrap();
    let reason = npz.array("labels").unwrap_err().reason;
    assert!(
        reason.contains("but 1, 10, 100, 1000, 10000, 1001, ") && reason.ends_with(" and 9980 more"),
        "{reason}"
    );
}

#[test]
fn a_list_of_members_without_end_is_refused() {
    let mut bytes = archive(&[]);
    let end = bytes.split_off(0);
    // A record of a member, 200,000 times, and an end that tells of as many (in the 64-bit form).
    let record = {
        let bytes = archive(&[("a.npy", vec![])]);
        let begin = (0..bytes.len()).find(|&at| bytes[at..].starts_with(CENTRAL)).unwrap();
        bytes[begin..begin + 46 + 5].to_vec()
    };
    let (count, length) = (200_000u64, 200_000 * record.len() as u64);
    bytes.extend(record.repeat(200_000));
    bytes.extend(b"PK\x06\x06");
    bytes.extend(44u64.to_le_bytes());
    bytes.extend([45, 0, 45, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
    for number in [count, count, length, 0] {
        bytes.extend(number.to_le_bytes());
    }
    bytes.extend(b"PK\x06\x07\0\0\0\0");
    bytes.extend(length.to_le_bytes());
    bytes.extend([1, 0, 0, 0]);
    let last = bytes.len();
    bytes.extend(end);
    bytes[last + 8..last + 20].fill(0xff);
    let reason = refusal(bytes);
    assert!(reason.contains("its list of members is too long"), "{reason}");
}

#[test]
fn masks_are_a_split() {
    let mask = |bits: &[u8]| npy("|b1", false, &[bits.len()], bits);
    let with = |train: Vec<u8>, validation: Vec<u8>, test: Vec<u8>| {
        masks(&mut npz(&[("train_mask", train), ("val_mask", validation), ("test_mask", test)]))
    };
    let (nodes, split) =
        with(mask(&[1, 0, 0, 0]), integers(&[0, 1, 0, 0]), mask(&[0, 0, 1, 0])).unwrap().unwrap();
    assert_eq!((nodes, split.name()), (4, "given"));
    assert_eq!((split.train(), split.validation(), split.test()), (&[0][..], &[1][..], &[2][..]));
    assert_eq!(masks(&mut npz(&[("labels", integers(&[1]))])).unwrap(), None);
    let error = masks(&mut npz(&[("val_mask", mask(&[1]))])).unwrap_err();
    assert_eq!(error.reason, "the archive has no array `train_mask`, but val_mask");
    let error = with(mask(&[1, 0]), mask(&[0, 1, 0]), mask(&[0, 1])).unwrap_err();
    assert!(error.reason.starts_with("the masks cover 2, 3 and 2 nodes"), "{error}");
    let error = with(mask(&[1]), npy("|b1", false, &[1, 1], &[1]), mask(&[1])).unwrap_err();
    assert!(error.to_string().ends_with("one with 1 dimensions is needed, val_mask"), "{error}");
    assert!(
        with(mask(&[1, 0]), integers(&[0, 2]), mask(&[0, 0]))
            .unwrap_err()
            .reason
            .contains("is 2, where true")
    );
    assert!(with(mask(&[1, 1]), mask(&[0, 1]), mask(&[0, 0])).is_err());
}
