# Completion of vramspan for fish, made by `vramspan completion fish` from what its --help is made of.

# The command that the line names, with its action. Where a program has begun, a line -- and its words follow.
function __vramspan_state
    set -l tokens (commandline -opc)
    set -e tokens[1]
    set -l words
    set -l value no
    while set -q tokens[1]
        set -l token $tokens[1]
        set -e tokens[1]
        if test $value = yes
            set value no
            continue
        end
        switch $token
            case --
                if contains -- "$words" $__vramspan_programs
                    printf '%s\n' "$words" -- $tokens
                    return
                end
            case '--*=*'
            case '-*'
                contains -- "$words $token" $__vramspan_valued; and set value yes
            case '*'
                set -l called (string trim -- "$words $token")
                if contains -- $called $__vramspan_commands
                    set words $called
                else if contains -- "$words" $__vramspan_programs
                    printf '%s\n' "$words" -- $token $tokens
                    return
                end
        end
    end
    printf '%s\n' "$words"
end

function __vramspan_in
    set -l state (__vramspan_state)
    test (count $state) -eq 1; and test "$state" = "$argv"
end

function __vramspan_in_program
    set -l state (__vramspan_state)
    test (count $state) -gt 1; and return
    contains -- "$state" $__vramspan_programs; and not string match -q -- '-*' (commandline -ct)
end

function __vramspan_program
    set -l state (__vramspan_state)
    __fish_complete_subcommand --commandline $state[3..] (commandline -ct)
end

# Files behind OPTION= where a value may be missing: fish takes such an option for one without a value.
function __vramspan_files_of
    set -l token (commandline -ct)
    string match -q -- "$argv=*" $token; or return
    printf '%s\n' $argv=(__fish_complete_path (string replace -- "$argv=" '' $token))
end

complete -c vramspan -f
complete -c vramspan -n __vramspan_in_program -x -a '(__vramspan_program)'

