"""Writes the files that tests/numpy_files reads, with the libraries they come from.

Made with numpy 2.4.6 and scipy 1.17.1: `python make_numpy_golden.py`. Zip members carry no time stamps that matter;
the arrays inside are always the same.
"""

from pathlib import Path

import numpy as np
import scipy.sparse as sp

HERE = Path(__file__).parent

# Every dtype that can be read, in both byte orders, and some that cannot.
arrays = {}
for dtype in ["i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f4", "f8"]:
    for order in "<>":
        arrays[f"{dtype}_{'little' if order == '<' else 'big'}"] = np.arange(6).reshape(2, 3).astype(order + dtype)
arrays["bool"] = np.array([True, False, True])
arrays["fortran"] = np.asfortranarray(np.arange(24, dtype="<i4").reshape(2, 3, 4))
arrays["scalar"] = np.float64(2.5)
arrays["empty"] = np.zeros((0, 4), dtype="<f4")
arrays["unicode"] = np.array(["graph", "Größe", "図", ""])
arrays["unicode_big"] = np.array(["graph", "Größe", "図", ""]).astype(">U5")
arrays["bytes"] = np.array([b"csr", b"a", b""])
arrays["half"] = np.arange(3, dtype="<f2")
arrays["objects"] = np.array([{"a": 1}, None], dtype=object)
arrays["structured"] = np.array([(1, 2.0)], dtype=[("a", "<i4"), ("b", "<f4")])
np.savez_compressed(HERE / "numpy_arrays.npz", **arrays)
np.save(HERE / "numpy_array.npy", np.arange(6, dtype="<f4").reshape(2, 3))

# One matrix in every format of scipy, entries at one place and columns out of order included.
rows, columns, values = [2, 0, 0, 2, 1], [1, 3, 0, 1, 2], [1.5, -2.0, 4.0, 0.5, 3.0]
coo = sp.coo_matrix((np.array(values, dtype="<f4"), (rows, columns)), shape=(4, 5))
csr = sp.csr_matrix(
    (np.array([-2.0, 4.0, 3.0, 1.5, 0.5]), np.array([3, 0, 2, 1, 1]), np.array([0, 2, 3, 5, 5])), shape=(4, 5)
)
sp.save_npz(HERE / "scipy_coo.npz", coo)
sp.save_npz(HERE / "scipy_csr.npz", csr)
sp.save_npz(HERE / "scipy_csc.npz", coo.tocsc(), compressed=False)
sp.save_npz(HERE / "scipy_csr_array.npz", sp.csr_array(coo))
sp.save_npz(HERE / "scipy_dia.npz", coo.todia())
