//! How long exact nearest neighbours take, and how much memory.
//!
//! ```console
//! $ cargo run --release -p abyssal-graph --example nearest_neighbours -- 34493 128 7 --threads 2
//! $ cargo run --release -p abyssal-graph --example nearest_neighbours -- 34493 8415 7 --sparse
//! ```
//!
//! Arguments: nodes, columns, neighbours. Features are standard normal numbers; with `--sparse`, about 33 entries a row in
//! columns that differ in popularity, as in Coauthor Physics. `--cosine` chooses the other distance.

use std::error::Error;
use std::time::Instant;

use abyssal_graph::{Distance, Features, Fingerprint, nearest_neighbours};
use abyssal_tensor::parallel::with_threads;
use abyssal_tensor::random::{Purpose, Stream};
use abyssal_tensor::{Csr, Matrix, TensorError};

/// Entries of a sparse row, before those in the same place are added.
const ENTRIES: usize = 33;

fn main() -> Result<(), Box<dyn Error>> {
    let (mut shape, mut threads, mut is_sparse, mut distance) = (Vec::new(), 0, false, Distance::Euclidean);
    let mut arguments = std::env::args().skip(1);
    while let Some(argument) = arguments.next() {
        match argument.as_str() {
            "--threads" => threads = arguments.next().ok_or("--threads needs a number")?.parse()?,
            "--sparse" => is_sparse = true,
            "--cosine" => distance = Distance::Cosine,
            number => shape.push(number.parse()?),
        }
    }
    let [nodes, columns, k] = match shape[..] {
        [] => [34493, if is_sparse { 8415 } else { 128 }, 7],
        [nodes, columns, k] => [nodes, columns, k],
        _ => return Err("give three numbers: nodes, columns and neighbours".into()),
    };
    let features = if is_sparse { sparse(nodes, columns)? } else { dense(nodes, columns) };
    let start = Instant::now();
    let neighbours = with_threads(threads, || nearest_neighbours(&features, k, distance))??;
    let seconds = start.elapsed().as_secs_f64();
    let mut checksum = Fingerprint::new();
    checksum.numbers(&neighbours.indices);
    println!("{nodes}×{columns}, k = {k}, {distance:?}: {seconds:.2} s, peak memory {}", peak_memory()?);
    println!("checksum {}", checksum.finish());
    Ok(())
}

fn dense(nodes: usize, columns: usize) -> Features {
    let stream = Stream::new(0, Purpose::Generation, 0, 0);
    Features::Dense(Matrix::from_fn(nodes, columns, |row, column| {
        stream.normal((row * columns + column) as u64) as f32
    }))
}

fn sparse(nodes: usize, columns: usize) -> Result<Features, TensorError> {
    let stream = Stream::new(0, Purpose::Generation, 1, 0);
    let entry = |index: usize| {
        // The square makes a few columns popular.
        let column = stream.uniform(index as u64).powi(2) * columns as f64;
        ((index / ENTRIES) as u32, column as u32, 1.0)
    };
    Ok(Features::Sparse(Csr::from_entries(nodes, columns, (0..nodes * ENTRIES).map(entry).collect())?))
}

/// The largest resident size of this process so far, where the system tells.
fn peak_memory() -> Result<String, std::io::Error> {
    let status = std::fs::read_to_string("/proc/self/status")?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    Ok(line.map_or("unknown".to_owned(), |value| value.trim().to_owned()))
}
