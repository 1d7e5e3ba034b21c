#!/usr/bin/env python3
"""Runs every example that `vramspan --help` and the help of each command print, as it is printed.

Usage: tests/tools/examples_test.py VRAMSPAN KERNELS
  KERNELS   the image of the demo's kernels for the simulated driver

The examples of a command run one after the other in a folder of their own, on the simulated driver. The folder has the
files that they name and do not make: a program, recordings, and so on. A broker runs for those of `vramspan broker`.
"""
import json
import os
import re
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
SECONDS = 120  # For one command.

# What an example writes: the file behind one of these is not made before.
WRITES = r"(?:--record|--record-events|--trust|-o|--output|--perfetto|>)\s+"


def tensor(storage):
    return [storage + 100, storage, 0, 1048576, 4, "cuda:0"]


def execution_trace():
    """Two operators, as PyTorch's observer notes them."""
    def side(values):
        return {"values": values, "shapes": [[1048576]] * len(values), "types": ["Tensor(float)"] * len(values)}
    return {"schema": "1.1.1-chakra.0.0.4", "pid": 1, "nodes": [
        {"id": 2 + i, "name": "aten::linear", "ctrl_deps": 1, "inputs": side([tensor(i)]), "outputs": side([tensor(i + 1)]),
         "attrs": [{"name": "rf_id", "type": "uint64", "value": 2 + i},
                   {"name": "op_schema", "type": "string", "value": "aten::linear(Tensor self) -> Tensor"}]}
        for i in range(2)]}


def profile():
    """When the kernels of these ran, as PyTorch's profiler notes it."""
    events = []
    for i in range(2):
        events += [
            {"ph": "X", "cat": "cpu_op", "ts": 1, "dur": 1, "args": {"External id": 10 + i, "Record function id": 2 + i}},
            {"ph": "X", "cat": "kernel", "name": "k", "ts": 100 + 50 * i, "dur": 10,
             "args": {"External id": 10 + i, "stream": 7, "correlation": i}},
            {"ph": "X", "cat": "cuda_runtime", "ts": 90 + i, "dur": 1, "args": {"correlation": i}}]
    return {"schemaVersion": 1, "traceEvents": events}


def cubin():
    """A GPU image with one kernel, of which it has the name alone."""
    symbols = struct.pack("<24xIBBHQQ", 1, 0x12, 0x10, 1, 0, 0)
    names = b"\0scale\0"
    begin = 64 + 3 * 64
    sections = struct.pack("<64xIIQQQQIIQQ", 0, 2, 0, 0, begin, len(symbols), 2, 0, 8, 24)
    sections += struct.pack("<IIQQQQIIQQ", 0, 3, 0, 0, begin + len(symbols), len(names), 0, 0, 1, 0)
    header = b"\x7fELF\2\1\1\x41\x08" + bytes(7)
    header += struct.pack("<HHIQQQIHHHHHH", 2, 190, 1, 0, 0, 64, 0x6005a04, 64, 0, 0, 64, 3, 0)
    return header + sections + symbols + names


def with_gpu_image(host, gpu):
    """`host`, an image for the simulated driver, which holds `gpu` as well: what it loads is then read as code."""
    at, = struct.unpack_from("<Q", host, 40)
    size, count = struct.unpack_from("<HH", host, 58)
    whole = bytearray(host + bytes(-len(host) % 8) + gpu)
    whole += bytes(-len(whole) % 8)
    struct.pack_into("<Q", whole, 40, len(whole))
    return bytes(whole) + host[at:at + size * count]


class Examples:
    def __init__(self, binary, kernels, top):
        self.binary = binary
        self.top = top
        self.prepared = os.path.join(top, "prepared")
        self.run_directory = os.path.join(top, "b")
        self.failures = []
        self.ran = 0
        driver = os.path.join(os.path.dirname(os.path.dirname(binary)), "lib", "simcuda")
        self.programs = os.path.join(top, "programs")
        self.environment = {
            "PATH": os.path.dirname(binary) + ":" + self.programs + ":" + os.environ["PATH"],
            "HOME": os.path.join(top, "home"),
            "XDG_RUNTIME_DIR": os.path.join(top, "x"),
            "VRAMSPAN_DRIVER": os.path.join(driver, "libcuda.so.1"),
            "VRAMSPAN_SIMULATE": "1",
            "EXAMPLE_KERNELS": os.path.join(top, "kernels.image"),
            "VRAMSPAN_BROKER": "off",
            "LD_LIBRARY_PATH": os.path.join(driver, "nvml"),
        }
        with open(kernels, "rb") as host, open(self.environment["EXAMPLE_KERNELS"], "wb") as image:
            image.write(with_gpu_image(host.read(), cubin()))
        for folder in (self.prepared, self.programs, self.environment["HOME"], self.environment["XDG_RUNTIME_DIR"]):
            os.mkdir(folder, 0o700)

    def help(self, *command):
        return subprocess.run([self.binary, *command, "--help"], check=True, capture_output=True, text=True).stdout

    @staticmethod
    def section(text, title):
        match = re.search(rf"^{title}:?\n(.+?)\n(?:\n|\Z)", text, re.S | re.M)
        return match.group(1).splitlines() if match else []

    def commands(self, *command):
        """`command` and all below it."""
        found = [command]
        for line in self.section(self.help(*command), "Subcommands"):
            if name := re.match(r"  ([a-z][a-z-]*)", line):
                found += self.commands(*command, name.group(1))
        return found

    def prepare(self):
        """The files that examples may name."""
        def file(name, text):
            with open(os.path.join(self.prepared, name), "w", encoding="utf-8") as out:
                out.write(text)
        shutil.copy(os.path.join(HERE, "example_program.py"), os.path.join(self.prepared, "train.py"))
        file("et.json.gz", json.dumps(execution_trace()))
        file("trace.json", json.dumps(profile()))
        bundle = os.path.join(self.top, "bundle")
        os.mkdir(bundle)
        with open(os.path.join(bundle, "config.json"), "w", encoding="utf-8") as out:
            json.dump({"process": {"env": []}}, out)  # It asks for nothing: this process has no cgroup of a container's.
        file("state.json", json.dumps({"id": "a1", "status": "creating", "pid": os.getpid(), "bundle": bundle}))
        for name in ("libkernels.so", "kernels.cubin"):
            with open(os.path.join(self.prepared, name), "wb") as out:
                out.write(cubin())
        # The one that NVIDIA makes may not be here. This one shows a kernel without code.
        nvdisasm = os.path.join(self.programs, "nvdisasm")
        with open(nvdisasm, "w", encoding="utf-8") as out:
            out.write("#!/bin/sh\necho .text.scale:\n")
        os.chmod(nvdisasm, 0o755)
        for name, line in (
            ("out.vramspan", "vramspan run --quiet --record out.vramspan -- python3 train.py"),
            ("a.vramspan", "cp out.vramspan a.vramspan"),
            ("b.vramspan", "cp out.vramspan b.vramspan"),
            ("cache.bin", "vramspan trace export out.vramspan --oracle-general cache.bin"),
        ):
            self.execute(line, self.prepared, self.environment)
            assert os.path.getsize(os.path.join(self.prepared, name)) > 0, name

    def execute(self, line, folder, environment):
        done = subprocess.run(["bash", "-euo", "pipefail", "-c", line], cwd=folder, env=environment, text=True,
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=SECONDS,
                              check=False)
        if done.returncode != 0:
            raise RuntimeError(f"exits {done.returncode}: {done.stdout[-2000:]}")

    def serve(self, line, folder, environment):
        """Runs a broker until it answers. Returns the process."""
        named = re.search(r"--run-directory (\S+)", line)
        run_directory = os.path.join(folder, named.group(1)) if named else environment["VRAMSPAN_BROKER"]
        broker = subprocess.Popen(["bash", "-c", "exec " + line], cwd=folder, env=environment, text=True,
                                  stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        ends = time.monotonic() + SECONDS
        while broker.poll() is None and time.monotonic() < ends:
            asked = subprocess.run([self.binary, "broker", "status", "--run-directory", run_directory], check=False,
                                   env=environment, capture_output=True)
            if asked.returncode == 0:
                return broker
            time.sleep(0.05)
        broker.kill()
        raise RuntimeError(f"does not answer: {broker.communicate()[0][-2000:]}")

    def end(self, broker):
        broker.send_signal(signal.SIGTERM)
        said = broker.communicate(timeout=SECONDS)[0]
        if broker.returncode != 0:
            raise RuntimeError(f"exits {broker.returncode} at SIGTERM: {said[-2000:]}")

    def run(self, command, folder):
        words = " ".join(("vramspan", *command))
        lines = [line.strip() for line in self.section(self.help(*command), "Examples")]
        if not any(line == words or line.startswith(words + " ") for line in lines):
            self.failures.append(f"{words} --help has no example of it")
        text = "\n".join(lines)
        os.mkdir(folder)
        for name in os.listdir(self.prepared):
            if name in text and not re.search(WRITES + re.escape(name) + r"\b", text):
                shutil.copy(os.path.join(self.prepared, name), folder)
        environment = dict(self.environment)
        if command[:1] == ("broker",):
            environment["VRAMSPAN_BROKER"] = self.run_directory
        for line in lines:
            # It serves until it is ended, and has a folder without another broker.
            serves = line.startswith("vramspan broker serve")
            try:
                if serves:
                    own = dict(environment, VRAMSPAN_BROKER=os.path.join(self.top, "s"))
                    self.end(self.serve(line, folder, own))
                else:
                    self.execute(line, folder, environment)
            except (RuntimeError, subprocess.TimeoutExpired) as error:
                self.failures.append(f"{words} --help: `{line}` {error}")
            self.ran += 1

    def run_all(self):
        self.prepare()
        config = os.path.join(self.top, "config", "tenants.d")
        os.makedirs(config)
        with open(os.path.join(config, "train.toml"), "w", encoding="utf-8") as out:
            out.write('cgroup = "/system.slice/train.service"\n')
        environment = dict(self.environment, VRAMSPAN_BROKER=self.run_directory)
        broker = self.serve("vramspan broker serve --config ../config --capacity device=32GiB,host=64GiB", self.prepared,
                            environment)
        try:
            commands = self.commands()
            for i, command in enumerate(commands):
                self.run(command, os.path.join(self.top, f"e{i}"))
        finally:
            self.end(broker)
        return len(commands)


def installed(binary, top):
    """A copy that others cannot change, whatever the umask of the build was: `vramspan broker cdi` refuses another."""
    build, place = os.path.dirname(os.path.dirname(binary)), os.path.join(top, "i")
    for name in ("bin/vramspan", "lib/libvramspan_preload.so", "lib/libvramspan_stub.so",
                 "lib/libvramspan_cupti_tracer.so", "lib/vramspan", "lib/simcuda", "libexec"):
        os.makedirs(os.path.dirname(os.path.join(place, name)), exist_ok=True)
        subprocess.run(["cp", "-r", os.path.join(build, name), os.path.join(place, name)], check=True)
    subprocess.run(["chmod", "-R", "go-w", place], check=True)
    return os.path.join(place, "bin", "vramspan")


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__.split("\n\n")[1])
    # What others can change is refused, and sockets' paths are short.
    os.umask(0o022)
    top = tempfile.mkdtemp(prefix="ex ")
    try:
        examples = Examples(installed(os.path.realpath(sys.argv[1]), top), os.path.realpath(sys.argv[2]), top)
        commands = examples.run_all()
    finally:
        shutil.rmtree(top, ignore_errors=True)
    for failure in examples.failures:
        print(failure, file=sys.stderr)
    if examples.failures or examples.ran < commands or commands < 20:
        sys.exit(f"{len(examples.failures)} failures in {examples.ran} examples of {commands} commands")
    print(f"{examples.ran} examples of {commands} commands ran")


main()
