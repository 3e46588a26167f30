// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- ListParameters.cpp - The parameters of each entry ------------------===//
//
// Says on each function that may be an entry which parameters it and what it
// calls have, before any of them is dropped since nothing reads it.
//
//===----------------------------------------------------------------------===//

#include "dialect/GatefoldOps.h"
#include "mlir/Interfaces/CallInterfaces.h"
#include "passes/simplify/Passes.h"
#include "passes/support/Entry.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SetVector.h"

namespace gatefold {
#define GEN_PASS_DEF_LISTPARAMETERS
#include "passes/simplify/Passes.h.inc"
} // namespace gatefold

using namespace mlir;
using namespace gatefold;

namespace {
struct ListParameters : gatefold::impl::ListParametersBase<ListParameters> {
  void runOnOperation() override {
    SymbolTableCollection tables;
    for (auto function : getOperation().getOps<func::FuncOp>()) {
      if (function.isDeclaration() ||
          (!function.isPublic() && !function->hasAttr(attribute_names::entry)))
        continue;
      // Itself, and what it calls.
      llvm::SetVector<Operation *> functions;
      functions.insert(function);
      llvm::MapVector<StringAttr, Attribute> parameters;
      for (size_t next = 0; next < functions.size(); ++next)
        functions[next]->walk<WalkOrder::PreOrder>([&](Operation *op) {
          if (auto parameter = dyn_cast<ParameterOp>(op)) {
            parameters.try_emplace(parameter.getNameAttr(),
                                   describe(parameter));
          } else if (auto call = dyn_cast<CallOpInterface>(op)) {
            if (Operation *callee = call.resolveCallableInTable(&tables))
              functions.insert(callee);
          }
        });
      function->removeAttr(parametersName);
      if (parameters.empty())
        continue;
      SmallVector<Attribute> list;
      for (auto &[name, description] : parameters)
        list.push_back(description);
      parametersListed += list.size();
      function->setAttr(parametersName, ArrayAttr::get(&getContext(), list));
    }
  }

  /// What an argument of the entry has to know of it.
  DictionaryAttr describe(ParameterOp parameter) {
    NamedAttrList entries;
    entries.set("name", parameter.getNameAttr());
    entries.set("type", TypeAttr::get(parameter.getType()));
    if (FloatAttr initial = parameter.getInitialAttr())
      entries.set("initial", initial);
    return entries.getDictionary(&getContext());
  }
};
} // namespace
