#!/usr/bin/env python3
"""Says what the shipped binaries are made of: an SBOM (SPDX 2.3, JSON), and the licences of all that is linked in.

Usage: tools/package/sbom.py --version VERSION --abseil FOLDER --cuda FOLDER TREE SBOM LICENCES
"""
import argparse
import hashlib
import json
import os
import pathlib
import re
import subprocess
import time

# What is linked in: name, licence, Debian's package, how it comes in. abseil is built from its source package; uPlot is
# in this repository; NVTX is among the CUDA Toolkit's headers.
COMPONENTS = [
    ("abseil-cpp", "Apache-2.0", None, "static library"),
    ("zstd", "BSD-3-Clause", "libzstd-dev", "static library"),
    ("lz4", "BSD-2-Clause", "liblz4-dev", "static library, in the command alone"),
    ("zlib", "Zlib", "zlib1g-dev", "static library"),
    ("CLI11", "BSD-3-Clause", "libcli11-dev", "headers"),
    ("nlohmann-json", "MIT", "nlohmann-json3-dev", "headers"),
    ("tomlplusplus", "MIT", "libtomlplusplus-dev", "headers, in the broker alone"),
    ("NVTX", "Apache-2.0 WITH LLVM-exception", None, "headers"),
    ("uPlot", "MIT", None, "a script in the pages of `vramspan report`"),
    ("gcc-runtime", "GPL-3.0-or-later WITH GCC-exception-3.1", None, "libstdc++ and libgcc, static libraries"),
    ("glibc", "LGPL-2.1-or-later", "libc6-dev", "start files and libc_nonshared.a; the C library itself is not"),
]


def output(*command):
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout.strip()


def debian(package):
    """The version of an installed package, and what it says of its licence."""
    version = output("dpkg-query", "-W", "-f", "${Version}", package)
    return version, pathlib.Path("/usr/share/doc", package, "copyright").read_text(encoding="utf-8", errors="replace")


def nvtx(cuda):
    """The version of NVTX that the toolkit's headers name, and its licence, which they only name."""
    header = (cuda / "nvtx3/nvToolsExt.h").read_text(encoding="utf-8")
    owner = re.search(r"SPDX-FileCopyrightText: (.*)", header)[1]
    licence = re.search(r"SPDX-License-Identifier: (.*)", header)[1]
    assert licence == "Apache-2.0 WITH LLVM-exception", f"NVTX is under another licence: {licence}"
    toolkit = int(re.search(r"#define CUDA_VERSION (\d+)", (cuda / "cuda.h").read_text(encoding="utf-8"))[1])
    version = re.search(r"#define NVTX_VERSION (\d+)", header)[1]
    exception = (pathlib.Path(__file__).parent / "llvm-exception.txt").read_text(encoding="utf-8")
    return (f"{version}+cuda{toolkit // 1000}.{toolkit % 1000 // 10}",
            f"{owner}\n\nUnder the Apache License 2.0 (LICENSE, and /usr/share/common-licenses/Apache-2.0 on Debian) "
            f"with this exception:\n\n{exception}")


def component(name, package, abseil, cuda):
    if name == "NVTX":
        return nvtx(cuda)
    if name == "abseil-cpp":
        first = (abseil / "debian/changelog").read_text(encoding="utf-8").splitlines()[0]
        return re.search(r"\((.*?)\)", first)[1], (abseil / "debian/copyright").read_text(encoding="utf-8")
    if name == "uPlot":
        folder = pathlib.Path(__file__).resolve().parents[2] / "third_party/uplot"
        version = re.search(r"\(v(.*?)\)", (folder / "uPlot.iife.min.js").read_text(encoding="utf-8"))[1]
        return version, (folder / "LICENSE").read_text(encoding="utf-8")
    if name == "gcc-runtime":
        package = f"gcc-{output('g++', '-dumpversion').split('.')[0]}-base"
    return debian(package)


def locator(name, package, version):
    if name == "uPlot":
        return f"pkg:npm/uplot@{version}"
    if name == "NVTX":
        return f"pkg:generic/nvtx@{version.partition('+')[0]}"
    return f"pkg:deb/debian/{package or name}@{version}"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--version", required=True)
    parser.add_argument("--abseil", type=pathlib.Path, required=True)
    parser.add_argument("--cuda", type=pathlib.Path, required=True, help="the folder of cuda.h")
    parser.add_argument("tree", type=pathlib.Path)
    parser.add_argument("sbom", type=pathlib.Path)
    parser.add_argument("licences", type=pathlib.Path)
    args = parser.parse_args()

    packages, relations, licences = [], [], []
    for name, licence, package, how in COMPONENTS:
        version, text = component(name, package, args.abseil, args.cuda)
        packages.append({
            "SPDXID": f"SPDXRef-{name}", "name": name, "versionInfo": version, "licenseDeclared": licence,
            "licenseConcluded": licence, "copyrightText": "NOASSERTION", "downloadLocation": "NOASSERTION",
            "filesAnalyzed": False, "comment": how,
            "externalRefs": [{"referenceCategory": "PACKAGE-MANAGER", "referenceType": "purl",
                              "referenceLocator": locator(name, package, version)}]})
        relations.append({"spdxElementId": "SPDXRef-vramspan", "relationshipType": "STATIC_LINK",
                          "relatedSpdxElement": f"SPDXRef-{name}"})
        licences.append(f"{'=' * 100}\n{name} {version}: {licence} ({how})\n{'=' * 100}\n\n{text.rstrip()}\n")
    licences_text = ("vramspan is under the Apache License 2.0 (LICENSE). Its binaries hold parts of the works below.\n"
                     "Their licences follow, as their packages give them.\n\n" + "\n".join(licences))
    args.licences.write_text(licences_text, encoding="utf-8")

    files = []
    for path in sorted(p for p in args.tree.rglob("*") if p.is_file() and not p.is_symlink() and p != args.sbom):
        content = path.read_bytes()
        name = str(path.relative_to(args.tree))
        files.append({
            "SPDXID": "SPDXRef-file-" + re.sub(r"[^A-Za-z0-9.-]", "-", name), "fileName": f"./{name}",
            "checksums": [{"algorithm": "SHA1", "checksumValue": hashlib.sha1(content).hexdigest()},
                          {"algorithm": "SHA256", "checksumValue": hashlib.sha256(content).hexdigest()}],
            "licenseConcluded": "NOASSERTION", "copyrightText": "NOASSERTION"})
        relations.append({"spdxElementId": "SPDXRef-vramspan", "relationshipType": "CONTAINS",
                          "relatedSpdxElement": files[-1]["SPDXID"]})
    sums = "".join(sorted(f["checksums"][0]["checksumValue"] for f in files))
    code = hashlib.sha1(sums.encode()).hexdigest()
    packages.insert(0, {
        "SPDXID": "SPDXRef-vramspan", "name": "vramspan", "versionInfo": args.version,
        "licenseDeclared": "Apache-2.0", "licenseConcluded": "Apache-2.0", "copyrightText": "NOASSERTION",
        "downloadLocation": "NOASSERTION", "filesAnalyzed": True,
        "packageVerificationCode": {"packageVerificationCodeValue": code}})
    relations.insert(0, {"spdxElementId": "SPDXRef-DOCUMENT", "relationshipType": "DESCRIBES",
                         "relatedSpdxElement": "SPDXRef-vramspan"})
    created = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(int(os.environ["SOURCE_DATE_EPOCH"])))
    document = {
        "spdxVersion": "SPDX-2.3", "dataLicense": "CC0-1.0", "SPDXID": "SPDXRef-DOCUMENT",
        "name": f"vramspan-{args.version}",
        "documentNamespace": f"https://spdx.org/spdxdocs/vramspan-{args.version}-{code}",
        "creationInfo": {"created": created, "creators": ["Tool: vramspan-sbom"]},
        "packages": packages, "files": files, "relationships": relations}
    args.sbom.write_text(json.dumps(document, indent=1, sort_keys=True) + "\n", encoding="utf-8")


main()
