//! Tells the library which commit it is built from, so that results can say so.

use std::process::Command;

/// Where results come from: a change there, committed or not, makes another version.
const SOURCES: [&str; 4] = ["abyssal-tensor", "abyssal-graph", "abyssal-nn", "abyssal-train"];

fn main() {
    let package = env!("CARGO_PKG_VERSION");
    // Sources without their history, such as those of a registry, may lie in the repository of something else.
    let is_ours = git(&["rev-parse", "--show-prefix"]).is_some_and(|place| place == "crates/abyssal-train/");
    let version = match git(&["rev-parse", "--short=10", "HEAD"]).filter(|_| is_ours) {
        Some(commit) => format!("{package}+{commit}{}", if is_modified() { ".modified" } else { "" }),
        None => package.to_string(),
    };
    println!("cargo:rustc-env=ABYSSAL_VERSION={version}");
    // Written with every commit and every change of branch.
    if let Some(log) = git(&["rev-parse", "--git-path", "logs/HEAD"]) {
        println!("cargo:rerun-if-changed={log}");
    }
    for source in SOURCES {
        println!("cargo:rerun-if-changed=../{source}");
    }
}

/// Whether files that decide results are not as they were committed.
fn is_modified() -> bool {
    let paths = SOURCES.map(|source| format!("../{source}"));
    // Without locks: a build must not get in the way of what else happens in the repository.
    let arguments =
        ["--no-optional-locks", "status", "--porcelain", "--untracked-files=no", "--"].into_iter();
    let arguments: Vec<&str> = arguments.chain(paths.iter().map(String::as_str)).collect();
    git(&arguments).is_some_and(|changes| !changes.is_empty())
}

/// What git says, or nothing if it cannot.
fn git(arguments: &[&str]) -> Option<String> {
    let output = Command::new("git").args(arguments).output().ok()?;
    output.status.success().then(|| String::from_utf8_lossy(&output.stdout).trim().to_string())
}
