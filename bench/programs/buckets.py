"""Buffers that are filled piece by piece and then taken as one, like gradients that are summed over devices:
buckets.py [BUCKETS] [ROUNDS]. A guess that a piece ends what is taken there is wrong here."""
import sys

from common import digest, median, report, timed, torch_setup

torch = torch_setup()
buckets, rounds = ([int(a) for a in sys.argv[1:]] + [16, 12][len(sys.argv) - 1:])[:2]
PIECES, WORDS = 16, 2 << 20
flat = [torch.zeros(PIECES * WORDS, device="cuda") for _ in range(buckets)]
pieces = [f.view(PIECES, WORDS).unbind() for f in flat]
values = [torch.randn(WORDS, device="cuda") for _ in range(PIECES)]
total = torch.zeros(PIECES * WORDS, device="cuda")


def go_round():
    for whole, parts in zip(flat, pieces):
        for part, value in zip(parts, values):
            part.add_(value)
        for _ in range(4):
            torch.tanh(whole, out=whole)
    for whole in flat:
        total.lerp_(whole, 0.25)


times = [timed(go_round, torch.cuda.synchronize) for _ in range(rounds)]
report(digest(total.cpu().numpy(), *(f.cpu().numpy() for f in flat)), torch.cuda.max_memory_reserved(),
       round=median(times[1:]))
