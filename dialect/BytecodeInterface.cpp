// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- BytecodeInterface.cpp - Bytecode of the gf dialect -----------------===//
//
// Writes the version of the dialect into bytecode, reads older versions, and
// refuses newer ones. Operations and attributes need no encoding of their own:
// the dialect has properties of builtin attributes only.
//
//===----------------------------------------------------------------------===//

#include "dialect/BytecodeInterface.h"
#include "dialect/Version.h"

using namespace mlir;
using namespace gatefold;

namespace {
class GfBytecodeInterface : public BytecodeDialectInterface {
public:
  explicit GfBytecodeInterface(Dialect *dialect)
      : BytecodeDialectInterface(dialect) {}

  void writeVersion(DialectBytecodeWriter &writer) const override {
    GfDialectVersion version = GfDialectVersion::current();
    writer.writeVarInt(version.major);
    writer.writeVarInt(version.minor);
  }

  std::unique_ptr<DialectVersion>
  readVersion(DialectBytecodeReader &reader) const override {
    uint64_t major, minor;
    if (failed(reader.readVarInt(major)) || failed(reader.readVarInt(minor)))
      return nullptr;
    GfDialectVersion current = GfDialectVersion::current();
    auto version = std::make_unique<GfDialectVersion>(major, minor);
    if (version->isNewerThan(current)) {
      reader.emitError() << "bytecode of the gf dialect has version " << major
                         << "." << minor << ", this Gatefold reads up to "
                         << current.major << "." << current.minor;
      return nullptr;
    }
    return version;
  }

  // Nothing to upgrade yet: 0.1 is the first version.
};
} // namespace

void gatefold::addBytecodeInterface(GfDialect *dialect) {
  dialect->addInterfaces<GfBytecodeInterface>();
}
