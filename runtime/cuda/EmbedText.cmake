# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Makes the array checkImage (Check.h) of the file TEXT, as the source OUTPUT.

file(READ "${TEXT}" text)
file(WRITE "${OUTPUT}" "// Made from CheckValues.ll.
#include \"runtime/cuda/Check.h\"
const char gatefold::runtime::cuda::checkImage[] = R\"PTX(${text})PTX\";
")
