"""PROMPTS of 512 tokens and TOKENS more by llama.cpp: llama_cpp.py [TOKENS [PROMPTS [LAYERS]]], so many on the device.

LLAMA_CPP names a build of llama.cpp with CUDA, as `cmake --install` leaves it: a folder with include/ and lib/. The
model has random weights (random_gguf.py). LLAMA_MODEL says where it is kept, LLAMA_LAYERS how large it is: 32 layers
are 7.2 GiB.
"""
import hashlib
import os
import pathlib
import subprocess
import sys
import tempfile

import random_gguf

HERE = pathlib.Path(__file__).resolve().parent


def built(llama):
    """The program beside this file, made for that build."""
    which = hashlib.sha1(str(llama).encode()).hexdigest()[:8]
    program, source = pathlib.Path(tempfile.gettempdir()) / f"vramspan-llama_cpp-{which}", HERE / "llama_cpp.cc"
    if not program.exists() or program.stat().st_mtime < source.stat().st_mtime:
        libraries = [f"-l{name}" for name in ("llama", "ggml", "ggml-base")]
        subprocess.run(["g++", "-O2", "-std=c++20", f"-I{llama}/include", str(source), "-o", str(program),
                        f"-L{llama}/lib",
                        f"-Wl,-rpath,{llama}/lib", "-Wl,-rpath-link,/usr/local/cuda/lib64", *libraries], check=True)
    return program


def main():
    llama = os.environ.get("LLAMA_CPP")
    if not llama:
        sys.exit(__doc__)
    layers = int(os.environ.get("LLAMA_LAYERS", 32))
    model = pathlib.Path(os.environ.get("LLAMA_MODEL", f"{tempfile.gettempdir()}/vramspan-random-{layers}.gguf"))
    if not model.exists():
        random_gguf.write(model, layers)
    program = built(pathlib.Path(llama).resolve())
    given = sys.argv[1:4]
    tokens, prompts, on_device = given + ["32", "4", "999"][len(given):]
    os.execv(program, [str(program), str(model), "512", prompts, tokens, on_device])


if __name__ == "__main__":
    main()
