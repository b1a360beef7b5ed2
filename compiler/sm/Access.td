// SPDX-License-Identifier: MIT
// What an op says about the memory that it touches. Access.h asks it.
//
// Each op names its accesses beside its operands, such as `Tile_Reads<Sm_SharedType>:$shared`. The interfaces below are
// for the few ops that differ from the default: lanes make the access, and have made it when the op is over.
#ifndef TEGULA_SM_ACCESS
#define TEGULA_SM_ACCESS

include "mlir/IR/OpBase.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

// A slot of a ring. Its mbarriers order such a write: they hand the slot from the producer to the consumers and back.
def Sm_SlotResource : Resource<"::tegula::sm::SlotResource">;
def Sm_SlotWrite : MemWrite<Sm_SlotResource>;
class Sm_WritesSlot<Constraint type> : Arg<type, "", [Sm_SlotWrite]>;

def Sm_AsyncInterface : OpInterface<"AsyncOpInterface"> {
  let description = [{
    An op whose accesses go on after it: an engine of the multiprocessor makes them. An op with an OrderOpInterface ends
    them.
  }];
  let cppNamespace = "::tegula::sm";
  let methods = [InterfaceMethod<"Returns the engine that goes on.", "::tegula::sm::Engine", "getEngine">];
}

def Sm_AsyncProduct : OpInterface<"AsyncProduct", [Sm_AsyncInterface]> {
  let description = [{
    A matrix product that goes on after its op. It adds to accumulators in flight, a value that threads hold and that
    one op consumes, or to accumulators that are a place in tensor memory. Whole warpgroups start it, or one lane.
    Passes that order products, or decide how their operands get to shared memory, know no other property of them.
  }];
  let cppNamespace = "::tegula::sm";
  let methods = [
    InterfaceMethod<"Returns the left operand: a tile in shared memory or in registers.", "::mlir::Value", "getLhs">,
    InterfaceMethod<"Returns the right operand, a tile in shared memory.", "::mlir::Value", "getRhs">,
    InterfaceMethod<"Returns the first values of the accumulators, or those in flight. Null if they are 0.",
                    "::mlir::Value", "getAcc">,
    InterfaceMethod<"Returns the number of products in each sum.", "uint64_t", "getDepth">,
    InterfaceMethod<"Returns true if the left operand is stored by columns.", "bool", "getTransposeLhs">,
    InterfaceMethod<"Returns true if the right operand is stored by columns.", "bool", "getTransposeRhs">,
    InterfaceMethod<"Returns the accumulators in flight. Null if they are a place.", "::mlir::Value", "getHandle">,
    InterfaceMethod<"Returns the type of the accumulators.", "::mlir::RankedTensorType", "getSum">,
    InterfaceMethod<"Returns where the accumulators are.", "::tegula::sm::SumPlace", "getSumPlace", (ins), "",
                    "return ::tegula::sm::SumPlace::registers;">,
    InterfaceMethod<"Returns who starts the product.", "::tegula::sm::Issuer", "getIssuer", (ins), "",
                    "return ::tegula::sm::Issuer::warpgroups;">
  ];
}

def Sm_OrderInterface : OpInterface<"OrderOpInterface"> {
  let description = "An op that orders accesses of other ops.";
  let cppNamespace = "::tegula::sm";
  let methods = [InterfaceMethod<"Returns what the op waits for.", "::tegula::sm::Order", "getOrder">];
}

def Sm_RoleEventInterface : OpInterface<"RoleEventOpInterface"> {
  let description = "An op that waits for other warps, or tells them something, by a channel or a turn.";
  let cppNamespace = "::tegula::sm";
  let methods = [InterfaceMethod<"Returns the waits and arrivals of the op, in order.",
                                 "::llvm::SmallVector<::tegula::sm::RoleEvent, 2>", "getEvents">];
}

def Sm_RoleEvents : DeclareOpInterfaceMethods<Sm_RoleEventInterface>;
def Sm_Async : DeclareOpInterfaceMethods<Sm_AsyncInterface>;
def Sm_Orders : DeclareOpInterfaceMethods<Sm_OrderInterface>;

#endif
