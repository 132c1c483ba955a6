# Completion of the command `rollcall` for bash. It asks `rollcall ... --help`, so it knows what the installed command knows.
_rollcall() {
    local current=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD - 1]} help values
    local -a names=()
    # The subcommands before this word. Behind `rollcall run` stands a program, which must not be started here.
    local i
    for ((i = 1; i < COMP_CWORD && i <= 2; ++i)); do
        [[ ${COMP_WORDS[i]} == -* ]] && break
        names+=("${COMP_WORDS[i]}")
        [[ ${COMP_WORDS[i]} == run ]] && break
    done
    help=$("${COMP_WORDS[0]}" "${names[@]}" --help 2> /dev/null) || return 0
    COMPREPLY=()
    if [[ $previous == -* ]]; then
        # "  --bind-to,--bind none|core  ...": the words that it can be.
        values=$(awk -v wanted="$previous" '/^  -/ { n = split($1, option, ",")
            for (k = 1; k <= n; ++k) if (option[k] == wanted && $2 ~ /\|/) { gsub(/\|/, " ", $2); print $2 } }' <<< "$help")
        if [[ -n $values ]]; then
            mapfile -t COMPREPLY < <(compgen -W "$values" -- "$current")
            return 0
        fi
    fi
    if [[ $current == -* ]]; then
        values=$(awk '/^  -/ { gsub(",", " ", $1); print $1 }' <<< "$help")
    else
        values=$(awk '/^Subcommands:/ { inside = 1; next } /^[^ ]/ { inside = 0 } inside && /^  [a-z]/ { print $1 }' <<< "$help")
    fi
    mapfile -t COMPREPLY < <(compgen -W "$values" -- "$current")
    [[ ${#COMPREPLY[@]} -gt 0 ]] || mapfile -t COMPREPLY < <(compgen -f -- "$current")
}
complete -o filenames -F _rollcall rollcall
