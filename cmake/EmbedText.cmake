# vramspan_embed_text(OUTPUT <file.cc> HEADER <header.h> NAMESPACE <name>
#                     [HASH <function>] TEXTS <function> <file>... [<function> <file>...]...)
#
# Makes a .cc that defines, for every name in TEXTS, `std::string_view function()`: what the files after it
# hold, one after the other. Files are given with absolute paths, which is what tells them from names; HEADER
# declares the functions. For pages and scripts that a tool carries. HASH <name> makes a
# `std::string_view <name>Sha256()` as well: the hash of that text in base64, by which a page's policy names a script.
#
# vramspan_check_sums(<SHA256SUMS>): the files that it names, beside it, are those of others and must be as they were
# got. One that is not stops the configuration.

include_guard(GLOBAL)

function(vramspan_embed_text)
  # Not a variable beside the function: whoever includes this second would not have it.
  set(script "${CMAKE_CURRENT_FUNCTION_LIST_DIR}/embed_text.cmake")
  cmake_parse_arguments(PARSE_ARGV 0 arg "" "OUTPUT;HEADER;NAMESPACE;HASH" "TEXTS")
  set(sources)
  foreach(entry IN LISTS arg_TEXTS)
    if(IS_ABSOLUTE "${entry}")
      list(APPEND sources "${entry}")
    endif()
  endforeach()
  add_custom_command(OUTPUT "${arg_OUTPUT}"
    COMMAND ${CMAKE_COMMAND} "-DOUTPUT=${arg_OUTPUT}" "-DHEADER=${arg_HEADER}"
      "-DNAMESPACE=${arg_NAMESPACE}" "-DHASH=${arg_HASH}" "-DTEXTS=${arg_TEXTS}" -P "${script}"
    DEPENDS ${sources} "${script}"
    VERBATIM)
endfunction()

function(vramspan_check_sums sums)
  get_filename_component(folder "${sums}" DIRECTORY)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${sums}")
  file(STRINGS "${sums}" lines)
  foreach(line IN LISTS lines)
    if(NOT line MATCHES "^([0-9a-f]+)  ([^/]+)$")
      message(FATAL_ERROR "${sums}: '${line}' is not a line of sha256sum")
    endif()
    set(wanted "${CMAKE_MATCH_1}")
    set(file "${folder}/${CMAKE_MATCH_2}")
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${file}")
    file(SHA256 "${file}" found)
    if(NOT found STREQUAL wanted)
      message(FATAL_ERROR "${file}: its SHA-256 is ${found}, not ${wanted} as ${sums} says: get it again")
    endif()
  endforeach()
endfunction()
