#!/usr/bin/env bash
# tools/dev with a stand-in for Bazel and for apt-get: what it counts, what it passes on, what it says.
set -uo pipefail
failures=0

# The script takes the folder above its own for the workspace.
workspace=$TEST_TMPDIR/workspace
mkdir -p "$workspace/tools" "$workspace/bazel-bin/tools/graphrun" "$TEST_TMPDIR/bin" "$TEST_TMPDIR/logs" "$TEST_TMPDIR/here"
cp tools/dev "$workspace/tools/dev"
dev=$workspace/tools/dev

# All commands that the script asks for are there; apt-get must never be called for real.
for name in gcc g++ clang dot clang-format clang-tidy shellcheck; do
  printf '#!/bin/sh\nexit 0\n' >"$TEST_TMPDIR/bin/$name"
done
cat >"$TEST_TMPDIR/bin/apt-get" <<END
#!/bin/sh
echo "\$*" >>"$TEST_TMPDIR/apt"
exit 100
END
cat >"$TEST_TMPDIR/bin/bazel" <<END
#!/bin/sh
echo "\$*" >>"$TEST_TMPDIR/bazel"
case \$1 in
info) echo "$TEST_TMPDIR/logs" ;;
*) cat "$TEST_TMPDIR/says"; exit \$(cat "$TEST_TMPDIR/status") ;;
esac
END
cat >"$workspace/bazel-bin/tools/graphrun/graphrun" <<'END'
#!/bin/sh
pwd
printf '[%s]' "$@"
exit 3
END
chmod +x "$TEST_TMPDIR/bin/"* "$workspace/bazel-bin/tools/graphrun/graphrun"
export PATH=$TEST_TMPDIR/bin:$PATH

check() {
  if [ "$2" != "$3" ]; then
    printf '%s: wanted\n%s\nand got\n%s\n' "$1" "$2" "$3"
    failures=$((failures + 1))
  fi
}

log() {
  mkdir -p "$TEST_TMPDIR/logs/$1"
  echo "$2" >"$TEST_TMPDIR/logs/$1/test.log"
}

# --- test: the closing line and the exit status -------------------------------
log a/b/good_test 'This line says that 1 case was skipped.'
log a/b/gpu_test 'skipped: no device'
log c/cached_test 100%
cat >"$TEST_TMPDIR/says" <<'END'
INFO: Found 7 test targets...
//a/b:good_test                                  PASSED in 0.1s
//a/b:gpu_test                          (cached) PASSED in 0.0s
//c:cached_test                         (cached) PASSED in 12.0s
//c:broken_test                                  FAILED TO BUILD
//c:bad_test                                     FAILED in 0.1s
  /somewhere/c/bad_test/test.log
//c:slow_test                                    TIMEOUT in 60.0s
//c:never_test                                   NO STATUS
END
echo 3 >"$TEST_TMPDIR/status"
output=$("$dev" test --config=asan 2>&1)
check 'status of a failed run' 1 $?
check 'closing line' '2 passed, 4 failed, 1 skipped' "$(tail -n 1 <<<"$output")"
check 'arguments' 1 "$(grep -c '^test .*--config=asan //\.\.\.$' "$TEST_TMPDIR/bazel")"
check 'the same configuration for the logs' 1 "$(grep -c '^info .*--config=asan bazel-testlogs$' "$TEST_TMPDIR/bazel")"

sed -i '/FAILED\|TIMEOUT\|NO STATUS/d' "$TEST_TMPDIR/says"
echo 0 >"$TEST_TMPDIR/status"
output=$("$dev" test //a/... 2>&1)
check 'status of a good run' 0 $?
check 'closing line of a good run' '2 passed, 0 failed, 1 skipped' "$(tail -n 1 <<<"$output")"
check 'a pattern replaces the default' 1 "$(grep -c '^test .* //a/\.\.\.$' "$TEST_TMPDIR/bazel")"

echo 'ERROR: a BUILD file is broken' >"$TEST_TMPDIR/says"
echo 1 >"$TEST_TMPDIR/status"
output=$("$dev" test 2>&1)
check 'status without any test' 1 $?
check 'closing line without any test' '0 passed, 1 failed, 0 skipped' "$(tail -n 1 <<<"$output")"

# --- run and build ------------------------------------------------------------
echo 0 >"$TEST_TMPDIR/status"
output=$(cd "$TEST_TMPDIR/here" && "$dev" run a.yaml --set 'name=a b' 2>"$TEST_TMPDIR/talk")
check 'status of the program' 3 $?
check 'folder and arguments' "$TEST_TMPDIR/here"$'\n''[run][a.yaml][--set][name=a b]' "$output"
check 'quiet when the build is good' '' "$(cat "$TEST_TMPDIR/talk")"

echo 1 >"$TEST_TMPDIR/status"
output=$("$dev" run a.yaml 2>"$TEST_TMPDIR/talk")
check 'status of a failed build' 1 $?
check 'no output of a failed build' '' "$output"
check 'reason of a failed build' 'ERROR: a BUILD file is broken' "$(cat "$TEST_TMPDIR/talk")"

# --- setup where the distribution has another Bazel -----------------------------
# A PATH of its own: nothing of this machine may count as installed.
only=$TEST_TMPDIR/only
mkdir -p "$only"
for name in bash cat dirname env mktemp readlink rm sed; do ln -s "$(command -v "$name")" "$only/$name"; done
ln -s "$TEST_TMPDIR/bin/apt-get" "$only/apt-get"
printf '#!/bin/sh\necho 0\n' >"$only/id"
printf '#!/bin/sh\ncat "%s"\n' "$TEST_TMPDIR/policy" >"$only/apt-cache"
chmod +x "$only/id" "$only/apt-cache"
for candidate in '3.5.1+ds-3ubuntu1 no' '(none) no' '4.2.3+ds-9 yes'; do
  read -r version wanted <<<"$candidate"
  printf 'bazel-bootstrap:\n  Installed: (none)\n  Candidate: %s\n' "$version" >"$TEST_TMPDIR/policy"
  : >"$TEST_TMPDIR/apt"
  PATH=$only "$dev" build >/dev/null 2>"$TEST_TMPDIR/talk"
  check "status with Bazel $version" 1 $?
  if grep -q '^install .*bazel-bootstrap' "$TEST_TMPDIR/apt"; then got=yes; else got=no; fi
  check "installing Bazel $version" "$wanted" "$got"
  if grep -q 'does not package Bazel 4' "$TEST_TMPDIR/talk"; then got=no; else got=yes; fi
  check "words on Bazel $version" "$wanted" "$got"
done

# --- usage ----------------------------------------------------------------------
"$dev" frobnicate >/dev/null 2>&1
check 'status of an unknown command' 2 $?
check 'help goes to stdout' 1 "$("$dev" help 2>/dev/null | grep -c '^tools/dev setup')"

[ "$failures" = 0 ]
