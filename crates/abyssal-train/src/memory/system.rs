//! What the system says about memory. Linux tells it in `/proc`; elsewhere nothing is known.

/// The largest memory this process has had, in bytes; `None` where the system does not tell.
pub fn peak_memory_bytes() -> Option<u64> {
    field("/proc/self/status", "VmHWM:")
}

/// The memory this process has now.
pub(super) fn present_memory_bytes() -> Option<u64> {
    field("/proc/self/status", "VmRSS:")
}

/// What can still be had without swapping.
pub(super) fn available_memory_bytes() -> Option<u64> {
    field("/proc/meminfo", "MemAvailable:")
}

fn field(path: &str, name: &str) -> Option<u64> {
    let text = std::fs::read_to_string(path).ok()?;
    let line = text.lines().find(|line| line.starts_with(name))?;
    let kibibytes: u64 = line.split_whitespace().nth(1)?.parse().ok()?;
    Some(kibibytes * 1024)
}
