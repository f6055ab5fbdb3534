"""Compiles the C programs of the course when it is installed: a hook of its build system, hatchling."""

import importlib.util
from pathlib import Path
from types import ModuleType
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class CompilePrograms(BuildHookInterface):
    """Libraries beside their sources, in `helpers/native/*/built`, for an editable course and for a wheel."""

    def dependencies(self) -> list[str]:
        """What the build environment needs: zig's C compiler, but for libraries that are there."""
        building = _building(self.root)
        if all(path.exists() for program in building.PROGRAMS for path in building.wanted(program).values()):
            return []
        pins = (Path(self.root) / "constraints.txt").read_text(encoding="utf-8").splitlines()
        return [pin for pin in pins if pin.startswith(f"{building.ZIG}==")]  # 80 MB, for the time of the build alone

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Compile what is missing. A course without compiled programs works: it says what it lacks where it is slow."""
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
    """helpers/native/building.py by its path: what `helpers` imports is not installed yet."""
    spec = importlib.util.spec_from_file_location("building", Path(root) / "helpers" / "native" / "building.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
