// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- ArithmeticTest.cpp - LLVM's intrinsics, each on the emulator -------===//
//
// A kernel for each intrinsic of LLVM's that is of no target, with several
// types: one module that holds them all can be loaded, and each kernel computes
// a result or ends with an instruction that is not known. Neither a fault of
// the CPU's code generator nor a function that is missing may keep the others
// from running.
//
//===----------------------------------------------------------------------===//

#include "runtime/emulator/Emulator.h"
#include "llvm/Bitcode/BitcodeWriter.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/Intrinsics.h"
#include "llvm/IR/Module.h"
#include "llvm/IR/Verifier.h"
#include "llvm/Support/raw_ostream.h"
#include <set>

using namespace llvm;
using namespace gatefold;
using namespace gatefold::emulator;

namespace {

using Descriptor = Intrinsic::IITDescriptor;

/// The types of one set that an overloaded intrinsic takes.
struct Palette {
  Type *integer, *real;
};

class Kernels {
public:
  explicit Kernels(LLVMContext &context) : module("intrinsics", context) {
    module.setTargetTriple(Triple("nvptx64-nvidia-cuda"));
  }
  void add(Intrinsic::ID intrinsic, const Palette &palette, bool isReal);
  bool has(StringRef name) const { return module.getFunction(name); }
  std::string bitcode() const {
    std::string text;
    raw_string_ostream stream(text);
    WriteBitcodeToFile(module, stream);
    return text;
  }

private:
  std::optional<SmallVector<Type *>>
  overloads(Intrinsic::ID intrinsic, const Palette &palette, bool isReal) const;

  Module module;
  std::set<std::pair<Intrinsic::ID, FunctionType *>> known;
};

} // namespace

/// A type for each one that an intrinsic leaves open; none where it is made of
/// pointers or of something stranger than numbers.
std::optional<SmallVector<Type *>> Kernels::overloads(Intrinsic::ID intrinsic,
                                                      const Palette &palette,
                                                      bool isReal) const {
  SmallVector<Descriptor> table;
  Intrinsic::getIntrinsicInfoTableEntries(intrinsic, table);
  SmallVector<Type *> types;
  for (const Descriptor &entry : table) {
    switch (entry.Kind) {
    case Descriptor::Argument:
      break;
    case Descriptor::Void:
    case Descriptor::VarArg:
    case Descriptor::Half:
    case Descriptor::BFloat:
    case Descriptor::Float:
    case Descriptor::Double:
    case Descriptor::Integer:
    case Descriptor::Vector:
    case Descriptor::Struct:
    case Descriptor::SameVecWidthArgument:
    case Descriptor::VecElementArgument:
      continue;
    default:
      return std::nullopt;
    }
    // A result that is of an operand's type stands before it.
    if (entry.getArgumentKind() == Descriptor::AK_MatchType)
      continue;
    if (types.size() <= entry.getArgumentNumber())
      types.resize(entry.getArgumentNumber() + 1);
    Type *&type = types[entry.getArgumentNumber()];
    switch (entry.getArgumentKind()) {
    case Descriptor::AK_AnyInteger:
      type = palette.integer;
      break;
    case Descriptor::AK_AnyFloat:
      type = palette.real;
      break;
    case Descriptor::AK_Any:
    case Descriptor::AK_AnyVector:
      type = isReal ? palette.real : palette.integer;
      break;
    default:
      return std::nullopt;
    }
    if (entry.getArgumentKind() == Descriptor::AK_AnyVector &&
        !type->isVectorTy())
      type = FixedVectorType::get(type, 4);
  }
  if (is_contained(types, nullptr))
    return std::nullopt;
  return types;
}

/// A kernel whose operands are loaded from its argument, where the result goes,
/// too; immediate ones are 1.
void Kernels::add(Intrinsic::ID intrinsic, const Palette &palette,
                  bool isReal) {
  LLVMContext &context = module.getContext();
  std::optional<SmallVector<Type *>> types =
      overloads(intrinsic, palette, isReal);
  if (!types || (types->empty() && Intrinsic::isOverloaded(intrinsic)))
    return;
  FunctionType *type = Intrinsic::getType(context, intrinsic, *types);
  if (type->isVarArg() || !known.insert({intrinsic, type}).second)
    return;
  AttributeList attributes = Intrinsic::getAttributes(context, intrinsic, type);
  std::string name = "k" + std::to_string(module.size()) + "." +
                     Intrinsic::getBaseName(intrinsic).str();
  auto *kernel =
      Function::Create(FunctionType::get(Type::getVoidTy(context),
                                         {PointerType::get(context, 0)}, false),
                       GlobalValue::ExternalLinkage, name, module);
  kernel->setCallingConv(CallingConv::PTX_Kernel);
  IRBuilder<> builder(BasicBlock::Create(context, "", kernel));
  SmallVector<Value *> operands;
  for (auto [number, each] : enumerate(type->params()))
    operands.push_back(attributes.hasParamAttr(number, Attribute::ImmArg)
                           ? ConstantInt::get(each, 1)
                           : static_cast<Value *>(builder.CreateAlignedLoad(
                                 each, kernel->getArg(0), MaybeAlign(1))));
  Value *result = builder.CreateCall(
      Intrinsic::getOrInsertDeclaration(&module, intrinsic, *types), operands);
  if (!result->getType()->isVoidTy())
    builder.CreateAlignedStore(result, kernel->getArg(0), MaybeAlign(1));
  builder.CreateRetVoid();
  if (verifyFunction(*kernel))
    kernel->eraseFromParent();
}

int testArithmetic() {
  LLVMContext context;
  Kernels kernels(context);
  Type *half = Type::getHalfTy(context), *bfloat = Type::getBFloatTy(context),
       *f32 = Type::getFloatTy(context), *f64 = Type::getDoubleTy(context),
       *f128 = Type::getFP128Ty(context);
  auto bits = [&](unsigned width) { return Type::getIntNTy(context, width); };
  auto vector = [](Type *type, unsigned count) {
    return FixedVectorType::get(type, count);
  };
  const Palette palettes[] = {
      {bits(32), f32},
      {bits(64), f64},
      {bits(16), half},
      {bits(8), bfloat},
      {bits(1), f128},
      {bits(128), vector(f32, 4)},
      {vector(bits(32), 4), vector(f64, 2)},
      {vector(bits(8), 3), vector(half, 2)},
      {bits(256), f64},
  };
  for (Intrinsic::ID intrinsic = 1; intrinsic < Intrinsic::num_intrinsics;
       ++intrinsic) {
    if (Intrinsic::isTargetIntrinsic(intrinsic))
      continue;
    for (const Palette &palette : palettes)
      for (bool isReal : {false, true})
        kernels.add(intrinsic, palette, isReal);
  }

  int failures = 0;
  auto fail = [&](const Twine &what) {
    errs() << "ArithmeticTest.cpp: " << what << "\n";
    ++failures;
  };
  std::string bitcode = kernels.bitcode();
  std::unique_ptr<Device> device = cantFail(Device::create());
  auto program = Program::load(*device, MemoryBufferRef(bitcode, "test"));
  if (!program) {
    fail(toString(program.takeError()));
    return failures;
  }
  std::vector<uint8_t> ones(1024, 1);
  uint64_t x = cantFail(device->allocate(ones.size(), 256, "x"));
  LaunchOptions options;
  options.grid = options.block = {1, 1, 1};
  std::set<std::string> computed, unknown;
  for (const Kernel &kernel : (*program)->kernels()) {
    cantFail(device->copyIn(x, ones));
    auto result =
        (*program)->launch(kernel.name, {emulator::Argument::of(x)}, options);
    if (!result) {
      fail(kernel.name + ": " + toString(result.takeError()));
      continue;
    }
    std::string name = StringRef(kernel.name).split('.').second.str();
    if (result->findings.empty())
      computed.insert(name);
    else if (result->findings.front().kind == FindingKind::UnknownInstruction)
      unknown.insert(name);
  }
  for (const char *name :
       {"llvm.abs", "llvm.exp", "llvm.fma", "llvm.sincos",
        "llvm.vector.reduce.fmax", "llvm.umul.with.overflow"})
    if (!computed.count(name))
      fail(Twine(name) + " is arithmetic");
  for (const char *name :
       {"llvm.modf", "llvm.vscale", "llvm.sdiv.fix.sat", "llvm.vp.add"})
    if (computed.count(name))
      fail(Twine(name) + " is computed");
  return failures;
}
