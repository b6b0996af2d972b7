//! Memory that is used again: every pass over a model needs the same buffers as the one before.

use std::collections::HashMap;
use std::ops::{Deref, DerefMut};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::aligned::AlignedValues;
use crate::parallel::threads;
use crate::spectral::{SpectralWorkspace, Spectrum};
use crate::{Matrix, Scalar};

/// A store of buffers, shared by all tapes made from it. Cloning gives another handle to the same store.
#[derive(Clone)]
pub struct Pool<T> {
    shelves: Arc<Mutex<Shelves<T>>>,
    pub(super) sparing: bool,
}

struct Shelves<T> {
    /// Free buffers by length.
    buffers: HashMap<usize, Vec<AlignedValues<T>>>,
    /// Free memory of flags by length.
    bytes: HashMap<usize, Vec<Vec<u8>>>,
    spectra: HashMap<usize, Vec<Spectrum<T>>>,
    workspaces: HashMap<usize, Vec<SpectralWorkspace<T>>>,
}

/// A matrix whose memory goes back to the pool when it is dropped.
pub struct Buffer<T: Scalar> {
    matrix: Matrix<T>,
    pool: Pool<T>,
}

/// A spectrum whose memory goes back to the pool when it is dropped.
pub(crate) struct PooledSpectrum<T: Scalar> {
    spectrum: Option<Spectrum<T>>,
    pool: Pool<T>,
}

impl<T: Scalar> Default for Pool<T> {
    fn default() -> Self {
        Self::new()
    }
}

impl<T: Scalar> Pool<T> {
    /// An empty store.
    pub fn new() -> Self {
        let shelves = Shelves {
            buffers: HashMap::new(),
            bytes: HashMap::new(),
            spectra: HashMap::new(),
            workspaces: HashMap::new(),
        };
        Self { shelves: Arc::new(Mutex::new(shelves)), sparing: false }
    }

    /// The same store; if `sparing`, operations on tapes of it do not keep what a product gives from matrices that they keep
    /// anyway, but compute it again on the way back. The gradients have the same bits.
    pub fn sparing(self, sparing: bool) -> Self {
        Self { sparing, ..self }
    }

    fn shelves(&self) -> MutexGuard<'_, Shelves<T>> {
        // A panic elsewhere leaves the shelves whole: they are only pushed to and popped from.
        self.shelves.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// How many free buffers there are of each length, in values.
    pub fn lengths(&self) -> Vec<(usize, usize)> {
        self.shelves().buffers.iter().map(|(&length, free)| (length, free.len())).collect()
    }

    /// How many free pieces of memory for flags there are of each length, in bytes.
    pub fn byte_lengths(&self) -> Vec<(usize, usize)> {
        self.shelves().bytes.iter().map(|(&length, free)| (length, free.len())).collect()
    }

    /// The bytes of all free room for eigen-decompositions.
    pub fn spectral_bytes(&self) -> usize {
        let shelves = self.shelves();
        let spectra = shelves.spectra.iter().map(|(d, free)| free.len() * (d + 1) * d * size_of::<T>());
        let workspaces = shelves.workspaces.values().flatten().map(SpectralWorkspace::bytes);
        spectra.sum::<usize>() + workspaces.sum::<usize>()
    }

    /// A matrix with arbitrary contents: whoever asks for it writes every value.
    pub fn take(&self, rows: usize, columns: usize) -> Buffer<T> {
        let length = rows * columns;
        let free = self.shelves().buffers.get_mut(&length).and_then(Vec::pop);
        let data = free.unwrap_or_else(|| AlignedValues::zeros(length));
        Buffer { matrix: Matrix::around(rows, columns, data), pool: self.clone() }
    }

    /// Sees to it that every thread can take a matrix of this shape at the same time, without room of its own being made
    /// whenever there happen to be more of them than before.
    pub(crate) fn stock(&self, rows: usize, columns: usize) {
        let length = rows * columns;
        let mut shelves = self.shelves();
        let free = shelves.buffers.entry(length).or_default();
        while free.len() < threads() {
            free.push(AlignedValues::zeros(length));
        }
    }

    /// A matrix of zeros.
    pub fn take_zeros(&self, rows: usize, columns: usize) -> Buffer<T> {
        let mut buffer = self.take(rows, columns);
        buffer.as_mut_slice().fill(T::ZERO);
        buffer
    }

    /// Bytes with arbitrary contents, to be [given back](Self::give_bytes).
    pub(super) fn take_bytes(&self, length: usize) -> Vec<u8> {
        let free = self.shelves().bytes.get_mut(&length).and_then(Vec::pop);
        free.unwrap_or_else(|| vec![0; length])
    }

    pub(super) fn give_bytes(&self, bytes: Vec<u8>) {
        self.shelves().bytes.entry(bytes.len()).or_default().push(bytes);
    }

    pub(crate) fn take_spectrum(&self, dimension: usize) -> PooledSpectrum<T> {
        let free = self.shelves().spectra.get_mut(&dimension).and_then(Vec::pop);
        let spectrum = free.unwrap_or_else(|| Spectrum::new(dimension));
        PooledSpectrum { spectrum: Some(spectrum), pool: self.clone() }
    }

    /// Runs `operation` with a workspace for d×d decompositions.
    pub(crate) fn with_workspace<R>(
        &self,
        dimension: usize,
        operation: impl FnOnce(&mut SpectralWorkspace<T>) -> R,
    ) -> R {
        let free = self.shelves().workspaces.get_mut(&dimension).and_then(Vec::pop);
        let mut workspace = free.unwrap_or_else(|| SpectralWorkspace::new(dimension));
        let result = operation(&mut workspace);
        self.shelves().workspaces.entry(dimension).or_default().push(workspace);
        result
    }
}

impl<T: Scalar> Deref for Buffer<T> {
    type Target = Matrix<T>;
    fn deref(&self) -> &Matrix<T> {
        &self.matrix
    }
}

impl<T: Scalar> DerefMut for Buffer<T> {
    fn deref_mut(&mut self) -> &mut Matrix<T> {
        &mut self.matrix
    }
}

impl<T: Scalar> Drop for Buffer<T> {
    fn drop(&mut self) {
        let data = std::mem::take(&mut self.matrix).into_values();
        self.pool.shelves().buffers.entry(data.len()).or_default().push(data);
    }
}

impl<T: Scalar> Deref for PooledSpectrum<T> {
    type Target = Spectrum<T>;
    fn deref(&self) -> &Spectrum<T> {
        self.spectrum.as_ref().expect("present until dropped")
    }
}

impl<T: Scalar> DerefMut for PooledSpectrum<T> {
    fn deref_mut(&mut self) -> &mut Spectrum<T> {
        self.spectrum.as_mut().expect("present until dropped")
    }
}

impl<T: Scalar> Drop for PooledSpectrum<T> {
    fn drop(&mut self) {
        if let Some(spectrum) = self.spectrum.take() {
            let dimension = spectrum.values.len();
            self.pool.shelves().spectra.entry(dimension).or_default().push(spectrum);
        }
    }
}
