// SPDX-License-Identifier: MIT
#pragma once

#include "ptx/scope.h"

namespace tegula::ptx_fuzz {

/// Inserts a random instruction, with guards that keep it defined, and adds its result to the scope.
void addRandomInstruction(llvm::IRBuilder<> &builder, Random &random, Scope &scope);

// Its parts: instructions of one kind, and forms for which the printer has a peephole.
llvm::Value *integerInstruction(llvm::IRBuilder<> &builder, Random &random, Scope &scope);
llvm::Value *floatInstruction(llvm::IRBuilder<> &builder, Random &random, Scope &scope);
llvm::Value *conversionInstruction(llvm::IRBuilder<> &builder, Random &random, Scope &scope);
llvm::Value *peepholeForm(llvm::IRBuilder<> &builder, Random &random, Scope &scope);

} // namespace tegula::ptx_fuzz
