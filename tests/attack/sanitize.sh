#!/usr/bin/env bash
# Build the C++ core with a sanitizer, and run its tests and the fuzzer over it.
#
#     tests/attack/sanitize.sh address      # out of bounds, use after free
#     tests/attack/sanitize.sh undefined    # overflow, alignment, shifts
#     tests/attack/sanitize.sh thread       # races
#
# CALLS=2000 sets the number of fuzzed calls. Run it in the development environment; everything
# that it makes is in build/sanitize-NAME.
set -euo pipefail
cd "$(dirname "$0")/../.."
name=${1:?address, undefined or thread}
python=${PYTHON:-$(command -v python)}
folder=$PWD/build/sanitize-$name
mkdir -p build
flags="-fsanitize=$name -fno-omit-frame-pointer -O1 -g1"
case $name in
  address) library=libasan.so ;;
  undefined) library=libubsan.so; flags="$flags -fno-sanitize-recover=undefined" ;;
  thread) library=libtsan.so ;;
  *) echo "address, undefined or thread"; exit 2 ;;
esac
PATH=$(dirname "$python"):$PATH cmake -S . -B "$folder" -G Ninja -DCMAKE_BUILD_TYPE=Debug \
  -Dnanobind_DIR="$("$python" -m nanobind --cmake_dir)" -DPython_EXECUTABLE="$python" \
  "-DCMAKE_CXX_FLAGS=$flags" "-DCMAKE_MODULE_LINKER_FLAGS=$flags" > "$folder.log" 2>&1 \
  || { tail -20 "$folder.log"; exit 1; }
PATH=$(dirname "$python"):$PATH cmake --build "$folder" >> "$folder.log" 2>&1 \
  || { tail -20 "$folder.log"; exit 1; }
# An environment of its own: an editable install would be imported instead of this build.
rm -rf "$folder/site" "$folder/venv"
mkdir -p "$folder/site"
cp -r src/polychotomy src/polychotomy_command "$folder/site/"
cp "$folder"/_core*.so "$folder/site/polychotomy/native/"
"$python" -m venv --without-pip "$folder/venv"
packages=$("$python" -c "import sys; print(*[p for p in sys.path if p.endswith('-packages')], sep='\n')")
printf '%s\n%s\n' "$folder/site" "$packages" > "$(echo "$folder"/venv/lib/python3*/site-packages)/paths.pth"
export LD_PRELOAD="$(gcc -print-file-name=$library) $(gcc -print-file-name=libstdc++.so)"
export ASAN_OPTIONS=detect_leaks=0 UBSAN_OPTIONS=print_stacktrace=1 OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1
# Python and OpenBLAS are not built with ThreadSanitizer: only what names our core counts.
export TSAN_OPTIONS="report_bugs=1 exitcode=66 suppressions=$PWD/tests/attack/tsan.txt"
run="$folder/venv/bin/python"
"$run" -c "from polychotomy.native import _core; assert '$folder' in _core.__file__, _core.__file__"
# The test left out starts a Python of its own, without the sanitizer loaded first.
"$run" -m pytest tests/native -n0 -q -p no:cacheprovider -k "not interrupt and not the_calling_thread_does_the_work"
"$run" tests/fuzz/fuzz.py --calls "${CALLS:-2000}" --seed 7
echo "$name: clean"
