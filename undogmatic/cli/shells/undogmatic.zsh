#compdef undogmatic
# undogmatic completion zsh >> ~/.zshrc, after compinit
_undogmatic() {
    local -a found names notes
    local each
    found=("${(@f)$(undogmatic completion --words "${(@Q)words[2,CURRENT]}" 2> /dev/null)}")
    for each in $found; do
        names+=("${each%%$'\t'*}")
        notes+=("${each//$'\t'/  -- }")
    done
    if (( ${#names} )); then
        local -a open closed open_notes closed_notes
        local n
        for (( n = 1; n <= ${#names}; n++ )); do
            if [[ ${names[n]} == *[=.] ]]; then
                open+=("${names[n]}") open_notes+=("${notes[n]}")
            else
                closed+=("${names[n]}") closed_notes+=("${notes[n]}")
            fi
        done
        (( ${#open} )) && compadd -S '' -l -d open_notes -- "${open[@]}"
        (( ${#closed} )) && compadd -l -d closed_notes -- "${closed[@]}"
    else
        compset -P '*='
        _files
    fi
}
compdef _undogmatic undogmatic
