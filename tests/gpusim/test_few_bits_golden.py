"""Products of integers of 4 bits and of 1, differences of bytes and packs, with the bits of an H100 at both levels."""

import json

import pytest

import gpusim
from tests.gpusim.goldens import few_bits


@pytest.mark.parametrize("form", few_bits.FORMS)
def test_integers_of_few_bits_multiply_and_pack_as_on_an_h100(form, level):
    def launch(source, words, results):
        with gpusim.record(level=level, checks="off"):
            module = gpusim.RawModule(code=source, arch="sm_90")
            module.get_function("k")((few_bits.BLOCKS,), (32,), (words, results))
        return results

    recorded = json.loads(few_bits.RECORDING.read_text(encoding="utf-8"))["digests"]
    assert few_bits.digest(form, launch) == recorded[form]
