"""Build the wheel and the sdist into dist/, and check that they can be published: ``make dist``.

- Both are built in isolation, and pass ``twine check``.
- The wheel holds data, notices and types, and nothing but the package.
- It is installed into empty environments, with the oldest releases that pyproject.toml allows and
  with the newest ones, and works there: commands, pictures, files, data.
- Tests of the unpacked sdist pass against the installed wheel; ``--tests`` names others than the
  usual part.

Needs the extra ``dist``, and a package index.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from pathlib import Path

ROOT = Path(__file__).parents[1]
DIST = ROOT / "dist"
WORK = ROOT / "build" / "dist"
EXTRAS = ("cli", "frames", "plot")
RESOLUTIONS = ("lowest-direct", "highest")
TESTS = (
    "tests/test_intervals.py",
    "tests/test_losses.py",
    "tests/test_datasets_real.py",
    "tests/test_dummy.py",
)
NEEDED = (
    "marginwood/py.typed",
    "marginwood/__init__.pyi",
    "marginwood/datasets/data/NOTICE.md",
    "marginwood/datasets/data/gbsg2.csv",
    "marginwood/report/page.html",
    "marginwood/report/d3.LICENSE",
)
USE = """
import marginwood
from marginwood.datasets import load_mercury
fish = load_mercury()
forest = marginwood.MaxMarginIntervalForest(10, random_state=0).fit(fish.X, fish.y)
marginwood.save(forest, "forest.mw")
assert (marginwood.load("forest.mw").predict(fish.X) == forest.predict(fish.X)).all()
assert forest.predict_quantile(fish.X[:1], [0.1, 0.9]).shape == (1, 2)
print(marginwood.__version__, marginwood.__file__)
"""


def main() -> None:
    """Build, check, install, test."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--tests", nargs="*", default=TESTS, help="tests of the sdist to run (default: a part)"
    )
    args = parser.parse_args()
    for folder in (DIST, WORK):
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
    run(sys.executable, "-m", "build", "--outdir", str(DIST), str(ROOT))
    (wheel,), (sdist,) = DIST.glob("*.whl"), DIST.glob("*.tar.gz")
    run(sys.executable, "-m", "twine", "check", "--strict", str(wheel), str(sdist))
    check_wheel(wheel)
    with tarfile.open(sdist) as archive:
        archive.extractall(WORK, filter="data")
    source = WORK / sdist.name.removesuffix(".tar.gz")
    for resolution in RESOLUTIONS:
        python = install(wheel, source, resolution)
        use(python, WORK / f"use-{resolution}")
        run(python, "-m", "pytest", "-q", "-p", "no:cacheprovider", *args.tests, cwd=source)
    print(f"\n{wheel.name} and {sdist.name} are ready in {DIST}")


def run(*command: str, cwd: Path = ROOT) -> None:
    """Run a program; its failure ends everything."""
    print(f"\n$ {' '.join(command)}", flush=True)
    subprocess.run(command, cwd=cwd, check=True)


def check_wheel(wheel: Path) -> None:
    """Raise unless the wheel holds what is needed, of one version, and nothing else."""
    names = zipfile.ZipFile(wheel).namelist()
    missing = [name for name in NEEDED if name not in names]
    strangers = [name for name in names if not re.match(r"(marginwood/|marginwood-[^/]*/)", name)]
    if missing or strangers:
        raise SystemExit(f"{wheel.name}: missing {missing}, and should not hold {strangers}")


def install(wheel: Path, source: Path, resolution: str) -> str:
    """An empty environment with the wheel, what it needs by a rule of uv, and what the tests need; its Python."""
    environment = WORK / resolution
    uv = [sys.executable, "-m", "uv"]
    run(*uv, "venv", "--quiet", "--python", sys.executable, str(environment))
    python = str(environment / ("Scripts/python.exe" if os.name == "nt" else "bin/python"))
    # Lower bounds hold for what is named here, so everything is named; of the tests only what the
    # usual part needs.
    project = tomllib.loads((source / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = project["optional-dependencies"]
    needed = [*project["dependencies"], *(name for extra in EXTRAS for name in extras[extra])]
    tools = [name for name in extras["test"] if name.startswith(("hypothesis", "pytest>"))]
    wanted = [f"marginwood[{','.join(EXTRAS)}] @ {wheel.as_uri()}", *needed, *tools]
    run(*uv, "pip", "install", "--quiet", "--python", python, "--resolution", resolution, *wanted)
    return python


def use(python: str, folder: Path) -> None:
    """Use the installed package in an empty folder."""
    folder.mkdir()
    run(python, "-c", USE, cwd=folder)
    run(python, "-m", "marginwood", "demo", "--quiet", cwd=folder)
    if not (folder / "demo.png").exists():
        raise SystemExit("the demo has drawn no picture")


if __name__ == "__main__":
    main()
