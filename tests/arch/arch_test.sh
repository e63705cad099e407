#!/usr/bin/env bash
# The forbidden arrows and calls, looked for in the text of the sources.
# arch_test.sh RULE [ROOT]: prints each offending line; exits 1 if there is one.
set -euo pipefail
rule=$1
cd "${2:-.}"

sources() { find -L "$@" -name '*.[ch]' -o -name '*.cu' -o -name '*.cuh' | sort; }

for folder in engine/{base,document,pipeline,dag,plan,backend/host,backend/cuda,run} kernels tools/graphrun; do
  [ -n "$(sources "$folder")" ] || {
    echo "No source in $folder: this test would not look at it."
    exit 1
  }
done

# Our C without comments and strings, as FILE:LINE:TEXT. A name there is not a use of it.
code() {
  local files
  files=$(sources "$@")
  # shellcheck disable=SC2086  # no source has a blank in its name
  awk '
    FNR == 1 { inside = 0 }
    {
      line = $0
      include = line ~ /^[ \t]*#[ \t]*include/
      kept = ""
      while (line != "") {
        if (inside) {
          end = index(line, "*/")
          if (!end) break
          line = substr(line, end + 2)
          inside = 0
        } else if (!include && match(line, /^"([^"\\]|\\.)*"/)) {
          kept = kept "\"\""
          line = substr(line, RLENGTH + 1)
        } else if (substr(line, 1, 2) == "//") break
        else if (substr(line, 1, 2) == "/*") {
          inside = 1
          line = substr(line, 3)
        } else {
          kept = kept substr(line, 1, 1)
          line = substr(line, 2)
        }
      }
      print FILENAME ":" FNR ":" kept
    }' $files
}

# What a file may include in quotes: prefixes of paths from the root of the
# workspace. The first line that fits the file counts.
arrows='
engine/graphrun/
engine/kernel.                 engine/kernel.h engine/graphrun/kernel.h
engine/base/                   engine/base/
engine/document/               engine/base/ engine/document/
engine/pipeline/               engine/base/ engine/document/ engine/pipeline/ engine/kernel.h
engine/dag/                    engine/base/ engine/document/ engine/pipeline/ engine/dag/ engine/kernel.h
engine/plan/                   engine/base/ engine/document/ engine/pipeline/ engine/dag/ engine/plan/ engine/kernel.h
engine/backend/host/           engine/base/ engine/plan/ engine/backend/backend.h engine/backend/host/ engine/kernel.h
engine/backend/cuda/           engine/base/ engine/plan/ engine/backend/backend.h engine/backend/cuda/ engine/kernel.h tests/support/fake_cuda/
engine/backend/builtin.c       engine/backend/
engine/backend/                engine/base/ engine/plan/ engine/backend/backend.h engine/backend/builtin.h engine/kernel.h
engine/run/                    engine/base/ engine/document/ engine/pipeline/ engine/dag/ engine/plan/ engine/backend/backend.h engine/run/ engine/kernel.h
engine/graphrun.h              engine/base/ engine/kernel.h
engine/                        engine/
kernels/                       engine/kernel.h kernels/
tools/graphrun/                engine/graphrun.h engine/kernel.h kernels/catalogue.h tools/graphrun/
'

check_arrows() {
  code engine kernels tools/graphrun | awk -v arrows="$arrows" '
    BEGIN {
      count = split(arrows, rows, "\n")
      for (i = 1; i <= count; i++) {
        n = split(rows[i], words, " ")
        if (n == 0) continue
        from[++rules] = words[1]
        for (j = 2; j <= n; j++) to[rules, j - 1] = words[j]
        fields[rules] = n - 1
      }
    }
    match($0, /:[ \t]*#[ \t]*include[ \t]*"[^"]+"/) {
      path = substr($0, RSTART, RLENGTH - 1)
      sub(/^[^"]*"/, "", path)
      for (i = 1; i <= rules; i++) if (index($0, from[i]) == 1) break
      for (j = 1; j <= fields[i]; j++) if (index(path, to[i, j]) == 1) next
      print
    }'
}

# Lines of the sources that hold a call of one of the functions: not a member of a struct, not a longer name.
calls() {
  local names=$1
  shift
  code "$@" | grep -E "(:|[^A-Za-z0-9_.>:])($names)[[:space:]]*\(" || true
}

offences() {
  case $rule in
  arrows)
    check_arrows
    ;;
  cuda_headers)
    # Device code is compiled by nvcc alone, and needs what nvcc brings along.
    code engine kernels tools/graphrun |
      grep -E '#[[:space:]]*include[[:space:]]*[<"](cuda|cuda_[a-z0-9_]*|cudart_platform|cublas[A-Za-z0-9_]*|driver_types|vector_types|nvrtc|nccl)\.h[>"]' |
      grep -vE '^engine/backend/cuda/|^[^:]*\.cuh?:' || true
    ;;
  yaml_header)
    code engine kernels tools/graphrun | grep -E '#[[:space:]]*include[[:space:]]*[<"]yaml\.h' |
      grep -vE '^engine/document/' || true
    ;;
  getenv)
    calls 'getenv|secure_getenv|setenv|putenv|unsetenv' engine kernels | grep -vE '^engine/base/knobs\.c:' || true
    ;;
  calls)
    # The library never prints, never ends the process, and leaves its state alone.
    calls 'v?printf|puts|putchar|perror|exit|_exit|_Exit|quick_exit|abort|atexit|setlocale|signal|sigaction|sigprocmask|chdir' engine
    code engine | grep -E '(:|[^A-Za-z0-9_])(stdout|stderr)([^A-Za-z0-9_]|$)' || true
    ;;
  malloc)
    calls 'malloc|calloc|realloc|reallocarray|free|strdup|strndup|aligned_alloc|posix_memalign|asprintf|vasprintf' engine kernels |
      grep -vE '^engine/base/memory\.c:|^[^:]*\.cuh?:' || true
    ;;
  *)
    echo "There is no rule $rule."
    ;;
  esac
}

found=$(offences)
if [ -n "$found" ]; then
  echo "$found"
  echo "The rule '$rule' is broken in the lines above; docs/ARCHITECTURE.md says why it is there."
  exit 1
fi
