"""A language model of llama.cpp's with random weights: random_gguf.py FILE [LAYERS [WIDTH]]. 32 layers of 4096 are 8B.

Matrices are Q8_0, as most models on disk are quantised: blocks of 32 numbers with one scale. They come from one random
piece that is read at other places, so that eight gigabytes are made in seconds.
"""
import math
import pathlib
import random
import struct
import sys

UINT32, FLOAT32, STRING = 4, 6, 8  # Types of values,
F32, Q8_0 = 0, 8                   # and of tensors.
ALIGNMENT = 32
BLOCK = 34       # Bytes: a scale of two, and 32 numbers.
PIECE = 1 << 20  # Blocks.
SCALE = struct.pack("<e", 0.02 / 64)  # As the weights of trained models are.
VOCABULARY = 32000


def text(string):
    data = string.encode()
    return struct.pack("<Q", len(data)) + data


def value(kind, v):
    return text(v) if kind == STRING else struct.pack("<I" if kind == UINT32 else "<f", v)


def tensors(layers, width):
    """Names and shapes, the fastest dimension first."""
    inner, keys = width * 7 // 2, width // 4
    yield "token_embd.weight", (width, VOCABULARY)
    for i in range(layers):
        yield f"blk.{i}.attn_norm.weight", (width,)
        yield f"blk.{i}.attn_q.weight", (width, width)
        yield f"blk.{i}.attn_k.weight", (width, keys)
        yield f"blk.{i}.attn_v.weight", (width, keys)
        yield f"blk.{i}.attn_output.weight", (width, width)
        yield f"blk.{i}.ffn_norm.weight", (width,)
        yield f"blk.{i}.ffn_gate.weight", (width, inner)
        yield f"blk.{i}.ffn_up.weight", (width, inner)
        yield f"blk.{i}.ffn_down.weight", (inner, width)
    yield "output_norm.weight", (width,)
    yield "output.weight", (width, VOCABULARY)


def size(shape):
    count = math.prod(shape)
    return count * 4 if len(shape) == 1 else count // 32 * BLOCK


def write(file, layers=32, width=4096):
    heads = width // 128
    said = {"general.architecture": (STRING, "llama"), "general.name": (STRING, "random"),
            "llama.block_count": (UINT32, layers), "llama.context_length": (UINT32, 4096),
            "llama.embedding_length": (UINT32, width), "llama.feed_forward_length": (UINT32, width * 7 // 2),
            "llama.attention.head_count": (UINT32, heads), "llama.attention.head_count_kv": (UINT32, heads // 4),
            "llama.attention.layer_norm_rms_epsilon": (FLOAT32, 1e-5), "llama.vocab_size": (UINT32, VOCABULARY),
            "tokenizer.ggml.model": (STRING, "no_vocab")}
    shapes = list(tensors(layers, width))
    head = [b"GGUF", struct.pack("<IQQ", 3, len(shapes), len(said))]
    for name, (kind, v) in said.items():
        head += [text(name), struct.pack("<I", kind), value(kind, v)]
    at = 0
    for name, shape in shapes:
        kind = F32 if len(shape) == 1 else Q8_0
        head += [text(name), struct.pack(f"<I{len(shape)}QIQ", len(shape), *shape, kind, at)]
        at += -(-size(shape) // ALIGNMENT) * ALIGNMENT
    source = random.Random(1)
    numbers = source.randbytes(32 * PIECE)
    data = memoryview(b"".join(SCALE + numbers[i:i + 32] for i in range(0, len(numbers), 32)))
    unfinished = pathlib.Path(f"{file}.part")
    with open(unfinished, "wb") as out:
        out.write(b"".join(head))
        for _, shape in shapes:
            out.write(bytes(-out.tell() % ALIGNMENT))
            if len(shape) == 1:
                out.write(struct.pack("<f", 1.0) * shape[0])
                continue
            start, left = source.randrange(PIECE) * BLOCK, size(shape)
            while left:
                written = out.write(data[start:start + left])
                start, left = 0, left - written
        out.write(bytes(-out.tell() % ALIGNMENT))
    unfinished.rename(file)


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    write(sys.argv[1], *map(int, sys.argv[2:4]))
