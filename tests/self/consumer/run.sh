#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# run.sh BUILD: installs attest from the folder BUILD into a temporary prefix, builds this project against it with
# find_package(attest) and with pkg-config, and judges its kernel and the NumPy program with the installed command.
# Ends with the verdict's exit status.
set -euo pipefail

if (($# != 1)) || [[ ! -f ${1:-}/CMakeCache.txt ]]; then
  echo "usage: $0 BUILD    (a built CMake folder)" >&2
  exit 2
fi
here=$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

# The installed command must find its data by itself.
unset ATTEST_PROJECT_DIR ATTEST_PLUGIN_DIR
cmake --install "$1" --prefix "$scratch/prefix" >"$scratch/log" || { cat "$scratch/log" >&2; exit 1; }
mv "$scratch/prefix" "$scratch/moved" # a prefix may be moved
export PATH=$scratch/moved/bin:$PATH

cmake -S "$here" -B "$scratch/build" -DCMAKE_BUILD_TYPE=Release -DCMAKE_PREFIX_PATH="$scratch/moved" >"$scratch/log" &&
  cmake --build "$scratch/build" >>"$scratch/log" || { cat "$scratch/log" >&2; exit 1; }
ctest --test-dir "$scratch/build" --no-tests=error --output-on-failure

# Without CMake: the compiler and pkg-config. The version is that of the command.
export PKG_CONFIG_PATH=$scratch/moved/lib/pkgconfig
read -ra flags <<<"$(pkg-config --cflags attest)"
cc -std=c11 -O2 -Wall -Wextra -Wpedantic -Werror -shared -fPIC "${flags[@]}" "$here/kernel.c" \
  -o "$scratch/kernel.so" -lm
command=$(pkg-config --variable=command attest)
[[ $("$command" --version) == "$(pkg-config --modversion attest)" ]]
"$command" check "$scratch/kernel.so" --max-cases 30 --strength 1 --claim "$scratch/claim.toml"
"$command" verify-claim "$scratch/claim.toml" --no-run

# Configure stops at names that do not exist, and prints them.
for wrong in 'kernel OPERATIONS attention.scaled_dot' 'kernel PROFILES f31' 'nothing' 'kernel OPERATION x'; do
  mkdir "$scratch/wrong"
  sed "s|^attest_add_conformance_test(.*|attest_add_conformance_test($wrong)|" "$here/CMakeLists.txt" \
    >"$scratch/wrong/CMakeLists.txt"
  cp "$here/kernel.c" "$scratch/wrong"
  if cmake -S "$scratch/wrong" -B "$scratch/wrong/build" -DCMAKE_PREFIX_PATH="$scratch/moved" >"$scratch/log" 2>&1; then
    echo "attest_add_conformance_test($wrong) was taken" >&2
    exit 1
  fi
  tr -s ' \n' ' ' <"$scratch/log" | grep -qE "did you mean|there are|no such target|profiles:" || {
    cat "$scratch/log" >&2
    exit 1
  }
  rm -r "$scratch/wrong"
done
# A plugin without a kernel for an operation fails that operation's test.
sed 's|OPERATIONS attention.scaled_dot_product|OPERATIONS linear.causal|' "$here/CMakeLists.txt" >"$scratch/other.cmake"
mkdir "$scratch/other"
cp "$here/kernel.c" "$scratch/other"
mv "$scratch/other.cmake" "$scratch/other/CMakeLists.txt"
cmake -S "$scratch/other" -B "$scratch/other/build" -DCMAKE_PREFIX_PATH="$scratch/moved" >"$scratch/log"
cmake --build "$scratch/other/build" >>"$scratch/log"
if ctest --test-dir "$scratch/other/build" >"$scratch/log"; then
  echo "a plugin without the kernel passed its test" >&2
  exit 1
fi

if python3 -c 'import numpy' 2>/dev/null; then
  attest emit attention.scaled_dot_product --to "$scratch/cases" \
    --capabilities "empty_row == 'zero'; softcap == 0; window_left < 0; window_right < 0; not sink"
  python3 "$here/judge_numpy.py" "$scratch/cases"
  attest judge "$scratch/cases"
else
  echo "NumPy is not installed: judge_numpy.py was skipped"
fi
