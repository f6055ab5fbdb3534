"""gpusim's README says what it models, from its own tables."""

from gpusim.isa.sass import opcodes
from helpers.tools.pages import modelled


def test_the_readme_of_gpusim_is_up_to_date():
    (path, text), *_ = modelled.wanted().items()
    assert path.read_text(encoding="utf-8") == text, "make format writes it"


def test_a_new_opcode_appears_on_the_page(monkeypatch):
    monkeypatch.setattr(opcodes, "ROWS", (*opcodes.ROWS, opcodes.Op("NEWOP", None, since=110)))
    assert "| sm_110 | `NEWOP` |" in modelled.text()
    assert f"{len(opcodes.ROWS)} opcodes" in modelled.text()


def test_every_kind_of_finding_is_on_the_page():
    kinds = {name for name in vars(modelled.errors) if name.isupper()} - {"GUARD", "BY_ALL_THREADS"}
    named = {kind for name in kinds if isinstance(kind := getattr(modelled.errors, name), str)}
    assert named == set(modelled.FINDINGS)
