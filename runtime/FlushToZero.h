// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// FlushToZero.h - the floating-point mode of a run.

#ifndef GATEFOLD_RUNTIME_FLUSHTOZERO_H
#define GATEFOLD_RUNTIME_FLUSHTOZERO_H

#include <stdint.h>

#if defined(__x86_64__) || defined(__SSE__)
#include <xmmintrin.h>
#endif

namespace gatefold::runtime {

/// While it lives, this thread takes denormal numbers as 0, rounds to nearest
/// and traps on no exception, whatever the caller set; then the caller's mode
/// is back. Elsewhere than on x86 and aarch64 it changes nothing.
class FlushToZero {
public:
#if defined(__x86_64__) || defined(__SSE__)
  FlushToZero() : saved(_mm_getcsr()) {
    // All exceptions masked, results and inputs flushed.
    _mm_setcsr(0x1F80 | 0x8000 | 0x0040);
  }
  ~FlushToZero() { _mm_setcsr(saved); }

private:
  unsigned saved;
#elif defined(__aarch64__)
  FlushToZero() {
    __asm__ volatile("mrs %0, fpcr" : "=r"(saved));
    __asm__ volatile("msr fpcr, %0" : : "r"(uint64_t(1) << 24) : "memory");
  }
  ~FlushToZero() { __asm__ volatile("msr fpcr, %0" : : "r"(saved) : "memory"); }

private:
  uint64_t saved;
#else
  FlushToZero() {}
  ~FlushToZero() {}

private:
#endif
  FlushToZero(const FlushToZero &) = delete;
  FlushToZero &operator=(const FlushToZero &) = delete;
};

} // namespace gatefold::runtime

#endif // GATEFOLD_RUNTIME_FLUSHTOZERO_H
