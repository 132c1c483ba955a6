# Completion of the command `rollcall` for bash. It asks `rollcall ... --help`, and for names of algorithms and operations
# `rollcall info --algorithms`, so it knows what the installed command knows.

# The words that the option $1 of the command "${names[@]}" can have, or nothing if they are not known. `help` is the help of that command.
_rollcall_values() {
    # "  --bind-to,--bind none|core  ...". A word in capitals stands for a value, as in N|flat or eager:SIZE, and ",..." for more words.
    awk -v wanted="$1" '/^  -/ { n = split($1, option, ",")
        for (k = 1; k <= n; ++k) if (option[k] == wanted && $2 ~ /\|/) {
            sub(/,\.\.\.$/, "", $2); m = split($2, word, "|")
            for (j = 1; j <= m; ++j) { sub(/[A-Z]+$/, "", word[j]); if (word[j] != "") print word[j] } } }' <<< "$help" | grep . && return
    # Columns: operation, name, aliases, segmented, simulated_only. The benchmark gatherv is about the operation gather.
    local table=("${COMP_WORDS[0]}" info --algorithms --format csv)
    case $1 in
        --algorithm | --algorithms)
            echo all
            [[ ${names[1]} == loop ]] || echo auto
            "${table[@]}" 2> /dev/null | awk -F, -v place="${names[0]}" -v operation="${names[1]}" 'NR > 1 && !seen[$2] &&
                ($1 == operation || $1 "v" == operation || operation == "loop") && (place == "simulate" || $5 != "true") {
                    seen[$2] = 1; print $2 }'
            ;;
        --operation | --explain)
            [[ $1 == --explain ]] || echo all
            "${table[@]}" 2> /dev/null | awk -F, -v option="$1" 'NR > 1 && !seen[$1]++ &&
                (option == "--explain" || $1 !~ /barrier|^intergroup_/) { print $1 }'
            ;;
    esac
}

_rollcall() {
    local current=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD - 1]} help values before
    local -a names=()
    # bash takes `--format=csv` for three words.
    if [[ $current == = ]]; then
        current=
    elif [[ $previous == = && $COMP_CWORD -gt 1 ]]; then
        previous=${COMP_WORDS[COMP_CWORD - 2]}
    fi
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
        values=$(_rollcall_values "$previous")
        if [[ -n $values ]]; then
            # The last word of a list.
            [[ $current == *,* ]] && before=${current%,*},
            mapfile -t COMPREPLY < <(compgen -P "$before" -W "$values" -- "${current#"$before"}")
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
