#!/usr/bin/env bash
# graphs_test.sh PROGRAM: checks, plans, draws and runs every pipeline of graphs/ in every mode, with one worker and with
# many. What a run saves must appear; a pipeline that meets its expectations on one round only must fail without it.
set -euo pipefail
program=$PWD/$1
scratch=$TEST_TMPDIR/graphs
rm -rf "$scratch"
cp -RL graphs "$scratch"
chmod -R u+w "$scratch"
cd "$scratch"
failures=0

# must STATUS COMMAND…
must() {
  local want=$1 got=0
  shift
  "$@" >"$TEST_TMPDIR/out" 2>"$TEST_TMPDIR/err" || got=$?
  [ "$got" = "$want" ] && return
  echo "$* ended with $got instead of $want:"
  cat "$TEST_TMPDIR/out" "$TEST_TMPDIR/err"
  failures=$((failures + 1))
}

count=0
for graph in *.yaml; do
  count=$((count + 1))
  read -r -a options <<<"$(sed -n 's/^# Run with: //p' "$graph")"
  must 0 "$program" check "$graph"
  [ ! -s "$TEST_TMPDIR/err" ] || { echo "$graph has warnings:" && cat "$TEST_TMPDIR/err" && failures=$((failures + 1)); }
  must 0 "$program" plan "$graph"
  must 0 "$program" graph --format dot "$graph"
  for mode in graph stream serial; do
    for workers in 1 2 9; do
      rm -f ./*.npy
      must 0 env GRAPHRUN_CHECK=1 GRAPHRUN_WORKERS=$workers "$program" run --backend host --mode $mode "$graph" ${options[@]+"${options[@]}"}
    done
  done
  while read -r name; do
    [ -s "$name" ] || { echo "$graph did not write $name" && failures=$((failures + 1)); }
  done < <(sed -n 's/.*save: \([^,} ]*\).*/\1/p' "$graph")
done
[ "$count" -ge 8 ] || { echo "only $count pipelines were found" && failures=$((failures + 1)); }

must 1 "$program" run --backend host karate.yaml
[ "$failures" = 0 ]
