#!/usr/bin/env bash
# Writes the goldens of tests/golden anew with the release program. Read the difference before it is committed.
set -euo pipefail
root=$(cd "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")/.." && pwd)
"$root/tools/dev" build
exec "$root/tests/golden/golden_test.sh" "$root/bazel-bin/tools/graphrun/graphrun" --write
