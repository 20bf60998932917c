"""What `barnabas completion <shell>` prints.  Pure.

Each script does as little as its shell lets it: it sends the line up to the cursor to `barnabas
completion --candidates`, and shows what comes back.  A first line `:files` means that the shell is
to complete the names of files.
"""

from __future__ import annotations

from collections.abc import Sequence

FILES = ":files"

BASH = r"""# Completion of Barnabas for bash: source <(barnabas completion bash)
_barnabas_complete() {
    local line quoted
    local -a found
    mapfile -t found < <(barnabas completion --shell bash \
        --candidates "${COMP_LINE:0:COMP_POINT}" 2>/dev/null)
    COMPREPLY=()
    if [[ ${found[0]-} == :files ]]; then
        compopt -o default 2>/dev/null
        return
    fi
    for line in "${found[@]}"; do
        printf -v quoted '%q' "$line"
        COMPREPLY+=("$quoted")
    done
}
complete -F _barnabas_complete @NAMES@
"""

ZSH = r"""#compdef @NAMES@
# Completion of Barnabas for zsh, after compinit: source <(barnabas completion zsh)
# Or as a file named _barnabas in a directory of $fpath.
_barnabas() {
    local line name
    local -a found names
    found=("${(@f)$(barnabas completion --shell zsh \
        --candidates "${(j: :)words[1,CURRENT]}" 2>/dev/null)}")
    if [[ ${found[1]} == ':files' ]]; then
        _files
        return
    fi
    for line in $found; do
        name=${${line%%$'\t'*}//:/\\:}
        [[ $line == *$'\t'* ]] && name+=":${line#*$'\t'}"
        names+=("$name")
    done
    _describe barnabas names
}
if [[ $funcstack[1] == _barnabas ]]; then
    _barnabas "$@"
else
    compdef _barnabas @NAMES@
fi
"""

FISH = r"""# Completion of Barnabas for fish: barnabas completion fish | source
function __barnabas_candidates
    set -l found (barnabas completion --shell fish --candidates (commandline -cp) 2>/dev/null)
    if test "$found[1]" = :files
        __fish_complete_path (commandline -ct)
    else if set -q found[1]
        printf '%s\n' $found
    end
end
for name in @NAMES@
    complete -c $name -f -a '(__barnabas_candidates)'
end
"""

SCRIPTS = {"bash": BASH, "zsh": ZSH, "fish": FISH}


def script(shell: str, names: Sequence[str]) -> str:
    """The script of a shell, for all the commands that have these names."""
    return SCRIPTS[shell].replace("@NAMES@", " ".join(names))
