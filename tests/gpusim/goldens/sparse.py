"""Record what an NVIDIA GPU's tensor cores answer when half of A is left out: `mma.sp`.

The machine code is compiled where the simulator is, and that very CUBIN runs on the GPU:

    python -m tests.gpusim.goldens.sparse prepare FILE   anywhere: compile
    python -m tests.gpusim.goldens.sparse record FILE    on a machine with a GPU and CuPy: write the recording

Operands are those of `tensor_core`, of as many elements of A as are there; the places of these elements are random,
too. Of every group of products the digest of all results is kept, and the results of the first one.
"""

from __future__ import annotations

import argparse
import json
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from tests.gpusim.goldens.provenance import provenance
from tests.gpusim.goldens.tensor_core import ARCH, EXPONENTS, GROUP, KEPT, Product, Stream, digest, operands

RECORDING = Path(__file__).parent / f"sparse_{ARCH}.npz"
# Two places of four that are in order, as `mma.sp::ordered_metadata` wants them, and also in the other order. For
# elements of 32 bits they are the two halves of one place of two.
IN_ORDER = (0b0100, 0b1000, 0b1001, 0b1100, 0b1101, 0b1110)
EITHER_ORDER = (*IN_ORDER, 0b0001, 0b0010, 0b0110, 0b0011, 0b0111, 0b1011)
OF_TWO = (0b0100, 0b1110)


@dataclass(frozen=True)
class Sparse(Product):
    """One form of `mma.sp`; selector: which lanes of four bring the places of their row's elements."""

    selector: int = 0

    @property
    def name(self) -> str:
        return f"{super().name} {self.selector}"

    @property
    def entry(self) -> str:
        return "product_" + self.name.replace(" ", "_")

    @property
    def words(self) -> tuple[int, int, int]:
        """32-bit registers of a lane for what there is of A, for B and C."""
        a, b, c = super().words
        return a // 2, b, c

    @property
    def source(self) -> str:
        counts = (self.words[2], *self.words)  # D, A, B, C
        firsts = [sum(counts[:i]) for i in range(5)]
        d, a, b, c = (
            "{" + ", ".join(f"%{first + i}" for i in range(count)) + "}"
            for first, count in zip(firsts, counts, strict=False)
        )
        text = f"mma.sp.sync.aligned.{self.shape}.row.col{self.more}.{self.result}.{self.a}.{self.b}.{self.result} "
        given = ", ".join(
            f'"r"({name}[(warp * {count} + {i}) * 32 + lane])'
            for name, count in zip("ABC", self.words, strict=True)
            for i in range(count)
        )
        results = ", ".join(f'"=r"(d[{i}])' for i in range(counts[0]))
        return f"""
extern "C" __global__ void {self.entry}(
    const unsigned *A, const unsigned *B, const unsigned *C, const unsigned *E, unsigned *D
) {{
    const int warp = blockIdx.x * blockDim.y + threadIdx.y, lane = threadIdx.x;
    unsigned d[{counts[0]}], e = E[warp * 32 + lane];
    asm volatile("{text}{d}, {a}, {b}, {c}, %{firsts[4]}, {self.selector};" : {results} : {given}, "r"(e));
    for (int i = 0; i < {counts[0]}; ++i) D[(warp * {counts[0]} + i) * 32 + lane] = d[i];
}}
"""


def _products() -> tuple[Sparse, ...]:
    forms = []
    for result, type_ in (("f32", "f16"), ("f16", "f16"), ("f32", "bf16")):
        forms += [("m16n8k16", result, type_, type_, "", 4), ("m16n8k32", result, type_, type_, "", 2)]
    forms += [("m16n8k8", "f32", "tf32", "tf32", "", 4), ("m16n8k16", "f32", "tf32", "tf32", "", 2)]
    forms += [("m16n8k64", "f32", a, b, "", 1) for a in ("e4m3", "e5m2") for b in ("e4m3", "e5m2")]
    for bits, shapes in (("8", ("m16n8k32", "m16n8k64")), ("4", ("m16n8k64", "m16n8k128"))):
        for a, b, more in (("s", "s", ""), ("u", "s", ""), ("s", "u", ".satfinite"), ("u", "u", "")):
            forms += [(shape, "s32", a + bits, b + bits, more, 2 - position) for position, shape in enumerate(shapes)]
    return tuple(Sparse(*form, selector=number) for *form, count in forms for number in range(count))


PRODUCTS = _products()
SOURCE = "".join(product.source for product in PRODUCTS)


def groups() -> list[tuple[str, int]]:
    """(kind, seed) of every group, in order: of each kind one with places in order, one with places in any order."""
    return [(kind, 100 * number + seed) for number, kind in enumerate(EXPONENTS) for seed in (50, 51)]


def places(product: Sparse, seed: int) -> np.ndarray:
    """(GROUP, 32) words that say where the elements of A are."""
    nibbles = OF_TWO if product.a == "tf32" else EITHER_ORDER if seed % 2 else IN_ORDER
    stream = Stream(seed, *product.entry.encode())
    chosen = np.array(nibbles, np.uint32)[stream.below(len(nibbles), GROUP * 32 * 8)].reshape(GROUP, 32, 8)
    return np.bitwise_or.reduce(chosen << np.arange(0, 32, 4, dtype=np.uint32), axis=-1)


def given(product: Sparse, kind: str, seed: int) -> tuple[np.ndarray, ...]:
    """A, B, C and the places of A's elements of GROUP products, as registers."""
    return (*operands(product, kind, seed), places(product, seed))


def prepare(file: Path) -> None:
    """Compile the kernels of all forms."""
    from gpusim import compiler

    entries = [product.entry for product in PRODUCTS]
    file.write_bytes(compiler.compile_module(SOURCE, entries, arch=ARCH)[entries[0]].cubin)


def record(file: Path, out: Path = RECORDING) -> None:
    """Run every form on all its operands."""
    import cupy

    arrays = {}
    module = cupy.RawModule(path=str(file))
    for product in PRODUCTS:
        function, digests, kept = module.get_function(product.entry), [], []
        for kind, seed in groups():
            a, b, c, e = (cupy.asarray(words) for words in given(product, kind, seed))
            d = cupy.full_like(c, 0xDEADBEEF)
            function((GROUP // 4,), (32, 4), (a, b, c, e, d))
            results = d.get()
            digests.append(digest(results))
            kept.append(results[:KEPT])
        arrays[f"{product.name}|digests"] = np.frombuffer(b"".join(digests), np.uint64)
        arrays[f"{product.name}|kept"] = np.stack(kept)
    origin = provenance(ARCH, "tests/gpusim/goldens/sparse.py", numpy=np.__version__)
    arrays["provenance"] = np.frombuffer(json.dumps(origin).encode(), np.uint8)
    np.savez_compressed(out, **arrays)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("mode", choices=("prepare", "record"))
    parser.add_argument("file", type=Path)
    arguments = parser.parse_args()
    {"prepare": prepare, "record": record}[arguments.mode](arguments.file)


if __name__ == "__main__":
    main()
