// SPDX-License-Identifier: MIT
// Writes calls through the table SimtOps into a kernel.
#pragma once

#include "tegula/simt_ops.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

#include <array>
#include <string>

namespace tegula::simt {

class Calls {
public:
  /// Makes `kernel` a SimtKernel, whose body is then to be rewritten.
  explicit Calls(mlir::LLVM::LLVMFuncOp kernel);

  /// Where the calls go; its location is that of the op being replaced.
  mlir::ImplicitLocOpBuilder b;

  /// Calls `entry` with the running lane in front of `arguments`, or `function` with `arguments` alone. Null if the
  /// result is void.
  template <class Result, class... Types>
  mlir::Value call(Result (*SimtOps::*entry)(SimtLane *, Types...),
                   const std::array<mlir::Value, sizeof...(Types)> &arguments) {
    llvm::SmallVector<mlir::Value> all = {lane_};
    all.append(arguments.begin(), arguments.end());
    return call(offsetOf(entry), typeOf<Result>(), all);
  }
  mlir::Value compute(uint32_t (*SimtOps::*function)(float), mlir::Value x) {
    return call(offsetOf(function), typeOf<uint32_t>(), {x});
  }
  mlir::Value compute(float (*SimtOps::*function)(float), mlir::Value x) {
    return call(offsetOf(function), typeOf<float>(), {x});
  }

  mlir::Value i32(int64_t value);
  /// The number of an instruction at the builder's location.
  mlir::Value site(llvm::StringRef instruction);
  /// Memory for the registers of one instruction; there are kBuffers of 16 bytes.
  mlir::Value buffer(unsigned index) { return buffers_[index]; }
  /// The same for as many as a warpgroup's instruction has, and for a SimtWgmma.
  mlir::Value registers() { return memory(registers_, kRegisterBytes); }
  mlir::Value product() { return memory(product_, sizeof(SimtWgmma)); }
  /// Writes registers one after the other.
  mlir::Value pack(mlir::Value memory, mlir::ValueRange registers);
  mlir::Value pack(unsigned buffer, mlir::ValueRange registers) { return pack(buffers_[buffer], registers); }
  mlir::Value unpack(mlir::Value memory, mlir::Type type, unsigned index);
  mlir::Value unpack(unsigned buffer, mlir::Type type, unsigned index) { return unpack(buffers_[buffer], type, index); }

  /// Writes the table of sites, at the end.
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
  /// Of the whole kernel, made on first use.
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
