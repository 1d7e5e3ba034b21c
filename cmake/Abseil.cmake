# abseil, built here from the distribution's source package: position independent (Debian's archive is not),
# hidden, and with this build's sanitizer. Only the targets that something links are built.
#
# The unpacked source is shared by all build folders; fetch-abseil.sh gets it when it is missing.
set(VRAMSPAN_ABSEIL_SOURCE_DIR "${PROJECT_SOURCE_DIR}/build/deps/abseil" CACHE PATH
  "Unpacked source of abseil 20220623 or later")

if(NOT EXISTS "${VRAMSPAN_ABSEIL_SOURCE_DIR}/absl/base/config.h")
  message(STATUS "Fetching abseil's source package")
  execute_process(
    COMMAND "${PROJECT_SOURCE_DIR}/cmake/fetch-abseil.sh" "${VRAMSPAN_ABSEIL_SOURCE_DIR}"
    RESULT_VARIABLE result)
  if(NOT result EQUAL 0)
    message(FATAL_ERROR "abseil's source is missing; see the lines of fetch-abseil above.")
  endif()
  unset(result)
endif()

# A function, so that what is set for abseil stays out of this project's own folders.
function(vramspan_add_abseil)
  set(ABSL_PROPAGATE_CXX_STD ON)
  set(ABSL_ENABLE_INSTALL OFF)
  set(ABSL_BUILD_TESTING OFF)
  set(BUILD_TESTING OFF)
  set(BUILD_SHARED_LIBS OFF)
  set(CMAKE_EXPORT_COMPILE_COMMANDS OFF)
  set(CMAKE_MESSAGE_LOG_LEVEL WARNING)
  # Most of its files' time is what they include.
  if(VRAMSPAN_UNITY)
    set(CMAKE_UNITY_BUILD ON)
    set(CMAKE_UNITY_BUILD_BATCH_SIZE 20)
  endif()
  # Its debug information is large and nobody steps through it; its warnings are not ours to mend.
  string(APPEND CMAKE_CXX_FLAGS " -g0 -w")
  add_subdirectory("${VRAMSPAN_ABSEIL_SOURCE_DIR}" "${PROJECT_BINARY_DIR}/abseil"
    EXCLUDE_FROM_ALL SYSTEM)
  # These have names of their own that others in their unit have as well.
  set(alone strings/numbers.cc time/time.cc time/internal/cctz/src/time_zone_posix.cc)
  list(TRANSFORM alone PREPEND "${VRAMSPAN_ABSEIL_SOURCE_DIR}/absl/")
  set_source_files_properties(${alone} TARGET_DIRECTORY absl::strings absl::time absl::time_zone
    PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
endfunction()
vramspan_add_abseil()
