# How everything in compiler/ sees LLVM and MLIR: link `tegula_mlir`, generate code with `tegula_tablegen`.
option(TEGULA_STATIC_LLVM "Put LLVM and MLIR into libtegula_compiler (for releases; development links faster without)" OFF)

cmake_path(GET CMAKE_CURRENT_SOURCE_DIR PARENT_PATH TEGULA_SOURCE_ROOT)
cmake_path(GET CMAKE_CURRENT_BINARY_DIR PARENT_PATH TEGULA_BINARY_ROOT)

add_library(tegula_mlir INTERFACE)
target_include_directories(tegula_mlir INTERFACE ${TEGULA_SOURCE_ROOT})
# SYSTEM: neither LLVM's headers nor generated code are free of -Wextra warnings.
target_include_directories(tegula_mlir SYSTEM INTERFACE ${TEGULA_BINARY_ROOT} ${LLVM_INCLUDE_DIRS} ${MLIR_INCLUDE_DIRS})
target_compile_options(tegula_mlir INTERFACE -fno-exceptions $<$<NOT:$<BOOL:${LLVM_ENABLE_RTTI}>>:-fno-rtti>)

if(NOT TEGULA_STATIC_LLVM)
  target_link_libraries(tegula_mlir INTERFACE MLIR LLVM)
else()
  # The archives name the LLVM shared library as a dependency. One process must never hold both.
  foreach(target IN LISTS MLIR_EXPORTED_TARGETS LLD_EXPORTED_TARGETS ITEMS LLVMExtensions LLVMLTO)
    get_target_property(libraries ${target} INTERFACE_LINK_LIBRARIES)
    if(libraries)
      list(REMOVE_ITEM libraries LLVM Polly)
      set_target_properties(${target} PROPERTIES INTERFACE_LINK_LIBRARIES "${libraries}")
    endif()
  endforeach()
  llvm_map_components_to_libnames(TEGULA_LLVM_ARCHIVES
    core dtlto irreader lto option orcjit passes support target
    X86AsmParser X86CodeGen X86Desc X86Info)
  target_link_libraries(tegula_mlir INTERFACE
    MLIRArithDialect MLIRArithToLLVM MLIRArithTransforms MLIRBuiltinToLLVMIRTranslation MLIRControlFlowDialect
    MLIRControlFlowToLLVM MLIRFuncDialect MLIRFuncToLLVM MLIRFuncTransforms MLIRIR MLIRIndexToLLVM MLIRLLVMDialect
    MLIRLLVMToLLVMIRTranslation MLIRMathDialect MLIRMathToLLVM MLIRMathTransforms MLIRMemRefDialect MLIRMemRefToLLVM
    MLIRMemRefTransforms MLIRNVVMDialect MLIRNVVMToLLVM MLIRNVVMToLLVMIRTranslation MLIROptLib MLIRParser MLIRPass MLIRReconcileUnrealizedCasts MLIRSCFDialect
    MLIRSCFToControlFlow MLIRSCFTransforms MLIRTargetLLVMIRExport MLIRTransforms MLIRUBToLLVM MLIRVectorDialect
    MLIRVectorToLLVM MLIRVectorToLLVMPass MLIRVectorToSCF MLIRVectorTransforms
    ${TEGULA_LLVM_ARCHIVES})
  # lld initializes every target and Polly for link-time optimisation, which Tegula does not use.
  set(stubs "void _Z18getPollyPluginInfov(void) {}\n")
  set(others ${LLVM_TARGETS_TO_BUILD})
  list(REMOVE_ITEM others X86)
  foreach(name IN LISTS others)
    foreach(part Target TargetInfo TargetMC AsmParser AsmPrinter)
      string(APPEND stubs "void LLVMInitialize${name}${part}(void) {}\n")
    endforeach()
  endforeach()
  file(CONFIGURE OUTPUT lld_stubs.c CONTENT "${stubs}")
  add_library(tegula_lld_stubs STATIC ${CMAKE_CURRENT_BINARY_DIR}/lld_stubs.c)
  target_link_libraries(tegula_mlir INTERFACE tegula_lld_stubs)
  target_link_options(tegula_mlir INTERFACE
    -Wl,--gc-sections,--as-needed -fuse-ld=lld -static-libstdc++ -static-libgcc)
endif()

# Most of a file's compile time is MLIR's headers. With precompiled headers a pass takes a third of the time with g++,
# and a sixth with clang. Our own headers are not precompiled, because they change daily. Without the option, a missing
# #include shows.
option(TEGULA_PCH "Precompile the headers that most of compiler/ includes" ON)
if(TEGULA_PCH)
  file(WRITE ${CMAKE_CURRENT_BINARY_DIR}/precompiled.cpp "")
  add_library(tegula_precompiled OBJECT ${CMAKE_CURRENT_BINARY_DIR}/precompiled.cpp)
  target_link_libraries(tegula_precompiled PUBLIC tegula_mlir)
  # ccache keeps what g++ compiles with precompiled headers only if their text is part of its input.
  target_compile_options(tegula_mlir INTERFACE $<$<CXX_COMPILER_ID:GNU>:-fpch-preprocess>)
  target_precompile_headers(tegula_precompiled PRIVATE
    <mlir/Dialect/Arith/IR/Arith.h>
    <mlir/Dialect/Func/IR/FuncOps.h>
    <mlir/Dialect/Math/IR/Math.h>
    <mlir/Dialect/MemRef/IR/MemRef.h>
    <mlir/Dialect/SCF/IR/SCF.h>
    <mlir/Dialect/Vector/IR/VectorOps.h>
    <mlir/IR/ImplicitLocOpBuilder.h>
    <mlir/IR/PatternMatch.h>
    <mlir/Pass/Pass.h>
    <mlir/Transforms/GreedyPatternRewriteDriver.h>)
endif()

# Lets the named libraries use the precompiled headers.
function(tegula_precompile)
  if(TEGULA_PCH)
    foreach(library IN LISTS ARGN)
      target_precompile_headers(${library} REUSE_FROM tegula_precompiled)
    endforeach()
  endif()
endfunction()

# tegula_tablegen(TARGET Definitions.td Output.inc -option ... Output2.inc -option ...)
# makes each output in the build tree, and makes TARGET depend on it.
function(tegula_tablegen target definitions)
  set(source ${CMAKE_CURRENT_SOURCE_DIR}/${definitions})
  while(ARGN)
    list(POP_FRONT ARGN name)
    set(options)
    while(ARGN)
      list(GET ARGN 0 next)
      if(NOT next MATCHES "^-")
        break()
      endif()
      list(POP_FRONT ARGN)
      list(APPEND options ${next})
    endwhile()
    set(output ${CMAKE_CURRENT_BINARY_DIR}/${name})
    add_custom_command(OUTPUT ${output}
      COMMAND mlir-tblgen ${options} -I ${MLIR_INCLUDE_DIRS} -I ${TEGULA_SOURCE_ROOT} ${source} -o ${output}
              -d ${output}.d --write-if-changed
      DEPENDS ${source} DEPFILE ${output}.d VERBATIM)
    target_sources(${target} PRIVATE ${output})
  endwhile()
endfunction()
