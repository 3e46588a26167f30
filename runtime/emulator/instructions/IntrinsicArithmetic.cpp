// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- IntrinsicArithmetic.cpp - Arithmetic intrinsics as PTX -------------===//

#include "runtime/emulator/instructions/Intrinsic.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSwitch.h"

using namespace llvm;
using namespace gatefold::emulator;
using namespace gatefold::emulator::ptx;

/// Integer types as intrinsics abbreviate them, after CUDA's C.
static StringRef integerType(StringRef suffix) {
  return StringSwitch<StringRef>(suffix)
      .Case("s", "s16")
      .Case("us", "u16")
      .Case("i", "s32")
      .Case("ui", "u32")
      .Case("ll", "s64")
      .Case("ull", "u64")
      .Default("");
}

static StringRef floatType(StringRef suffix) {
  return StringSwitch<StringRef>(suffix)
      .Case("f", "f32")
      .Case("d", "f64")
      .Case("v2f16", "f16x2")
      .Case("v2bf16", "bf16x2")
      .Default(suffix);
}

/// The parts from `first` on, the last one as a type.
static std::string joined(const IntrinsicName &name, size_t first) {
  std::string result;
  for (size_t index = first; index < name.parts.size(); ++index) {
    StringRef part = name.parts[index];
    result += '.';
    result += index + 1 == name.parts.size() ? floatType(part)
              : part == "nan"                ? "NaN"
                                             : part;
  }
  return result;
}

static std::optional<std::string> translateInteger(const IntrinsicName &name) {
  StringRef first = name.parts.front();
  StringRef type = name.parts.size() > 1 ? integerType(name.parts[1]) : "";
  if (name.parts.size() == 2 && !type.empty()) {
    StringRef opcode = StringSwitch<StringRef>(first)
                           .Case("mulhi", "mul.hi.")
                           .Case("mul24", "mul24.lo.")
                           .Case("sad", "sad.")
                           .Default("");
    if (!opcode.empty())
      return name.plain((opcode + type).str());
  }
  if (first == "idp4a" && name.parts.size() == 3)
    return name.plain(
        ("dp4a." + name.parts[1] + "32." + name.parts[2] + "32").str());
  if (first == "idp2a" && name.parts.size() == 3 && name.operands == 4) {
    // Which half of the bytes is an operand, not a part of the name.
    std::string types =
        ("." + name.parts[1] + "32." + name.parts[2] + "32 ").str();
    return "@$3 dp2a.hi" + types + "$0, $1, $2, $4; @!$3 dp2a.lo" + types +
           "$0, $1, $2, $4;";
  }
  if (first == "prmt") {
    std::string opcode = "prmt.b32";
    if (name.parts.size() > 1)
      opcode += ("." + name.parts[1]).str();
    // Those that replicate look at one register only.
    return name.operands == 2 ? opcode + " $0, $1, 0, $2;" : name.plain(opcode);
  }
  if (first == "bmsk" && name.parts.size() == 2)
    return name.plain(("bmsk." + name.parts[1] + ".b32").str());
  if ((first == "sext" || first == "zext") && name.parts.size() == 2)
    return name.plain(
        ("szext." + name.parts[1] + (first == "sext" ? ".s32" : ".u32")).str());
  if (first == "fns" && name.parts.size() == 1)
    return name.plain("fns.b32");
  if ((first == "fshl" || first == "fshr") && name.is(1, "clamp") &&
      name.is(2, "i32"))
    return ("shf." + first.take_back() + ".clamp.b32 $0, $2, $1, $3;").str();
  if (first == "flo" && name.parts.size() == 3) {
    std::string type = (name.parts[1] + name.parts[2].drop_front()).str();
    return "@$2 bfind.shiftamt." + type + " $0, $1; @!$2 bfind." + type +
           " $0, $1;";
  }
  return std::nullopt;
}

/// How an intrinsic that rounds to an integer is a conversion.
static StringRef integralRounding(StringRef name) {
  return StringSwitch<StringRef>(name)
      .Case("floor", "rmi")
      .Case("ceil", "rpi")
      .Case("round", "rni")
      .Case("trunc", "rzi")
      .Case("saturate", "sat")
      .Default("");
}

std::optional<std::string> ptx::translateArithmetic(const IntrinsicName &name) {
  StringRef first = name.parts.front();
  if (std::optional<std::string> text = translateInteger(name))
    return text;
  bool isSame = StringSwitch<bool>(first)
                    .Cases({"add", "mul", "fma", "div", "rcp"}, true)
                    .Cases({"sqrt", "rsqrt", "sin", "cos", "lg2"}, true)
                    .Cases({"ex2", "tanh", "neg"}, true)
                    .Default(false);
  if (isSame) {
    if (name.text == "sqrt.f")
      return name.plain("sqrt.rn.f32");
    if (name.text.starts_with("div.full"))
      return name.plain((name.text + ".f32").str());
    return name.plain(first.str() + joined(name, 1));
  }
  if (first == "fmin" || first == "fmax" || first == "fabs")
    return name.plain(first.drop_front().str() + joined(name, 1));
  StringRef rounding = integralRounding(first);
  if (!rounding.empty()) {
    bool ftz = name.is(1, "ftz");
    if (name.parts.size() != 2u + ftz)
      return std::nullopt;
    std::string type = ("." + floatType(name.parts.back())).str();
    std::string flushes = ftz ? ".ftz" : "";
    return name.plain(rounding == "sat"
                          ? "cvt" + flushes + ".sat" + type + type
                          : ("cvt." + rounding).str() + flushes + type + type);
  }
  return std::nullopt;
}

//===- Conversions --------------------------------------------------------===//

/// `f2ui`: the types on both sides of the 2.
static std::optional<std::pair<StringRef, StringRef>>
splitTypes(StringRef name) {
  auto typeOf = [](StringRef text) {
    StringRef integer = integerType(text);
    if (!integer.empty())
      return integer;
    return StringSwitch<StringRef>(text)
        .Case("f", "f32")
        .Case("d", "f64")
        .Case("h", "f16")
        .Case("bf", "bf16")
        .Cases({"f16", "bf16", "tf32"}, text)
        .Cases({"f16x2", "bf16x2"}, text)
        .Default("");
  };
  auto [from, to] = name.split('2');
  bool pair = from.consume_front("f") && from == "f";
  StringRef fromType = pair ? "f32" : typeOf(name.split('2').first);
  StringRef toType = typeOf(to);
  if (fromType.empty() || toType.empty() || pair != to.ends_with("x2"))
    return std::nullopt;
  return std::pair(fromType, toType);
}

std::optional<std::string> ptx::translateConversion(const IntrinsicName &name) {
  StringRef text = name.text, first = name.parts.front();
  if (text == "lohi.i2d")
    return "mov.b64 $0, {$1, $2};";
  if (text == "d2i.lo")
    return "mov.b64 {$0, _}, $1;";
  if (text == "d2i.hi")
    return "mov.b64 {_, $0}, $1;";
  // `ff.to.e4m3x2.rn`, `e4m3x2.to.f16x2.rn.relu`
  if (name.is(1, "to") && name.parts.size() >= 4) {
    StringRef from = first == "ff" ? "f32" : first, to = name.parts[2];
    std::string modifiers = "." + join(drop_begin(name.parts, 3), ".");
    bool small = to == "e4m3x2" || to == "e5m2x2";
    if (small)
      modifiers.insert(3, ".satfinite");
    return name.plain(("cvt" + modifiers + "." + to + "." + from).str());
  }
  auto types = splitTypes(first);
  if (!types || name.parts.size() < 2)
    return std::nullopt;
  auto [from, to] = *types;
  std::string modifiers = "." + name.parts[1].str();
  // Floating-point numbers to integers round to integers.
  if (from.front() == 'f' && (to.front() == 's' || to.front() == 'u'))
    modifiers += "i";
  for (StringRef part : drop_begin(name.parts, 2))
    modifiers += ("." + part).str();
  return name.plain(("cvt" + modifiers + "." + to + "." + from).str());
}
