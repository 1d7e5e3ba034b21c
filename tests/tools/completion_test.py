#!/usr/bin/env python3
"""Completes command lines of vramspan in a real shell, and compares what it finds.

Usage: tests/tools/completion_test.py bash|zsh|fish VRAMSPAN

The shell has the script of `vramspan completion`. bash and zsh get each line on a terminal, and a key that puts all that
they find in its place. fish is asked for what it finds.
"""
import os
import pty
import re
import select
import subprocess
import sys
import tempfile
import time

SECONDS = 120

POLICIES = "arc clock cost cycle fifo lfu lru random s3fifo sieve"
# The line, and the words in the place of the last one: those alone, or with a leading "+" these among others. "-" begins
# what must not be there.
CASES = (
    ("vramspan ru", "run"),
    ("vramspan tr", "trace"),
    ("vramspan com", "completion"),
    ("vramspan --ver", "--version"),
    ("vramspan help broker st", "status"),
    ("vramspan completion ", "bash fish zsh"),
    ("vramspan broker ", "cdi cdi-hook drain serve set status undrain"),
    ("vramspan broker se", "serve set"),
    ("vramspan broker serve --turns ", "auto off"),
    ("vramspan broker serve --metrics-f", "--metrics-file"),
    ("vramspan broker status --format ", "json table"),
    ("vramspan trace export --or", "--oracle-general"),
    ("vramspan run --over", "--overlap"),
    ("vramspan run --record", "--record --record-events --record-times"),
    ("vramspan run --overlap ", "all auto off proven safe"),
    ("vramspan run --overlap s", "safe"),
    ("vramspan run --overlap=pr", "--overlap=proven"),
    ("vramspan run --policy ", POLICIES),
    ("vramspan run --graphs w", "whole"),
    ("vramspan run --tracer cu", "cupti"),
    ("vramspan run --chunk 3", "32MiB"),
    ("vramspan run --simulate --record-times a", "all"),
    ("vramspan run --record ou", "out.vramspan"),
    ("vramspan run --broker req", "require"),
    ("vramspan run --broker fo", "folder"),
    ("vramspan run --stats=ou", "--stats=out.vramspan"),
    ("vramspan run --format ", "-json"),
    ("vramspan run -- a-program-of-th", "a-program-of-this-test"),
    ("vramspan run -- --", "---overlap --record"),
    ("vramspan run a-program-of-th", "a-program-of-this-test"),
    ("vramspan run --quiet -- a-program-of-this-test --over", "---overlap"),
    ("vramspan run -- a-program-of-this-test ou", "out.vramspan"),
    ("vramspan run a-program-of-this-test ou", "out.vramspan"),
    ("vramspan audit --top 3 -- a-program-of-th", "a-program-of-this-test"),
    ("vramspan prove --keep fo", "folder"),
    ("vramspan prove ou", "out.vramspan"),
    ("vramspan replay out", "out.vramspan"),
    ("vramspan replay --policy mi", "min"),
    ("vramspan replay --policy lru,mi", "lru,min"),
    ("vramspan replay out.vramspan --time", "--timeline"),
    ("vramspan replay --device-memory 8GiB --form", "--format"),
    ("vramspan estimate --card rtx409", "rtx4090"),
    ("vramspan report out.vramspan -o ou", "out.vramspan"),
    ("vramspan trace info ou", "out.vramspan"),
)


class Terminal:
    """A shell on a terminal of its own."""

    def __init__(self, arguments, environment, folder):
        self.pid, self.file = pty.fork()
        if self.pid == 0:
            os.chdir(folder)
            os.execvpe(arguments[0], arguments, environment)
        self.text = ""

    def until(self, pattern):
        """What comes up to `pattern`, which is taken as well."""
        ends = time.monotonic() + SECONDS
        while not (match := re.search(pattern, self.text, re.S)):
            ready, _, _ = select.select([self.file], [], [], max(0, ends - time.monotonic()))
            if not ready:
                raise SystemExit(f"the shell says nothing that fits {pattern!r}: {self.text[-2000:]!r}")
            self.text += os.read(self.file, 65536).decode(errors="replace")
        self.text = self.text[match.end():]
        return match

    def send(self, keys):
        os.write(self.file, keys.encode())


class TerminalShell:
    """bash or zsh: the words stand in the line, and a command before them prints them."""

    def __init__(self, arguments, environment, folder, setup, key):
        self.shell = Terminal(arguments, environment, folder)
        self.key = key
        self.shell.send(setup + "\n")
        self.shell.until("rea" + "dy:[0-9]+\r?\n")

    def complete(self, line):
        # Ctrl+A: to the front, where the line becomes the arguments of show, which lists the current one's words.
        self.shell.send(line + self.key + "\x01show \x05\n")
        match = self.shell.until(r"<<(.*?)>>\r?\n")
        words = [word for word in match.group(1).replace("\r", "").split("\n") if word]
        return words[len(line.split(" ")) - 1:]


def bash(script, environment, folder):
    setup = (f"PS1= PS2=; bind 'set enable-bracketed-paste off' '\"\\C-t\": insert-completions' && "
             f"bind '\"\\C-t\": insert-completions'; show() {{ printf '<''<'; printf '%s\\n' \"$@\"; printf '>''>\\n'; }}; "
             f"source '{script}' && echo rea\"dy\":1")
    return TerminalShell(["bash", "--norc", "--noprofile", "-i"], environment, folder, setup, "\x14")


def zsh(script, environment, folder):
    os.mkdir(os.path.join(folder, "functions"))
    os.rename(script, os.path.join(folder, "functions", "_vramspan"))
    setup = ("PS1= PS2= PROMPT_EOL_MARK=; unsetopt zle_bracketed_paste prompt_cr; bindkey -e; "
             "fpath=(\"$PWD/functions\" $fpath); autoload -U compinit; compinit -u -D; "
             "zstyle ':completion:*' completer _all_matches _complete; zstyle ':completion:*' insert true; "
             "zstyle ':completion:*' avoid-completer _none; "
             "show() { printf '<''<'; printf '%s\\n' \"$@\"; printf '>''>\\n' }; print rea\"dy\":1")
    return TerminalShell(["zsh", "-f", "-i"], environment, folder, setup, "\t")


class Fish:
    def __init__(self, script, environment, folder):
        self.script, self.environment, self.folder = script, environment, folder

    def complete(self, line):
        said = subprocess.run(["fish", "--no-config", "-c", 'source $argv[1]; complete -C $argv[2]', self.script, line],
                              env=self.environment, cwd=self.folder, check=True, capture_output=True, text=True)
        return [found.split("\t")[0] for found in said.stdout.splitlines()]


def main():
    shell, binary = sys.argv[1], os.path.realpath(sys.argv[2])
    with tempfile.TemporaryDirectory(prefix="vramspan completion ") as folder:
        programs = os.path.join(folder, "bin")
        os.mkdir(programs)
        os.mkdir(os.path.join(folder, "folder"))
        program = os.path.join(programs, "a-program-of-this-test")
        for path in (program, os.path.join(folder, "out.vramspan")):
            with open(path, "w", encoding="utf-8") as file:
                file.write("#!/bin/sh\n")
        os.chmod(program, 0o755)
        os.symlink(binary, os.path.join(programs, "vramspan"))
        script = os.path.join(folder, "script")
        with open(script, "w", encoding="utf-8") as file:
            subprocess.run([binary, "completion", shell], check=True, stdout=file)
        environment = {"PATH": programs + ":/usr/bin:/bin", "HOME": folder, "TERM": "dumb", "LC_ALL": "C.UTF-8"}
        asked = {"bash": bash, "zsh": zsh, "fish": Fish}[shell](script, environment, folder)
        wrong = 0
        for line, expected in CASES:
            found = sorted({word.rstrip("/") for word in asked.complete(line)})
            if expected.startswith("-") and not expected.startswith("--") or expected.startswith("---"):
                right = not set(expected[1:].split()) & set(found)
            else:
                right = found == sorted(expected.split())
            if not right:
                wrong += 1
                print(f"{shell}: `{line}` becomes {found}, not {expected}", file=sys.stderr)
        if wrong:
            sys.exit(f"{wrong} of {len(CASES)} lines are completed wrongly")
        print(f"{shell}: {len(CASES)} lines are completed")


main()
