// SPDX-License-Identifier: MIT
// Emits calls through the table SimtOps in a kernel.
#pragma once

#include "tegula/simt_ops.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

#include <array>
#include <string>

namespace tegula::simt {

/// The calls of one kernel. Create it first, then emit calls through it, and call `finish` at the end.
class Calls {
public:
  /// Makes `kernel` a SimtKernel. The caller rewrites its body.
  explicit Calls(mlir::LLVM::LLVMFuncOp kernel);

  /// The builder of the calls. Its location is the location of the op that is replaced.
  mlir::ImplicitLocOpBuilder b;

  /// Calls `entry` with the running lane in front of `arguments`. Returns null if the result is void. `compute` calls
  /// `function` without a lane.
  template <class Result, class... Types>
  mlir::Value call(Result (*SimtOps::*entry)(SimtLane *, Types...),
                   const std::array<mlir::Value, sizeof...(Types)> &arguments) {
    llvm::SmallVector<mlir::Value> all = {lane_};
    all.append(arguments.begin(), arguments.end());
    return call(offsetOf(entry), typeOf<Result>(), all);
  }
  template <class Result, class Operand> mlir::Value compute(Result (*SimtOps::*function)(Operand), mlir::Value x) {
    return call(offsetOf(function), typeOf<Result>(), {x});
  }

  mlir::Value i32(int64_t value);
  mlir::Value f32(float value);
  /// Returns the index of a new site: an instruction at the builder's location.
  mlir::Value site(llvm::StringRef instruction);
  /// Returns memory for the registers of one instruction. There are kBuffers buffers of 16 bytes.
  mlir::Value buffer(unsigned index) { return buffers_[index]; }
  /// Returns memory for the registers of a warpgroup's instruction. `product` returns memory for a SimtWgmma.
  mlir::Value registers() { return memory(registers_, kRegisterBytes); }
  mlir::Value product() { return memory(product_, sizeof(SimtWgmma)); }
  /// Stores registers one after another. Returns the memory.
  mlir::Value pack(mlir::Value memory, mlir::ValueRange registers);
  mlir::Value pack(unsigned buffer, mlir::ValueRange registers) { return pack(buffers_[buffer], registers); }
  mlir::Value unpack(mlir::Value memory, mlir::Type type, unsigned index);
  mlir::Value unpack(unsigned buffer, mlir::Type type, unsigned index) { return unpack(buffers_[buffer], type, index); }

  /// Emits the table of sites.
  void finish();

private:
  static constexpr unsigned kBuffers = 4, kRegisterBytes = 4 * 256;

  template <class T> mlir::Type typeOf() {
    if constexpr (std::is_void_v<T>)
      return mlir::LLVM::LLVMVoidType::get(b.getContext());
    else if constexpr (std::is_same_v<T, float>)
      return b.getF32Type();
    else
      return b.getIntegerType(8 * sizeof(T));
  }
  template <class T> static int64_t offsetOf(T SimtOps::*entry) {
    static const SimtOps table{};
    return reinterpret_cast<const char *>(&(table.*entry)) - reinterpret_cast<const char *>(&table);
  }
  mlir::Value call(int64_t offset, mlir::Type result, mlir::ValueRange arguments);
  mlir::Value at(mlir::Value pointer, int64_t byte);
  /// Returns the buffer of the whole kernel, which is made on first use.
  mlir::Value memory(mlir::Value &buffer, int64_t bytes);
  void changeSignature();

  mlir::LLVM::LLVMFuncOp kernel_;
  mlir::Type pointer_;
  mlir::Value ops_, lane_;
  std::array<mlir::Value, kBuffers> buffers_;
  mlir::Value registers_, product_;
  std::string sites_;
  int64_t siteCount_ = 0;
};

} // namespace tegula::simt
