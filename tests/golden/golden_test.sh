#!/usr/bin/env bash
# golden_test.sh PROGRAM [--write]: each folder is a case, a pipeline with what graphrun says of it to the last byte.
#   graph.yaml   the pipeline; beside it whatever it loads
#   arguments    what else `graphrun check` is given, where that is needed
#   error.txt    stderr of `graphrun check graph.yaml`; the exit status is in its last line
#   plan.txt     stdout of `graphrun plan graph.yaml`, where the check passes
# With --write the texts are written anew: read the difference before it is committed.
set -euo pipefail
program=$(realpath "$1")
write=${2:-}
cd "$(dirname "$0")/cases"
count=0 failures=0

# compare FILE: with what came out, or takes that over.
compare() {
  local want=$1 got=$2
  if [ "$write" = --write ]; then
    if [ -s "$got" ]; then cp "$got" "$want"; else rm -f "$want"; fi
    return
  fi
  [ -e "$want" ] || [ -s "$got" ] || return 0
  diff -u --label "$want" --label "now" "$([ -e "$want" ] && echo "$want" || echo /dev/null)" "$got" && return
  failures=$((failures + 1))
}

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
for case in */; do
  case=${case%/}
  count=$((count + 1))
  (
    cd "$case"
    status=0
    options=()
    [ ! -e arguments ] || read -ra options <arguments
    timeout 10 "$program" check "${options[@]}" graph.yaml >"$scratch/stdout" 2>"$scratch/error" </dev/null || status=$?
    if [ -s "$scratch/error" ] || [ "$status" != 0 ]; then echo "exit $status" >>"$scratch/error"; fi
    : >"$scratch/plan"
    [ "$status" != 0 ] || timeout 10 "$program" plan graph.yaml >"$scratch/plan" 2>/dev/null </dev/null || true
    if [ -s "$scratch/stdout" ]; then echo "$case: check wrote to stdout" >>"$scratch/error"; fi
  )
  compare "$case/error.txt" "$scratch/error"
  compare "$case/plan.txt" "$scratch/plan"
done
echo "$count cases, $failures differ"
[ "$failures" = 0 ] && [ "$count" -ge 100 ]
