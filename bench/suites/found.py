"""Which suites this machine has, told without an import of any of them."""
import dataclasses
import fnmatch
import importlib.metadata
import importlib.util
import os
import pathlib
import sys

INSIDE = pathlib.Path(__file__).resolve().parent / "inside"
SUITES = ("numba", "cupy", "torch")
# Folders of numba's tests that use no device.
NO_DEVICE = ("nocuda", "cudasim", "benchmarks", "data")


@dataclasses.dataclass(frozen=True)
class Unit:
    """What one process runs: a file of tests, or a group of operators."""
    suite: str
    name: str
    command: tuple[str, ...]
    folder: pathlib.Path | None = None  # Where it runs; None: in an empty folder.


def _package(name):
    spec = importlib.util.find_spec(name)
    return pathlib.Path(list(spec.submodule_search_locations)[0]) if spec and spec.submodule_search_locations else None


def _version(*names):
    for name in names:
        try:
            return f"{name} {importlib.metadata.version(name)}"
        except importlib.metadata.PackageNotFoundError:
            pass
    return names[-1]


def numba(options):
    """numba-cuda's tests come with it. It stands in for numba.cuda, so its tests have that name."""
    if _package("numba") is None:
        return "numba is not installed", []
    own = _package("numba_cuda")
    folder = (own / "numba" if own else _package("numba")) / "cuda/tests"
    files = sorted(path.relative_to(folder).with_suffix("") for path in folder.rglob("test_*.py"))
    files = [file for file in files if not set(NO_DEVICE) & set(file.parts)]
    if not files:
        return f"{folder} has no tests", []
    command = (sys.executable, str(INSIDE / "suites_unittest.py"))
    return _version("numba-cuda", "numba"), [
        Unit("numba", f"numba/{file}", (*command, ".".join(("numba.cuda.tests", *file.parts)))) for file in files]


def _checkout(suite, variable, version):
    """The tests of a folder that a variable names, by pytest."""
    folder = pathlib.Path(os.environ[variable]).resolve()
    command = (sys.executable, "-m", "pytest", "-p", "suites_pytest", "-p", "no:cacheprovider", "-q",
               "--maxfail=0")
    if importlib.util.find_spec("pytest") is None:
        return "pytest is not installed", []
    files = sorted(path.relative_to(folder) for path in folder.rglob("test_*.py"))
    return version if files else f"{variable}: {folder} has no tests", [
        Unit(suite, f"{suite}/{file.with_suffix('')}", (*command, str(file)), folder) for file in files]


def cupy(options):
    """CuPy's wheel has no tests, so a folder names them."""
    if _package("cupy") is None:
        return "CuPy is not installed", []
    if not os.environ.get("CUPY_TESTS"):
        return "CUPY_TESTS names no folder of CuPy's tests, which its wheel does not have", []
    names = sorted(name for dist in importlib.metadata.distributions()
                   if (name := dist.metadata["Name"] or "").lower().startswith("cupy"))
    return _checkout("cupy", "CUPY_TESTS", _version(*names, "cupy"))


def torch(options):
    """PyTorch's samples of its operators come with it. A folder may name its tests as well."""
    if _package("torch") is None:
        return "PyTorch is not installed", []
    version, units = _version("torch"), []
    for part in range(options.torch_parts):
        command = (sys.executable, str(INSIDE / "suites_torch.py"), str(part), str(options.torch_parts),
                   options.torch_types, str(options.torch_samples))
        units.append(Unit("torch", f"torch/operators-{part:02}", command))
    if os.environ.get("TORCH_TESTS"):
        said, more = _checkout("torch", "TORCH_TESTS", version)
        if not more:
            version += f" ({said})"
        units += more
    return version, units


def find(options):
    """Of each asked suite what it is, or why it is left out, and its units."""
    kinds = {"numba": numba, "cupy": cupy, "torch": torch}
    what, units = {}, []
    for suite in options.only:
        what[suite], some = kinds[suite](options)
        patterns = [p for p in options.match if p.startswith(f"{suite}/")]
        units.append([u for u in some if not patterns or any(fnmatch.fnmatch(u.name, p) for p in patterns)])
    # By turns, in proportion, so that a run that is cut short has something of each.
    placed = [((at + 1) / len(group), unit) for group in units for at, unit in enumerate(group)]
    return what, [unit for _, unit in sorted(placed, key=lambda pair: pair[0])]
