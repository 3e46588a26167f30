// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- IntegerTest.cpp - Integers, bits, bytes ----------------------------===//

#include "Harness.h"
#include "llvm/IR/DerivedTypes.h"

using namespace gatefold::emulator;
using namespace gatefold::emulator::test;

/// `opcode $0, $1, ...` of numbers of 32 bits.
static uint64_t call(const std::string &opcode, const Words &operands) {
  std::string text = opcode + " $0", constraints = "=r";
  for (size_t index = 0; index < operands.size(); ++index) {
    text += ", $" + std::to_string(index + 1);
    constraints += ",r";
  }
  Subject subject = Subject::assembly(text + ";", constraints);
  check(subject.known(), text + ": " + subject.unknown, __FILE__, __LINE__);
  return subject.run1(operands);
}
static uint64_t callIntrinsic(const char *name, const Words &operands) {
  return Subject::intrinsic(std::string("llvm.nvvm.") + name).run1(operands);
}

void test::testIntegers() {
  const uint64_t minus = 0xffffffff;
  CHECK_EQUAL(call("add.s32", {0x7fffffff, 1}), 0x80000000);
  CHECK_EQUAL(call("add.sat.s32", {0x7fffffff, 1}), 0x7fffffff);
  CHECK_EQUAL(call("sub.sat.s32", {0x80000000, 1}), 0x80000000);
  CHECK_EQUAL(call("mul.lo.u32", {0x10001, 0x10001}), 0x20001);
  CHECK_EQUAL(call("mul.hi.u32", {minus, minus}), 0xfffffffe);
  CHECK_EQUAL(call("mul.hi.s32", {minus, minus}), 0);
  CHECK_EQUAL(call("mad.lo.s32", {3, minus, 10}), 7);
  CHECK_EQUAL(call("min.s32", {minus, 1}), minus);
  CHECK_EQUAL(call("min.u32", {minus, 1}), 1);
  CHECK_EQUAL(call("max.s32", {minus, 1}), 1);
  CHECK_EQUAL(call("abs.s32", {minus}), 1);
  CHECK_EQUAL(call("div.s32", {uint64_t(uint32_t(-7)), 2}), uint32_t(-3));
  CHECK_EQUAL(call("rem.s32", {uint64_t(uint32_t(-7)), 2}), minus);
  CHECK_EQUAL(call("div.s32", {0x80000000, minus}), 0x80000000);
  Subject zero = Subject::assembly("div.u32 $0, $1, $2;", "=r,r,r");
  zero.run({1, 0});
  CHECK_EQUAL(zero.machine.reports.at(0), "lane 0: division by 0");

  CHECK_EQUAL(call("shl.b32", {1, 32}), 0);
  CHECK_EQUAL(call("shr.s32", {0x80000000, 40}), minus);
  CHECK_EQUAL(call("shr.u32", {0x80000000, 31}), 1);
  CHECK_EQUAL(call("lop3.b32", {0xf0, 0xcc, 0xaa, 0x80}), 0x80);
  CHECK_EQUAL(call("lop3.b32", {0xf0, 0xcc, 0xaa, 0x96}), 0xf0 ^ 0xcc ^ 0xaa);
  CHECK_EQUAL(call("popc.b32", {0xf0f0}), 8);
  CHECK_EQUAL(call("clz.b32", {1}), 31);
  CHECK_EQUAL(call("clz.b32", {0}), 32);
  CHECK_EQUAL(call("brev.b32", {1}), 0x80000000);
  CHECK_EQUAL(call("bfind.u32", {0x100}), 8);
  CHECK_EQUAL(call("bfind.s32", {minus}), minus);
  CHECK_EQUAL(call("bfind.shiftamt.u32", {0x100}), 23);
  CHECK_EQUAL(call("bfe.u32", {0xabcd, 4, 8}), 0xbc);
  CHECK_EQUAL(call("bfe.s32", {0xabcd, 4, 8}), 0xffffffbc);
  CHECK_EQUAL(call("bfe.s32", {0x80000000, 28, 8}), 0xfffffff8);
  CHECK_EQUAL(call("bfi.b32", {0xf, 0x12345678, 8, 4}), 0x12345f78);

  CHECK_EQUAL(callIntrinsic("mulhi.s", {0xffff, 0xffff}), 0);
  CHECK_EQUAL(callIntrinsic("mulhi.us", {0xffff, 0xffff}), 0xfffe);
  CHECK_EQUAL(callIntrinsic("mulhi.ull", {~uint64_t(0), ~uint64_t(0)}),
              ~uint64_t(1));
  CHECK_EQUAL(callIntrinsic("mul24.i", {0xffffff, 5}), uint32_t(-5));
  CHECK_EQUAL(callIntrinsic("mul24.ui", {0xffffff, 5}), 0x4fffffb);
  CHECK_EQUAL(callIntrinsic("sad.i", {minus, 3, 10}), 14);
  CHECK_EQUAL(callIntrinsic("sad.ui", {minus, 3, 0}), minus - 3);
  CHECK_EQUAL(callIntrinsic("prmt", {0x33221100, 0x77665544, 0x7410}),
              0x77441100);
  CHECK_EQUAL(callIntrinsic("prmt", {0x80, 0, 0x8888}), minus);
  CHECK_EQUAL(callIntrinsic("prmt.b4e", {0x33221100, 0x77665544, 1}),
              0x66770011);
  CHECK_EQUAL(callIntrinsic("prmt.rc16", {0x33221100, 1}), 0x33223322);
  CHECK_EQUAL(callIntrinsic("bmsk.clamp", {4, 8}), 0xff0);
  CHECK_EQUAL(callIntrinsic("bmsk.wrap", {36, 40}), 0xff0);
  CHECK_EQUAL(callIntrinsic("sext.clamp", {0x80, 8}), 0xffffff80);
  CHECK_EQUAL(callIntrinsic("zext.wrap", {0xffff, 36}), 0xf);
  CHECK_EQUAL(callIntrinsic("fns", {0xf0, 0, 2}), 5);
  CHECK_EQUAL(callIntrinsic("fns", {0xf0, 31, uint32_t(-1)}), 7);
  // Bytes 1, -1, 2, 0 times 1, 2, 255 or -1, 0.
  CHECK_EQUAL(callIntrinsic("idp4a.s.s", {0x0002ff01, 0x00ff0201, 100}), 97);
  CHECK_EQUAL(callIntrinsic("idp4a.u.u", {0x0002ff01, 0x00ff0201, 0}),
              1 + 255 * 2 + 2 * 255);
  CHECK_EQUAL(callIntrinsic("idp2a.s.s", {0xffff0003, 0x07050302, 0, 1}),
              3 * 2 - 3 + 1);
  CHECK_EQUAL(callIntrinsic("idp2a.s.s", {0xffff0003, 0x07050302, 1, 1}),
              3 * 5 - 7 + 1);
  llvm::Type *i32 = llvm::Type::getInt32Ty(context());
  Subject left = Subject::intrinsic("llvm.nvvm.fshl.clamp.i32", {i32});
  CHECK_EQUAL(left.run1({0x12345678, 0x9abcdef0, 8}), 0x3456789a);
  CHECK_EQUAL(left.run1({0x12345678, 0x9abcdef0, 40}), 0x9abcdef0);
  Subject right = Subject::intrinsic("llvm.nvvm.fshr.clamp.i32", {i32});
  CHECK_EQUAL(right.run1({0x12345678, 0x9abcdef0, 8}), 0x789abcde);
}
