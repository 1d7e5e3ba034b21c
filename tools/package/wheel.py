#!/usr/bin/env python3
"""Writes the wheel from the tree that is installed: the Python package, and the tree inside it.

Usage: tools/package/wheel.py --version VERSION --machine MACHINE TREE PACKAGE FOLDER

A wheel is a zip file, so nothing but Python is needed. Times are SOURCE_DATE_EPOCH's, the order is by name.
"""
import argparse
import base64
import hashlib
import os
import pathlib
import re
import sys
import time
import zipfile

sys.dont_write_bytecode = True
import pages

# What a program needs at run time, and how it is called in the package's folder `tree`. A wheel has no links, so
# a library has the name by which it is loaded.
TREE = {
    "bin/vramspan": "bin/vramspan",
    "lib/libvramspan.so.0": "lib/libvramspan.so.0",
    "lib/libvramspan_preload.so": "lib/libvramspan_preload.so",
    "lib/libvramspan_cupti_tracer.so": "lib/libvramspan_cupti_tracer.so",
    "lib/vramspan/simcuda/libcuda.so.1": "lib/vramspan/simcuda/libcuda.so.1",
    "lib/vramspan/simcuda/libcupti.so.13": "lib/vramspan/simcuda/libcupti.so.13",
}


def statistics_fields(header):
    """The names of vramspanStatistics after its size, as vramspan.h has them."""
    body = re.search(r"typedef struct vramspanStatistics \{(.*?)\} vramspanStatistics;", header, re.S)[1]
    body = re.sub(r"/\*.*?\*/", "", body, flags=re.S)
    declarations = [" ".join(d.split()) for d in body.split(";") if d.strip()]
    assert declarations[0] == "size_t struct_size", declarations[0]
    names = []
    for declaration in declarations[1:]:
        assert declaration.startswith("uint64_t "), declaration
        names += [name.strip() for name in declaration[len("uint64_t "):].split(",")]
    return names


def metadata(version):
    return f"""Metadata-Version: 2.4
Name: vramspan
Version: {version}
Summary: More memory than the GPU has, at addresses that never change
License-Expression: Apache-2.0
License-File: LICENSE
License-File: THIRD-PARTY.txt
Keywords: cuda,gpu,memory,oversubscription
Classifier: Environment :: GPU :: NVIDIA CUDA
Classifier: Operating System :: POSIX :: Linux
Requires-Python: >=3.7
Description-Content-Type: text/markdown

"""


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--version", required=True)
    parser.add_argument("--machine", required=True)
    parser.add_argument("tree", type=pathlib.Path)
    parser.add_argument("package", type=pathlib.Path)
    parser.add_argument("folder", type=pathlib.Path)
    args = parser.parse_args()
    doc = args.tree / "share/doc/vramspan"
    tag = f"py3-none-manylinux_2_28_{args.machine}"
    info = f"vramspan-{args.version}.dist-info"

    files = {}  # name -> (bytes, executable)
    for source in sorted(args.package.rglob("*.py")):
        files[f"vramspan/{source.relative_to(args.package)}"] = (source.read_bytes(), False)
    files["vramspan/_version.py"] = (f'VERSION = "{args.version}"\n'.encode(), False)
    names = statistics_fields((args.tree / "include/vramspan/vramspan.h").read_text(encoding="utf-8"))
    files["vramspan/_statistics.py"] = (f"FIELDS = {tuple(names)!r}\n".encode(), False)
    for source, name in TREE.items():
        files[f"vramspan/tree/{name}"] = ((args.tree / source).read_bytes(), True)
    readme = (doc / "README.md").read_text(encoding="utf-8")
    # No other page is beside it.
    text = metadata(args.version) + pages.with_links_to(set(), "README.md", readme)
    files[f"{info}/METADATA"] = (text.encode(), False)
    files[f"{info}/WHEEL"] = (
        f"Wheel-Version: 1.0\nGenerator: vramspan\nRoot-Is-Purelib: false\nTag: {tag}\n".encode(), False)
    files[f"{info}/entry_points.txt"] = (b"[console_scripts]\nvramspan = vramspan.__main__:main\n", False)
    for name in ("LICENSE", "THIRD-PARTY.txt"):
        files[f"{info}/licenses/{name}"] = ((doc / name).read_bytes(), False)
    files[f"{info}/sboms/vramspan.spdx.json"] = ((doc / "vramspan.spdx.json").read_bytes(), False)

    record = ""
    for name in sorted(files):
        digest = base64.urlsafe_b64encode(hashlib.sha256(files[name][0]).digest()).rstrip(b"=").decode()
        record += f"{name},sha256={digest},{len(files[name][0])}\n"
    files[f"{info}/RECORD"] = ((record + f"{info}/RECORD,,\n").encode(), False)

    # Zip files know no time before 1980, and only even seconds.
    epoch = max(int(os.environ["SOURCE_DATE_EPOCH"]), 315532800)
    path = args.folder / f"vramspan-{args.version}-{tag}.whl"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as wheel:
        for name in sorted(files, key=lambda n: (n.startswith(info), n)):
            content, executable = files[name]
            entry = zipfile.ZipInfo(name, time.gmtime(epoch)[:6])
            entry.compress_type = zipfile.ZIP_DEFLATED
            entry.create_system = 3
            entry.external_attr = (0o100755 if executable else 0o100644) << 16
            wheel.writestr(entry, content)
    print(path)


main()
