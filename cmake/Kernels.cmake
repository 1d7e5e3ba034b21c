# vramspan_add_kernels(NAME <name> SOURCE <file.cu> [INCLUDES <dir>...])
#
# Compiles one CUDA source twice and embeds both results in the static library <name>:
#   - with nvcc, where VRAMSPAN_NVCC names one, as a fatbin (SASS for VRAMSPAN_CUDA_ARCHS and PTX for
#     the oldest of them);
#   - with the C++ compiler, as a shared object for tools/simcuda's driver. It takes the compile and
#     link options of the directory it is called from, sanitizers included.
# A program that links <name> reaches them through <name>_images() (tools/simcuda/kernel_images.h).
# The host image alone is the file <binary dir>/kernels/<name>.so, the fatbin <name>.fatbin.

include_guard(GLOBAL)

set(VRAMSPAN_CUDA_ARCHS "80;90" CACHE STRING
  "GPU architectures that kernels are compiled for, oldest first")

set(_VRAMSPAN_KERNELS_CMAKE_DIR ${CMAKE_CURRENT_LIST_DIR})

function(vramspan_add_kernels)
  cmake_parse_arguments(PARSE_ARGV 0 ARG "" "NAME;SOURCE" "INCLUDES")
  if(NOT ARG_NAME OR NOT ARG_SOURCE OR ARG_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "vramspan_add_kernels(NAME <name> SOURCE <file.cu> [INCLUDES <dir>...])")
  endif()
  get_filename_component(root ${_VRAMSPAN_KERNELS_CMAKE_DIR} DIRECTORY)
  get_filename_component(source ${ARG_SOURCE} ABSOLUTE)
  set(out ${CMAKE_CURRENT_BINARY_DIR}/kernels)
  file(MAKE_DIRECTORY ${out})
  set(prelude ${root}/tools/simcuda/kernel.h)
  set(prelude_parts ${prelude} ${root}/tools/simcuda/kernel_abi.h
    ${root}/tools/simcuda/kernel_builtins.h ${root}/tools/simcuda/kernel_objects.h
    ${root}/tools/simcuda/kernel_tsan.h ${root}/tools/simcuda/object_abi.h)

  # The host image.
  set(HOST_IMAGE ${out}/${ARG_NAME}.so)
  add_library(${ARG_NAME}_host MODULE ${source})
  set_source_files_properties(${source} PROPERTIES LANGUAGE CXX OBJECT_DEPENDS "${prelude_parts}")
  target_include_directories(${ARG_NAME}_host PRIVATE ${root} ${ARG_INCLUDES})
  target_link_libraries(${ARG_NAME}_host PRIVATE $<BUILD_INTERFACE:vramspan_flags>)
  target_compile_options(${ARG_NAME}_host PRIVATE -include ${prelude} -O2 -fno-exceptions
    -ffp-contract=off)
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    target_compile_options(${ARG_NAME}_host PRIVATE -fno-gnu-unique)
    if(VRAMSPAN_SANITIZE STREQUAL "thread")
      target_compile_options(${ARG_NAME}_host PRIVATE "SHELL:--param tsan-distinguish-volatile=1")
    endif()
  endif()
  if(CMAKE_SYSTEM_PROCESSOR STREQUAL "aarch64")
    # As x86's: the driver takes no images with descriptors that are resolved at the first use.
    target_compile_options(${ARG_NAME}_host PRIVATE -mtls-dialect=trad)
  endif()
  target_link_options(${ARG_NAME}_host PRIVATE -Wl,-Bsymbolic -Wl,--build-id=none)
  set_target_properties(${ARG_NAME}_host PROPERTIES
    PREFIX "" OUTPUT_NAME ${ARG_NAME} SUFFIX ".so" LIBRARY_OUTPUT_DIRECTORY ${out}
    CXX_VISIBILITY_PRESET hidden VISIBILITY_INLINES_HIDDEN ON
    INTERPROCEDURAL_OPTIMIZATION OFF)

  # The GPU image.
  set(images ${HOST_IMAGE})
  set(FATBIN_LINE "")
  if(VRAMSPAN_NVCC)
    set(fatbin ${out}/${ARG_NAME}.fatbin)
    list(GET VRAMSPAN_CUDA_ARCHS 0 oldest)
    set(archs -gencode arch=compute_${oldest},code=compute_${oldest})
    foreach(arch IN LISTS VRAMSPAN_CUDA_ARCHS)
      list(APPEND archs -gencode arch=compute_${arch},code=sm_${arch})
    endforeach()
    set(includes -I${root})
    foreach(dir IN LISTS ARG_INCLUDES)
      list(APPEND includes -I${dir})
    endforeach()
    # Contraction off on both sides, so that a result can be compared bit by bit.
    add_custom_command(OUTPUT ${fatbin}
      COMMAND ${VRAMSPAN_NVCC} -fatbin -std=c++20 -O3 --fmad=false ${archs} ${includes}
        -include ${prelude} -MD -MF ${fatbin}.d -MT ${fatbin} ${source} -o ${fatbin}
      DEPENDS ${source} ${prelude} DEPFILE ${fatbin}.d
      COMMENT "Compiling ${ARG_NAME} for the GPU" VERBATIM)
    list(APPEND images ${fatbin})
    set(FATBIN_LINE ".incbin \\\"${fatbin}\\\"\\n")
  endif()

  configure_file(${_VRAMSPAN_KERNELS_CMAKE_DIR}/kernel_images.cc.in ${out}/${ARG_NAME}_images.cc
    @ONLY)
  set_source_files_properties(${out}/${ARG_NAME}_images.cc PROPERTIES OBJECT_DEPENDS "${images}")
  add_library(${ARG_NAME} STATIC ${out}/${ARG_NAME}_images.cc)
  add_dependencies(${ARG_NAME} ${ARG_NAME}_host)
  # What it embeds is not among what ccache compares, where that asks the compiler for dependencies.
  set_target_properties(${ARG_NAME} PROPERTIES CXX_COMPILER_LAUNCHER "")
  target_include_directories(${ARG_NAME} PUBLIC ${root})
  target_link_libraries(${ARG_NAME} PUBLIC vramspan_cuda_headers)
  set_target_properties(${ARG_NAME} PROPERTIES POSITION_INDEPENDENT_CODE ON)
endfunction()
