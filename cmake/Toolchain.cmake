# Compiler-wide settings: they hold for abseil too, since sanitized and plain code must not be mixed.

if(NOT CMAKE_CXX_COMPILER_LAUNCHER)
  find_program(VRAMSPAN_CCACHE ccache)
  if(VRAMSPAN_CCACHE)
    set(CMAKE_CXX_COMPILER_LAUNCHER "${VRAMSPAN_CCACHE}")
  endif()
endif()

# No build folder's name in the debug information: builds are reproducible and ccache hits across folders.
add_compile_options("-ffile-prefix-map=${PROJECT_BINARY_DIR}=.")

if(VRAMSPAN_SANITIZE STREQUAL "address")
  set(flags -fsanitize=address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer)
elseif(VRAMSPAN_SANITIZE STREQUAL "thread")
  set(flags -fsanitize=thread -fno-omit-frame-pointer)
elseif(VRAMSPAN_SANITIZE STREQUAL "")
  set(flags)
else()
  message(FATAL_ERROR "VRAMSPAN_SANITIZE is '${VRAMSPAN_SANITIZE}'; allowed: address, thread, or empty")
endif()
if(VRAMSPAN_FUZZ)
  list(APPEND flags -fsanitize=fuzzer-no-link)
endif()
add_compile_options(${flags})
add_link_options(${flags})
unset(flags)

# ThreadSanitizer of gcc 12 and clang 14 knows the memory layout of at most 28 bits of randomisation; above
# that its programs die at start-up with "unexpected memory mapping" unless randomisation is off.
set(VRAMSPAN_TEST_WRAPPER)
if(VRAMSPAN_SANITIZE STREQUAL "thread" AND EXISTS /proc/sys/vm/mmap_rnd_bits)
  file(READ /proc/sys/vm/mmap_rnd_bits bits)
  string(STRIP "${bits}" bits)
  if(bits GREATER 28)
    find_program(VRAMSPAN_SETARCH setarch REQUIRED)
    set(VRAMSPAN_TEST_WRAPPER "${VRAMSPAN_SETARCH};-R")
  endif()
  unset(bits)
endif()
