// SPDX-License-Identifier: MIT
// The language for Python: each operation of tegula/dsl.h, with the line of its caller, and nothing else. Rules of
// types and shapes are those of the library.
#include "operands.h"

NB_MODULE(_language, module) {
  if (tegula_python::locationOf("file.py", 7).line() != 7)
    throw std::runtime_error("tegula.language was compiled with another std::source_location than it expects");
  nanobind::set_leak_warnings(false); // Programs that keep values or kernels until they end are none of our business.
  tegula_python::bindValues(module);
  tegula_python::bindOperations(module);
  tegula_python::bindControl(module);
  tegula_python::bindKernels(module);
}
