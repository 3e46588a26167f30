// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- Listing.cpp - Executes a text of PTX instructions ------------------===//

#include "runtime/emulator/instructions/Listing.h"

using namespace llvm;
using namespace gatefold::emulator;
using namespace gatefold::emulator::ptx;

namespace {

/// Listing and binding of an instruction, and how they are executed.
class Execution {
public:
  Execution(Listing listing, Binding binding)
      : listing(std::move(listing)), binding(std::move(binding)) {}

  void runThread(Machine &machine, Lane &lane) const;
  void runWarp(Machine &machine, ArrayRef<Lane *> lanes) const;

private:
  using Registers = MutableArrayRef<uint64_t>;

  void read(const Lane &lane, Registers registers) const;
  void write(const Lane &lane, Registers registers) const;
  void gather(const Statement &statement, Registers registers,
              Frame &frame) const;
  void scatter(const Statement &statement, const Frame &frame,
               Registers registers) const;

  Listing listing;
  Binding binding;
};

} // namespace

static uint64_t valueOf(const Source &source, ArrayRef<uint64_t> registers) {
  uint64_t value = registers[source.number] + source.offset;
  return source.negated ? !(value & 1) : value;
}

void Execution::read(const Lane &lane, Registers registers) const {
  llvm::copy(listing.registers, registers.begin());
  unsigned number = binding.results.size();
  for (auto [index, value] : enumerate(binding.operands)) {
    uint64_t &word = registers[number + index];
    const void *operand = lane.operands[index];
    switch (value.bytes) {
    case 4:
      word = lane.operand<uint32_t>(index);
      break;
    case 8:
      word = lane.operand<uint64_t>(index);
      break;
    default:
      word = 0;
      memcpy(&word, operand, value.bytes);
    }
    if (value.predicate)
      word &= 1;
  }
  for (auto [result, operand] : binding.tied)
    registers[result] = registers[number + operand];
}

void Execution::write(const Lane &lane, Registers registers) const {
  for (auto [index, value] : enumerate(binding.results)) {
    uint64_t word = value.predicate ? registers[index] & 1 : registers[index];
    memcpy(static_cast<char *>(lane.result) + value.offset, &word, value.bytes);
  }
}

void Execution::gather(const Statement &statement, Registers registers,
                       Frame &frame) const {
  uint64_t *source = frame.sources;
  for (const Source &each : statement.sources)
    *source++ = valueOf(each, registers);
}

void Execution::scatter(const Statement &statement, const Frame &frame,
                        Registers registers) const {
  const uint64_t *result = frame.results;
  for (int number : statement.results) {
    if (number >= 0)
      registers[number] = *result;
    ++result;
  }
}

void Execution::runThread(Machine &machine, Lane &lane) const {
  SmallVector<uint64_t, 32> storage(listing.registers.size());
  Registers registers = storage;
  read(lane, registers);
  Frame frame;
  frame.thread = lane.thread;
  for (size_t next = 0; next < listing.statements.size();) {
    const Statement &statement = listing.statements[next++];
    if (statement.predicate && !(valueOf(*statement.predicate, registers) & 1))
      continue;
    if (statement.target) {
      // Backwards: the text waits for something.
      if (*statement.target < next)
        machine.pause(*lane.thread);
      next = *statement.target;
      continue;
    }
    gather(statement, registers, frame);
    // Results are written in any case: a finding need not end the launch.
    if (!statement.operation.execute(machine, frame))
      break;
    scatter(statement, frame, registers);
  }
  write(lane, registers);
}

void Execution::runWarp(Machine &machine, ArrayRef<Lane *> lanes) const {
  size_t count = listing.registers.size();
  SmallVector<uint64_t, 32 * warpSize> storage(count * warpSize);
  Frame frames[warpSize];
  Frame *active[warpSize] = {};
  auto registersOf = [&](unsigned lane) {
    return Registers(storage).slice(lane * count, count);
  };
  for (unsigned lane = 0; lane < warpSize; ++lane) {
    if (!lanes[lane])
      continue;
    active[lane] = &frames[lane];
    frames[lane].thread = lanes[lane]->thread;
    read(*lanes[lane], registersOf(lane));
  }
  auto execute = [&](const Statement &statement) {
    bool together = bool(statement.operation.executeWarp);
    for (unsigned lane = 0; lane < warpSize; ++lane) {
      if (!active[lane])
        continue;
      Registers registers = registersOf(lane);
      if (statement.predicate &&
          !(valueOf(*statement.predicate, registers) & 1))
        continue;
      gather(statement, registers, frames[lane]);
      if (together)
        continue;
      if (!statement.operation.execute(machine, frames[lane]))
        return false;
      scatter(statement, frames[lane], registers);
    }
    if (!together)
      return true;
    if (!statement.operation.executeWarp(machine, active))
      return false;
    for (unsigned lane = 0; lane < warpSize; ++lane)
      if (active[lane])
        scatter(statement, frames[lane], registersOf(lane));
    return true;
  };
  llvm::all_of(listing.statements, execute);
  for (unsigned lane = 0; lane < warpSize; ++lane)
    if (active[lane])
      write(*lanes[lane], registersOf(lane));
}

/// The operand that is the mask of a statement of a warp: none for all lanes,
/// -1 if it is something else.
static std::optional<int> maskOf(const Statement &statement,
                                 const Listing &listing,
                                 const Binding &binding) {
  if (!statement.operation.mask)
    return std::nullopt;
  const Source &mask = statement.sources[*statement.operation.mask];
  unsigned results = binding.results.size();
  unsigned bound = results + binding.operands.size();
  if (mask.number >= bound && uint32_t(listing.registers[mask.number]) == ~0u)
    return std::nullopt;
  if (mask.number < results || mask.number >= bound)
    return -1;
  return mask.number - results;
}

std::optional<Instruction> ptx::bind(Listing listing, Binding binding,
                                     std::string &unknown) {
  Instruction instruction;
  const Statement *together = nullptr, *alone = nullptr;
  std::optional<int> mask;
  for (const Statement &statement : listing.statements) {
    if (statement.target || statement.operation.waits)
      alone = &statement;
    if (statement.operation.executeWarp) {
      std::optional<int> own = maskOf(statement, listing, binding);
      if (own == -1 || (together && own != mask)) {
        unknown = "`" + statement.opcode +
                  "` with a mask that is no operand "
                  "or not the same everywhere in the text";
        return std::nullopt;
      }
      mask = own;
      together = &statement;
    }
    if (!instruction.name.empty() && !statement.opcode.empty())
      instruction.name += "; ";
    instruction.name += statement.opcode;
  }
  if (together && alone) {
    unknown =
        "`" + alone->opcode + "` in one text with `" + together->opcode + "`";
    return std::nullopt;
  }
  if (instruction.name.empty())
    instruction.name = "empty assembly";
  auto execution =
      std::make_shared<Execution>(std::move(listing), std::move(binding));
  if (!together) {
    instruction.execute = [execution](Machine &machine,
                                      ArrayRef<Lane *> lanes) {
      execution->runThread(machine, *lanes[0]);
    };
    return instruction;
  }
  instruction.group = Instruction::Group::Warp;
  if (mask)
    instruction.maskOperand = unsigned(*mask);
  instruction.meetsAnywhere = instruction.name == "bar.warp.sync";
  bool all = !mask;
  instruction.execute = [execution, all](Machine &machine,
                                         ArrayRef<Lane *> lanes) {
    // The machine has said which lanes are missing.
    if (all && llvm::is_contained(lanes, nullptr))
      return;
    execution->runWarp(machine, lanes);
  };
  return instruction;
}
