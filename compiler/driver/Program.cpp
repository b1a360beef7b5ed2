// SPDX-License-Identifier: MIT
#include "compiler/driver/Program.h"

#include "compiler/debug/Passes.h"
#include "compiler/emit/Emit.h"
#include "compiler/sm/Sm.h"
#include "compiler/tile/Tile.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "llvm/Support/raw_ostream.h"

namespace tegula {

using namespace mlir;

namespace {

DialectRegistry programDialects() {
  DialectRegistry registry;
  registry.insert<sm::SmDialect, tile::TileDialect, arith::ArithDialect, func::FuncDialect, math::MathDialect,
                  scf::SCFDialect>();
  emit::registerDialects(registry);
  return registry;
}

/// The longest program text in bytes. Attention kernels have about 10 kB.
constexpr size_t kLongestProgram = 4 << 20;

/// Returns the start of a message about a location.
std::string prefix(Location location) {
  return location->findInstanceOf<FileLineColLoc>() ? placeOf(location) + ": " : "";
}

Status describeFunction(func::FuncOp function, Artifact &artifact) {
  artifact.kernel = function.getName().str();
  for (unsigned i = 0; i < function.getNumArguments(); ++i) {
    Parameter parameter;
    auto name = function.getArgAttrOfType<StringAttr>(i, "tile.name");
    parameter.name = name ? name.getValue().str() : "arg" + std::to_string(i);
    parameter.written = function.getArgAttr(i, "tile.written") != nullptr;
    parameter.counter = function.getArgAttr(i, "tile.counter") != nullptr;
    Type type = function.getArgumentTypes()[i];
    auto view = dyn_cast<tile::ViewType>(type);
    parameter.kind = view ? Parameter::Kind::tensor : Parameter::Kind::scalar;
    parameter.rank = view ? static_cast<int>(view.getRank()) : 0;
    std::string word;
    llvm::raw_string_ostream(word) << (view ? view.getElementType() : type);
    auto dtype = parseMlirType(word);
    if (!dtype)
      return Status(ErrorCode::compile_failed, "parameter '" + parameter.name + "' has type " + word +
                                                   "; legal are !tile.view<...>, f32, i32, i64 and index");
    parameter.dtype = *dtype;
    artifact.parameters.push_back(parameter);
  }
  return {};
}

} // namespace

SourceProgram::SourceProgram() : context_(programDialects(), MLIRContext::Threading::DISABLED) {
  context_.getDiagEngine().registerHandler([this](Diagnostic &diagnostic) { collect(diagnostic); });
  context_.loadAllAvailableDialects();
  context_.printOpOnDiagnostic(false); // The user's line says more than pages of a late phase.
}

void SourceProgram::collect(Diagnostic &diagnostic) {
  if (diagnostic.getSeverity() == DiagnosticSeverity::Remark) {
    llvm::raw_string_ostream(remarks_) << prefix(diagnostic.getLocation()) << diagnostic << '\n';
    return;
  }
  llvm::raw_string_ostream stream(messages_);
  bool isError = diagnostic.getSeverity() == DiagnosticSeverity::Error;
  stream << prefix(diagnostic.getLocation()) << (isError ? "error: " : "note: ") << diagnostic << '\n';
  for (Diagnostic &note : diagnostic.getNotes())
    stream << prefix(note.getLocation()) << "note: " << note << '\n';
}

Status SourceProgram::failure() const {
  StringRef reasons = StringRef(messages_).rtrim('\n');
  return Status(ErrorCode::compile_failed, reasons.empty() ? "the compiler gave no reason" : reasons.str());
}

Status SourceProgram::parse(const std::string &text) {
  if (text.size() > kLongestProgram)
    return Status(ErrorCode::resource_exhausted, "the program has " + std::to_string(text.size()) + " bytes; at most " +
                                                     std::to_string(kLongestProgram) + " are allowed");
  module_ = parseSourceString<ModuleOp>(text, &context_, "program");
  if (!module_)
    return failure();
  auto functions = llvm::to_vector(module_->getOps<func::FuncOp>());
  if (functions.size() != 1)
    return Status(ErrorCode::compile_failed,
                  "a program must have exactly one function, this one has " + std::to_string(functions.size()));
  return {};
}

Status SourceProgram::addRecords(const DebugOptions &options) {
  PassManager passes(&context_, ModuleOp::getOperationName());
  debug::buildDebugPipeline(passes, options);
  return succeeded(passes.run(*module_)) ? Status() : failure();
}

Status SourceProgram::describe(Artifact &artifact) {
  artifact.debug = debug::layoutOf(*module_);
  return describeFunction(*module_->getOps<func::FuncOp>().begin(), artifact);
}

} // namespace tegula
