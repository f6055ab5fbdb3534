"""Textures and surfaces: what an H200 answered, bit for bit, and what is said of slips."""

import numpy as np
import pytest

import gpusim
from gpusim import SimulatorError, errors
from gpusim.arithmetic import texture_unit
from gpusim.engine import textures as engine
from helpers import gpu
from tests.gpusim.goldens import textures

CASES = {case.name: case for case in textures.cases()}
OTHERS = {read.name: read for read in textures.others()}
FAMILIES = sorted({name.split("/")[0] for name in (*CASES, *OTHERS)})
# Answers that differ in the last bit, five of 1.2 million: means of eight floats, four of which are much smaller than
# the others. By case the groups of 64 words that they lie in.
NOT_EQUAL = {"filter/3/random/float": 1, "filter/3/wild/float4": 4}


@pytest.fixture(scope="module")
def golden():
    return textures.golden()


def of_the_unit(call: str, element: str, handle, places) -> np.ndarray:
    """What the simulator's texture unit answers without a kernel, as a kernel writes it."""
    texture = engine.OBJECTS.find(handle.ptr)
    dtype, count = textures.ELEMENTS[element]
    if call == "fetch":
        words = engine.fetched(texture, places)
    elif call.startswith("gather"):
        words = engine.gathered(texture, places, int(call[-1]))
    else:
        axes = {"tex1": 1, "tex3": 3}.get(call, 2)
        layer = np.minimum(places[2].view("u4"), 0xFFFF) if call == "lay2" else None
        words = engine.sampled(texture, axes, places[:axes], layer)
    return np.ascontiguousarray(words[:count].T).astype(f"u{np.dtype(dtype).itemsize}").ravel()


@pytest.mark.parametrize("family", FAMILIES)
def test_the_texture_unit_answers_what_the_gpu_answered(golden, family):
    wrong = {}
    for name, case in {**CASES, **OTHERS}.items():
        if name.split("/")[0] != family:
            continue
        if name in CASES:
            values, places = textures.inputs(case)
            handle = textures.texture_of(gpu, values, textures.ELEMENTS[case.element][1], case.modes, **case.options)
        else:
            handle, places = textures.handle_of(gpu, case), case.places
        answers = textures.digests(of_the_unit(case.call, case.element, handle, places))
        differ = sum(ours != theirs for ours, theirs in zip(answers, golden[name], strict=True))
        if differ != NOT_EQUAL.get(name, 0):
            wrong[name] = differ
    assert not wrong


def test_the_compiled_engine_reads_textures_as_on_the_gpu(golden, monkeypatch, level):
    def refuse(*_):
        raise AssertionError("executed by NumPy")

    monkeypatch.setattr(engine, "_objects", refuse)
    wrong = {}
    with gpusim.record(level=level):
        for name, case in {**CASES, **OTHERS}.items():
            if case.element in (("float", "float4", "uchar4") if level == "sass" else ("float4",)):
                answers = textures.texture_answers if name in CASES else textures.other_answers
                pairs = zip(textures.digests(answers(gpu, case)), golden[name], strict=True)
                differ = sum(ours != theirs for ours, theirs in pairs)
                if differ != NOT_EQUAL.get(name, 0):
                    wrong[name] = differ
    assert not wrong


def test_every_call_reads_textures_as_on_the_gpu(golden, level):
    one_of_each = {(case.call, case.element): case for case in CASES.values()}
    reads = {(read.call, read.element): read for read in OTHERS.values()}
    wrong = []
    with gpusim.record(level=level):
        for case in one_of_each.values():
            if textures.digests(textures.texture_answers(gpu, case)) != golden[case.name]:
                wrong.append(case.name)
        for read in reads.values():
            if textures.digests(textures.other_answers(gpu, read)) != golden[read.name]:
                wrong.append(read.name)
    assert not wrong


def test_kernels_read_and_write_surfaces_as_on_the_gpu(golden, monkeypatch, level):
    monkeypatch.setattr(engine, "_objects", None)  # the engine in NumPy has none
    wrong = []
    with gpusim.record(level=level):
        for number, (dims, mode, element) in enumerate(textures.surface_names()):
            if number % 5 == 0 or (element, mode) == ("uchar", "zero"):
                surface = textures.surface_answers(gpu, dims, mode, element)
                wrong += [name for name, answers in surface if textures.digests(answers) != golden[name]]
    assert not wrong


def test_a_digest_notices_a_single_bit():
    answers = np.arange(200, dtype=np.uint32)
    changed = answers.copy()
    changed[77] ^= 1 << 31
    differ = [a != b for a, b in zip(textures.digests(answers), textures.digests(changed), strict=True)]
    assert differ == [False, True, False, False]


def test_weights_of_eight_elements_add_up():
    fractions = [np.random.default_rng(1).integers(0, 256, 5000) for _ in range(3)]
    for axes in (1, 2, 3):
        weights = [weight for _, weight in texture_unit.weights(fractions[:axes])]
        assert len(weights) == 2**axes and (np.sum(weights, axis=0) == 256).all() and np.min(weights) >= 0


READ = """extern "C" __global__ void read(cudaTextureObject_t t, const float *x, float *out, int n) {
    int i = threadIdx.x;
    if (i < n) out[i] = tex1D<float>(t, x[i]);
}"""
WRITE = """extern "C" __global__ void write(cudaSurfaceObject_t s, int column, int row) {
    surf2Dwrite(1.0f, s, column, row);
}"""


def float_array(shape, flags=0):
    return textures.array_of(gpu, np.arange(np.prod(shape), dtype=np.float32).reshape(shape), 1, flags)


def texture(array, **options):
    tx = gpu.cuda.texture
    resource = tx.ResourceDescriptor(gpu.cuda.runtime.cudaResourceTypeArray, cuArr=array)
    return tx.TextureObject(resource, tx.TextureDescriptor((1, 1, 1), **options))


def surface(array):
    tx = gpu.cuda.texture
    return tx.SurfaceObject(tx.ResourceDescriptor(gpu.cuda.runtime.cudaResourceTypeArray, cuArr=array))


def test_reading_outside_of_a_texture_is_no_mistake():
    x, out = gpu.asarray(np.array([-5, 0.5, 3.5, 99], np.float32)), gpu.zeros(4, np.float32)
    gpusim.RawModule(code=READ).get_function("read")((1,), (32,), (texture(float_array(8)), x, out, np.int32(4)))
    assert out.tolist() == [0, 0, 3, 7]


def test_an_array_can_be_written_between_launches():
    array = float_array(8)
    handle, x, out = texture(array), gpu.asarray(np.array([2.5], np.float32)), gpu.zeros(1, np.float32)
    read = gpusim.RawModule(code=READ).get_function("read")
    for value in (2, 7):
        array.copy_from(np.full(8, value, np.float32))
        read((1,), (32,), (handle, x, out, np.int32(1)))
        assert out[0] == value


@pytest.mark.parametrize(
    ("column", "row", "error", "said"),
    [
        (32, 0, errors.OutOfBounds, r"wrote 4 bytes outside of a surface of 8 × 4 elements, at \(32, 0\)"),
        (0, -1, errors.OutOfBounds, r"at \(0, -1\)"),
        (2, 0, errors.Misaligned, "wrote 4 bytes of a surface at byte 2 of a row"),
    ],
)
def test_a_write_outside_of_a_surface_is_named_with_its_line(level, column, row, error, said):
    handle = surface(float_array((4, 8), textures.SURFACE))
    write = gpusim.RawModule(code=WRITE).get_function("write")
    with gpusim.record(level=level), pytest.raises(error, match=said) as caught:
        write((1,), (1,), (handle, np.int32(column), np.int32(row)))
    assert caught.value.line == 2


def test_lanes_may_read_textures_and_surfaces_of_their_own(level):
    source = """using Texture = cudaTextureObject_t;
    extern "C" __global__ void read(const Texture *t, const cudaSurfaceObject_t *s, float *out) {
        int i = threadIdx.x;
        out[i] = tex1D<float>(t[i * 5 % 3], i % 8 + 0.5f) + surf1Dread<float>(s[i % 2], i % 4 * 4);
    }"""
    rows = [np.arange(8, dtype=np.float32) + 100 * k for k in range(3)]
    arrays = [textures.array_of(gpu, row, 1, textures.SURFACE) for row in rows]
    handles, surfaces = [texture(array) for array in arrays], [surface(array) for array in arrays[:2]]
    numbers = [gpu.asarray(np.array([texture.ptr for texture in some], np.uint64)) for some in (handles, surfaces)]
    out = gpu.zeros(96, np.float32)
    with gpusim.record(level=level):
        gpusim.RawModule(code=source).get_function("read")((1,), (96,), (*numbers, out))
    i = np.arange(96)
    np.testing.assert_array_equal(out, i % 8 + 100 * (i * 5 % 3) + i % 4 + 100 * (i % 2))


def test_a_texture_that_is_gone_is_named(level):
    handle = texture(float_array(8))
    number = np.uint64(handle.ptr)
    del handle
    x, out = gpu.zeros(1, np.float32), gpu.zeros(1, np.float32)
    with gpusim.record(level=level), pytest.raises(errors.KernelError, match="which is no texture object"):
        gpusim.RawModule(code=READ).get_function("read")((1,), (1,), (number, x, out, np.int32(1)))


def test_a_surface_is_no_texture():
    x, out = gpu.zeros(1, np.float32), gpu.zeros(1, np.float32)
    read = gpusim.RawModule(code=READ).get_function("read")
    with pytest.raises(errors.ArgumentError, match="got a SurfaceObject; a kernel takes it as a cudaSurfaceObject_t"):
        read((1,), (1,), (surface(float_array((4, 8), textures.SURFACE)), x, out, np.int32(1)))


def test_descriptors_say_what_they_were_made_of_as_cupys_do():
    cupy = pytest.importorskip("cupy")
    for made in (gpu, cupy):
        assert textures.channels(made, "u2", 2).get_channel_format() == {"x": 16, "y": 16, "z": 0, "w": 0, "f": 1}
        descriptor = made.cuda.texture.TextureDescriptor((0, 2), 1, 1, normalizedCoords=1, borderColors=(0.5,))
        assert descriptor.get_texture_desc() == {
            "addressMode": (0, 2, 0), "filterMode": 1, "readMode": 1, "sRGB": 0, "borderColor": (0.5, 0, 0, 0),
            "normalizedCoords": 1, "maxAnisotropy": 0,
        }  # fmt: skip
    for name, value in vars(gpu.cuda.runtime).items():
        assert not name.startswith("cuda") or value == getattr(cupy.cuda.runtime, name)


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: textures.channels(gpu, "f4", 3).element(), "none that textures have"),
        (lambda: texture(textures.array_of(gpu, np.zeros((4, 4), np.int32), 1, 0), filterMode=1), "makes floats"),
        (lambda: texture(textures.array_of(gpu, np.zeros((4, 4), np.int32), 1, 0), readMode=1), "8 and 16 bits"),
        (lambda: textures.texture_of(gpu, np.zeros((5, 7), np.float32), 1, ("clamp",) * 2, pitch_width=7), "28 bytes"),
        (lambda: textures.texture_of(gpu, np.zeros(8, np.float32), 1, ("clamp",), linear_bytes=64), "has 64 bytes"),
        (lambda: surface(float_array((4, 8))), "cudaArraySurfaceLoadStore"),
    ],
)
def test_what_cannot_be_made_is_a_sentence(make, said):
    with pytest.raises(SimulatorError, match=said):
        make()


def test_copies_of_another_shape_or_type_are_refused_as_by_cupy():
    with pytest.raises(ValueError, match="shape mismatch"):
        float_array((4, 8)).copy_from(np.zeros((4, 9), np.float32))
    with pytest.raises(ValueError, match="dtype mismatch"):
        float_array((4, 8)).copy_from(np.zeros((4, 8)))
