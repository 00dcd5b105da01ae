#!/bin/sh
# The gain of a second GPU: the same configurations of gemm measured on one device and on two, in fresh stores.
#
#   benchmarks/two_devices.sh [XTUNE] [EVALS] [SIZE] [RUNS]     default: build/release/src/cli/xtune 120 8192 3
#
# Prints the seconds of each run and the ratio of the medians. The runs alternate, so that a host that is busy for a
# while touches both. Each run compiles for itself, as a user's first run does.
set -eu
xtune=${1:-build/release/src/cli/xtune}
evals=${2:-120}
size=${3:-8192}
runs=${4:-3}
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

seconds() {  # of a run on the devices $1, number $2
  store="$folder/store-$(echo "$1" | tr , _)-$2"
  begin=$(date +%s.%N)
  "$xtune" run configs/gemm.toml -D M="$size" -D N="$size" -D K="$size" --evals "$evals" --strategy random \
    --device "$1" --store "$store" --format json > "$folder/result.json" 2> "$folder/log" || { cat "$folder/log" >&2; exit 1; }
  end=$(date +%s.%N)
  rm -rf "$store"
  awk -v a="$begin" -v b="$end" 'BEGIN { printf "%.2f", b - a }'
}

i=0
while [ "$i" -lt "$runs" ]; do
  seconds 0 "$i" >> "$folder/one"; echo >> "$folder/one"
  seconds 0,1 "$i" >> "$folder/two"; echo >> "$folder/two"
  echo "one device $(tail -n 1 "$folder/one") s, two devices $(tail -n 1 "$folder/two") s"
  i=$((i + 1))
done
median() { sort -n "$1" | awk '{ v[NR] = $1 } END { print v[int((NR + 1) / 2)] }'; }
awk -v a="$(median "$folder/one")" -v b="$(median "$folder/two")" 'BEGIN { printf "medians %.2f and %.2f s: %.2fx\n", a, b, a / b }'
