# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# gatefold_library, gatefold_test_program and gatefold_program: targets that are linked to MLIR.
#
# All of them use the shared library MLIR and nothing else of MLIR: a single
# static MLIR library beside it would be a second copy of MLIR's state.

# Flags that follow how LLVM itself was built (no exceptions, RTTI), so that one
# precompiled header fits every target.
function(gatefold_target NAME)
  target_include_directories(${NAME} PUBLIC
    $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}> $<BUILD_INTERFACE:${PROJECT_BINARY_DIR}>)
  llvm_update_compile_flags(${NAME})
  if(NOT NAME STREQUAL "GatefoldPrecompiled")
    target_precompile_headers(${NAME} REUSE_FROM GatefoldPrecompiled)
    add_dependencies(${NAME} GatefoldOpsIncGen)
  endif()
endfunction()

# gatefold_library(NAME SOURCES... [LINK LIBRARIES...] [DEPENDS TARGETS...])
#
# A static library on MLIR. DEPENDS names the tablegen targets (beside the
# dialect's own) whose headers it includes.
function(gatefold_library NAME)
  cmake_parse_arguments(ARG "" "" "LINK;DEPENDS" ${ARGN})
  add_library(${NAME} STATIC ${ARG_UNPARSED_ARGUMENTS})
  gatefold_target(${NAME})
  target_link_libraries(${NAME} PUBLIC ${ARG_LINK} MLIR LLVM)
  if(ARG_DEPENDS)
    add_dependencies(${NAME} ${ARG_DEPENDS})
  endif()
endfunction()

# gatefold_test_program(NAME SOURCES... [LINK LIBRARIES...] [DEPENDS TARGETS...])
#
# A program in build/bin that the tests alone run.
function(gatefold_test_program NAME)
  cmake_parse_arguments(ARG "" "" "LINK;DEPENDS" ${ARGN})
  add_executable(${NAME} ${ARG_UNPARSED_ARGUMENTS})
  # The precompiled header is made for -fPIC; CMake would give a program -fPIE.
  set_target_properties(${NAME} PROPERTIES POSITION_INDEPENDENT_CODE OFF)
  target_compile_options(${NAME} PRIVATE -fPIC)
  gatefold_target(${NAME})
  target_link_libraries(${NAME} PRIVATE MLIR LLVM ${ARG_LINK})
  if(ARG_DEPENDS)
    add_dependencies(${NAME} ${ARG_DEPENDS})
  endif()
  gatefold_test_depends(${NAME})
endfunction()

# gatefold_program(NAME SOURCES... [LINK LIBRARIES...] [DEPENDS TARGETS...])
#
# The same, installed.
function(gatefold_program NAME)
  gatefold_test_program(${NAME} ${ARGN})
  install(TARGETS ${NAME} RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
endfunction()

# Names targets that must be built before the lit tests run.
function(gatefold_test_depends)
  set_property(GLOBAL APPEND PROPERTY GATEFOLD_TEST_DEPENDS ${ARGN})
endfunction()
