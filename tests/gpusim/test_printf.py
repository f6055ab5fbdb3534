"""`printf` beyond its buffer, with texts that are none, and with fewer values than its format prints."""

import numpy as np
import pytest

import gpusim
from gpusim import errors
from gpusim.engine import printf

KERNEL = 'extern "C" __global__ void k({}) {{ {} }}'


def launch(parameters: str, body: str, *args, level: str = "sass", block: int = 1) -> None:
    with gpusim.record(level=level):
        gpusim.RawModule(code=KERNEL.format(parameters, body)).get_function("k")(1, block, args)


WRONG = {
    "null text": ("const char *s", 'printf("%s", s);', None, "gave printf a null pointer as the text of a %s"),
    "wild text": ("long long s", 'printf("%s", (char *)s);', np.int64(12345), "address 0x3039, where no array is, as"),
    "null format": ("const char *s", "printf(s);", None, "gave printf a null pointer as its format"),
    "no end": ("const char *s", 'printf("%s", s);', np.full(3, 65, np.int8), "an array in which no byte 0 ends"),
    "too few": ("int n", r'printf("%d %d %d\n", n);', np.int32(3), "fewer values than its format prints"),
}


@pytest.mark.parametrize("case", WRONG)
def test_wrong_values_of_printf_are_named(case, level):
    parameters, body, argument, message = WRONG[case]
    with pytest.raises(errors.OutOfBounds, match=message):
        launch(parameters, body, argument, level=level)


def test_texts_of_all_spaces_are_printed(level, capsys):
    body = r"""char own[3] = {char(64 + n), 66, 0};
        __shared__ char common[4]; common[0] = 98 + n; common[1] = 0;
        printf("%s %s %s %s|", own, common, s, "literal");"""
    launch("int n, const char *s", body, np.int32(1), np.frombuffer(b"given\0", np.int8).copy(), level=level)
    assert capsys.readouterr().out == "AB c given literal|"


def test_stars_and_negative_widths_are_those_of_c(capsys):
    launch("int n", 'printf("%*d|%*d|%.*f|%-5d|", 4, n, -4, n, -1, 2.5, n);', np.int32(7))
    assert capsys.readouterr().out == "   7|7   |2.500000|7    |"


def test_width_and_precision_are_bounded(capsys):
    launch("", 'printf("%1000000000d|%.1000000000f|%*d", 1, 0.5, 2000000000, 7);')
    wide, precise, given = capsys.readouterr().out.split("|")
    assert [len(text) for text in (wide, precise, given)] == [4095, 4097, 4095]
    assert wide.strip() == "1" and given.strip() == "7" and precise.rstrip("0") == "0.5"


def test_full_buffer_stops_formatting(monkeypatch, capsys):
    monkeypatch.setattr(printf.Output.__init__, "__defaults__", (64,))
    formatted, count = printf._formatted, []
    monkeypatch.setattr(printf, "_formatted", lambda *args: count.append(1) or formatted(*args))
    launch("", r'for (int i = 0; i < 100; ++i) printf("%7d\n", i);', block=32)
    text = capsys.readouterr().out
    assert text == "      0\n" * 8 + "\n… more was printed than fits into the printf buffer.\n"
    assert len(count) == 9
