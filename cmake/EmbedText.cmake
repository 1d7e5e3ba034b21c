# vramspan_embed_text(OUTPUT <file.cc> HEADER <header.h> NAMESPACE <name>
#                     [HASH <function>] TEXTS <function> <file>... [<function> <file>...]...)
#
# Makes a .cc that defines, for every name in TEXTS, `std::string_view function()`: what the files after it
# hold, one after the other. Files are given with absolute paths, which is what tells them from names; HEADER
# declares the functions. For pages and scripts that a tool carries. HASH <name> makes a
# `std::string_view <name>Sha256()` as well: the hash of that text in base64, by which a page's policy names a script.

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
