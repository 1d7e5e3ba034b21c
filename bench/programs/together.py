"""Runs programs side by side that take turns, a burst of rounds each: one after the other, over and over.

Machines drift, by a half within minutes on some, so times of programs that ran one after the other cannot be compared
closely. Those of bursts that lie beside each other can. A program takes part by running its rounds through
common.repeated; one with several kinds of rounds runs them one kind after the other, its phases.
"""
import json
import os
import random
import subprocess
import sys
import threading

FEW = 4  # Processors for the threads of a program: its own, the backward pass's, the mover's, and the driver's.

class Programs:
    """One process each, started at once. Its output but for the last line is dropped, its errors are kept."""

    def __init__(self, commands, cwd):
        self.running = {name: subprocess.Popen(command, cwd=cwd, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                               stderr=subprocess.PIPE, text=True, env={**os.environ, "BENCH_BURSTS": "1"})
                        for name, command in commands.items()}
        self.errors = {name: [] for name in commands}
        self.readers = [threading.Thread(target=lambda n=n, p=p: self.errors[n].extend(p.stderr)) for n, p in self.running.items()]
        for reader in self.readers:
            reader.start()

    def failed(self, name):
        for program in self.running.values():
            program.kill()
        for reader in self.readers:
            reader.join()
        sys.exit(f"{name}: exit code {self.running[name].wait()}\n{''.join(self.errors[name])[-2000:]}")

    def share_processors(self, turn):
        """The same few processors for all, others each turn: of a virtual machine's one may be half as fast as the next, and a
        process stays where it is."""
        mine = sorted(os.sched_getaffinity(0))
        few = {mine[(turn * FEW + i) % len(mine)] for i in range(FEW)}
        for program in self.running.values():
            for thread in os.listdir(f"/proc/{program.pid}/task"):
                try:
                    os.sched_setaffinity(int(thread), few)
                except ProcessLookupError:
                    pass  # It has ended.

    def rounds(self, name, count):
        """Milliseconds of `count` rounds of that program."""
        program = self.running[name]
        try:
            print(count, file=program.stdin, flush=True)
            line = program.stdout.readline()
            while line and not line.startswith("["):
                line = program.stdout.readline()
        except BrokenPipeError:
            line = ""
        if not line:
            self.failed(name)
        return json.loads(line)

    def bursts(self, bursts, rounds, warm_up, told=""):
        """One phase: milliseconds a round by program, a list of `rounds` for each burst. In front of each burst runs one round
        that does not count, and in front of the first so many; all programs run the same rounds."""
        names = list(self.running)
        for name in names:
            self.rounds(name, warm_up)
        ms = {name: [] for name in names}
        order = random.Random(1)
        for k in range(bursts):
            if sys.stderr.isatty():
                print(f"\r\033[K{told}: burst {k + 1} of {bursts}", end="\r", file=sys.stderr, flush=True)
            self.share_processors(k)
            # By chance, for who runs behind a program that heats the device gets a slower one.
            for name in order.sample(names, len(names)):
                ms[name].append(self.rounds(name, rounds + 1)[1:])
        for program in self.running.values():
            print(0, file=program.stdin, flush=True)
        return ms

    def reports(self):
        """What each reported in the end."""
        found = {}
        for name, program in self.running.items():
            program.stdin.close()
            said = program.stdout.read()
            if program.wait() != 0:
                self.failed(name)
            found[name] = json.loads(said.strip().splitlines()[-1])
        for reader in self.readers:
            reader.join()
        return found
