"""Launches what JAX programs launch most, as operations.py does for PyTorch's: jax_operations.py [ROUNDS]. XLA makes most kernels
for one program, so their names tell more than their code. For bench/make_trust.sh."""
import os
import sys

os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")
import jax
import jax.numpy as jnp

rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 3
left_out = set()
# Memory that no operation names: touching it would show.
others = [jnp.zeros(16 << 20) for _ in range(4)]


def attempt(name, function, *arguments):
    """Four times. What came out is kept till the next one, so that the sets of arguments differ."""
    global kept
    try:
        kept = [jax.block_until_ready(function(*arguments)) for _ in range(4)]
    except Exception as error:  # XLA has kinds of its own.
        left_out.add(f"{name}: {str(error).splitlines()[0][:100]}")


def mlp(weights, x):
    for w in weights:
        x = jax.nn.gelu(x @ w)
        x = (x - x.mean(-1, keepdims=True)) * jax.lax.rsqrt(x.var(-1, keepdims=True) + 1e-5)
    return (x * x).mean()


def attention(q, k, v):
    scores = jnp.einsum("bhqd,bhkd->bhqk", q, k) / 8
    return jnp.einsum("bhqk,bhkd->bhqd", jax.nn.softmax(scores, -1), v)


def convolved(x, w):
    y = jax.lax.conv_general_dilated(x, w, (1, 1), "SAME")
    return (jax.nn.relu(y) ** 2).sum()


programs = {"mlp": jax.jit(jax.value_and_grad(mlp)), "attention": jax.jit(attention),
            "convolved": jax.jit(jax.value_and_grad(convolved, argnums=(0, 1))),
            "sort": jax.jit(jnp.sort), "cumsum": jax.jit(jnp.cumsum), "fft": jax.jit(jnp.fft.fft),
            "topk": jax.jit(lambda x: jax.lax.top_k(x, 8)), "take": jax.jit(lambda x, i: x[i]),
            "scatter": jax.jit(lambda x, i: x.at[i].add(1)), "cholesky": jax.jit(jnp.linalg.cholesky)}
for round_ in range(rounds):
    padding = jnp.zeros((1 + round_) << 18)  # Another place for everything.
    for n, dtype in [(n, d) for n in (512, 1024) for d in (jnp.float32, jnp.bfloat16)]:
        key = jax.random.PRNGKey(round_)
        a = jax.random.normal(key, (n, n)).astype(dtype)
        i = jax.random.randint(key, (n,), 0, n)
        for op in (jnp.add, jnp.multiply, jnp.maximum, jnp.matmul):
            attempt(op.__name__, op, a, a.T)
        for op in (jnp.exp, jnp.tanh, jnp.sum, jnp.argmax, jnp.transpose, jax.nn.softmax, jnp.linalg.norm):
            attempt(op.__name__, op, a)
        attempt("mlp", programs["mlp"], [a, a, a], a)
        q = jax.random.normal(key, (4, 8, 128, 64)).astype(dtype)
        attempt("attention", programs["attention"], q, q, q)
        x, w = jnp.ones((8, 32, 32, 32), dtype), jnp.ones((32, 32, 3, 3), dtype)
        attempt("convolved", programs["convolved"], x, w)
        for name in ("sort", "cumsum", "topk"):
            attempt(name, programs[name], a)
        attempt("take", programs["take"], a, i)
        attempt("scatter", programs["scatter"], a, i)
        if dtype == jnp.float32:
            attempt("fft", programs["fft"], a)
            attempt("cholesky", programs["cholesky"], a @ a.T + n * jnp.eye(n))
print(f"{len(left_out)} operations were left out", *sorted(left_out), sep="\n  ", file=sys.stderr)
