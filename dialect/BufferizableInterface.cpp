// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- BufferizableInterface.cpp - Bufferization of pack, linear ----------===//
//
// Destination-style operations become themselves on buffers.
//
//===----------------------------------------------------------------------===//

#include "dialect/BufferizableInterface.h"
#include "dialect/GatefoldOps.h"
#include "mlir/Dialect/Bufferization/IR/BufferizableOpInterface.h"
#include "mlir/Dialect/Bufferization/IR/DstBufferizableOpInterfaceImpl.h"

using namespace mlir;
using namespace gatefold;
using namespace mlir::bufferization;

namespace {
template <typename Op>
struct DestinationModel
    : DstBufferizableOpInterfaceExternalModel<DestinationModel<Op>, Op> {
  bool bufferizesToMemoryRead(Operation *op, OpOperand &operand,
                              const AnalysisState &) const {
    return !cast<Op>(op).isDpsInit(&operand);
  }

  /// An element of a full initial value is read before the output's element in
  /// its place is written.
  bool bufferizesToElementwiseAccess(Operation *op, const AnalysisState &,
                                     ArrayRef<OpOperand *> operands) const {
    auto linear = dyn_cast<LinearOp>(op);
    if (!linear || !linear.getInitial() ||
        linear.getInitial().getType() != linear.getOutput().getType())
      return false;
    return llvm::all_of(operands, [&](OpOperand *operand) {
      return operand == &linear.getInitialMutable()[0] ||
             operand == &linear.getOutputMutable();
    });
  }

  LogicalResult bufferize(Operation *op, RewriterBase &rewriter,
                          const BufferizationOptions &options,
                          BufferizationState &state) const {
    rewriter.setInsertionPoint(op);
    SmallVector<Value> buffers;
    for (Value operand : op->getOperands()) {
      FailureOr<Value> buffer = getBuffer(rewriter, operand, options, state);
      if (failed(buffer))
        return failure();
      buffers.push_back(*buffer);
    }
    Value output =
        buffers[cast<Op>(op).getDpsInitOperand(0)->getOperandNumber()];
    OperationState created(op->getLoc(), op->getName(), buffers,
                           /*types=*/TypeRange(), op->getAttrs());
    rewriter.create(created);
    replaceOpWithBufferizedValues(rewriter, op, output);
    return success();
  }
};
} // namespace

void gatefold::registerBufferizableInterface(DialectRegistry &registry) {
  registry.addExtension(+[](MLIRContext *context, GfDialect *) {
    PackOp::attachInterface<DestinationModel<PackOp>>(*context);
    LinearOp::attachInterface<DestinationModel<LinearOp>>(*context);
  });
}
