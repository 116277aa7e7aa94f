# Completion of the grid's tools for bash (and zsh after `autoload bashcompinit; bashcompinit`).
# Options come from each tool's own --help, so they cannot grow old; campaigns and clusters from the grid.

_cigri_options() { "$1" --help 2>/dev/null | grep -oE -- '(^|[ ,])--?[A-Za-z][A-Za-z0-9_-]*' | tr -d ' ,' | sort -u; }
_cigri_campaigns() { gridstat -H 2>/dev/null | awk '{print $1}'; }
_cigri_clusters() { gridclusters 2>/dev/null | sed 's/^[0-9]*: //'; }

_cigri() {
    local tool=$1 word=$2 before=$3
    case $before in
        -c|--campaign|--campaigns|--retry-failed) COMPREPLY=($(compgen -W "$(_cigri_campaigns)" -- "$word")); return ;;
        --check|--why|-i|--cluster|--blacklist-cluster|--clusters)
            if [[ $tool != gridstat ]]; then COMPREPLY=($(compgen -W "$(_cigri_clusters)" -- "$word")); return; fi ;;
        -p|--priority) if [[ $tool == gridmod ]]; then COMPREPLY=($(compgen -W "highest high above_normal normal below_normal low lowest suspended urgent" -- "$word")); return; fi ;;
        --color) COMPREPLY=($(compgen -W "auto always never" -- "$word")); return ;;
        --params) COMPREPLY=($(compgen -W "waiting running failed done" -- "$word")); return ;;
        -s|--severity) if [[ $tool == gridnotify ]]; then COMPREPLY=($(compgen -W "low medium high" -- "$word")); return; fi ;;
        -f|--file|-F|--jobfile|--csv) if [[ $tool == gridsub ]]; then COMPREPLY=($(compgen -f -- "$word")); return; fi ;;
    esac
    if [[ $word == -* ]]; then
        COMPREPLY=($(compgen -W "$(_cigri_options "$tool")" -- "$word"))
    elif [[ $tool == gridsub || $tool == gridsim ]]; then
        COMPREPLY=($(compgen -f -- "$word"))
    else
        COMPREPLY=($(compgen -W "$(_cigri_campaigns)" -- "$word"))
    fi
}
complete -o filenames -F _cigri gridsub gridsim
complete -F _cigri gridstat griddel gridmod gridevents gridclusters gridnotify gridtoken gridadmin
