"""Compiles the C programs of gpusim when it is installed, alone or with the course: a hook of hatchling."""

import importlib.util
from pathlib import Path
from types import ModuleType
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

HOME = "src/gpusim/native/building.py"


class CompilePrograms(BuildHookInterface):
    """Libraries beside their sources, in `native/*/built`, for an editable installation and for a wheel."""

    def dependencies(self) -> list[str]:
        """What the build environment needs: zig's C compiler, but for libraries that are there."""
        building = _building(self.root)
        if all(path.exists() for program in building.PROGRAMS for path in building.wanted(program).values()):
            return []
        pinned = Path(self.root) / "constraints.txt"  # the course's
        pins = pinned.read_text(encoding="utf-8").splitlines() if pinned.exists() else []
        versions = [pin for pin in pins if pin.startswith(f"{building.ZIG}==")]
        return versions or [building.ZIG]  # 80 MB, for the time of the build alone

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Compile what is missing. Without compiled programs it works, too: it says what it lacks where it is slow."""
        building = _building(self.root)
        try:
            for line in building.build_all():
                self.app.display_info(line)
        except (building.CannotBuild, OSError) as error:
            self.app.display_warning(str(error))
        if version == "standard":  # a wheel of libraries is for this system alone
            build_data["pure_python"] = False
            build_data["infer_tag"] = True


def _building(root: str) -> ModuleType:
    """native/building.py by its path: the package is not installed yet. root: gpusim's folder, or the course's."""
    homes = (Path(root) / HOME, Path(root) / "helpers" / "gpusim" / HOME)
    path = next(path for path in homes if path.exists())
    spec = importlib.util.spec_from_file_location("building", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
