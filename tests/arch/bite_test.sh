#!/usr/bin/env bash
# Each rule must find a breach and let the allowed neighbour pass; a rule that cannot fail is none.
set -euo pipefail
script=$PWD/tests/arch/arch_test.sh
failures=0

tree() {
  rm -rf "$TEST_TMPDIR/tree"
  mkdir -p "$TEST_TMPDIR/tree"
  (cd "$TEST_TMPDIR/tree" && mkdir -p engine/{base,document,pipeline,dag,plan,run,backend/host,backend/cuda} kernels tools/graphrun &&
    for folder in engine/{base,document,pipeline,dag,plan,run,backend/host,backend/cuda} kernels tools/graphrun; do
      echo 'int x;' >"$folder/x.c"
    done)
}

# expect 0|1 RULE FILE TEXT: the exit status for a tree in which FILE holds TEXT.
expect() {
  local want=$1 rule=$2 file=$3 text=$4 got=0
  tree
  printf '%s\n' "$text" >"$TEST_TMPDIR/tree/$file"
  "$script" "$rule" "$TEST_TMPDIR/tree" >"$TEST_TMPDIR/output" 2>&1 || got=$?
  if [ "$got" != "$want" ]; then
    echo "$rule: $file with \`$text\` gave $got instead of $want:"
    cat "$TEST_TMPDIR/output"
    failures=$((failures + 1))
  fi
}

expect 1 arrows engine/base/a.c '#include "engine/plan/plan.h"'
expect 0 arrows engine/plan/a.c '#include "engine/base/status.h"'
expect 1 arrows engine/document/a.c '#include "engine/kernel.h"'
expect 1 arrows engine/run/a.c '#include "engine/backend/cuda/capture.h"'
expect 1 arrows engine/backend/host/a.c '#include "engine/backend/cuda/device.h"'
expect 1 arrows engine/backend/cuda/a.c '#include "engine/document/document.h"'
expect 0 arrows engine/backend/builtin.c '#include "engine/backend/cuda/cuda.h"'
expect 1 arrows engine/backend/backend.c '#include "engine/backend/cuda/cuda.h"'
expect 1 arrows engine/kernel.h '#include "engine/base/status.h"'
expect 0 arrows engine/engine.c '#include "engine/run/run.h"'
expect 1 arrows engine/engine.c '#include "kernels/catalogue.h"'
expect 1 arrows kernels/a.c '#  include "engine/base/memory.h"'
expect 1 arrows tools/graphrun/main.c '#include "engine/plan/plan.h"'
expect 1 arrows engine/plan/a.c '#include "plan.h"'
expect 0 arrows engine/plan/a.c '/* #include "engine/run/run.h" */'

expect 1 cuda_headers engine/run/a.c '#include <cuda_runtime_api.h>'
expect 1 cuda_headers kernels/a.c '#include <cuda.h>'
expect 0 cuda_headers kernels/a.cu '#include <cuda_fp16.h>'
expect 0 cuda_headers engine/backend/cuda/cuda_api.h '#include <cuda_runtime_api.h>'

expect 1 yaml_header engine/pipeline/a.c '#include <yaml.h>'
expect 0 yaml_header engine/document/a.c '#include <yaml.h>'

expect 1 getenv engine/plan/a.c 'char *home = getenv("HOME");'
expect 0 getenv engine/base/knobs.c 'char *home = getenv("HOME");'
expect 0 getenv engine/plan/a.c '// getenv("HOME")'

expect 1 calls engine/plan/a.c 'void f(void) { printf("x"); }'
expect 1 calls engine/plan/a.c 'exit(1);'
expect 1 calls engine/plan/a.c 'FILE *to = stderr;'
expect 1 calls engine/plan/a.c '/* why */ abort ();'
expect 0 calls engine/plan/a.c 'snprintf(text, size, "exit(%d)", 1); table->abort(it); gr_exit(); x.signal(1);'
expect 0 calls engine/plan/a.c '/* It never calls exit(1),'$'\n''   nor abort(), nor writes to stderr. */'

expect 1 malloc engine/plan/a.c 'void *p = malloc(4);'
expect 0 malloc engine/base/memory.c 'void *p = malloc(4);'
expect 0 malloc engine/plan/a.c 'memory->free(memory->context, p); gr_free(p);'

# A room without sources would pass unseen.
tree
rm "$TEST_TMPDIR/tree/engine/plan/x.c"
if "$script" arrows "$TEST_TMPDIR/tree" >"$TEST_TMPDIR/output" 2>&1; then
  echo "arrows: an empty room passed."
  failures=$((failures + 1))
fi

[ "$failures" = 0 ]
