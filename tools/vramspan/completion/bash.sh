# Completion of vramspan for bash, made by `vramspan completion bash` from what its --help is made of.
# It needs no other package, and uses bash-completion for the words of programs where that is loaded.

# The words up to the cursor. What COMP_WORDBREAKS has broken is whole again, and of each word is noted
# where it begins among COMP_WORDS.
__vramspan_split() {
  local rest=${COMP_LINE:0:COMP_POINT} i piece
  words=()
  for ((i = 0; i <= COMP_CWORD; i++)); do
    piece=${COMP_WORDS[i]}
    if [[ i -eq 0 || $rest == [[:space:]]* ]]; then
      rest=${rest#"${rest%%[![:space:]]*}"}
      words+=('')
      starts+=("$i")
    fi
    [[ i -lt COMP_CWORD ]] || piece=$rest
    words[-1]+=$piece
    rest=${rest#"$piece"}
  done
}

# Adds all of $offers that begins with $1. $2 stands before it in the same word.
__vramspan_offer() {
  local begun=$1 before=$2 word kind found=()
  for word in $offers; do
    kind=
    case $word in
      '<list>') before+=${begun%"${begun##*,}"} begun=${begun##*,} ;;
      '<files>') kind=f ;;
      '<folders>') kind=d ;;
      '<program>') kind=c ;;
      *) [[ $word != "$begun"* ]] || COMPREPLY+=("$before$word") ;;
    esac
    [[ -n $kind ]] || continue
    [[ $kind == c ]] || compopt -o filenames 2>/dev/null
    mapfile -t found < <(compgen -"$kind" -- "$begun")
    COMPREPLY+=("${found[@]/#/"$before"}")
  done
}

_vramspan() {
  local words starts=() command= option= ended= place=0 i word prefix
  local actions options places takes offers
  COMPREPLY=()
  __vramspan_split
  local current=${words[-1]}
  __vramspan_table ''
  for ((i = 1; i < ${#words[@]} - 1; i++)); do
    word=${words[i]}
    if [[ -n $option ]]; then
      option=
    elif [[ -z $ended && $word == -- ]]; then
      ended=yes
    elif [[ -z $ended && $word == -?* ]]; then
      __vramspan_value "$command" "$word"
      [[ $takes != yes ]] || option=$word
    elif [[ -z $ended && " $actions " == *" $word "* ]]; then
      command=${command:+$command }$word
      __vramspan_table "$command"
    elif [[ ${places[place]:-} == '<program>' ]]; then
      if declare -F _command_offset >/dev/null; then
        _command_offset "${starts[i]}"
      else
        offers='<files>'
        __vramspan_offer "$current" ''
      fi
      return
    elif ((place + 1 < ${#places[@]})); then
      place=$((place + 1))
    fi
  done

  if [[ -n $option ]]; then
    __vramspan_offer "$current" ''
  elif [[ -z $ended && $current == --*=* ]]; then
    __vramspan_value "$command" "${current%%=*}"
    __vramspan_offer "${current#*=}" "${current%%=*}="
  else
    offers=
    if [[ -n $ended || ($current != -* && -n $current) || ${places[place]:-} != '<program>' ]]; then
      offers=${places[place]:-}
    fi
    [[ -n $ended ]] || offers+=" $actions"
    # What has nothing else to offer has options.
    [[ -n $ended || ($current != -* && -n ${offers// /}) ]] || offers=$options
    __vramspan_offer "$current" ''
  fi

  # Readline has what is before the last break as it is.
  prefix=${current%"${current##*["${COMP_WORDBREAKS//[^=:]/}"]}"}
  [[ ${COMP_WORDBREAKS} == *[=:]* ]] || prefix=
  COMPREPLY=("${COMPREPLY[@]#"$prefix"}")
}
complete -F _vramspan vramspan

