#!/bin/bash
# Packs a build twice: the packages are equal byte for byte, and hold what they say they hold. What is installed from
# the wheel runs.
#
# Usage: tools/package/packages_test.sh BUILD
set -euo pipefail
build=$1
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
# Times that differ show where a time gets in.
export SOURCE_DATE_EPOCH=1700000000
(umask 077 && "$here/build.sh" --unchecked "$build" "$work/first")
TZ=Asia/Kolkata "$here/build.sh" --unchecked "$build" "$work/second"
cd "$work"
[[ $(ls first) == "$(ls second)" && $(ls first | wc -l) -eq 3 ]] || { echo "other packages: $(ls first second)" >&2; exit 1; }
for file in first/*; do
  cmp "$file" "second/${file#first/}"
done

# The daemon is for hosts, and so is its unit.
held=$(dpkg-deb -c first/*.deb)
for path in ./usr/lib/vramspan/libexec/vramspan/broker ./usr/lib/systemd/system/vramspan-broker.service \
  ./usr/share/vramspan/grafana.json \
  ./usr/share/bash-completion/completions/vramspan ./usr/share/zsh/vendor-completions/_vramspan \
  ./usr/share/fish/vendor_completions.d/vramspan.fish \
  ./usr/lib/vramspan/lib/libvramspan_stub.so ./usr/lib/vramspan/lib/vramspan/container.preload; do
  [[ $held == *" $path"* ]] || { echo "the .deb has no $path" >&2; exit 1; }
done

held=$(tar -tf first/*.tar.gz)
for path in bash-completion/completions/vramspan zsh/site-functions/_vramspan fish/vendor_completions.d/vramspan.fish; do
  [[ $held == *"/share/$path"* ]] || { echo "the tarball has no share/$path" >&2; exit 1; }
done

mkdir unpacked
tar -C unpacked -xf first/*.tar.gz
dpkg-deb -x first/*.deb unpacked
python3 - unpacked <<'CODE'
import pathlib, re, sys
pages = sorted(pathlib.Path(sys.argv[1]).rglob("*.md"))
assert sum(page.match("docs/findings/README.md") for page in pages) == 2, "a package is without the findings"
links = [(page, target) for page in pages
         for target in re.findall(r"\]\(([^)\s#]+)[^)\s]*\)", page.read_text(encoding="utf-8"))
         if not re.match("[a-z]+:", target)]
lost = [f"{page}: {target}" for page, target in links if not (page.parent / target).exists()]
assert links and not lost, "links lead nowhere: " + ", ".join(lost)
CODE

python3 - first/*.whl installed <<'CODE'
import base64, hashlib, json, os, re, sys, zipfile
wheel = zipfile.ZipFile(sys.argv[1])
names = wheel.namelist()
assert not any("libexec" in name for name in names), "the wheel has the daemon"
record = next(n for n in names if n.endswith(".dist-info/RECORD"))
rows = [line.rsplit(",", 2) for line in wheel.read(record).decode().splitlines()]
assert sorted(r[0] for r in rows) == sorted(names), "RECORD names other files"
for name, digest, size in rows:
    if name != record:
        content = wheel.read(name)
        want = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
        assert digest == "sha256=" + want and int(size) == len(content), name
sbom = json.loads(wheel.read(next(n for n in names if n.endswith(".spdx.json"))))
shipped = {c["checksumValue"] for f in sbom["files"] for c in f["checksums"] if c["algorithm"] == "SHA256"}
for name in names:
    if "/tree/" in name:
        assert hashlib.sha256(wheel.read(name)).hexdigest() in shipped, f"{name} is not in the SBOM"
about = wheel.read(next(n for n in names if n.endswith(".dist-info/METADATA"))).decode()
assert not re.search(r"\]\((?![a-z]+:)[^)\s]*\.md", about), "the wheel's description has links to no page"
licences = wheel.read(next(n for n in names if n.endswith("THIRD-PARTY.txt"))).decode()
for package in sbom["packages"][1:]:
    assert f"\n{package['name']} {package['versionInfo']}: " in licences, package["name"]
assert "NVTX 3+cuda" in licences and "LLVM Exceptions" in licences, "NVTX is compiled in"
assert "Copyright (c) 2022 Leon Sorokin" in licences, "uPlot is in every page of `vramspan report`"
for entry in wheel.infolist():  # As pip does it.
    path = wheel.extract(entry, sys.argv[2])
    os.chmod(path, entry.external_attr >> 16)
CODE
export PYTHONPATH=$work/installed PYTHONDONTWRITEBYTECODE=1
python3 -m vramspan run --simulate --quiet --device-memory 16MiB -- python3 "$here/try_program.py" asks

# The library that backs the process need not be the wheel's own.
tree=$work/installed/vramspan/tree/lib
mkdir other
cp "$tree/libvramspan.so.0" other
for mode in RTLD_GLOBAL RTLD_LOCAL; do
  VRAMSPAN_DRIVER=$tree/vramspan/simcuda/libcuda.so.1 VRAMSPAN_DEVICE_MEMORY=16MiB python3 - $mode <<'CODE'
import ctypes, sys, vramspan
own = ctypes.CDLL("other/libvramspan.so.0", mode=getattr(ctypes, sys.argv[1]))
own.vramspan_torch_malloc.restype = ctypes.c_void_p
assert own.vramspan_torch_malloc(ctypes.c_ssize_t(4 << 20), 0, None)
assert vramspan.stats()["allocated_bytes"] == 4 << 20
CODE
done
