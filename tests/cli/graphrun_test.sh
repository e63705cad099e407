#!/usr/bin/env bash
# graphrun_test.sh PROGRAM: exit codes, stdout against stderr, signals, and files that are whole or absent.
set -uo pipefail
program=$(realpath "$1")
scratch=$TEST_TMPDIR/cli
rm -rf "$scratch"
cp -RL graphs "$scratch"
chmod -R u+w "$scratch"
cd "$scratch" || exit 1
failures=0

fail() {
  echo "FAILED: $*"
  echo "--- stdout" && head -c 2000 out
  echo "--- stderr" && head -c 2000 err
  failures=$((failures + 1))
}

# run STATUS ARGS…: graphrun with these arguments, stdout in `out`, stderr in `err`.
run() {
  local want=$1 got=0
  shift
  timeout 60 "$program" "$@" >out 2>err </dev/null || got=$?
  [ "$got" = "$want" ] || fail "graphrun $* ended with $got instead of $want"
}
silent_stdout() { [ ! -s out ] || fail "$1: something on stdout"; }
has() { grep -qF -- "$2" "$1" || fail "$1 lacks: $2"; }
lacks() { ! grep -qF -- "$2" "$1" || fail "$1 has: $2"; }
is_json() { python3 -c 'import json, sys; json.load(open(sys.argv[1]), parse_constant=lambda x: sys.exit(x + " is no JSON"))' "$1" || fail "$1 is no strict JSON"; }
command -v python3 >/dev/null || is_json() { head -c 1 "$1" | grep -q '{' || fail "$1 is no JSON"; }

small() {
  cat <<END
graphrun: 1
params: {n: 16, v: 2}
buffers:
  a: {type: f32, shape: n, place: host${1:-}}
nodes:
  - {id: fill, fill: {buffer: a, value: v}}
END
}
small ", save: out.npy, expect: {equals: 2}" >good.yaml
small ", save: never.npy, expect: {equals: 3}" >unmet.yaml
echo 'graphrun: 2' >bad.yaml
sleepy() { printf 'graphrun: 1\nnodes:\n  - {id: nap, kernel: busy, args: {ns: %s}}\n' "$1"; }
sleepy 20000000 >naps.yaml
sleepy 60000000000 >hang.yaml

# --- exit codes ---
run 0 run --backend host good.yaml
[ -s out.npy ] || fail "out.npy was not saved"
run 1 run --backend host unmet.yaml
has err "expect"
[ ! -e never.npy ] || fail "never.npy was saved after a failure"
run 2
silent_stdout "no command"
run 2 frobnicate
run 2 run
run 2 run --backend gpu good.yaml
run 2 run --repeat 0 good.yaml
run 3 run --backend host bad.yaml
silent_stdout "a bad file"
run 3 check bad.yaml
has err "bad.yaml:1:11: error:"
run 3 check bad.yaml good.yaml
run 3 check good.yaml bad.yaml
run 0 check good.yaml unmet.yaml
silent_stdout "check"
run 4 run missing.yaml
has err "missing.yaml"
run 4 check missing.yaml
run 4 run --backend host --device 7 good.yaml
run 3 run --backend host --set m=3 good.yaml
has err "m"
run 2 run --backend host --set n=3K good.yaml
has err '"3K"'
run 0 run --backend host --set n=32 good.yaml
run 124 run --backend host --timeout 0.2 hang.yaml
has err "the time for the run was over"
has err "nap"

# --- where there is no GPU ---
if ! compgen -G '/dev/nvidia[0-9]*' >/dev/null; then
  run 4 run --backend cuda good.yaml
  [ "$(wc -l <err)" = 1 ] || fail "--backend cuda without a GPU: more than one line"
  run 0 run good.yaml
  has err "running on the host backend"
fi

# --- results to stdout, talk to stderr ---
for command in help "help run" version kernels "kernels gemm" devices knobs "plan saxpy.yaml" "graph saxpy.yaml" \
  "plan --format json saxpy.yaml" "check --dump=document good.yaml" "check --dump=pipeline good.yaml" "check --dump=dag good.yaml"; do
  # shellcheck disable=SC2086  # words on purpose
  run 0 $command
  [ -s out ] || fail "graphrun $command printed nothing"
  [ ! -s err ] || fail "graphrun $command talks"
done
run 0 plan --format json saxpy.yaml
is_json out

# --- reports ---
run 0 run --backend host --report json photo.yaml
is_json out
for word in '"backend"' '"mode"' '"nodes"' '"level"' '"state"' '"replays"' combine; do has out "$word"; done
run 1 run --backend host --report json unmet.yaml
is_json out
run 3 run --backend host --report json bad.yaml
is_json out
run 4 run --backend host --report json missing.yaml
is_json out
run 124 run --backend host --report json --timeout 0.2 hang.yaml
is_json out
has out '"timeout"'
run 0 run --backend host --report json --report-file report.json good.yaml
silent_stdout "--report-file"
is_json report.json
run 4 run --backend host --report-file no/such/folder/r.json good.yaml
run 2 run --backend host --report-file ./good.yaml good.yaml
has good.yaml "graphrun: 1"
run 1 run --backend host --report json unmet.yaml
has out '"node": null, "buffer": "a"'
run 4 run --backend host --report json $'\xff.yaml'
is_json out
# Also where there is no engine to ask.
export GRAPHRUN_WORKERS=abc
run 2 run --backend host --report json good.yaml
is_json out
has err "GRAPHRUN_WORKERS"
run 2 run --backend host good.yaml
silent_stdout "no engine"
run 0 help
run 0 knobs
unset GRAPHRUN_WORKERS
run 0 run --backend host good.yaml
lacks out $'\033'
has out "fill"

# --- stdin: paths start from the working folder ---
mkdir -p elsewhere
(cd elsewhere && timeout 60 "$program" run --backend host - <../good.yaml >../out 2>../err) || fail "stdin"
[ -s elsewhere/out.npy ] || fail "stdin: out.npy is not in the working folder"
rm -f out.npy
(cd elsewhere && timeout 60 "$program" run --backend host ../good.yaml >../out 2>../err) || fail "another folder"
[ -s out.npy ] || fail "out.npy is not beside its pipeline"

# --- closed and full outputs ---
"$program" graph photo.yaml 2>err | head -n 1 >out
[ ! -s err ] || fail "a closed pipe made noise"
if [ -e /dev/full ]; then
  got=0
  "$program" plan photo.yaml >/dev/full 2>err || got=$?
  [ "$got" = 4 ] || fail "a full disk ended with $got"
  has err "No space left"
fi

# What the caller has closed is not taken by a file, which would get the report.
rm -f out.npy
got=0
"$program" run --backend host good.yaml >&- 2>err || got=$?
[ "$got" = 4 ] || fail "a closed stdout ended with $got"
has err "standard output cannot be written"
[ "$(head -c 6 out.npy | tail -c 5)" = NUMPY ] || fail "a closed stdout spoiled out.npy"
"$program" run --backend host good.yaml >out 2>&- <&- || fail "a closed stderr ended with $?"

# --- signals ---
# signal NAME STATUS: sent while replays run.
signal() {
  local got=0 pid
  "$program" run --backend host --repeat 1000000 --report-file signalled.txt naps.yaml >out 2>err &
  pid=$!
  for _ in $(seq 100); do
    compgen -G '.graphrun-*' >/dev/null && break
    sleep 0.05
  done
  sleep 0.3
  kill -"$1" "$pid"
  wait "$pid" || got=$?
  [ "$got" = "$2" ] || fail "SIG$1 ended with $got instead of $2"
  ! compgen -G '.graphrun-*' >/dev/null || fail "SIG$1 left a temporary file"
}
# A shell without job control starts its children with SIGINT ignored; graphrun installs its own handler all the same.
signal INT 130
grep -Eq '^  nap +kernel .* ok$' signalled.txt || fail "a node that has run has not"
rm signalled.txt
signal TERM 143

# Where nothing runs that could be ended well, the first one ends it: here while a pipe is waited for.
mkfifo pipe.yaml
for command in check run; do
  got=0
  "$program" $command pipe.yaml >out 2>err &
  sleep 0.3
  kill -INT $!
  wait $! || got=$?
  [ "$got" = 130 ] || fail "SIGINT before there is a pipeline: $command ended with $got"
done

[ "$failures" = 0 ]
