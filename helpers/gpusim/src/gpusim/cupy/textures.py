"""CuPy's `cupy.cuda.texture` on the simulator: CUDA arrays, descriptors, and the objects that kernels read through.

What CUDA's runtime refuses is refused here, too, in a sentence that says why.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from gpusim.engine.textures import BORDER, CLAMP, MIRROR, OBJECTS, WRAP, Image, Surface, Texture
from gpusim.errors import ArgumentError

SIGNED, UNSIGNED, FLOAT, NONE = range(4)  # cudaChannelFormatKind…
ARRAY, MIPMAPPED, LINEAR, PITCHED = range(4)  # cudaResourceType…
LAYERED, SURFACE, CUBEMAP, GATHER = 1, 2, 4, 8  # flags of an array
PITCH_ALIGNMENT = 32
KINDS = {SIGNED: "i", UNSIGNED: "u", FLOAT: "f"}

# The names of `cupy.cuda.runtime` that textures are made with.
RUNTIME = dict(
    cudaChannelFormatKindSigned=SIGNED, cudaChannelFormatKindUnsigned=UNSIGNED, cudaChannelFormatKindFloat=FLOAT,
    cudaChannelFormatKindNone=NONE, cudaResourceTypeArray=ARRAY, cudaResourceTypeMipmappedArray=MIPMAPPED,
    cudaResourceTypeLinear=LINEAR, cudaResourceTypePitch2D=PITCHED, cudaAddressModeWrap=WRAP,
    cudaAddressModeClamp=CLAMP, cudaAddressModeMirror=MIRROR, cudaAddressModeBorder=BORDER, cudaFilterModePoint=0,
    cudaFilterModeLinear=1, cudaReadModeElementType=0, cudaReadModeNormalizedFloat=1, cudaArrayDefault=0,
    cudaArraySurfaceLoadStore=SURFACE,
)  # fmt: skip


class ChannelFormatDescriptor:
    """`cupy.cuda.texture.ChannelFormatDescriptor`: the bits of an element's channels x, y, z, w, and their kind `f`."""

    def __init__(self, x: int, y: int, z: int, w: int, f: int) -> None:
        self._bits, self._kind = (x, y, z, w), f

    def get_channel_format(self) -> dict[str, int]:
        """What it was made of."""
        return {**dict(zip("xyzw", self._bits, strict=True)), "f": self._kind}

    def element(self) -> tuple[np.dtype, int]:
        """(the type of a channel, how many there are); ArgumentError if a GPU has no such elements."""
        channels = sum(bits > 0 for bits in self._bits)
        first = self._bits[0]
        sizes = {FLOAT: (16, 32)}.get(self._kind, (8, 16, 32))
        alike = self._bits == (first,) * channels + (0,) * (4 - channels)
        if self._kind not in KINDS or first not in sizes or not alike or channels == 3:
            raise ArgumentError(
                f"An element with channels of {', '.join(map(str, self._bits))} bits and the kind {self._kind} is none "
                "that textures have: 1, 2 or 4 channels of one size, integers of 8, 16 or 32 bits, floats of 16 or 32. "
                "One float is ChannelFormatDescriptor(32, 0, 0, 0, gpu.cuda.runtime.cudaChannelFormatKindFloat)."
            )
        return np.dtype(f"{KINDS[self._kind]}{first // 8}"), channels


class CUDAarray:
    """`cupy.cuda.texture.CUDAarray`: memory of one, two or three dimensions that textures and surfaces look into.

    Args: `desc` says what an element is, `width`, `height` and `depth` how many there are; `flags` such as
    `cudaArraySurfaceLoadStore`, which surfaces need.
    """

    def __init__(
        self, desc: ChannelFormatDescriptor, width: int, height: int = 0, depth: int = 0, flags: int = 0
    ) -> None:
        if width == 0:
            raise ValueError("To create a CUDA array, width must be nonzero.")
        if height == 0 and depth > 0:
            raise ValueError("To create a 2D CUDA array, height must be nonzero.")
        if flags & CUBEMAP:
            raise ArgumentError("Cube maps are not simulated: take an array with cudaArrayDefault.")
        dtype, channels = desc.element()
        self.desc, self.width, self.height, self.depth, self.flags = desc, width, height, depth, flags
        self.ndim = 3 if depth > 0 else 2 if height > 0 else 1
        layered = bool(flags & LAYERED)
        rows = max(height, 1), max(depth, 1)
        self.image = Image(
            np.zeros(rows[1] * rows[0] * width * channels * dtype.itemsize, np.uint8), dtype, channels,
            self.ndim - layered, (width, *rows), width * channels * dtype.itemsize, layered,
        )  # fmt: skip

    def _elements(self, other: np.ndarray) -> np.ndarray:
        """The array as NumPy's, in the shape that `other` must have."""
        image = self.image
        width, height, depth = image.size
        shape = (depth, height, width * image.channels)[3 - self.ndim :]
        if other.shape != shape:
            raise ValueError("shape mismatch")
        if other.dtype != image.dtype:
            raise ValueError("dtype mismatch")
        return image.bytes_.view(image.dtype).reshape(shape)

    def copy_from(self, in_arr: np.ndarray, stream: Any = None) -> None:
        """Copy from an array of shape ([depth, [height,]] channels * width)."""
        self._elements(in_arr)[...] = in_arr

    def copy_to(self, out_arr: np.ndarray, stream: Any = None) -> None:
        """Copy to an array of shape ([depth, [height,]] channels * width), which must be C-contiguous."""
        if not out_arr.flags.c_contiguous:
            raise ValueError("The output array must be C-contiguous")
        out_arr[...] = self._elements(out_arr)


class ResourceDescriptor:
    """`cupy.cuda.texture.ResourceDescriptor`: what a texture or a surface looks into.

    A CUDA array `cuArr`, or the array `arr` in linear memory, seen as elements `chDesc`: `sizeInBytes` of them one
    after the other, or `height` rows of `width` elements, each `pitchInBytes` behind the one before.
    """

    def __init__(
        self, restype: int, cuArr: CUDAarray | None = None, arr: np.ndarray | None = None,
        chDesc: ChannelFormatDescriptor | None = None, sizeInBytes: int = 0, width: int = 0, height: int = 0,
        pitchInBytes: int = 0,
    ) -> None:  # fmt: skip
        if restype == MIPMAPPED:
            raise NotImplementedError("cudaResourceTypeMipmappedArray is currently not supported.")
        self.restype, self.cuArr, self.arr, self.chDesc = restype, cuArr, arr, chDesc
        self.sizeInBytes, self.width, self.height, self.pitchInBytes = sizeInBytes, width, height, pitchInBytes

    def image(self) -> Image:
        """The elements; ArgumentError for what CUDA refuses."""
        if self.restype == ARRAY:
            if self.cuArr is None:
                raise ArgumentError("A resource of the type cudaResourceTypeArray needs a CUDAarray: cuArr=….")
            return self.cuArr.image
        if self.arr is None or self.chDesc is None:
            raise ArgumentError(
                "A resource in linear memory needs the array and what its elements are: arr=…, chDesc=…."
            )
        dtype, channels = self.chDesc.element()
        item = dtype.itemsize * channels
        if not self.arr.flags.c_contiguous:
            raise ArgumentError("A texture needs an array whose rows follow each other: gpu.array(x) copies one.")
        flat = self.arr.view(np.ndarray).reshape(-1).view(np.uint8)
        if self.restype == LINEAR:
            needed, size, pitch = self.sizeInBytes, (self.sizeInBytes // item, 1, 1), self.sizeInBytes
        else:
            needed, size, pitch = self.pitchInBytes * self.height, (self.width, self.height, 1), self.pitchInBytes
            if pitch % PITCH_ALIGNMENT or pitch < self.width * item:
                raise ArgumentError(
                    f"The rows of this texture are {pitch} bytes apart: expected a multiple of {PITCH_ALIGNMENT} that "
                    f"is not below {self.width * item}, the bytes of a row. Make the array wider, or take a CUDAarray."
                )
        if not 0 < needed <= flat.size:
            raise ArgumentError(f"This texture has {needed} bytes, and its array {flat.size}.")
        return Image(flat, dtype, channels, 1 if self.restype == LINEAR else 2, size, pitch, False, True)


class TextureDescriptor:
    """`cupy.cuda.texture.TextureDescriptor`: how a texture is read.

    Args: `addressModes`, by axis what is read outside; `filterMode`, the nearest element or a weighted mean;
    `readMode`, whether integers are returned as fractions of the largest; `normalizedCoords`, whether 1.0 is the whole
    width; `borderColors`, what lies outside with cudaAddressModeBorder.
    """

    def __init__(
        self, addressModes: Sequence[int] | None = None, filterMode: int = 0, readMode: int = 0,
        sRGB: int | None = None, borderColors: Sequence[float] | None = None, normalizedCoords: int | None = None,
        maxAnisotropy: int | None = None,
    ) -> None:  # fmt: skip
        modes, colors = tuple(addressModes or ()), tuple(borderColors or ())
        if len(modes) > 3 or len(colors) > 4:
            raise AssertionError("a texture has up to 3 address modes and 4 border colors")
        self.modes, self.colors = modes + (WRAP,) * (3 - len(modes)), colors + (0.0,) * (4 - len(colors))
        self.linear, self.fractions, self.normalized = filterMode == 1, readMode == 1, bool(normalizedCoords)
        self.sRGB, self.maxAnisotropy = bool(sRGB), maxAnisotropy or 0

    def get_texture_desc(self) -> dict[str, Any]:
        """What it was made of, under CUDA's names."""
        return {
            "addressMode": self.modes, "filterMode": int(self.linear), "readMode": int(self.fractions),
            "sRGB": int(self.sRGB), "borderColor": self.colors, "normalizedCoords": int(self.normalized),
            "maxAnisotropy": self.maxAnisotropy,
        }  # fmt: skip


class TextureObject:
    """`cupy.cuda.texture.TextureObject`: pass it to a kernel that takes a cudaTextureObject_t."""

    def __init__(self, ResDesc: ResourceDescriptor, TexDesc: TextureDescriptor) -> None:
        self.ResDesc, self.TexDesc = ResDesc, TexDesc
        image = ResDesc.image()
        whole = image.dtype.kind in "iu"
        if TexDesc.sRGB:
            raise ArgumentError("Textures that convert from sRGB are not simulated: convert the values before.")
        if TexDesc.fractions and image.dtype.itemsize == 4 and whole:
            raise ArgumentError(
                "cudaReadModeNormalizedFloat is for integers of 8 and 16 bits; these have 32. Take "
                "cudaReadModeElementType, and divide in the kernel."
            )
        if TexDesc.linear and whole and not TexDesc.fractions:
            raise ArgumentError(
                "cudaFilterModeLinear makes floats, so integers must be read as floats, too: take "
                "readMode=gpu.cuda.runtime.cudaReadModeNormalizedFloat, or an array of floats."
            )
        self._texture = Texture(
            image, TexDesc.modes, TexDesc.linear, TexDesc.normalized, TexDesc.fractions and whole, TexDesc.colors
        )
        self.ptr = OBJECTS.add(self._texture)


class SurfaceObject:
    """`cupy.cuda.texture.SurfaceObject`: pass it to a kernel that takes a cudaSurfaceObject_t."""

    def __init__(self, ResDesc: ResourceDescriptor) -> None:
        self.ResDesc = ResDesc
        if ResDesc.restype != ARRAY or ResDesc.cuArr is None or not ResDesc.cuArr.flags & SURFACE:
            raise ArgumentError(
                "A surface looks into a CUDAarray that was made for it: "
                "CUDAarray(desc, width, height, flags=gpu.cuda.runtime.cudaArraySurfaceLoadStore)."
            )
        self._surface = Surface(ResDesc.cuArr.image)
        self.ptr = OBJECTS.add(self._surface)


NAMES = dict(
    ChannelFormatDescriptor=ChannelFormatDescriptor, CUDAarray=CUDAarray, ResourceDescriptor=ResourceDescriptor,
    TextureDescriptor=TextureDescriptor, TextureObject=TextureObject, SurfaceObject=SurfaceObject,
)  # fmt: skip
