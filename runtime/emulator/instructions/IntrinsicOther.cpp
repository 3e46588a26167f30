// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- IntrinsicOther.cpp - Warps, barriers, memory as PTX ----------------===//

#include "runtime/emulator/instructions/Intrinsic.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSwitch.h"

using namespace llvm;
using namespace gatefold::emulator;
using namespace gatefold::emulator::ptx;

//===- Warps --------------------------------------------------------------===//

/// `mma.m16n8k16.row.col.f32.f32`: which types are named depends on A's.
static std::optional<std::string> translateMultiply(const IntrinsicName &name) {
  SmallVector<StringRef, 12> types(drop_begin(name.parts));
  if (types.size() < 4)
    return std::nullopt;
  std::string opcode = "mma.sync.aligned";
  for (unsigned part = 0; part < 3; ++part) // the shape, row, col
    opcode += ("." + types[part]).str();
  types.erase(types.begin(), types.begin() + 3);
  if (types.front() == "satfinite") {
    opcode += ".satfinite";
    types.erase(types.begin());
  }
  StringRef a, b, c, d;
  if (types.size() == 4) { // e4m3, e5m2: all of them
    d = types[0];
    a = types[1];
    b = types[2];
    c = types[3];
  } else if (types.size() == 2 && (types[0] == "f16" || types[0] == "f32")) {
    d = types[0];
    a = b = "f16";
    c = types[1];
  } else if (types.size() == 1 || types.size() == 2) {
    a = types.front();
    b = types.back();
    bool isInteger = a.starts_with("s") || a.starts_with("u");
    c = d = isInteger ? "s32" : a == "f64" ? "f64" : "f32";
  } else {
    return std::nullopt;
  }
  return name.plain((opcode + "." + d + "." + a + "." + b + "." + c).str());
}

std::optional<std::string> ptx::translateWarp(const IntrinsicName &name) {
  StringRef first = name.parts.front(), text = name.text;
  if (first == "mma")
    return translateMultiply(name);
  if (first == "ldmatrix" || first == "stmatrix") {
    auto [opcode, type] = text.rsplit('.');
    return name.plain((opcode + ".shared." + type).str());
  }
  if (text.consume_front("shfl.sync.")) {
    auto [mode, type] = text.split('.');
    bool pair = type.consume_back("p");
    if (type != "i32" && type != "f32")
      return std::nullopt;
    std::string results = pair ? "$0|$1" : "$0";
    unsigned mask = pair ? 2 : 1;
    return ("shfl.sync." + mode + ".b32 " + results + ", " +
            name.range(mask + 1, mask + 4) + ", $" + Twine(mask) + ";")
        .str();
  }
  if (first == "vote" && name.is(2, "sync"))
    return ("vote.sync." + name.parts[1] +
            (name.parts[1] == "ballot" ? ".b32" : ".pred") + " $0, $2, $1;")
        .str();
  if (text.consume_front("match.any.sync.i"))
    return ("match.any.sync.b" + text + " $0, $2, $1;").str();
  if (text.consume_front("match.all.sync.i") && text.consume_back("p"))
    return ("match.all.sync.b" + text + " $0|$1, $3, $2;").str();
  if (text.consume_front("redux.sync.")) {
    StringRef which = name.parts[2];
    std::string type = StringSwitch<std::string>(which)
                           .Cases({"and", "or", "xor"}, "b32")
                           .Cases({"add", "min", "max"}, "s32")
                           .Cases({"umin", "umax"}, "u32")
                           .Cases({"fmin", "fmax"}, "f32")
                           .Default("");
    if (type == "u32" || type == "f32")
      text = text.drop_front();
    return type.empty() ? std::nullopt
                        : std::optional(name.plain(
                              ("redux.sync." + text + "." + type).str()));
  }
  if (text == "elect.sync")
    return "elect.sync $0|$1, $2;";
  if (text == "bar.warp.sync")
    return name.plain(text);
  return std::nullopt;
}

//===- Barriers, fences, ends ---------------------------------------------===//

std::optional<std::string> ptx::translateBarrier(const IntrinsicName &name) {
  StringRef first = name.parts.front(), text = name.text;
  if (text == "barrier0")
    return "barrier.cta.sync.aligned 0;";
  if (first == "barrier0" && name.parts.size() == 2) {
    // Its predicates are numbers.
    std::string which = name.parts[1].str();
    if (which == "popc")
      return "{.reg .pred p; setp.ne.b32 p, $1, 0;"
             " barrier.cta.red.popc.aligned.u32 $0, 0, p;}";
    return "{.reg .pred p, q; setp.ne.b32 p, $1, 0; barrier.cta.red." + which +
           ".aligned.pred q, 0, p; selp.b32 $0, 1, 0, q;}";
  }
  if (text.consume_front("barrier.cta.")) {
    // `all` and `count` are the number of operands.
    if (!text.consume_back(".all") && !text.consume_back(".count"))
      return std::nullopt;
    std::string opcode = ("barrier.cta." + text).str();
    if (text.starts_with("red."))
      opcode += text.starts_with("red.popc") ? ".u32" : ".pred";
    return name.plain(opcode);
  }
  if (first == "barrier" || first == "membar" || text == "exit")
    return name.plain(text);
  if (first == "fence") {
    std::string opcode = text.str();
    if (StringRef(opcode).ends_with("shared_cta"))
      opcode.replace(opcode.size() - 10, 10, "shared::cta");
    else if (StringRef(opcode).ends_with("shared_cluster"))
      opcode.replace(opcode.size() - 14, 14, "shared::cluster");
    return name.plain(opcode);
  }
  if (text == "nanosleep")
    return name.plain("nanosleep.u32");
  if (text == "griddepcontrol.wait")
    return name.plain(text);
  if (text == "griddepcontrol.launch.dependents")
    return name.plain("griddepcontrol.launch_dependents");
  return std::nullopt;
}

/// `arrive.expect.tx.scope.cta.space.cta`: words that PTX joins by `_`, and
/// scope and space under their names.
static std::optional<std::string>
translateBarrierObject(const IntrinsicName &name) {
  std::string opcode = "mbarrier", space, scope;
  ArrayRef<StringRef> parts(name.parts);
  for (size_t i = 1; i < parts.size(); ++i) {
    StringRef part = parts[i], next = i + 1 < parts.size() ? parts[i + 1] : "";
    if ((part == "test" && next == "wait") ||
        (part == "try" && next == "wait") ||
        (part == "expect" && next == "tx") ||
        (part == "complete" && next == "tx") ||
        (part == "pending" && next == "count")) {
      opcode += ("." + part + "_" + next).str();
      ++i;
    } else if (part == "drop") {
      opcode += "_drop";
    } else if (part == "scope" || part == "space") {
      (part == "scope" ? scope : space) = next.str();
      ++i;
    } else if (part == "shared") {
      space = "cta";
    } else if (part != "tl") { // the time is one more operand
      opcode += ("." + part).str();
    }
  }
  if (!scope.empty())
    opcode += "." + scope;
  if (!space.empty())
    opcode += ".shared::" + space;
  opcode += ".b64";
  bool arrives = name.is(1, "arrive") || name.is(1, "complete");
  if (arrives && name.results == 0) // of another block's
    return opcode + " _, " + name.range(0, name.operands) + ";";
  return name.plain(opcode);
}

//===- Memory -------------------------------------------------------------===//

static std::optional<std::string> translateCopy(const IntrinsicName &name) {
  StringRef text = name.text;
  if (text == "cp.async.commit.group")
    return "cp.async.commit_group;";
  if (text == "cp.async.wait.group")
    return "cp.async.wait_group $0;";
  if (text == "cp.async.wait.all")
    return "cp.async.wait_all;";
  if (text.starts_with("cp.async.mbarrier.arrive"))
    return name.plain((text + ".b64").str());
  // `cp.async.ca.shared.global.16.s`: the sizes are operands.
  bool limited = text.consume_back(".s");
  auto [opcode, bytes] = text.rsplit('.');
  if (!all_of(bytes, isDigit) || name.operands != 2u + limited)
    return std::nullopt;
  return (opcode + " [$0], [$1], " + bytes + (limited ? ", $2;" : ";")).str();
}

/// `atomic.add.gen.f.cta.f32.p0`; the types at the end are there.
static std::optional<std::string> translateAtomic(const IntrinsicName &name) {
  if (name.parts.size() != 6 || !name.is(2, "gen"))
    return std::nullopt;
  StringRef which = name.parts[1], scope = name.parts[4], type = name.parts[5];
  std::string letter = name.is(3, "f") ? "f"
                       : StringSwitch<bool>(which)
                               .Cases({"and", "or", "xor", "exch", "cas"}, true)
                               .Default(false)
                           ? "b"
                       : which == "min" || which == "max" ? "s"
                                                          : "u";
  return name.plain(
      ("atom." + scope + "." + which + "." + letter + type.drop_front()).str());
}

std::optional<std::string> ptx::translateMemory(const IntrinsicName &name) {
  StringRef first = name.parts.front(), text = name.text;
  if (text.consume_front("read.ptx.sreg.")) {
    if (text == "warpsize")
      return "mov.b32 $0, WARP_SZ;";
    std::string register_ = text.str();
    // `lanemask.eq`, `cluster.ctaid.x` have a `_` in PTX.
    if (text.starts_with("lanemask.") || text.starts_with("cluster.") ||
        text == "globaltimer.lo")
      register_[text.find('.')] = '_';
    bool wide = text == "clock64" || text == "globaltimer";
    return (wide ? "mov.u64 $0, %" : "mov.u32 $0, %") + register_ + ";";
  }
  if (text == "is_explicit_cluster")
    return "mov.pred $0, %is_explicit_cluster;";
  if (first == "mbarrier")
    return translateBarrierObject(name);
  if (text.starts_with("cp.async."))
    return translateCopy(name);
  if (first == "atomic")
    return translateAtomic(name);
  if (first == "isspacep") {
    std::string opcode = text.str();
    if (text == "isspacep.shared.cluster")
      opcode = "isspacep.shared::cluster";
    return name.plain(opcode);
  }
  if (first == "mapa" || first == "getctarank")
    return name.plain(
        (first + (name.is(1, "shared") ? ".shared::cluster.u64" : ".u64"))
            .str());
  if (first == "ldu" && name.parts.size() == 4) {
    StringRef type = name.parts[3];
    unsigned bits;
    if (type.starts_with("p"))
      return "ldu.global.b64 $0, [$1];";
    return type.ltrim("bif").getAsInteger(10, bits)
               ? std::nullopt
               : std::optional("ldu.global.b" + std::to_string(bits) +
                               " $0, [$1];");
  }
  if (first == "prefetch" || first == "prefetchu" || first == "applypriority") {
    std::string opcode = text.str();
    size_t hint = opcode.find("evict.");
    if (hint != std::string::npos) {
      opcode[hint + 5] = '_';
      opcode.replace(hint - 1, 1, "::");
    }
    return name.plain(opcode);
  }
  if (first == "move")
    return "mov.b64 $0, $1;";
  return std::nullopt;
}
