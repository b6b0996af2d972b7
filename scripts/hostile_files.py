#!/usr/bin/env python3
"""Gives the program files that mean harm, and measures what they cost it.

Every one must end in an error (exit code 1) within a second and within 200 MB of memory, and nothing in it may be
executed. Needs nothing but Python and a built program:

    cargo build --release
    python3 scripts/hostile_files.py [--out scripts/results/hostile_files.json]
"""

import argparse
import io
import json
import os
import struct
import subprocess
import sys
import tempfile
import time
import zipfile
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parent.parent
SECONDS, BYTES = 1.0, 200_000_000
PARTS = "x tx allx y ty ally graph test.index".split()


def npy(dtype, shape, data):
    """An npy file with whatever header we like."""
    header = f"{{'descr': '{dtype}', 'fortran_order': False, 'shape': {shape}, }}"
    header += " " * (-(len(header) + 11) % 64) + "\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode() + data


def integers(*values):
    return npy("<i4", f"({len(values)},)", struct.pack(f"<{len(values)}i", *values))


def graph_archive(**changes):
    """An npz in the layout of the Coauthor files: three nodes, two edges, two features."""
    members = {
        "adj_data": npy("<f4", "(2,)", struct.pack("<2f", 1, 1)),
        "adj_indices": integers(1, 2),
        "adj_indptr": integers(0, 1, 2, 2),
        "adj_shape": integers(3, 3),
        "attr_data": npy("<f4", "(3,)", struct.pack("<3f", 1, 1, 1)),
        "attr_indices": integers(0, 1, 0),
        "attr_indptr": integers(0, 1, 2, 3),
        "attr_shape": integers(3, 2),
        "labels": integers(0, 1, 0),
    }
    members.update(changes)
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in members.items():
            archive.writestr(name if "/" in name else f"{name}.npy", data)
    return buffer.getvalue()


def bomb():
    """A graph whose values are a gigabyte of zeros, deflated to a megabyte."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(graph_archive())) as original, zipfile.ZipFile(
        buffer, "w", zipfile.ZIP_DEFLATED
    ) as archive:
        for name in original.namelist():
            if name != "adj_data.npy":
                archive.writestr(name, original.read(name))
        with archive.open("adj_data.npy", "w", force_zip64=True) as member:
            member.write(npy("<f4", "(268435456,)", b""))
            for _ in range(1024):
                member.write(bytes(1 << 20))
    return buffer.getvalue()


def array_pickle(shape):
    """A pickled numpy array (protocol 2) that declares a shape and has four bytes."""
    numbers = b"".join(b"J" + struct.pack("<i", length) for length in shape)
    state = b"(K\x01" + {1: numbers + b"\x85", 2: numbers + b"\x86"}[len(shape)]
    state += b"cnumpy\ndtype\nU\x02i4K\x00K\x01\x87R(K\x03U\x01<NNNJ\xff\xff\xff\xffJ\xff\xff\xff\xffK\x00tb"
    state += b"\x89U\x04\x00\x00\x00\x00t"
    return b"\x80\x02cnumpy.core.multiarray\n_reconstruct\ncnumpy\nndarray\nK\x00\x85U\x01b\x87R" + state + b"b."


def cases(directory):
    """Pairs of a name and the arguments that make the program read the file."""
    marker = directory / "executed"

    # Their sums are wrong, which ends it before the reader of pickles sees them; that one has tests and a fuzz target.
    def planetoid(name, contents):
        folder = directory / name / "cora"
        folder.mkdir(parents=True)
        for part in PARTS:
            (folder / f"ind.cora.{part}").write_bytes(contents)
        return name, ["cora", "--data-dir", directory / name]

    def benchmark(name, contents):
        folder = directory / name / "coauthor-cs"
        folder.mkdir(parents=True)
        (folder / "ms_academic_cs.npz").write_bytes(contents)
        return name, ["coauthor-cs", "--data-dir", directory / name]

    def own(name, **changes):
        folder = directory / name
        folder.mkdir()
        files = {"edges": b"0,1\n1,2\n", "features": b"1,0\n0,1\n1,1\n", "labels": b"0\n1\n0\n"}
        files.update({role: contents for role, contents in changes.items()})
        arguments = []
        for role, contents in files.items():
            path = folder / f"{role}.csv"
            if contents is None:
                with path.open("wb") as file:
                    file.write(b"1")
                    file.truncate(1_000_000_000)  # one line, most of it a hole on the disk
            else:
                path.write_bytes(contents)
            arguments += [f"--{role}", path]
        return name, arguments

    yield planetoid("pickle calls os.system", b"cos\nsystem\n(S'touch " + str(marker).encode() + b"'\ntR.")
    yield planetoid("pickle calls posix.system, protocol 2", b"\x80\x02cposix\nsystem\nU\x04true\x85R.")
    yield planetoid("pickle nested 100,000 deep", b"\x80\x02" + b"]" * 100_000 + b"a" * 99_999 + b".")
    yield planetoid("pickle with 100,000 marks", b"\x80\x02" + b"(" * 100_000 + b"t" * 100_000 + b".")
    yield planetoid("pickle declares 2^60 elements", array_pickle([1 << 30, 1 << 30]))
    yield planetoid("pickle declares a string of 2 GB", b"\x80\x02T" + struct.pack("<i", 2**31 - 1) + b"abc.")
    yield benchmark("npz zip bomb", bomb())
    yield benchmark("npz with a path with ..", graph_archive(**{"../../evil.npy": b"x"}))
    yield benchmark("npz header lies about its shape", graph_archive(labels=npy("<i8", "(1000000,)", bytes(24))))
    yield benchmark("npz header declares 2^63 elements", graph_archive(labels=npy("<i8", f"({2**63},)", b"")))
    yield benchmark("npz with Python objects", graph_archive(labels=npy("|O", "(3,)", b"cos\nsystem\n.")))
    yield benchmark("csr index out of range", graph_archive(adj_indices=integers(1, 3)))
    yield benchmark("csr index below zero", graph_archive(adj_indices=integers(1, -1)))
    yield benchmark("csr offsets that fall", graph_archive(adj_indptr=integers(0, 2, 1, 2)))
    yield own("csv with ragged rows", features=b"1,0\n0,1,1\n1,1\n")
    yield own("csv that is not UTF-8", labels=b"0\n\xff\xfe\n0\n")
    yield own("csv with a line of 1 GB", features=None)
    yield own("csv with a quote never closed", edges=b'"0,1\n' + b"1,2\n" * 10_000_000)


def run(program, arguments):
    """Exit code, last line of standard error, seconds, and largest memory in bytes."""
    command = [program, "datasets", "info", "--offline", *map(str, arguments)]
    start = time.monotonic()
    with tempfile.TemporaryDirectory() as cache, tempfile.TemporaryFile() as errors:
        environment = {**os.environ, "ABYSSAL_CACHE": cache}
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=errors, env=environment)
        _, status, usage = os.wait4(process.pid, 0)
        seconds = time.monotonic() - start
        errors.seek(0)
        message = errors.read().decode().strip().splitlines()
    return os.waitstatus_to_exitcode(status), message[-1] if message else "", seconds, usage.ru_maxrss * 1024


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", type=Path, default=REPOSITORY / "target/release/abyssal")
    parser.add_argument("--out", type=Path, help="where to write the record")
    arguments = parser.parse_args()
    records = []
    with tempfile.TemporaryDirectory() as directory:
        directory = Path(directory)
        for name, files in cases(directory):
            code, message, seconds, memory = run(arguments.program, files)
            message = message.replace(str(directory) + "/", "")
            good = code == 1 and seconds < SECONDS and memory < BYTES
            records.append(
                {
                    "case": name,
                    "exit_code": code,
                    "seconds": round(seconds, 3),
                    "megabytes": round(memory / 1e6, 1),
                    "message": message,
                    "good": good,
                }
            )
            print(f"{'ok ' if good else 'BAD'} {seconds:6.3f} s {memory / 1e6:6.1f} MB  {name}: {message[:150]}")
        executed = (directory / "executed").exists()
    if executed:
        print("BAD a file was executed")
    if arguments.out:
        arguments.out.parent.mkdir(parents=True, exist_ok=True)
        arguments.out.write_text(json.dumps(records, indent=2, ensure_ascii=False) + "\n")
    sys.exit(1 if executed or not all(record["good"] for record in records) else 0)


if __name__ == "__main__":
    main()
