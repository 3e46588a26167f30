// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- Name.cpp - The parts of an instruction's name ----------------------===//

#include "runtime/emulator/instructions/Name.h"

using namespace llvm;
using namespace gatefold::emulator;
using namespace gatefold::emulator::ptx;

std::optional<Type> gatefold::emulator::ptx::parseType(StringRef text) {
  using Kind = Type::Kind;
  static const struct {
    const char *name;
    Type type;
  } types[] = {
      {"f32", {Kind::Float, 32, 1, &f32}},
      {"f16", {Kind::Float, 16, 1, &f16}},
      {"f16x2", {Kind::Float, 16, 2, &f16}},
      {"bf16", {Kind::Float, 16, 1, &bf16}},
      {"bf16x2", {Kind::Float, 16, 2, &bf16}},
      {"f64", {Kind::Float, 64, 1, &f64}},
      {"tf32", {Kind::Float, 32, 1, &tf32}},
      {"e4m3x2", {Kind::Float, 8, 2, &e4m3}},
      {"e5m2x2", {Kind::Float, 8, 2, &e5m2}},
      {"e4m3", {Kind::Float, 8, 1, &e4m3}},
      {"e5m2", {Kind::Float, 8, 1, &e5m2}},
      {"pred", {Kind::Predicate, 1, 1, nullptr}},
      {"s4", {Kind::Signed, 4, 1, nullptr}},
      {"u4", {Kind::Unsigned, 4, 1, nullptr}},
  };
  for (const auto &type : types)
    if (text == type.name)
      return type.type;
  unsigned bits;
  StringRef digits = text.drop_front(text.empty() ? 0 : 1);
  if (digits.getAsInteger(10, bits) ||
      (digits != "8" && digits != "16" && digits != "32" && digits != "64"))
    return std::nullopt;
  switch (text.front()) {
  case 'b':
    return Type{Kind::Bits, bits, 1, nullptr};
  case 'u':
    return Type{Kind::Unsigned, bits, 1, nullptr};
  case 's':
    return Type{Kind::Signed, bits, 1, nullptr};
  default:
    return std::nullopt;
  }
}

Name::Name(StringRef text) : whole(text) { text.split(parts, '.'); }

bool Name::take(StringRef part) {
  if (done() || parts[next] != part)
    return false;
  ++next;
  return true;
}

std::optional<StringRef>
Name::takeOneOf(std::initializer_list<StringRef> choices) {
  for (StringRef choice : choices)
    if (take(choice))
      return choice;
  return std::nullopt;
}

std::optional<Type> Name::takeType() {
  if (done())
    return std::nullopt;
  std::optional<Type> type = parseType(parts[next]);
  if (type)
    ++next;
  return type;
}

std::optional<Rounding> Name::takeRounding() {
  if (take("rn"))
    return Rounding::Nearest;
  if (take("rz"))
    return Rounding::Zero;
  if (take("rm"))
    return Rounding::Down;
  if (take("rp"))
    return Rounding::Up;
  return std::nullopt;
}

std::optional<Scope> Name::takeScope() {
  if (take("cta"))
    return Scope::Block;
  if (take("cluster"))
    return Scope::Cluster;
  if (take("gpu"))
    return Scope::Device;
  if (take("sys"))
    return Scope::System;
  return std::nullopt;
}
