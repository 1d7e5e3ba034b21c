#!/bin/bash
# Checks that every #include in runtime/ and include/ keeps the order of the layers (runtime/README.md), and
# that what stands beside them includes no more of the runtime than is said there. And that threads are made
# by StartThread alone, which keeps the program's signals from them, and no wait is on the wall clock.
#
# Usage: cmake/check_layers.sh [REPOSITORY]
set -euo pipefail
cd "${1:-$(dirname "$0")/..}"

# Comments are no code.
code() {
  [[ -d $2 ]] || return 0
  grep -rnE --include='*.h' --include='*.cc' "$1" "${@:2}" | grep -vE '^[^:]+:[0-9]+:[[:space:]]*//' || true
}
threads=$(for folder in runtime cupti_tracer; do
  code 'std::j?thread([^:_[:alnum:]]|$)|std::async|pthread_create|thrd_create' "$folder"
done | grep -v '^runtime/base/thread\.cc:' || true)
if [[ -n $threads ]]; then
  echo "$threads"
  echo "threads of ours are made by StartThread (runtime/base/thread.h) alone"
  exit 1
fi
clocks=$(for folder in runtime cupti_tracer tools/simcuda; do
  code 'std::condition_variable|system_clock[^;]*(wait|sleep)|(wait|sleep)[^;]*system_clock|CLOCK_REALTIME' "$folder"
done)
if [[ -n $clocks ]]; then
  echo "$clocks"
  echo "waits are on the monotonic clock (runtime/base/mutex.h): the wall clock may be set back"
  exit 1
fi

impure=$(code '#[[:space:]]*include[[:space:]]*["<](cuda|mutex|shared_mutex|thread|atomic|condition_variable|runtime/base/(mutex|thread|own_))|_clock|[cC]lock::now' runtime/scheduler)
if [[ -n $impure ]]; then
  echo "$impure"
  echo "the scheduler is pure: no driver, no lock, no thread, and time is a value (runtime/base/units.h)"
  exit 1
fi

impure=$(code '#[[:space:]]*include[[:space:]]*["<](cuda|mutex|shared_mutex|thread|atomic|condition_variable|unistd|sys/|cstdio|iostream|fstream|random|runtime/base/(mutex|thread|own_|small_file|quiet_write))|_clock|[cC]lock::now|getenv' tools/broker/core)
if [[ -n $impure ]]; then
  echo "$impure"
  echo "the broker's core is pure: no driver, lock, thread, input or output, and time is a value"
  exit 1
fi

# `file:line:included path` of every include, whatever the spaces in it.
folders=(runtime)
for folder in include cupti_tracer tools/broker tools/prove tools/reader tools/replay tools/simcuda; do
  [[ -d $folder ]] && folders+=("$folder")
done
grep -rnE --include='*.h' --include='*.hpp' --include='*.cc' --include='*.cu' --include='*.inc' \
  '^[[:space:]]*#[[:space:]]*include[[:space:]]*["<]' "${folders[@]}" |
  sed -E 's/^([^:]+):([0-9]+):[[:space:]]*#[[:space:]]*include[[:space:]]*["<]([^">]+)[">].*/\1:\2:\3/' |
  awk -F: '
    BEGIN {
      count = split("base lease driver space backing placement observe memory scheduler mover trace api preload", order, " ")
      for (i = 1; i <= count; i++) rank[order[i]] = i
      barred["placement", "driver"] = barred["placement", "space"] = barred["placement", "backing"] = 1
      barred["scheduler", "driver"] = barred["scheduler", "backing"] = barred["scheduler", "observe"] = barred["scheduler", "memory"] = 1
      barred["observe", "space"] = barred["observe", "placement"] = 1
      allowed["tools/broker"] = " base lease "
      allowed["cupti_tracer"] = " base observe "
      allowed["tools/prove"] = allowed["tools/reader"] = " base observe "
      allowed["tools/replay"] = " base lease space placement scheduler trace "
      allowed["tools/simcuda"] = " "
    }
    function wrong(why) { printf "%s:%s: includes \"%s\": %s\n", $1, $2, $3, why; bad++ }
    {
      files++
      split($1, from, "/"); n = split($3, to, "/")
      if (from[1] == "include") {
        if (to[1] ~ /^(runtime|absl|tools|tests|bench|cupti_tracer)$/)
          wrong("public headers stand on the standard library and CUDA alone")
        next
      }
      beside = from[1] == "tools" ? "tools/" from[2] : from[1]
      if (beside in allowed) {
        if (to[1] == "runtime" && !index(allowed[beside], " " to[2] " "))
          wrong(beside " may include" (allowed[beside] == " " ? " nothing" : allowed[beside] "alone") " of the runtime")
        # One direction: in a replay the core decides, and is spoken to as processes do.
        if (beside == "tools/replay" && $3 ~ /^tools\/broker\// && $3 !~ /^tools\/broker\/(core|words)\//)
          wrong("of the broker a replay includes core/ and words/ alone")
        if (beside == "tools/broker" && $3 ~ /^tools\/replay\//) wrong("the broker knows nothing of replays")
        if ($1 ~ /^tools\/broker\/core\// &&
            (to[1] == "runtime" && to[2] != "base" || to[1] ~ /^(include|vramspan|tests|bench|examples|cupti_tracer)$/ ||
             to[1] == "tools" && $3 !~ /^tools\/broker\/core\//))
          wrong("the broker\047s core includes runtime/base and itself alone")
        if ($1 ~ /^tools\/broker\/core\// && n == 1 && $3 ~ /\.(h|hpp|inc)$/)
          wrong("write the path from the repository root")
        next
      }
      if (!(from[2] in rank)) { wrong("its folder runtime/" from[2] " is not in the list of layers"); next }
      if (to[1] ~ /^(tools|tests|bench|examples|cupti_tracer)$/) {
        wrong("the runtime includes nothing outside runtime/ and include/"); next
      }
      if ((to[1] == "vramspan" || to[1] == "include") && rank[from[2]] < rank["api"]) {
        wrong("the public headers are the business of api and preload"); next
      }
      if (to[1] != "runtime") {
        # A path without its root would slip past the checks above.
        if (n == 1 && $3 ~ /\.(h|hpp|inc)$/ && system("test -e \"$(dirname " $1 ")/" $3 "\"") == 0)
          wrong("write the path from the repository root")
        next
      }
      if (!(to[2] in rank)) wrong("runtime/" to[2] " is not in the list of layers")
      else if (rank[to[2]] > rank[from[2]]) wrong(to[2] " comes after " from[2])
      else if ((from[2], to[2]) in barred)
        wrong(from[2] == "scheduler" ? "the scheduler is pure: no driver, no backing, no calls" : \
              from[2] == "observe" ? "observe knows of calls and pointers: no space, no placement" \
                                   : "placement is pure: no driver, no space, no backing")
      else if (from[2] ~ /^(memory|mover|scheduler)$/ && to[2] == "placement" && to[3] == "policies")
        wrong("the " from[2] " knows plans, no policy")
    }
    END {
      if (bad) { printf "%d includes break the order of the layers (runtime/README.md)\n", bad; exit 1 }
      printf "%d includes keep the order of the layers\n", files
    }'
