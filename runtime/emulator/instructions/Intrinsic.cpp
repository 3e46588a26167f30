// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- Intrinsic.cpp - Intrinsics and inline assembly of LLVM IR ----------===//

#include "runtime/emulator/instructions/Intrinsic.h"
#include "runtime/emulator/instructions/Listing.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/IR/DerivedTypes.h"
#include "llvm/IR/InlineAsm.h"

using namespace llvm;
using namespace gatefold::emulator;
using namespace gatefold::emulator::ptx;

// LLVM has an Instruction, too.
using Found = std::optional<gatefold::emulator::Instruction>;

//===- Values of LLVM IR as registers -------------------------------------===//

/// A register for a value: of 1 to 64 bits; none if it takes more than one.
static std::optional<Binding::Value> valueOf(llvm::Type *type) {
  Binding::Value value;
  value.predicate = type->isIntegerTy(1);
  unsigned bits =
      type->isPointerTy() ? 64 : unsigned(type->getPrimitiveSizeInBits());
  if (value.predicate)
    bits = 8;
  bool packed = !isa<FixedVectorType>(type) || type->getScalarSizeInBits() >= 8;
  if (!packed || (bits != 8 && bits != 16 && bits != 32 && bits != 64))
    return std::nullopt;
  value.bytes = bits / 8;
  return value;
}

/// The results of a function, each at a multiple of its size, as the CPU's
/// layout has them.
static bool addResults(llvm::Type *type, Binding &binding) {
  if (type->isVoidTy())
    return true;
  SmallVector<llvm::Type *, 8> types{type};
  if (auto *aggregate = dyn_cast<StructType>(type)) {
    if (aggregate->isPacked())
      return false;
    types.assign(aggregate->element_begin(), aggregate->element_end());
  }
  unsigned offset = 0;
  for (llvm::Type *each : types) {
    std::optional<Binding::Value> value = valueOf(each);
    if (!value)
      return false;
    value->offset = offset = alignTo(offset, value->bytes);
    offset += value->bytes;
    binding.results.push_back(*value);
  }
  return true;
}

static bool addOperands(FunctionType *type, Binding &binding) {
  for (llvm::Type *each : type->params()) {
    std::optional<Binding::Value> value = valueOf(each);
    if (!value)
      return false;
    binding.operands.push_back(*value);
  }
  return !type->isVarArg();
}

static Found findText(StringRef text, Binding binding, std::string &unknown) {
  SmallVector<bool, 16> predicates;
  for (const Binding::Value &value : binding.results)
    predicates.push_back(value.predicate);
  for (const Binding::Value &value : binding.operands)
    predicates.push_back(value.predicate);
  std::optional<Listing> listing = parseListing(text, predicates, unknown);
  if (!listing)
    return std::nullopt;
  return bind(std::move(*listing), std::move(binding), unknown);
}

//===- Intrinsics ---------------------------------------------------------===//

std::string IntrinsicName::range(unsigned first, unsigned end) const {
  std::string result;
  for (unsigned index = first; index < end; ++index)
    result += (first == index ? "$" : ", $") + std::to_string(index);
  return result;
}

std::string IntrinsicName::plain(StringRef opcode) const {
  return (opcode + " " + range(0, results + operands) + ";").str();
}

std::optional<std::string> ptx::translate(const IntrinsicName &name) {
  Translation *translations[] = {translateArithmetic, translateConversion,
                                 translateWarp, translateBarrier,
                                 translateMemory};
  for (Translation *translation : translations)
    if (std::optional<std::string> text = translation(name))
      return text;
  return std::nullopt;
}

/// Reads a string of the kernel's, up to a length.
static std::string readString(Machine &machine, Thread &thread,
                              uint64_t address) {
  std::string text;
  while (text.size() < 256) {
    auto *character = static_cast<const char *>(
        machine.access(thread, address + text.size(), 1, 1, AccessKind::Read));
    if (!character || !*character)
      break;
    text += *character;
  }
  return text;
}

/// Functions of the device's library that kernels call.
static Found findFunction(StringRef name, FunctionType *type) {
  Binding binding;
  if (!addResults(type->getReturnType(), binding) ||
      !addOperands(type, binding))
    return std::nullopt;
  gatefold::emulator::Instruction instruction;
  instruction.name = name.str();
  if (name == "vprintf" && binding.operands.size() == 2 &&
      binding.results.size() == 1 && binding.results[0].bytes == 4 &&
      binding.operands[0].bytes == 8 && binding.operands[1].bytes == 8) {
    instruction.execute = [](Machine &machine, ArrayRef<Lane *> lanes) {
      Lane &lane = *lanes[0];
      lane.setResult(machine.print(*lane.thread, lane.operand<uint64_t>(0),
                                   lane.operand<uint64_t>(1)));
    };
    return instruction;
  }
  // __assertfail(message, file, line, function, size of a character)
  if (name == "__assertfail" && binding.operands.size() == 5 &&
      binding.operands[0].bytes == 8 && binding.operands[1].bytes == 8 &&
      binding.operands[2].bytes == 4) {
    instruction.execute = [](Machine &machine, ArrayRef<Lane *> lanes) {
      Lane &lane = *lanes[0];
      Thread &thread = *lane.thread;
      std::string condition =
          readString(machine, thread, lane.operand<uint64_t>(0));
      std::string file = readString(machine, thread, lane.operand<uint64_t>(1));
      machine.report(thread, FindingKind::Trap,
                     "assertion `" + Twine(condition) + "` of " + file + ":" +
                         Twine(lane.operand<uint32_t>(2)) + " does not hold");
      machine.exit(thread);
    };
    return instruction;
  }
  return std::nullopt;
}

Found gatefold::emulator::findIntrinsic(StringRef name, FunctionType *type) {
  std::string unknown;
  if (name == "llvm.trap")
    return findText("trap;", {}, unknown);
  if (!name.consume_front("llvm.nvvm."))
    return findFunction(name, type);
  // The address space of an overloaded pointer.
  auto [shorter, last] = name.rsplit('.');
  if (last.size() > 1 && last.front() == 'p' &&
      all_of(last.drop_front(), isDigit) && !name.starts_with("ldu."))
    name = shorter;
  else if (name.starts_with("ldu."))
    name = shorter;

  Binding binding;
  if (!addResults(type->getReturnType(), binding) ||
      !addOperands(type, binding))
    return std::nullopt;
  IntrinsicName intrinsic;
  intrinsic.text = name;
  name.split(intrinsic.parts, '.');
  intrinsic.results = binding.results.size();
  intrinsic.operands = binding.operands.size();
  std::optional<std::string> text = translate(intrinsic);
  if (!text)
    return std::nullopt;
  return findText(*text, std::move(binding), unknown);
}

//===- Inline assembly ----------------------------------------------------===//

Found gatefold::emulator::findAssembly(StringRef text, StringRef constraints,
                                       FunctionType *type,
                                       std::string &unknown) {
  Binding binding;
  if (!addResults(type->getReturnType(), binding) ||
      !addOperands(type, binding)) {
    unknown = "operands that are no registers: " + text.str();
    return std::nullopt;
  }
  unsigned results = 0, operands = 0;
  for (const InlineAsm::ConstraintInfo &info :
       InlineAsm::ParseConstraints(constraints)) {
    if (info.Type == InlineAsm::isClobber)
      continue;
    if (info.isIndirect || info.Type == InlineAsm::isLabel ||
        info.isMultipleAlternative) {
      unknown = "constraints `" + constraints.str() + "`";
      return std::nullopt;
    }
    if (info.Type == InlineAsm::isOutput) {
      ++results;
      continue;
    }
    unsigned tied;
    if (!info.Codes.empty() && !StringRef(info.Codes[0]).getAsInteger(10, tied))
      binding.tied.push_back({tied, operands});
    ++operands;
  }
  bool fits =
      results == binding.results.size() && operands == binding.operands.size();
  for (auto [result, operand] : binding.tied)
    fits &= result < results;
  if (!fits) {
    unknown = "constraints `" + constraints.str() + "`";
    return std::nullopt;
  }
  Found instruction = findText(text, std::move(binding), unknown);
  if (!instruction && unknown.empty())
    unknown = text.str();
  return instruction;
}
