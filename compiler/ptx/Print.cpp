// SPDX-License-Identifier: MIT
#include "compiler/ptx/Ptx.h"

#include "compiler/ptx/Code.h"
#include "compiler/ptx/Peepholes.h"
#include "compiler/ptx/Selection.h"

#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/IR/DebugInfoMetadata.h"
#include "llvm/IR/Module.h"

#include <array>

namespace tegula::ptx {

using namespace llvm;

namespace {

class Printer {
public:
  Printer(const Code &code, raw_ostream &out) : code_(code), out_(out) {}

  /// Prints a kernel, from its name to its end.
  void print(const Function &kernel) {
    nameRegisters();
    printSignature(kernel);
    out_ << "{\n";
    for (size_t i = 0; i < counts_.size(); ++i)
      if (counts_[i] > 0)
        out_ << "\t.reg ." << toString(RegisterClass(i)) << " " << kPrefixes[i] << "<" << counts_[i] + 1 << ">;\n";
    for (auto [number, block] : enumerate(code_.blocks)) {
      out_ << "$L" << number << ":\n";
      for (const Line &line : block.lines)
        print(line);
    }
    out_ << "}\n";
  }

  /// Prints the files that `.loc` directives refer to.
  void printFiles() {
    for (auto &[file, number] : files_) {
      std::string path = (file->getDirectory() + (file->getDirectory().empty() ? "" : "/") + file->getFilename()).str();
      out_ << "\t.file " << number << " \"";
      out_.write_escaped(path) << "\"\n";
    }
  }

private:
  static constexpr std::array<StringLiteral, 4> kPrefixes = {"%p", "%rs", "%r", "%rd"};

  void nameRegisters() {
    leaders_ = coalesce(code_);
    numbers_.resize(leaders_.size());
    for (size_t reg = 0; reg < leaders_.size(); ++reg)
      if (leaders_[reg] == reg)
        numbers_[reg] = ++counts_[static_cast<size_t>(code_.registers[reg])];
  }

  void printSignature(const Function &kernel) {
    out_ << ".visible .entry " << kernel.getName() << "(";
    for (const Argument &argument : kernel.args()) {
      out_ << (argument.getArgNo() ? ",\n" : "\n") << "\t.param ";
      if (argument.hasByValAttr())
        out_ << ".align " << argument.getParamAlign().valueOrOne().value() << " .b8 ";
      else
        out_ << ".b" << argument.getParent()->getDataLayout().getTypeSizeInBits(argument.getType()).getFixedValue()
             << " ";
      out_ << kernel.getName() << "_param_" << argument.getArgNo();
      if (argument.hasByValAttr())
        out_ << "[" << argument.getPassPointeeByValueCopySize(kernel.getDataLayout()) << "]";
    }
    out_ << "\n)\n";
    for (auto [attribute, directive] : {std::pair("nvvm.reqntid", ".reqntid "), {"nvvm.minctasm", ".minnctapersm "}})
      if (kernel.hasFnAttribute(attribute))
        out_ << directive << kernel.getFnAttribute(attribute).getValueAsString() << "\n";
  }

  Register nameOf(const Operand &operand) const { return leaders_[operand.reg()]; }

  void print(const Line &line) {
    if (!line.isCopy) {
      printPlace(line.place);
      return printText(line.text, line.operands);
    }
    const Operand &to = line.operands[0], &from = line.operands[1];
    if (from.kind == Operand::Kind::undefined || (from.isRegister() && nameOf(from) == nameOf(to)))
      return;
    out_ << "\tmov." << toString(code_.registers[to.reg()]) << " ";
    print(to);
    out_ << ", ";
    print(from);
    out_ << ";\n";
  }

  void printText(StringRef text, ArrayRef<Operand> operands) {
    out_ << "\t";
    for (size_t dollar = text.find('$'); dollar != StringRef::npos; dollar = text.find('$')) {
      out_ << text.take_front(dollar);
      text = text.drop_front(dollar + 1);
      unsigned number = 0;
      text.consumeInteger(10, number);
      print(operands[number]);
    }
    out_ << text << "\n";
  }

  void print(const Operand &operand) {
    switch (operand.kind) {
    case Operand::Kind::undefined:
      out_ << "0";
      break;
    case Operand::Kind::reg: {
      Register reg = nameOf(operand);
      out_ << kPrefixes[static_cast<size_t>(code_.registers[reg])] << numbers_[reg];
      break;
    }
    case Operand::Kind::integer:
      out_ << operand.number;
      break;
    case Operand::Kind::f32:
      out_ << "0f" << format_hex_no_prefix(operand.number, 8, /*Upper=*/true);
      break;
    case Operand::Kind::label:
      out_ << "$L" << operand.number;
      break;
    }
  }

  void printPlace(const DILocation *place) {
    if (!place || place->getLine() == 0)
      return;
    auto [file, isNew] = files_.try_emplace(place->getFile(), static_cast<unsigned>(files_.size() + 1));
    std::pair now(file->second, place->getLine());
    if (now == place_)
      return;
    place_ = now;
    out_ << "\t.loc " << now.first << " " << now.second << " " << place->getColumn() << "\n";
  }

  const Code &code_;
  raw_ostream &out_;
  std::vector<Register> leaders_;
  std::vector<unsigned> numbers_; ///< The number of a leader among the registers of its class.
  std::array<unsigned, 4> counts_ = {};
  MapVector<const DIFile *, unsigned> files_;
  std::pair<unsigned, unsigned> place_; ///< The file and line of the last directive.
};

} // namespace

Expected<std::string> toPtx(Module &module, const Target &target) {
  std::string text;
  raw_string_ostream out(text);
  out << ".version " << target.version << "\n.target " << target.arch << "\n.address_size 64\n\n";
  for (const GlobalVariable &variable : module.globals()) {
    if (!variable.isDeclaration() || variable.getAddressSpace() != kSharedMemory)
      return Status(ErrorCode::internal, "cannot print PTX for the variable " + variable.getName().str());
    out << ".extern .shared .align " << variable.getAlign().valueOrOne().value() << " .b8 " << variable.getName()
        << "[];\n";
  }
  for (Function &kernel : module) {
    if (kernel.isDeclaration())
      continue;
    applyPeepholes(kernel);
    Code code;
    TEGULA_RETURN_IF_ERROR(Selection(kernel, code, target).run());
    Printer printer(code, out);
    printer.print(kernel);
    printer.printFiles();
  }
  return text;
}

} // namespace tegula::ptx
