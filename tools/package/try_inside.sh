#!/bin/bash
# What tools/package/try.sh runs in a userland, where nothing of the build machine is: installs each package in
# /packages, uses it, and removes it.
set -euo pipefail
export LC_ALL=C LD_BIND_NOW=1
cd /

die() {
  echo "$*" >&2
  exit 1
}

# All files, but for what package managers note of themselves.
listing() {
  find / -xdev \( -path /proc -o -path /packages -o -path /var/lib/dpkg -o -path /var/log -o -path /var/cache \) -prune \
    -o ! -path '*/__pycache__*' -print | sort
}

# use NAME COMMAND...: the command of an installed package does its job. The demo has three tries to be quick, since
# others may use the machine, too.
use() {
  local name=$1 try started said took
  shift
  for try in 1 2 3; do
    started=$(date +%s%N)
    said=$("$@" demo --simulate 2>&1) || die "$name: the demo failed: $said"
    took=$((($(date +%s%N) - started) / 1000000))
    [[ $said == *"results identical to those of the unlimited run"* ]] || die "$name: the demo says: $said"
    [[ $took -ge 5000 ]] || break
    echo "  $name: the demo took $took ms, at try $try"
  done
  [[ $took -lt 5000 ]] || die "$name: the demo never took less than 5000 ms"
  said=$("$@" run --simulate --device-memory 16MiB --stats -- python3 /packages/try_program.py 2>&1) ||
    die "$name: the program failed: $said"
  [[ $said == *"64 MiB are as they were written"* ]] || die "$name: the program says: $said"
  [[ $said == *"device memory is short"* ]] || die "$name: the program was not under vramspan: $said"
  echo "  $name: $("$@" --version), the demo took $took ms"
}

echo "  $(ldd --version | sed 1q)"
listing >/packages/before
dpkg -i /packages/*.deb >/dev/null
use deb vramspan
[[ -s /usr/share/doc/vramspan/copyright ]] || die "deb: there is no licence"
bash -c 'source /usr/share/bash-completion/completions/vramspan && complete -p vramspan' >/dev/null ||
  die "deb: bash cannot complete"
vramspan broker serve --run-directory /tmp/broker --capacity device=2GiB,host=2GiB 2>/tmp/broker.log &
for _ in $(seq 100); do
  vramspan broker status --run-directory /tmp/broker >/dev/null 2>&1 && break
  sleep 0.1
done
vramspan broker status --run-directory /tmp/broker >/dev/null || die "deb: the broker does not serve: $(cat /tmp/broker.log)"
said=$(vramspan run --simulate --broker /tmp/broker --device-memory 16MiB --stats -- python3 /packages/try_program.py 2>&1) ||
  die "deb: the program failed under the broker: $said"
[[ $said == *"64 MiB are as they were written"*"shared by a broker"* ]] || die "deb: under the broker: $said"
kill %1
wait %1 || die "deb: the broker ended with $?"
rm -r /tmp/broker /tmp/broker.log
dpkg -P vramspan >/dev/null
diff /packages/before <(listing) || die "deb: uninstalling leaves files"

python3 -m venv /tmp/venv
pip() { /tmp/venv/bin/python -m pip --disable-pip-version-check "$@"; }
listing >/packages/before
pip install --quiet --no-index /packages/*.whl
use wheel /tmp/venv/bin/vramspan
use module /tmp/venv/bin/python -m vramspan
/tmp/venv/bin/python - <<'CODE'
import sys, time
before = set(sys.modules)
started = time.perf_counter()
import vramspan
took = (time.perf_counter() - started) * 1e3
assert took < 20, f"importing took {took} ms"
brought = {name.split(".")[0] for name in set(sys.modules) - before}
assert brought == {"vramspan"}, f"importing brings {brought}"
with open("/proc/self/maps") as maps:
    assert "vramspan" not in maps.read(), "importing loads a library"
import ctypes
version = ctypes.CDLL(vramspan.library_path()).vramspanVersion
version.restype = ctypes.c_char_p
assert version().decode() == vramspan.__version__
done = vramspan.run([sys.executable, "/packages/try_program.py"], simulate=True, quiet=True, device_memory="16MiB")
assert done.returncode == 0, done
done = vramspan.run([sys.executable, "/packages/try_program.py", "asks"], simulate=True, quiet=True, device_memory="16MiB")
assert done.returncode == 0, done
try:
    vramspan.stats()
except LookupError as error:
    assert "on device 0" in str(error), error
else:
    sys.exit("there are statistics of nothing")
print(f"  python: importing took {took:.1f} ms")
CODE
pip uninstall --quiet --yes vramspan
diff /packages/before <(listing) || die "wheel: uninstalling leaves files"
rm -r /tmp/venv

mkdir "/tmp/a folder"
tar -C "/tmp/a folder" -xf /packages/*.tar.gz
use tarball "/tmp/a folder"/vramspan-*/bin/vramspan
rm -r "/tmp/a folder"
