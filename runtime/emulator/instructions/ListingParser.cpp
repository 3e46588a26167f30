// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- ListingParser.cpp - Reads a text of PTX instructions ---------------===//

#include "runtime/emulator/instructions/Listing.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringMap.h"

using namespace llvm;
using namespace gatefold::emulator;
using namespace gatefold::emulator::ptx;

namespace {

class Parser {
public:
  Parser(StringRef text, ArrayRef<bool> predicates, std::string &unknown)
      : rest(text), unknown(unknown), scopes(1) {
    isPredicate.assign(predicates.begin(), predicates.end());
    listing.registers.resize(predicates.size());
    bound = predicates.size();
  }
  std::optional<Listing> parse();

private:
  /// A piece of an operand, `a` in `{a, b}`.
  using Values = SmallVector<Source, 4>;

  /// `message`: why what is read now is not known; empty: it just is not.
  bool fail(const Twine &message) {
    if (unknown.empty()) {
      size_t end = item.find(';');
      unknown = item.take_front(end == StringRef::npos ? end : end + 1).str();
      std::string reason = message.str();
      if (!reason.empty())
        unknown += (unknown.empty() ? "(" : " (") + reason + ")";
    }
    return false;
  }
  void skipSpace();
  bool take(char character);
  StringRef takeWord(bool opcode);

  unsigned addRegister(bool predicate, uint64_t value = 0);
  bool parseItem();
  bool parseDeclaration();
  bool parseStatement(std::optional<Source> predicate);
  bool parseBranch(Statement &statement);
  bool parseOperand(Values &values, Syntax &syntax, bool first);
  bool parseValue(Source &value);
  bool parseNumber(StringRef word, bool negative, uint64_t &number);
  bool resolveBranches();

  /// What is left of the text, and of it from the statement on.
  StringRef rest, item;
  std::string &unknown;
  Listing listing;
  std::vector<bool> isPredicate;
  unsigned bound;
  /// Declared registers, innermost braces last.
  std::vector<StringMap<unsigned>> scopes;
  StringMap<size_t> labels;
  std::vector<std::pair<size_t, std::string>> branches;
  /// The special registers of the statement that is read.
  std::string specials;
};

} // namespace

/// `_` of an operand.
static constexpr unsigned sink = ~0u;

void Parser::skipSpace() {
  while (true) {
    rest = rest.ltrim();
    if (rest.starts_with("//"))
      rest = rest.drop_until([](char c) { return c == '\n'; });
    else if (rest.starts_with("/*"))
      rest = rest.drop_front(std::min(rest.find("*/", 2), rest.size() - 2) + 2);
    else
      return;
  }
}

bool Parser::take(char character) {
  skipSpace();
  return rest.consume_front(StringRef(&character, 1));
}

/// A name, a number, `$1`, or, with its colons, an opcode.
StringRef Parser::takeWord(bool opcode) {
  skipSpace();
  size_t length = 0;
  while (length < rest.size()) {
    char c = rest[length];
    if (isAlnum(c) || c == '_' || c == '.' || c == '$' || c == '%')
      ++length;
    else if (opcode && rest.substr(length).starts_with("::"))
      length += 2;
    else
      break;
  }
  StringRef word = rest.take_front(length);
  rest = rest.drop_front(length);
  return word;
}

unsigned Parser::addRegister(bool predicate, uint64_t value) {
  isPredicate.push_back(predicate);
  listing.registers.push_back(value);
  return listing.registers.size() - 1;
}

std::optional<Listing> Parser::parse() {
  while (true) {
    skipSpace();
    item = rest;
    if (rest.empty())
      break;
    // As many as any text needs; each takes space on a thread's stack.
    if (listing.registers.size() > 256)
      fail("more than 256 registers and constants");
    if (!unknown.empty() || !parseItem())
      return std::nullopt;
  }
  if (scopes.size() != 1) {
    fail("a brace that is not closed");
    return std::nullopt;
  }
  if (!resolveBranches())
    return std::nullopt;
  return std::move(listing);
}

bool Parser::parseItem() {
  if (take(';'))
    return true;
  if (take('{')) {
    scopes.emplace_back();
    return true;
  }
  if (take('}')) {
    if (scopes.size() == 1)
      return fail("a brace that is not opened");
    scopes.pop_back();
    return true;
  }
  std::optional<Source> predicate;
  if (take('@')) {
    Source value;
    bool negated = take('!');
    if (!parseValue(value))
      return false;
    if (value.number == sink)
      return fail("a predicate `_`");
    value.negated = negated;
    predicate = value;
  }
  return parseStatement(predicate);
}

/// .reg .type a, b<4>;
bool Parser::parseDeclaration() {
  StringRef typeText = takeWord(false);
  std::optional<Type> type = parseType(typeText.drop_front(!typeText.empty()));
  if (!type || !typeText.starts_with("."))
    return fail("registers of type `" + typeText + "`");
  bool predicate = type->kind == Type::Kind::Predicate;
  do {
    StringRef name = takeWord(false);
    name.consume_front("%");
    if (name.empty())
      return fail("a declaration without a name");
    if (!take('<')) {
      scopes.back()[name] = addRegister(predicate);
      continue;
    }
    unsigned count;
    if (takeWord(false).getAsInteger(10, count) || count > 256 || !take('>'))
      return fail("declaration of `" + name + "`");
    for (unsigned index = 0; index < count; ++index)
      scopes.back()[(name + Twine(index)).str()] = addRegister(predicate);
  } while (take(','));
  return take(';') || fail("a declaration without its `;`");
}

bool Parser::parseNumber(StringRef word, bool negative, uint64_t &number) {
  if (word == "WARP_SZ") {
    number = warpSize;
    return !negative;
  }
  // Bits of floating-point numbers.
  if (word.starts_with_insensitive("0f") ||
      word.starts_with_insensitive("0d")) {
    bool single = toLower(word[1]) == 'f';
    StringRef digits = word.drop_front(2);
    if (negative || digits.size() != (single ? 8 : 16))
      return false;
    return !digits.getAsInteger(16, number);
  }
  word.consume_back("U");
  if (word.getAsInteger(0, number))
    return false;
  if (negative)
    number = -number;
  return true;
}

/// A register, a special register or a number.
bool Parser::parseValue(Source &value) {
  bool negative = take('-');
  StringRef word = takeWord(false), name = word;
  if (word == "_" && !negative) {
    value.number = sink;
    return true;
  }
  name.consume_front("%");
  if (name.consume_front("$")) {
    unsigned index;
    if (negative || name.getAsInteger(10, index) || index >= bound)
      return fail("operand `" + word + "`");
    value.number = index;
    return true;
  }
  uint64_t number;
  if (!word.empty() && (isDigit(word.front()) || word == "WARP_SZ")) {
    if (!parseNumber(word, negative, number))
      return fail("constant `" + word + "`");
    value.number = addRegister(false, number);
    return true;
  }
  name.consume_front("%"); // `%%` of other texts
  for (auto &scope : reverse(scopes)) {
    auto found = scope.find(name);
    if (found == scope.end() || negative)
      continue;
    value.number = found->second;
    return true;
  }
  auto special = findRegister(("%" + name).str());
  if (!special || negative || !word.starts_with("%"))
    return fail("operand `" + (word.empty() ? rest.take_front(1) : word) + "`");
  // Read before the statement that it is an operand of.
  Statement read;
  specials += (" " + word).str();
  value.number = addRegister(false);
  read.results.push_back(int(value.number));
  read.operation =
      makeEffect(1, 0, [special = *special](Machine &machine, Frame &frame) {
        frame.results[0] = special(machine, *frame.thread);
        return true;
      });
  listing.statements.push_back(std::move(read));
  return true;
}

bool Parser::parseOperand(Values &values, Syntax &syntax, bool first) {
  Source value;
  unsigned count = 1;
  if (take('{')) {
    for (count = 0; count == 0 || take(','); ++count) {
      if (!parseValue(value))
        return false;
      values.push_back(value);
      value = Source();
    }
    if (!take('}'))
      return fail("a vector without its `}`");
  } else if (take('[')) {
    if (!parseValue(value))
      return false;
    bool minus = false;
    if (take('+') || (minus = take('-'))) {
      minus ^= take('-');
      StringRef word = takeWord(false);
      if (!parseNumber(word, minus, value.offset))
        return fail("offset `" + word + "`");
    }
    if (!take(']'))
      return fail("an address that is more than a register and an offset");
    values.push_back(value);
  } else {
    value.negated = take('!');
    bool negated = value.negated;
    if (!parseValue(value))
      return false;
    value.negated = negated;
    values.push_back(value);
    if (first && take('|')) {
      if (!parseValue(value))
        return false;
      values.push_back(value);
      syntax.pair = true;
      count = 2;
    }
  }
  unsigned number = values[values.size() - count].number;
  syntax.elements.push_back(count);
  syntax.predicates.push_back(number != sink && isPredicate[number]);
  return true;
}

bool Parser::parseBranch(Statement &statement) {
  StringRef label = takeWord(false);
  if (label.empty() || !(take(';') || rest.empty()))
    return fail("a branch that is more than `bra label`");
  branches.push_back({listing.statements.size(), label.str()});
  statement.target = 0;
  listing.statements.push_back(std::move(statement));
  return true;
}

bool Parser::parseStatement(std::optional<Source> predicate) {
  StringRef opcode = takeWord(true);
  if (opcode.empty())
    return fail("`" + rest.take_front(1) + "`");
  if (opcode == ".reg" && !predicate)
    return parseDeclaration();
  if (take(':')) {
    if (predicate || !labels.insert({opcode, listing.statements.size()}).second)
      return fail("label `" + opcode + "`");
    return true;
  }
  Statement statement;
  statement.opcode = opcode.str();
  statement.predicate = predicate;
  if (opcode == "bra" || opcode == "bra.uni")
    return parseBranch(statement);

  Values values;
  Syntax syntax;
  skipSpace();
  bool more = !rest.empty() && !rest.starts_with(";") && !rest.starts_with("}");
  while (more) {
    if (!parseOperand(values, syntax, syntax.elements.empty()))
      return false;
    more = take(',');
  }
  skipSpace();
  if (!take(';') && !rest.empty() && !rest.starts_with("}"))
    return fail("`" + rest.take_front(1) + "` after an operand");
  std::optional<Operation> operation = findOperation(opcode, syntax);
  if (!operation)
    return fail("");
  // A warp's mask names its threads; where only some execute, it says so.
  if (operation->executeWarp && predicate)
    return fail("a predicate on an instruction of a warp");
  statement.operation = std::move(*operation);
  statement.opcode += specials;
  specials.clear();
  for (auto [index, value] : enumerate(values)) {
    bool result = index < statement.operation.results;
    bool isConstant = value.number != sink && value.number >= bound &&
                      listing.registers[value.number] != 0;
    if (result && (value.negated || value.offset || isConstant))
      return fail("a result that is no register");
    if (!result && value.number == sink)
      return fail("an operand `_`");
    if (result)
      statement.results.push_back(value.number == sink ? -1
                                                       : int(value.number));
    else
      statement.sources.push_back(value);
  }
  listing.statements.push_back(std::move(statement));
  return true;
}

bool Parser::resolveBranches() {
  for (const auto &[statement, label] : branches) {
    auto found = labels.find(label);
    if (found == labels.end())
      return fail("a branch to `" + label + "`");
    listing.statements[statement].target = found->second;
  }
  return true;
}

std::optional<Listing>
gatefold::emulator::ptx::parseListing(StringRef text, ArrayRef<bool> predicates,
                                      std::string &unknown) {
  return Parser(text, predicates, unknown).parse();
}
