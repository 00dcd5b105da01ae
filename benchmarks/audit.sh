#!/bin/sh
# How often repeated tunings of three kernels name another winner, and what each winner costs.
#
#   benchmarks/audit.sh [XTUNE] [REPEATS] [EVALS] [FOLDER]     default: build/release/src/cli/xtune 10 60 audit-results
#
# Prints the audits and keeps each as JSON in FOLDER. BACKEND chooses the backend (default: cuda). Two sizes of each
# kernel show what a neighbour's configuration costs. An audit that flips in more than 2 % of the tunings, or whose
# winner is more than 1 % slower than the best, is reported at the end; the exit code is then 5.
set -eu
xtune=${1:-build/release/src/cli/xtune}
repeats=${2:-10}
evals=${3:-60}
folder=${4:-audit-results}
mkdir -p "$folder"
code=0

audit() {  # kernel
  kernel=$1
  echo "== $kernel"
  begin=$(date +%s)
  status=0
  "$xtune" audit "$folder/$kernel.toml" --backend "${BACKEND:-cuda}" --repeats "$repeats" --evals "$evals" \
    --max-flips 2% --max-regret 1% --format json > "$folder/$kernel.json" 2> "$folder/$kernel.log" || status=$?
  tail -n 3 "$folder/$kernel.log"
  python3 - "$folder/$kernel.json" << 'END'
import json, sys
audit = json.load(open(sys.argv[1]))[0]
percent = lambda share: "-" if share is None else f"{100 * share:.2f} %"
print(f"{audit['device']['name']}: {audit['flips']} flips in {audit['tunings']} tunings, "
      f"agreement {percent(audit['agreement'])}")
for kind, regret in audit["max_regret"].items():
    print(f"  regret of {kind}: at most {percent(regret)}")
for case in audit["cases"]:
    print("  " + " ".join(f"{name}={value}" for name, value in case["problem"].items()))
    for winner in case["winners"]:
        low, high = winner["interval"] or (None, None)
        print(f"    {winner['repeats']:3} {winner['answer']:6} {percent(winner['regret']):>8} "
              f"({percent(low)} .. {percent(high)}) {winner['config']}")
    for other in case["neighbours"]:
        print(f"      neighbour at distance {other['distance']:g}: {percent(other['regret'])}")
END
  echo "$kernel: $(($(date +%s) - begin)) s, exit code $status"
  [ "$status" -eq 0 ] || code=$status
}

# A suite of one spec gives it two cases.
configs=$(cd "$(dirname "$0")/../configs" && pwd)
suite() {  # kernel, cases
  printf '[[suite]]\nspec = "%s/%s.toml"\ncases = [%s]\n' "$configs" "$1" "$2" > "$folder/$1.toml"
}
suite gemm '{ M = 2048, N = 2048, K = 2048 }, { M = 4096, N = 2048, K = 2048 }'
suite softmax '{ M = 8192, N = 8192 }, { M = 8192, N = 4096 }'
suite reduction '{ n = 67108864 }, { n = 16777216 }'
for kernel in gemm softmax reduction; do audit "$kernel"; done
exit "$code"
