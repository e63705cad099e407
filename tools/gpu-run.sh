#!/usr/bin/env bash
# Runs a GPU bundle: every test, every graph in every mode, every bench, and a table last.
# It is `run` in the folder that `tools/dev gpu-bundle` makes; it needs bash and a driver, no Bazel.
set -uo pipefail
cd "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")" || exit 1

usage() {
  cat <<'END'
run [--only PATTERN] [--sanitizer[=TOOL]] [--logs FOLDER] [--limit SECONDS]
  --only PATTERN     only the programs whose name matches this extended regular expression
  --sanitizer[=TOOL] under compute-sanitizer (memcheck, racecheck, initcheck, synccheck); no benches
  --logs FOLDER      keep the whole output of each program here
  --limit SECONDS    for each program; 300
END
}

only=. tool="" logs="" limit=300
while [ $# -gt 0 ]; do
  case $1 in
  --only) only=${2:?--only needs a pattern} && shift ;;
  --only=*) only=${1#*=} ;;
  --sanitizer) tool=memcheck ;;
  --sanitizer=*) tool=${1#*=} ;;
  --logs) logs=${2:?--logs needs a folder} && shift ;;
  --logs=*) logs=${1#*=} ;;
  --limit) limit=${2:?--limit needs seconds} && shift ;;
  --limit=*) limit=${1#*=} ;;
  -h | --help) usage && exit 0 ;;
  *) usage >&2 && exit 2 ;;
  esac
  shift
done

wrap=()
if [ -n "$tool" ]; then
  sanitizer=$(command -v compute-sanitizer || echo "${CUDA_PATH:-/usr/local/cuda}/bin/compute-sanitizer")
  [ -x "$sanitizer" ] || {
    echo "run: there is no compute-sanitizer on the PATH nor in the toolkit." >&2
    exit 2
  }
  wrap=("$sanitizer" --error-exitcode 9 --tool "$tool")
fi

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
if [ -z "$logs" ]; then logs=$scratch/logs; fi
mkdir -p "$logs"

table=() passed=0 failed=0 skipped=0

# The tests tell for themselves that there is no GPU. A graph would only fail,
# and must fail where there is one that does not work.
has_gpu() { compgen -G '/dev/nvidia[0-9]*' >/dev/null || [ -e /dev/dxg ]; }

# one KIND NAME COMMAND…: runs it, and adds its line to the table.
one() {
  local kind=$1 name=$2 log status started seconds word
  shift 2
  grep -qE -- "$only" <<<"$name" || return 0
  log=$logs/$(tr -c 'A-Za-z0-9_.\n-' '_' <<<"$name").log
  mkdir -p "$scratch/tmp"
  started=$(date +%s%N)
  TEST_TMPDIR=$scratch/tmp TEST_SRCDIR=$PWD CK_FORK=no \
    timeout -k 10 "$limit" ${wrap[@]+"${wrap[@]}"} "$@" >"$log" 2>&1 </dev/null
  status=$?
  seconds=$(awk -v ns=$(($(date +%s%N) - started)) 'BEGIN { printf "%.2f", ns / 1e9 }')
  rm -rf "$scratch/tmp"
  if [ "$status" = 0 ] && grep -q '^skipped' "$log"; then
    word=skipped && skipped=$((skipped + 1))
  elif [ "$status" = 0 ]; then
    word=passed && passed=$((passed + 1))
  else
    word="failed ($status)" && failed=$((failed + 1))
    echo "--- $name ended with $status; the end of what it printed:"
    tail -n 40 "$log"
  fi
  if [ "$kind" = bench ]; then
    echo "--- $name"
    cat "$log"
  fi
  table+=("$(printf '%-60s %-14s %9s' "$name" "$word" "$seconds")")
}

# Under a sanitizer a refused call is a finding: tests that provoke such calls are left out, or run their case "answers" only.
while read -r kind path; do
  case $kind in
  test) one test "$path" "./$path" ;;
  noisy_test) if [ -z "$tool" ]; then one test "$path" "./$path"; fi ;;
  answers_test) if [ -z "$tool" ]; then one test "$path" "./$path"; else CK_RUN_CASE=answers one test "$path" "./$path"; fi ;;
  esac
done <programs

has_gpu || echo "There is no GPU here: the graphs are left out."
for graph in graphs/*.yaml; do
  if ! has_gpu || [ ! -e "$graph" ]; then continue; fi
  # A pipeline that needs options says so in a comment.
  read -r -a options <<<"$(sed -n 's/^# Run with: //p' "$graph")"
  for mode in graph stream serial; do
    one graph "$graph $mode" ./tools/graphrun/graphrun run --backend cuda --mode "$mode" ${options[@]+"${options[@]}"} "$graph"
  done
done

if [ -z "$tool" ]; then
  while read -r kind path; do
    [ "$kind" = bench ] && one bench "$path" "./$path"
  done <programs
fi

echo
printf '%-60s %-14s %9s\n' program result seconds
[ ${#table[@]} = 0 ] || printf '%s\n' "${table[@]}"
echo "$passed passed, $failed failed, $skipped skipped"
[ "$failed" = 0 ] && [ $((passed + skipped)) -gt 0 ]
