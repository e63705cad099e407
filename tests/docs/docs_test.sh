#!/usr/bin/env bash
# docs_test.sh EMBEDDING PROGRAM: the program of docs/embedding.md prints what the document says; every whole pipeline in the
# documents passes the check; every relative link leads somewhere.
set -uo pipefail
embedding=$(realpath "$1")
program=$(realpath "$2")
failures=0
fail() { echo "FAILED: $*" && failures=$((failures + 1)); }

"$embedding" >"$TEST_TMPDIR/out" 2>"$TEST_TMPDIR/err" || fail "the program of docs/embedding.md: $(cat "$TEST_TMPDIR/err")"
line=$(cat "$TEST_TMPDIR/out")
if [ -z "$line" ] || ! grep -qF "It prints \`$line\`." docs/embedding.md; then fail "docs/embedding.md does not say: $line"; fi

# Each ```yaml block that is a whole pipeline becomes a file.
blocks=$TEST_TMPDIR/blocks
rm -rf "$blocks" && mkdir -p "$blocks"
for document in README.md docs/*.md; do
  awk -v stem="$blocks/$(basename "$document" .md)" '
    /^```yaml$/ { inside = 1; text = ""; next }
    /^```$/ { if (inside && text ~ /(^|\n)graphrun: 1/) printf "%s", text > (stem "_" ++n ".yaml"); inside = 0; next }
    inside { text = text $0 "\n" }' "$document"
done
count=0
for block in "$blocks"/*.yaml; do
  count=$((count + 1))
  "$program" check "$block" >"$TEST_TMPDIR/out" 2>"$TEST_TMPDIR/err" || fail "$block: $(cat "$block" "$TEST_TMPDIR/err")"
done
[ "$count" -ge 2 ] || fail "only $count pipelines were found in the documents"

while IFS=: read -r document link; do
  target=${link#](}
  target=${target%)}
  target=${target%%#*}
  [ -z "$target" ] || [ -e "$(dirname "$document")/$target" ] || fail "$document links to $target"
done < <(grep -oH ']([^)h#][^)]*)' README.md docs/*.md)

[ "$failures" = 0 ]
