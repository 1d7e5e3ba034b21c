#compdef vramspan
# Completion of vramspan for zsh, made by `vramspan completion zsh` from what its --help is made of.

# __vramspan_actions FUNCTION OPTION...: one of the commands in $actions, and what FUNCTION_COMMAND says of it.
__vramspan_actions() {
  local curcontext=$curcontext state state_descr line ret=1
  local -A opt_args
  local function=$1
  shift
  _arguments -C "$@" '1: :->command' '*:: :->words' && ret=0
  case $state in
    command) _describe -t commands command actions && ret=0 ;;
    words)
      curcontext=${curcontext%:*:*}:vramspan-$line[1]:
      (( $+functions[${function}_$line[1]] )) && ${function}_$line[1] && ret=0
      ;;
  esac
  return ret
}

# A command of the system's, and what is behind it.
__vramspan_program() {
  if [[ $words[1] == -- ]]; then
    shift words
    (( CURRENT-- ))
  fi
  _normal
}

