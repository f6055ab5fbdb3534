"""Record what an NVIDIA GPU's tensor cores and conversions answer to millions of random operands of every form.

The machine code is compiled where the simulator is, and that very CUBIN runs on the GPU:

    python -m tests.gpusim.goldens.tensor_core prepare FOLDER  anywhere: compile
    python -m tests.gpusim.goldens.tensor_core record FOLDER   on a machine with a GPU and CuPy: write the recording

Operands come from the raw stream of PCG64, which NumPy promises never to change. Of every group of products the digest
of all results is kept, and the results of the first few themselves, so that a difference can be looked at.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import re
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from tests.gpusim.goldens.provenance import provenance

ARCH = "sm_90"
RECORDING = Path(__file__).parent / f"tensor_core_{ARCH}.npz"
GROUP = 512  # warp-wide products, or thousands of conversions, whose results have one digest
KEPT = 1  # warp-wide products of each group that are kept as they are
BITS = {"f16": 16, "bf16": 16, "tf32": 32, "f32": 32, "f64": 64, "e4m3": 8, "e5m2": 8, "s8": 8, "u8": 8, "s4": 4,
        "u4": 4, "b1": 1, "s32": 32}  # fmt: skip


# ---- what is asked


@dataclass(frozen=True)
class Product:
    """One form of `mma.sync`: its shape and the types of D and C, of A and of B, as PTX writes them."""

    shape: str
    result: str
    a: str
    b: str
    more: str = ""  # ".satfinite" or ".and.popc"

    @property
    def name(self) -> str:
        return f"{self.shape} {self.result} {self.a} {self.b}{self.more.replace('.', ' ')}"

    @property
    def sizes(self) -> tuple[int, int, int]:
        m, n, k = re.fullmatch(r"m(\d+)n(\d+)k(\d+)", self.shape).groups()
        return int(m), int(n), int(k)

    @property
    def words(self) -> tuple[int, int, int]:
        """32-bit registers of a lane for A, B and C."""
        m, n, k = self.sizes
        counts = ((m * k, self.a), (k * n, self.b), (m * n, self.result))
        return tuple(elements * BITS[type_] // 1024 for elements, type_ in counts)

    @property
    def source(self) -> str:
        wide = self.result == "f64"
        kind, letter = ("double", "d") if wide else ("unsigned", "r")
        counts = [count // 2 if wide else count for count in self.words]
        counts = [counts[2], *counts]  # D, A, B, C
        firsts = [sum(counts[:i]) for i in range(4)]
        d, a, b, c = (
            "{" + ", ".join(f"%{first + i}" for i in range(count)) + "}"
            for first, count in zip(firsts, counts, strict=True)
        )
        before, after = (self.more, "") if self.more == ".satfinite" else ("", self.more)
        text = f"mma.sync.aligned.{self.shape}.row.col{before}.{self.result}.{self.a}.{self.b}.{self.result}{after} "
        operands = ", ".join(
            f'"{letter}"({name}[{i}])' for name, count in zip("abc", counts[1:], strict=True) for i in range(count)
        )
        results = ", ".join(f'"={letter}"(d[{i}])' for i in range(counts[0]))
        loads = "\n".join(
            f"    for (int i = 0; i < {count}; ++i) {low}[i] = {low.upper()}[(warp * {count} + i) * 32 + lane];"
            for low, count in zip("abc", counts[1:], strict=True)
        )
        return f"""
extern "C" __global__ void product(const {kind} *A, const {kind} *B, const {kind} *C, {kind} *D) {{
    const int warp = blockIdx.x * blockDim.y + threadIdx.y, lane = threadIdx.x;
    {kind} a[{counts[1]}], b[{counts[2]}], c[{counts[3]}], d[{counts[0]}];
{loads}
    asm volatile("{text}{d}, {a}, {b}, {c};" : {results} : {operands});
    for (int i = 0; i < {counts[0]}; ++i) D[(warp * {counts[0]} + i) * 32 + lane] = d[i];
}}
"""


@dataclass(frozen=True)
class Conversion:
    """One form of `cvt` from `sources` words of 32 bits to one; narrower operands are the low bits of a word."""

    instruction: str
    sources: int = 1

    @property
    def name(self) -> str:
        return self.instruction

    @property
    def source(self) -> str:
        to, origin = self.instruction.split(".")[-2:]
        widths = {"e4m3x2": 16, "e5m2x2": 16, "bf16": 16, "f16": 16}
        letter = {16: "h", 32: "f" if origin == "f32" else "r"}[widths.get(origin, 32)]
        cast = {"h": "(unsigned short)", "f": "__uint_as_float", "r": ""}[letter]
        narrow = widths.get(to) == 16
        given = ", ".join(f'"{letter}"({cast}(X[i + {part} * count]))' for part in range(self.sources))
        operands = ", ".join(f"%{part + 1}" for part in range(self.sources))
        return f"""
extern "C" __global__ void convert(const unsigned *X, unsigned *Y, int count) {{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    {"unsigned short" if narrow else "unsigned"} y;
    asm volatile("{self.instruction} %0, {operands};" : "={"h" if narrow else "r"}"(y) : {given});
    Y[i] = y;
}}
"""


def _products() -> tuple[Product, ...]:
    halves = [
        Product(f"m16n8k{k}", *types)
        for k in (16, 8)
        for types in (("f32", "f16", "f16"), ("f16", "f16", "f16"), ("f32", "bf16", "bf16"))
    ]
    singles = [Product(f"m16n8k{k}", "f32", "tf32", "tf32") for k in (8, 4)]
    eights = [Product("m16n8k32", "f32", a, b) for a in ("e4m3", "e5m2") for b in ("e4m3", "e5m2")]
    eights.append(Product("m16n8k32", "f16", "e4m3", "e5m2"))
    doubles = [Product(shape, "f64", "f64", "f64") for shape in ("m8n8k4", "m16n8k4", "m16n8k8", "m16n8k16")]
    whole = [
        Product(shape, "s32", a, b, more)
        for shape in ("m8n8k16", "m16n8k16", "m16n8k32")
        for a, b, more in (("s8", "s8", ""), ("u8", "s8", ""), ("s8", "u8", ".satfinite"), ("u8", "u8", ""))
    ]
    small = [Product("m16n8k64", "s32", "s4", "u4"), Product("m16n8k256", "s32", "b1", "b1", ".and.popc")]
    return tuple(halves + singles + eights + doubles + whole + small)


PRODUCTS = _products()
CONVERSIONS = (
    Conversion("cvt.rna.tf32.f32"), Conversion("cvt.rn.tf32.f32"), Conversion("cvt.rz.tf32.f32"),
    Conversion("cvt.rn.relu.tf32.f32"),
    *(Conversion(f"cvt.rn.satfinite.{to}.f32", 2) for to in ("e4m3x2", "e5m2x2")),
    *(Conversion(f"cvt.rn.satfinite.relu.{to}.f32", 2) for to in ("e4m3x2", "e5m2x2")),
    *(Conversion(f"cvt.rn.satfinite.{to}.f16x2") for to in ("e4m3x2", "e5m2x2")),
    *(Conversion(f"cvt.rn.f16x2.{origin}") for origin in ("e4m3x2", "e5m2x2")),
    *(Conversion(f"cvt.{how}.{to}.f32", 2) for how in ("rn", "rz", "rn.relu", "rz.relu") for to in ("f16x2", "bf16x2")),
    Conversion("cvt.rn.bf16.f32"), Conversion("cvt.rz.bf16.f32"), Conversion("cvt.f32.bf16"),
)  # fmt: skip

# ---- operands

# A format's bits: of the exponent, of the fraction, and those below that are not its own.
FORMATS = {"f16": (5, 10, 0), "bf16": (8, 7, 0), "tf32": (8, 10, 13), "f32": (8, 23, 0), "f64": (11, 52, 0),
           "e4m3": (4, 3, 0), "e5m2": (5, 2, 0)}  # fmt: skip
# Kinds of operands: the exponents of A and B, and those of C, each from the least to the greatest. One group each.
EXPONENTS = {
    "alike": ((-1, 0), (-1, 3)),
    "near": ((-4, 4), (-8, 8)),
    "wide": ((-20, 20), (-40, 40)),
    "any bits": (None, None),
    "small": ("smallest", "smallest"),
    "opposite": ((-1, 0), (-12, 3)),
    "large sum": ((-3, 3), (10, 30)),
    "large": ("largest", "largest"),
    "zeros": ((-1, 0), (-30, 3)),
}
ROUNDS = 4  # groups of each kind


def groups() -> list[tuple[str, int]]:
    """(kind, seed) of every group, in order."""
    return [(kind, 100 * number + seed) for number, kind in enumerate(EXPONENTS) for seed in range(ROUNDS)]


class Stream:
    """Random bits and whole numbers from the raw words of PCG64."""

    def __init__(self, *seed: int) -> None:
        self._generator = np.random.PCG64(np.random.SeedSequence(seed))

    def words(self, count: int) -> np.ndarray:
        return self._generator.random_raw(count).astype(np.uint64)

    def below(self, limit: int, count: int) -> np.ndarray:
        return (self.words(count) >> np.uint64(16)) % np.uint64(limit)


def _numbers(stream: Stream, type_: str, range_, count: int, kind: str, product_type: str) -> np.ndarray:
    """Numbers of a floating-point format as bits, uint64."""
    exponent_bits, fraction, below = FORMATS[type_]
    random = stream.words(count)
    width = 1 + exponent_bits + fraction + below
    if range_ is None:
        return random >> np.uint64(64 - width)
    bias, most = 2 ** (exponent_bits - 1) - 1, 2**exponent_bits - 2
    if range_ == "smallest":  # of the operands, or of a sum beside their products
        half = product_type in ("bf16", "tf32") and type_ == product_type
        low, high = (bias - 72, bias - 58) if half else (0, 12) if type_ == "f32" else (0, 3)
        if type_ == "f32" and product_type in ("f16", "e4m3", "e5m2"):
            low, high = bias - 55, bias - 20
    elif range_ == "largest":
        half = product_type in ("bf16", "tf32", "f64") and type_ == product_type
        low, high = (bias + (most - bias) // 2 - 3, bias + (most - bias) // 2 + 1) if half else (most - 4, most)
        if type_ == "f32" and product_type in ("f16", "e4m3", "e5m2"):
            low, high = bias + 20, bias + 36
    else:
        low, high = (min(max(bias + end, 0), most) for end in range_)
    exponent = stream.below(high - low + 1, count) + np.uint64(low)
    rest = fraction + below
    bits = (random >> np.uint64(63) << np.uint64(exponent_bits + rest)) | (exponent << np.uint64(rest))
    bits |= random & np.uint64(2**rest - 1)
    if kind == "zeros":
        bits = np.where(stream.below(3, count) < 2, bits & np.uint64(1 << (width - 1)), bits)
    if kind == "large":  # with an infinity here and there
        infinite = np.uint64((most + 1) << rest)
        special = stream.below(400, count)
        bits = np.where(special == 0, (bits & np.uint64(1 << (width - 1))) | infinite, bits)
        bits = np.where(special == 1, bits & np.uint64(1 << (width - 1)), bits)
    return bits


def _register_words(bits: np.ndarray, width: int) -> np.ndarray:
    """Numbers of `width` bits as 32-bit registers: (mma, register, lane, part) in, (mma, register, lane) out."""
    if width == 64:
        return bits[..., 0]
    total = np.zeros(bits.shape[:-1], np.uint64)
    for part in range(bits.shape[-1]):
        total |= bits[..., part] << np.uint64(part * width)
    return total.astype(np.uint32)


def operands(product: Product, kind: str, seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """A, B and C of GROUP warp-wide products as registers, (GROUP, registers, 32): uint32, or uint64 for doubles."""
    stream = Stream(seed, *product.name.encode())
    factor_range, sum_range = EXPONENTS[kind]
    results = []
    for type_, words, range_ in (
        (product.a, product.words[0], factor_range),
        (product.b, product.words[1], factor_range),
        (product.result, product.words[2], sum_range),
    ):
        width = BITS[type_]
        shape = (GROUP, words * 32 // max(width, 32), 32, max(1, 32 // width))
        count = int(np.prod(shape))
        if type_ not in FORMATS:
            bits = stream.words(count) >> np.uint64(64 - width)
            if type_ == "s32" and kind == "near":
                bits &= np.uint64(0xFFFF)
        else:
            bits = _numbers(stream, type_, range_, count, kind, product.a)
        bits = bits.reshape(shape)
        if kind == "opposite" and type_ in FORMATS and shape[-1] > 1:
            # Neighbours in k almost cancel: the same numbers, but for the sign of A and the last bit of some.
            bits[..., 1::2] = bits[..., 0::2] ^ (bits[..., 1::2] & np.uint64(1))
            if len(results) == 0:
                bits[..., 1::2] ^= np.uint64(1 << (width - 1))
        results.append(_register_words(bits, width))
    return tuple(results)


def conversion_operands(conversion: Conversion, seed: int) -> np.ndarray:
    """(sources, count) words of 32 bits: any bits, and numbers around the limits of the small formats."""
    stream = Stream(seed, *conversion.name.encode())
    count = 2**16
    origin = conversion.instruction.split(".")[-1]
    if origin != "f32":
        words = stream.words(count * conversion.sources) >> np.uint64(32)
        if origin in ("e4m3x2", "e5m2x2", "bf16", "f16"):
            words = np.arange(count, dtype=np.uint64)
        return words.astype(np.uint32).reshape(conversion.sources, count)
    ranges = (None, (-18, 18), (-30, 30), (-127, -100), (120, 127), (-1, 1))
    bits = _numbers(stream, "f32", ranges[seed % len(ranges)], count * conversion.sources, "", "")
    if seed % 2:  # ties: all bits below the format's last but one are zero
        bits &= np.uint64(0xFFFF_FFFF << (11 + seed // 2) & 0xFFFF_FFFF)
    return bits.astype(np.uint32).reshape(conversion.sources, count)


CONVERSION_SEEDS = range(18)

# ---- prepare and record


def _file(folder: Path, form: Product | Conversion) -> Path:
    return folder / (re.sub(r"\W+", "_", form.name) + ".cubin")


def prepare(folder: Path) -> None:
    """Compile the kernel of every form."""
    from gpusim import compiler

    folder.mkdir(parents=True, exist_ok=True)
    for form, entry in ((f, "product" if isinstance(f, Product) else "convert") for f in PRODUCTS + CONVERSIONS):
        kernel = compiler.compile_module(form.source, [entry], arch=ARCH)[entry]
        _file(folder, form).write_bytes(kernel.cubin)


def digest(values: np.ndarray) -> bytes:
    """Eight bytes that say whether results are the same."""
    return hashlib.sha256(np.ascontiguousarray(values).tobytes()).digest()[:8]


def record(folder: Path, out: Path, more: Path | None = None) -> None:
    """Run every form on all its operands. `more` receives many more results than are kept."""
    import cupy

    arrays, all_results = {}, {}
    for form in PRODUCTS:
        function = cupy.RawModule(path=str(_file(folder, form))).get_function("product")
        digests, kept, every = [], [], []
        for kind, seed in groups():
            a, b, c = (cupy.asarray(words) for words in operands(form, kind, seed))
            d = cupy.full_like(c, 0xDEADBEEF)
            function((GROUP // 4,), (32, 4), (a, b, c, d))
            results = d.get()
            digests.append(digest(results))
            kept.append(results[:KEPT])
            every.append(results[:64])
        arrays[f"{form.name}|digests"] = np.frombuffer(b"".join(digests), np.uint64)
        arrays[f"{form.name}|kept"] = np.stack(kept)
        all_results[form.name] = np.stack(every)
        print(form.name, len(digests) * GROUP * form.sizes[0] * form.sizes[1], "sums", flush=True)
    for form in CONVERSIONS:
        function = cupy.RawModule(path=str(_file(folder, form))).get_function("convert")
        digests, kept, every = [], [], []
        for seed in CONVERSION_SEEDS:
            x = cupy.asarray(conversion_operands(form, seed))
            y = cupy.zeros(x.shape[1], cupy.uint32)
            function((x.shape[1] // 256,), (256,), (x, y, np.int32(x.shape[1])))
            results = y.get()
            digests.append(digest(results))
            kept.append(results[:64])
            every.append(results[:8192])
        arrays[f"{form.name}|digests"] = np.frombuffer(b"".join(digests), np.uint64)
        arrays[f"{form.name}|kept"] = np.stack(kept)
        all_results[form.name] = np.stack(every)
    origin = provenance(ARCH, "tests/gpusim/goldens/tensor_core.py", numpy=np.__version__)
    arrays["provenance"] = np.frombuffer(json.dumps(origin).encode(), np.uint8)
    np.savez_compressed(out, **arrays)
    if more is not None:
        np.savez_compressed(more, **all_results)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("mode", choices=("prepare", "record"))
    parser.add_argument("folder", type=Path)
    parser.add_argument("rest", nargs="*", help="record: the file to write, and a file for many more results")
    arguments = parser.parse_args()
    if arguments.mode == "prepare":
        prepare(arguments.folder)
    else:
        record(arguments.folder, *(Path(path) for path in arguments.rest or [RECORDING]))


if __name__ == "__main__":
    main()
