// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- Arithmetic.cpp - What the CPU computes as it stands ----------------===//
//
// Intrinsics that the emulator leaves in the code, and the functions that the
// CPU's code generator calls for arithmetic. Both are lists of what is known: a
// name of LLVM's that is on neither would end in a fault of the code generator,
// or in a symbol that nobody defines, and with it the whole module.
//
//===----------------------------------------------------------------------===//

#include "runtime/emulator/Retarget.h"
#include "llvm/IR/Intrinsics.h"

using namespace llvm;
using namespace gatefold::emulator;

static bool isKnown(Intrinsic::ID intrinsic) {
  switch (intrinsic) {
  // Integers.
  case Intrinsic::abs:
  case Intrinsic::bitreverse:
  case Intrinsic::bswap:
  case Intrinsic::ctlz:
  case Intrinsic::ctpop:
  case Intrinsic::cttz:
  case Intrinsic::fshl:
  case Intrinsic::fshr:
  case Intrinsic::sadd_sat:
  case Intrinsic::sadd_with_overflow:
  case Intrinsic::scmp:
  case Intrinsic::smax:
  case Intrinsic::smin:
  case Intrinsic::smul_with_overflow:
  case Intrinsic::sshl_sat:
  case Intrinsic::ssub_sat:
  case Intrinsic::ssub_with_overflow:
  case Intrinsic::uadd_sat:
  case Intrinsic::uadd_with_overflow:
  case Intrinsic::ucmp:
  case Intrinsic::umax:
  case Intrinsic::umin:
  case Intrinsic::umul_with_overflow:
  case Intrinsic::ushl_sat:
  case Intrinsic::usub_sat:
  case Intrinsic::usub_with_overflow:
  // Floats.
  case Intrinsic::acos:
  case Intrinsic::asin:
  case Intrinsic::atan:
  case Intrinsic::atan2:
  case Intrinsic::ceil:
  case Intrinsic::convert_from_fp16:
  case Intrinsic::convert_to_fp16:
  case Intrinsic::copysign:
  case Intrinsic::cos:
  case Intrinsic::cosh:
  case Intrinsic::exp:
  case Intrinsic::exp2:
  case Intrinsic::fabs:
  case Intrinsic::floor:
  case Intrinsic::fma:
  case Intrinsic::fmuladd:
  case Intrinsic::fptosi_sat:
  case Intrinsic::fptoui_sat:
  case Intrinsic::frexp:
  case Intrinsic::is_fpclass:
  case Intrinsic::ldexp:
  case Intrinsic::llrint:
  case Intrinsic::llround:
  case Intrinsic::log:
  case Intrinsic::log10:
  case Intrinsic::log2:
  case Intrinsic::lrint:
  case Intrinsic::lround:
  case Intrinsic::maximum:
  case Intrinsic::maximumnum:
  case Intrinsic::maxnum:
  case Intrinsic::minimum:
  case Intrinsic::minimumnum:
  case Intrinsic::minnum:
  case Intrinsic::nearbyint:
  case Intrinsic::pow:
  case Intrinsic::powi:
  case Intrinsic::rint:
  case Intrinsic::round:
  case Intrinsic::roundeven:
  case Intrinsic::sin:
  case Intrinsic::sincos:
  case Intrinsic::sinh:
  case Intrinsic::sqrt:
  case Intrinsic::tan:
  case Intrinsic::tanh:
  case Intrinsic::trunc:
  // Vectors.
  case Intrinsic::vector_deinterleave2:
  case Intrinsic::vector_extract:
  case Intrinsic::vector_insert:
  case Intrinsic::vector_interleave2:
  case Intrinsic::vector_reduce_add:
  case Intrinsic::vector_reduce_and:
  case Intrinsic::vector_reduce_fadd:
  case Intrinsic::vector_reduce_fmax:
  case Intrinsic::vector_reduce_fmaximum:
  case Intrinsic::vector_reduce_fmin:
  case Intrinsic::vector_reduce_fminimum:
  case Intrinsic::vector_reduce_fmul:
  case Intrinsic::vector_reduce_mul:
  case Intrinsic::vector_reduce_or:
  case Intrinsic::vector_reduce_smax:
  case Intrinsic::vector_reduce_smin:
  case Intrinsic::vector_reduce_umax:
  case Intrinsic::vector_reduce_umin:
  case Intrinsic::vector_reduce_xor:
  case Intrinsic::vector_reverse:
  // What tells an optimiser something, and is one of its operands.
  case Intrinsic::arithmetic_fence:
  case Intrinsic::expect:
  case Intrinsic::expect_with_probability:
  case Intrinsic::is_constant:
    return true;
  default:
    return false;
  }
}

/// A number of a GPU, or a vector of them.
static bool isNumber(const Type *type) {
  const Type *scalar = type->getScalarType();
  return !type->isScalableTy() &&
         (scalar->isIntegerTy() || scalar->isHalfTy() || scalar->isBFloatTy() ||
          scalar->isFloatTy() || scalar->isDoubleTy());
}

/// Whether the integers of an intrinsic that has floats, too, are as wide as
/// the code generator wants them, which the verifier leaves open.
static bool isWidth(Intrinsic::ID intrinsic, unsigned width) {
  switch (intrinsic) {
  // A C compiler's `int`, `long` and `long long`.
  case Intrinsic::frexp:
  case Intrinsic::ldexp:
  case Intrinsic::powi:
    return width == 32;
  case Intrinsic::lrint:
  case Intrinsic::lround:
    return width == 32 || width == 64;
  case Intrinsic::llrint:
  case Intrinsic::llround:
    return width == 64;
  case Intrinsic::fptosi_sat:
  case Intrinsic::fptoui_sat:
    return width <= 64;
  default:
    return true;
  }
}

/// 0 of a number.
static unsigned lengthOf(Type *type) {
  auto *vector = dyn_cast<FixedVectorType>(type);
  return vector ? vector->getNumElements() : 0;
}

/// Whether the code generator has this form of a known intrinsic, where the
/// verifier leaves more open.
static bool isForm(Intrinsic::ID intrinsic, ArrayRef<Type *> types) {
  auto has = [&](function_ref<bool(Type *)> predicate) {
    return any_of(types, predicate);
  };
  switch (intrinsic) {
  // Of floats of more than 16 bits, and one at a time.
  case Intrinsic::convert_from_fp16:
  case Intrinsic::convert_to_fp16:
    return has([](Type *type) { return type->isFloatTy(); }) ||
           has([](Type *type) { return type->isDoubleTy(); });
  case Intrinsic::vector_reduce_fmax:
  case Intrinsic::vector_reduce_fmaximum:
  case Intrinsic::vector_reduce_fmin:
  case Intrinsic::vector_reduce_fminimum:
    return !has([](Type *type) { return type->isIntOrIntVectorTy(); });
  case Intrinsic::fptosi_sat:
  case Intrinsic::fptoui_sat:
  case Intrinsic::frexp:
  case Intrinsic::ldexp:
  case Intrinsic::llrint:
  case Intrinsic::llround:
  case Intrinsic::lrint:
  case Intrinsic::lround:
    if (has([&](Type *type) { return lengthOf(type) != lengthOf(types[0]); }))
      return false;
    break;
  default:
    break;
  }
  return all_of(types, [&](Type *type) {
    return !type->isIntOrIntVectorTy() ||
           isWidth(intrinsic, type->getScalarSizeInBits());
  });
}

bool gatefold::emulator::isArithmetic(const Function &function) {
  Intrinsic::ID intrinsic = function.getIntrinsicID();
  FunctionType *type = function.getFunctionType();
  SmallVector<Type *, 8> types(type->params());
  if (auto *aggregate = dyn_cast<StructType>(type->getReturnType()))
    types.append(aggregate->element_begin(), aggregate->element_end());
  else
    types.push_back(type->getReturnType());
  return isKnown(intrinsic) && all_of(types, isNumber) &&
         isForm(intrinsic, types);
}

bool gatefold::emulator::isOfQuads(const llvm::Instruction &instruction) {
  if (!isa<BinaryOperator, CastInst, CmpInst>(instruction))
    return false;
  return instruction.getType()->getScalarType()->isFP128Ty() ||
         instruction.getOperand(0)->getType()->getScalarType()->isFP128Ty();
}

bool gatefold::emulator::isArithmeticSymbol(StringRef name) {
  static const char *const functions[] = {
      "acos",     "asin",    "atan",   "atan2",     "ceil",    "cos",
      "cosh",     "exp",     "exp2",   "fabs",      "floor",   "fma",
      "fmax",     "fmin",    "fmod",   "frexp",     "ldexp",   "log",
      "log2",     "log10",   "pow",    "nearbyint", "rint",    "round",
      "sin",      "sincos",  "sinh",   "sqrt",      "tan",     "tanh",
      "trunc",    "lrint",   "llrint", "lround",    "llround", "roundeven",
      "fmaximum", "fminimum"};
  name.consume_front("_");
  // Those of the compiler's own library: `__udivti3`, `__extendhfsf2`,
  // `__fixdfti`.
  if (name.starts_with("_"))
    return name.ends_with("2") || name.ends_with("3") || name.ends_with("4") ||
           name.starts_with("_fix") || name.starts_with("_float");
  if (name == "memcpy" || name == "memmove" || name == "memset")
    return true;
  // Of f64, or else of f32.
  return is_contained(functions, name) ||
         (name.consume_back("f") && is_contained(functions, name));
}

/// f32 rounded to bf16, to the nearest, to even, as bits.
static Value *roundToBFloat(IRBuilder<> &builder, Value *value) {
  Value *bits = builder.CreateBitCast(value, builder.getInt32Ty());
  Value *high = builder.CreateLShr(bits, 16);
  Value *odd = builder.CreateAnd(high, 1);
  Value *rounded = builder.CreateLShr(
      builder.CreateAdd(builder.CreateAdd(bits, builder.getInt32(0x7fff)), odd),
      16);
  Value *nan = builder.CreateOr(high, builder.getInt32(0x40));
  Value *result =
      builder.CreateSelect(builder.CreateFCmpUNO(value, value), nan, rounded);
  return builder.CreateTrunc(result, builder.getInt16Ty());
}

/// f64 rounded to f32 so that a second rounding, to fewer bits, gives what one
/// would have: what is lost leaves the last bit set.
static Value *roundToOdd(IRBuilder<> &builder, Value *value) {
  Value *nearest = builder.CreateFPTrunc(value, builder.getFloatTy());
  Value *back = builder.CreateFPExt(nearest, value->getType());
  Value *isLarger = builder.CreateFCmpOGT(
      builder.CreateUnaryIntrinsic(Intrinsic::fabs, back),
      builder.CreateUnaryIntrinsic(Intrinsic::fabs, value));
  Value *isInexact = builder.CreateFCmpONE(back, value);
  Type *i32 = builder.getInt32Ty();
  Value *cut = builder.CreateSub(builder.CreateBitCast(nearest, i32),
                                 builder.CreateZExt(isLarger, i32));
  return builder.CreateBitCast(
      builder.CreateOr(cut, builder.CreateZExt(isInexact, i32)),
      builder.getFloatTy());
}

void Retarget::defineArithmetic() {
  Type *bfloat = Type::getBFloatTy(context);
  for (bool isDouble : {false, true}) {
    Type *from =
        isDouble ? Type::getDoubleTy(context) : Type::getFloatTy(context);
    auto *function =
        Function::Create(FunctionType::get(bfloat, {from}, /*isVarArg=*/false),
                         GlobalValue::ExternalLinkage,
                         isDouble ? "__truncdfbf2" : "__truncsfbf2", module);
    function->addFnAttr(Attribute::NoUnwind);
    IRBuilder<> builder(BasicBlock::Create(context, "", function));
    Value *value = function->getArg(0);
    if (isDouble)
      value = roundToOdd(builder, value);
    builder.CreateRet(
        builder.CreateBitCast(roundToBFloat(builder, value), bfloat));
  }
}
