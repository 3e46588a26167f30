// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- Operation.h - One PTX instruction, on registers ----------*- C++ -*-===//
//
// An operation is what an opcode of PTX means, apart from where its operands
// come from: a function of words, one for each register. Both kinds of
// instruction, intrinsics and inline assembly, are texts of such operations.
//
//===----------------------------------------------------------------------===//

#ifndef RUNTIME_EMULATOR_INSTRUCTIONS_OPERATION_H
#define RUNTIME_EMULATOR_INSTRUCTIONS_OPERATION_H

#include "runtime/emulator/instructions/Name.h"

namespace gatefold::emulator::ptx {

/// `mma.sync.m16n8k16.f64` reads 16, `ldmatrix.x4` and `ld.v8` give 4 and 8.
inline constexpr unsigned maximumSources = 20, maximumResults = 8;

/// One thread's registers in an execution. What a register holds is in the low
/// bits of its word; what is above is anything in a source and ignored in a
/// result.
struct Frame {
  Thread *thread;
  uint64_t sources[maximumSources];
  uint64_t results[maximumResults];

  uint32_t word(unsigned index) const { return uint32_t(sources[index]); }
  bool predicate(unsigned index) const { return sources[index] & 1; }
  float real(unsigned index) const { return bitCast<float>(word(index)); }
};

/// How an instruction is written, as far as that tells its forms apart.
struct Syntax {
  /// `{a, b}` has two elements, `a|b` too, everything else has one.
  llvm::SmallVector<unsigned, 8> elements;
  /// Whether the operand's (first) register is a predicate.
  llvm::SmallVector<bool, 8> predicates;
  /// The first operand is written `a|b`.
  bool pair = false;

  unsigned operands() const { return elements.size(); }
  unsigned registers() const {
    unsigned count = 0;
    for (unsigned each : elements)
      count += each;
    return count;
  }
};

struct Operation {
  /// The first registers of the text are results, the others sources.
  unsigned results = 0, sources = 0;
  /// Executed by one thread; false: the launch has ended.
  std::function<bool(Machine &, Frame &)> execute;
  /// Or by a warp, whose missing lanes are null.
  std::function<bool(Machine &, llvm::ArrayRef<Frame *>)> executeWarp;
  /// Which source is the mask of the warp's lanes; none: all lanes.
  std::optional<unsigned> mask;
  /// Whether a thread may have to wait in it, so that a warp's other threads
  /// must go on by themselves.
  bool waits = false;
};

/// The operation of an opcode; none if it is not known in this form.
std::optional<Operation> findOperation(llvm::StringRef opcode,
                                       const Syntax &syntax);

//===- The families: each none for what it does not know ------------------===//

using Family = std::optional<Operation>(Name name, const Syntax &syntax);
Family findFloat, findApproximation, findComparison, findConversion;
Family findInteger, findBits, findMove, findAddress;
Family findLoadStore, findAtomic, findFence;
Family findBlockBarrier, findControl, findCopy, findBarrierObject;
Family findWarp, findMatrixMove, findMatrixMultiply;

/// The value of a special register, `%tid.x`; none if it is not known.
std::optional<std::function<uint64_t(Machine &, const Thread &)>>
findRegister(llvm::StringRef name);

//===- Building operations ------------------------------------------------===//

/// One result from the sources alone.
template <typename Function>
Operation makePure(unsigned sources, Function function) {
  Operation operation;
  operation.results = 1;
  operation.sources = sources;
  operation.execute = [function](Machine &, Frame &frame) {
    frame.results[0] = function(const_cast<const Frame &>(frame));
    return true;
  };
  return operation;
}

/// What a thread does to the machine: `bool (Machine &, Frame &)`.
template <typename Function>
Operation makeEffect(unsigned results, unsigned sources, Function function) {
  Operation operation;
  operation.results = results;
  operation.sources = sources;
  operation.execute = function;
  return operation;
}

/// No effect that is modelled: hints, prefetches.
inline Operation makeNothing(unsigned sources) {
  return makeEffect(0, sources, [](Machine &, Frame &) { return true; });
}

/// A function of the elements of packed registers, one by one:
/// `uint64_t (const uint64_t *elements)`.
template <typename Function>
Operation makeElementwise(const Type &type, unsigned sources,
                          Function function) {
  if (type.elements == 1)
    return makePure(sources, [function](const Frame &frame) {
      return uint64_t(function(frame.sources));
    });
  return makePure(sources, [=](const Frame &frame) {
    uint64_t result = 0, ones = (uint64_t(1) << type.bits) - 1;
    for (unsigned element = 0; element < type.elements; ++element) {
      uint64_t values[4];
      for (unsigned source = 0; source < sources; ++source)
        values[source] = frame.sources[source] >> (element * type.bits) & ones;
      result |= (function(values) & ones) << (element * type.bits);
    }
    return result;
  });
}

/// Where an address must be for an instruction that names its space.
enum class Space { Generic, Global, Shared, Local };
/// Reads `.global`, `.shared{::cta,::cluster}`, `.local`, `.const`.
Space takeSpace(Name &name);
/// Whether the address may be in the space; reports if not.
bool checkSpace(Machine &machine, Thread &thread, uint64_t address,
                Space space);

/// A number of 1 to 64 bits, sign- or zero-extended.
inline int64_t extend(uint64_t word, unsigned bits, bool isSigned) {
  unsigned unused = 64 - bits;
  return isSigned ? int64_t(word << unused) >> unused
                  : int64_t(word << unused >> unused);
}

} // namespace gatefold::emulator::ptx

#endif // RUNTIME_EMULATOR_INSTRUCTIONS_OPERATION_H
