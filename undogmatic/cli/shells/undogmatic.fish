# undogmatic completion fish > ~/.config/fish/completions/undogmatic.fish
function __undogmatic
    set -l words (commandline -opc) (commandline -ct)
    undogmatic completion --words $words[2..] 2> /dev/null
end
complete -c undogmatic -a '(__undogmatic)'
