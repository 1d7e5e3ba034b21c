#!/bin/bash
# Checks that rules of the scheduler stand once: the mover and the replay tool define no function of a rule's
# name, and share no eight statements that are equal but for the names in them (docs/scheduler.md).
#
# Usage: cmake/check_rules.sh [REPOSITORY]
set -euo pipefail
cd "${1:-$(dirname "$0")/..}"

# As the rules are called now in runtime/scheduler, and as they were called before they stood there.
rules='AddForecast|AddIdleFetches|AllThere|AnyMayBeWritten|ComesSoon|Doubt|DoubtTwin|GiveWayToUnknown|HasItsMemory'
rules+='|MakeQueue|MayBeWritten|MayHide|MayStayUnmapped|Movable|NoteCame|NoteFinish|NoteLeft|NoteRelease'
rules+='|NoteSequence|OfferVictims|OnTrial|Partition|PlanMoves|Price|PriceNew|PriceQueue|QueueFinished'
rules+='|QueueForPlan|QueueReleased|QueueSubmitted|Ready|Return|RunInPlace|RunsAsItIs|ServedInPlace|SignatureOf'
rules+='|StuckChunks|TimedRuns|TrialWaitsForCopies|TryInPlace|WaitedInVain|WaitsForHidden|WaitsForUnmapped'
rules+='|WantTheRest|WantedBehind|Worth|WorthNow'
rules+='|CheckDeadline|LeaveUnmapped|MarkReleased|MayRemap|MuchHeld|MustRecord|MustWait|NextMove|QueryMustWait|ReleaseReady'
rules+='|RollBack|ServeEvictions|Situation|StartMoves|TakeReady|ToRemap'
# What a definition or a declaration begins with: a type, which no call has before it.
named=$(grep -nE --include='*.h' --include='*.cc' -r \
  "^[[:space:]]*(static |virtual |\[\[nodiscard\]\] )*[A-Za-z_:][A-Za-z0-9_:<>,*&[:space:]]*[[:space:]*&]([A-Za-z]+::)*($rules)\(" \
  runtime/mover tools/replay | grep -vE ':[[:space:]]*(//|return |else |co_|throw )' || true)
if [[ -n $named ]]; then
  echo "$named"
  echo "a rule of the scheduler stands in runtime/scheduler alone (docs/scheduler.md)"
  exit 1
fi

# Every run of eight statements, its names replaced by the order in which they come.
windows() {
  find "$1" -name '*.cc' -o -name '*.h' | sort | xargs -r awk -v length_of=8 '
    function flush(    i, j, text, word, key, names, count, rest) {
      for (i = 1; i + length_of - 1 <= total; i++) {
        key = ""; count = 0; split("", names)
        for (j = i; j < i + length_of; j++) {
          rest = statement[j]
          while (match(rest, /[A-Za-z_][A-Za-z0-9_]*/)) {
            word = substr(rest, RSTART, RLENGTH)
            if (!(word in names)) names[word] = ++count
            key = key substr(rest, 1, RSTART - 1) "n" names[word]
            rest = substr(rest, RSTART + RLENGTH)
          }
          key = key rest ";"
        }
        if (count > length_of) print key "\t" file ":" line[i]
      }
      total = 0; open = ""
    }
    FNR == 1 { if (file != "") flush(); file = FILENAME }
    /^[[:space:]]*(#|\/\/)/ { next }
    {
      sub(/\/\/.*/, "")
      text = open $0
      while (match(text, /[;{}]/)) {
        piece = substr(text, 1, RSTART - 1)
        text = substr(text, RSTART + 1)
        gsub(/[[:space:]]+/, " ", piece); gsub(/^ | $/, "", piece)
        if (piece != "") { statement[++total] = piece; line[total] = FNR }
      }
      open = text " "
    }
    END { flush() }'
}
twice=$(join -t $'\t' <(windows runtime/mover | sort -t $'\t' -k1,1) <(windows tools/replay | sort -t $'\t' -k1,1) |
  cut -f2,3)
if [[ -n $twice ]]; then
  echo "$twice"
  echo "eight statements stand in both: decisions of the mover and of replays belong into runtime/scheduler"
  exit 1
fi
echo "no rule of the scheduler stands twice"
