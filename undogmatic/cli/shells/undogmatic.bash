# undogmatic completion bash >> ~/.bashrc
_undogmatic() {
    local line="${COMP_LINE:0:COMP_POINT}" word head candidates=() words=()
    word="${line##*[[:space:]]}"
    head="${word%"${word##*[=:]}"}"  # bash begins a new word after = and :
    read -ra words <<< "$line"
    [[ -z $word ]] && words+=("")
    mapfile -t candidates < <(undogmatic completion --words "${words[@]:1}" 2> /dev/null)
    COMPREPLY=()
    local each
    for each in "${candidates[@]}"; do
        each="${each%%$'\t'*}"
        COMPREPLY+=("${each#"$head"}")
    done
    [[ ${#COMPREPLY[@]} -eq 1 && ${COMPREPLY[0]} == *[=.] ]] && compopt -o nospace 2> /dev/null
    return 0
}
complete -o default -o nosort -F _undogmatic undogmatic
