# The CUDA Toolkit: its headers always, nvcc where there is one. libcuda and libcupti are opened at run time,
# so nothing here looks for them.
#
#   vramspan_cuda_headers   INTERFACE target: cuda.h, nvtx3, cupti.h
#   VRAMSPAN_NVCC           path of nvcc, or VRAMSPAN_NVCC-NOTFOUND

find_program(VRAMSPAN_NVCC nvcc
  HINTS ENV CUDA_HOME ENV CUDA_PATH
  PATHS /usr/local/cuda
  PATH_SUFFIXES bin
  DOC "nvcc, for the GPU side of the kernels; without it only the simulated driver can run them")

set(hints ENV CUDA_HOME ENV CUDA_PATH)
if(VRAMSPAN_NVCC)
  get_filename_component(nvcc_real "${VRAMSPAN_NVCC}" REALPATH)
  get_filename_component(nvcc_root "${nvcc_real}/../.." ABSOLUTE)
  list(APPEND hints "${nvcc_root}")
endif()
find_path(VRAMSPAN_CUDA_INCLUDE_DIR cuda.h
  HINTS ${hints}
  PATHS /usr/local/cuda
  PATH_SUFFIXES include targets/x86_64-linux/include
  DOC "folder of cuda.h")
unset(hints)
if(NOT VRAMSPAN_CUDA_INCLUDE_DIR)
  message(FATAL_ERROR "cuda.h was not found. Install the CUDA Toolkit (13.0 or later), then set CUDA_HOME "
    "to its folder or configure with -DVRAMSPAN_CUDA_INCLUDE_DIR=FOLDER_OF_CUDA_H.")
endif()

file(STRINGS "${VRAMSPAN_CUDA_INCLUDE_DIR}/cuda.h" version_line REGEX "^#define CUDA_VERSION ")
string(REGEX MATCH "[0-9]+" VRAMSPAN_CUDA_VERSION "${version_line}")
if(VRAMSPAN_CUDA_VERSION LESS 13000)
  message(FATAL_ERROR "${VRAMSPAN_CUDA_INCLUDE_DIR}/cuda.h is of CUDA ${VRAMSPAN_CUDA_VERSION}; "
    "vramspan needs CUDA Toolkit 13.0 (13000) or later.")
endif()
unset(version_line)

add_library(vramspan_cuda_headers INTERFACE)
target_include_directories(vramspan_cuda_headers SYSTEM INTERFACE "${VRAMSPAN_CUDA_INCLUDE_DIR}")
message(STATUS "CUDA headers: ${VRAMSPAN_CUDA_INCLUDE_DIR} (${VRAMSPAN_CUDA_VERSION}), nvcc: ${VRAMSPAN_NVCC}")
