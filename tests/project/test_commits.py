"""The hook that looks at a commit's subject."""

import subprocess
from pathlib import Path

import pytest

HOOK = Path(__file__).resolve().parents[2] / ".ci" / "hooks" / "commit-msg"


@pytest.mark.parametrize(
    ("subject", "fits"),
    [
        ("area: " + 66 * "ü", True),
        ("area: " + 67 * "ü", False),
        ("Merge branch 'main' into " + 60 * "x", True),
    ],
)
def test_subject_has_at_most_72_characters(tmp_path, subject, fits):
    message = tmp_path / "message"
    message.write_text(
        f"{subject}\n\nA body may have lines that are longer than its subject is allowed to be, if it must.\n"
    )
    done = subprocess.run([HOOK, message], capture_output=True, text=True, check=False)
    assert (done.returncode == 0) is fits and ("Say the rest in the body" in done.stderr) is not fits
