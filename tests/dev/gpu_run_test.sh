#!/usr/bin/env bash
# The script of a GPU bundle, over a bundle of stand-ins.
set -uo pipefail
failures=0
bundle=$TEST_TMPDIR/bundle
mkdir -p "$bundle/tests" "$bundle/graphs"
cp tools/gpu-run.sh "$bundle/run"

program() {
  printf '#!/bin/sh\n%s\n' "$2" >"$bundle/tests/$1"
  chmod +x "$bundle/tests/$1"
}
program good_test 'pwd'
program skip_test 'echo "skipped: no device"'
program bad_test 'echo "the reason"; exit 5'
program hang_test 'sleep 60'
program bench 'echo "figure 42"'
printf '%s\n' 'test tests/good_test' 'test tests/skip_test' 'test tests/bad_test' 'bench tests/bench' >"$bundle/programs"

check() {
  if [ "$2" != "$3" ]; then
    printf '%s: wanted %s, got %s\n' "$1" "$2" "$3"
    failures=$((failures + 1))
  fi
}

output=$(cd / && "$bundle/run" --logs "$TEST_TMPDIR/logs")
check 'status' 1 $?
check 'closing line' '2 passed, 1 failed, 1 skipped' "$(tail -n 1 <<<"$output")"
check 'reason' 1 "$(grep -c '^the reason$' <<<"$output")"
check 'figure' 1 "$(grep -c '^figure 42$' <<<"$output")"
check 'row' 1 "$(grep -cE '^tests/bad_test +failed \(5\) +[0-9.]+$' <<<"$output")"
check 'folder' "$bundle" "$(cat "$TEST_TMPDIR/logs/tests_good_test.log")"

output=$("$bundle/run" --only 'good|skip')
check 'status of a part' 0 $?
check 'closing line of a part' '1 passed, 0 failed, 1 skipped' "$(tail -n 1 <<<"$output")"

"$bundle/run" --only nothing >/dev/null
check 'status of nothing' 1 $?

# Under a sanitizer: no benches, no tests that provoke errors, of others one case.
mkdir -p "$TEST_TMPDIR/tools"
# shellcheck disable=SC2016  # expanded by the stand-in
printf '#!/bin/sh\nshift 4\necho "looked at $1"\nexec "$@"\n' >"$TEST_TMPDIR/tools/compute-sanitizer"
chmod +x "$TEST_TMPDIR/tools/compute-sanitizer"
# shellcheck disable=SC2016  # likewise
program case_test 'echo "case $CK_RUN_CASE"; [ "$CK_RUN_CASE" = answers ]'
printf '%s\n' 'test tests/good_test' 'noisy_test tests/bad_test' 'answers_test tests/case_test' 'bench tests/bench' >"$bundle/programs"
output=$(PATH=$TEST_TMPDIR/tools:$PATH "$bundle/run" --sanitizer --logs "$TEST_TMPDIR/logs")
check 'status under a sanitizer' 0 $?
check 'closing line under a sanitizer' '2 passed, 0 failed, 0 skipped' "$(tail -n 1 <<<"$output")"
check 'it is looked at' 1 "$(grep -c '^looked at ./tests/case_test$' "$TEST_TMPDIR/logs/tests_case_test.log")"
output=$("$bundle/run")
check 'without it all run' 1 "$(grep -cE '^tests/bad_test +failed' <<<"$output")"

echo 'test tests/hang_test' >"$bundle/programs"
output=$("$bundle/run" --limit 1)
check 'status of a hang' 1 $?
check 'a hang is ended' 1 "$(grep -cE '^tests/hang_test +failed \(124\)' <<<"$output")"

[ "$failures" = 0 ]
