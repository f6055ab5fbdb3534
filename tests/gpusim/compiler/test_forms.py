"""What instructions look like without nvdisasm: forms against nvdisasm itself, whole kernels against its listing."""

import dataclasses
import random

import pytest

import gemm_kernels
from gemm_kernels.launch import OPTIONS
from gpusim import compiler
from gpusim.compiler import cubin, forms, line_table, listing, sass
from helpers.tools import forms as learning

ARCH = "sm_90"
OUT_OF_DATE = (
    "run `python -m helpers.tools.forms` after the tests, and commit helpers/gpusim/src/gpusim/compiler/forms.zip"
)

SOURCE = """
__device__ float square(float v) { return v * v; }
__device__ float twice(float v) { return square(v) + square(v + 1); }
extern "C" __global__ void one(const float *x, float *y, int n) {
    __shared__ float s[256];
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    s[threadIdx.x] = twice(x[i]);
    __syncthreads();
    for (int k = 0; k < n; ++k)
        y[i] += s[k] / x[k];
}
extern "C" __global__ void other(float *y) { y[threadIdx.x] = sqrtf(twice(y[0])); }
"""
PRINTS = 'extern "C" __global__ void tells(int *x) { printf("%d", x[0]); }'
MEETS = """extern "C" __global__ void exchanges(int *o, int *x) {
    int t = threadIdx.x;
    if (t < x[8]) {
        if (t & 1) { o[t] = __shfl_xor_sync(~0u, t, 1); __syncthreads(); x[t] += o[t]; }
        o[t] += x[t];
    }
}"""
SWITCH = """extern "C" __global__ void jumps(int *x, int which) {
    switch (which) {
        case 0: x[0] = 1; break;  case 1: x[1] = x[2]; break;  case 2: x[3] *= 7; break;
        case 3: x[4] = 9; break;  case 4: x[5] -= x[6]; break;  case 5: x[7] = 2; break;
    }
}"""


def as_printed(kernel):
    return sass.rows(compiler.disassemble(kernel), kernel.filename)


def names(labels):
    return {name: address for name, address in labels.items() if not name.startswith(".L")}


def test_random_instructions_print_as_nvdisasm_prints_them():
    rng = random.Random(2026)
    known = forms.of(ARCH)
    made = []
    for line in forms.stored()[ARCH]:
        form = forms.parse(line)
        made += [learning.filled(form, form.example, rng) for _ in range(2)]
    said = [known.text(instruction) for instruction in made]
    printed = learning.texts(ARCH, made)
    assert len(made) > 4000 and sum(text is None for text in printed) < len(made) / 100
    assert [(a, b) for a, b in zip(said, printed, strict=True) if b is not None and a != b] == []


@pytest.mark.parametrize(
    ("name", "arch"),
    [(name, ARCH) for name in ("naive", "block_tile_2d", "async_copy", "stream_k", "resident", "persistent")]
    + [("block_tile_2d", arch) for arch in ("sm_75", "sm_80", "sm_86", "sm_89", "sm_120")]
    + [("shared_memory", "sm_87"), ("coalesced", "sm_100"), ("coalesced", "sm_121")],
)
def test_a_kernel_is_listed_without_nvdisasm_as_with_it(name, arch):
    kernel = gemm_kernels.get(name)
    compiled = compiler.compile(kernel.source, kernel.entry, arch=arch, options=OPTIONS)
    rows, labels = listing.without_nvdisasm(compiled)
    printed, every_label = as_printed(compiled)
    assert rows == printed
    assert names(labels) == names(every_label) and labels.items() <= every_label.items()


@pytest.mark.parametrize("entry", ["one", "other"])
def test_two_kernels_of_a_module_have_nvdisasms_lines_and_labels(entry):
    compiled = compiler.compile_module(SOURCE, ("one", "other"))[entry]
    rows, labels = listing.without_nvdisasm(compiled)
    printed, every_label = as_printed(compiled)
    assert rows == printed
    assert names(labels) == names(every_label) and labels.items() <= every_label.items()
    called = {(row.line, row.called_from) for row in rows}
    assert (2, (3, 8 if entry == "one" else 13)) in called
    assert any("slowpath" in name for name in labels)


def test_a_renamed_file_keeps_its_lines():
    compiled = compiler.compile(SOURCE, "other", filename="folder/mine.cu")
    rows, _ = listing.without_nvdisasm(compiled)
    assert rows == as_printed(compiled)[0]
    assert 13 in {row.line for row in rows}


def test_a_kernel_of_the_ladder_has_a_form_for_every_instruction():
    known = forms.of(ARCH)
    for kernel in (*gemm_kernels.LADDER, *gemm_kernels.UPPER):
        compiled = compiler.compile(kernel.source, kernel.entry, options=OPTIONS)
        code = cubin.read(compiled.cubin).code(compiled.lowered_name)
        assert [hex(word) for word in forms.split(code) if known.text(word) is None] == [], (kernel.name, OUT_OF_DATE)


@pytest.mark.parametrize("arch", ["sm_75", "sm_80", "sm_86", "sm_89", "sm_90", "sm_120"])
def test_a_jump_table_is_listed_as_nvdisasm_prints_it(arch):
    compiled = compiler.compile(SWITCH, "jumps", arch=arch)
    rows, labels = listing.without_nvdisasm(compiled)
    printed, every_label = as_printed(compiled)
    assert rows == printed and any(row.text.startswith("BRX") for row in rows)
    assert names(labels) == names(every_label) and labels.items() <= every_label.items()


def test_turing_branch_to_reconvergence_prints_as_bra_conv():
    compiled = compiler.compile(MEETS, "exchanges", arch="sm_75")
    rows, _ = listing.without_nvdisasm(compiled)
    assert rows == as_printed(compiled)[0] and any(row.text.startswith("BRA.CONV") for row in rows)


@pytest.mark.parametrize(("source", "entry", "arch"), [(PRINTS, "tells", "sm_90"), (SOURCE, "one", "sm_103")])
def test_nvdisasm_prints_linker_addresses_and_unknown_archs(source, entry, arch):
    compiled = compiler.compile(source, entry, arch=arch)
    assert listing.without_nvdisasm(compiled) is None
    assert listing.read(compiled) == as_printed(compiled)


def test_unknown_encoding_is_printed_by_nvdisasm(monkeypatch):
    compiled = compiler.compile(SOURCE, "one")
    listing._module.cache_clear()
    fewer = [line for line in forms.stored()[ARCH] if "}EXIT" not in line]
    monkeypatch.setattr(forms, "of", lambda arch: forms.Forms(fewer))
    assert listing.without_nvdisasm(compiled) is None
    assert listing.read(compiled) == as_printed(compiled)
    listing._module.cache_clear()


def test_form_leaves_numbers_of_another_opcode_unprinted():
    form = forms.parse("00000000078e02ff0000000000000824 {@P}IMAD {R16}, {R24}, {s32.32!0,4}, RZ")
    times = [form.example | value << 32 | 5 << 24 | 3 << 16 for value in (4, 6, 2**32 - 6)]
    assert [form.text(code) for code in times] == [None, "IMAD R3, R5, 0x6, RZ", "IMAD R3, R5, -0x6, RZ"]
    (proven,) = learning.agreed(ARCH, [(form, form.example)], random.Random(0))
    assert {0, 1, 2, 4, 8, 1 << 30} <= proven.fields[2].but and not {5, 6, 7} & proven.fields[2].but


def test_form_that_disagrees_with_nvdisasm_is_refused():
    (form,) = (
        form
        for form in map(forms.parse, forms.stored()[ARCH])
        if str(form).endswith("{@P}FADD.FTZ {R16}, {R24}, {R32}")
    )
    target, left, right = form.fields
    wrong = dataclasses.replace(form, fields=(target, right, left))
    assert learning.agreed(ARCH, [(form, form.example), (wrong, form.example)], random.Random(0)) == [form]


def test_every_line_of_the_file_is_read_as_it_is_written():
    lines = forms.stored()[ARCH]
    assert [str(forms.parse(line)) for line in lines] == lines == sorted(set(lines))


def test_a_line_table_that_is_not_whole_or_not_known_is_said_so():
    compiled = compiler.compile(SOURCE, "one")
    image = cubin.read(compiled.cubin)
    whole = image.sections[line_table.SECTION]
    for data in (whole.data[:-9], b"\xff\xff" + whole.data[2:], whole.data[:4] + b"\x05" + whole.data[5:]):
        changed = {**image.sections, line_table.SECTION: cubin.Section(data, len(data))}
        with pytest.raises(line_table.UnknownTable, match="line table"):
            line_table.locations(dataclasses.replace(image, sections=changed))


def test_missing_forms_and_nvdisasm_are_named_in_a_sentence(no_machine_code):
    with pytest.raises(compiler.NvdisasmMissing, match="is not installed"):
        listing.read(compiler.compile(SOURCE, "one"))
