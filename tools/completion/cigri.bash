# Completion of the grid's tools for bash (and zsh after `autoload bashcompinit; bashcompinit`).
# Options and commands come from each tool's own --help, so they cannot grow old; campaigns,
# clusters and keys from the grid.

_cigri_options() { "$@" --help 2>/dev/null | grep -oE -- '(^|[ ,])--?[A-Za-z][A-Za-z0-9_-]*' | tr -d ' ,' | sort -u; }
_cigri_commands() { "$@" --help 2>/dev/null | sed -n '/^Subcommands:/,/^$/s/^  \([a-z][a-z-]*\) .*/\1/p'; }
_cigri_campaigns() { gridstat -H 2>/dev/null | awk '{print $1}'; }
_cigri_clusters() { gridclusters 2>/dev/null | sed 's/^[0-9]*: //'; }
_cigri_policy_keys() { gridadmin policy show 2>/dev/null | sed -n 's/^\([a-z][a-z_.]*\) = .*/\1=/p'; }
_cigri_cluster_keys() { gridadmin cluster show "$1" 2>/dev/null | sed -n 's/^\([a-z][a-z_]*\)  *.*/\1=/p'; }
# What may still change in a campaign (gridsub -c N --set).
_cigri_campaign_keys='walltime= max_jobs= clusters= exec_file= priority='

# The words of gridadmin and cigri: a command, a command below it, then what that one takes.
_cigri_command_line() {
    local tool=$1 word=$2 command=() i
    for ((i = 1; i < COMP_CWORD; i++)); do
        [[ ${COMP_WORDS[i]} == -* ]] || command+=("${COMP_WORDS[i]}")
    done
    if [[ $word == -* ]]; then
        COMPREPLY=($(compgen -W "$(_cigri_options "$tool" "${command[@]:0:2}")" -- "$word")); return
    fi
    local words
    words=$(_cigri_commands "$tool" "${command[@]:0:2}")
    if [[ -z $words ]]; then
        case "$tool ${command[*]:0:2}" in
            'gridadmin policy set') words=$(_cigri_policy_keys); compopt -o nospace 2>/dev/null ;;
            'gridadmin cluster set')
                if [[ ${#command[@]} -gt 2 ]]; then words=$(_cigri_cluster_keys "${command[2]}"); compopt -o nospace 2>/dev/null
                else words=$(_cigri_clusters); fi ;;
            'gridadmin drain'*|'gridadmin stop'*|'gridadmin resume'*)
                [[ ${#command[@]} -gt 1 ]] || words="$(_cigri_clusters) all" ;;
            'gridadmin cluster '*) [[ ${#command[@]} -gt 2 ]] || words=$(_cigri_clusters) ;;
            'gridadmin rule '*)
                [[ ${#command[@]} -gt 2 ]] || words=$(gridadmin --json rule list 2>/dev/null | sed -n 's/.*"name": "\([^"]*\)".*/\1/p') ;;
        esac
    fi
    COMPREPLY=($(compgen -W "$words" -- "$word"))
}

_cigri() {
    local tool=$1 word=$2 before=$3
    case $before in
        -c|--campaign|--campaigns|--retry-failed|--after|--dependency) if [[ $tool != localsub ]]; then COMPREPLY=($(compgen -W "$(_cigri_campaigns)" -- "$word")); return; fi ;;
        --check|--why|-i|--cluster|--blacklist-cluster|--clusters)
            if [[ $tool != gridstat && $tool != cigri ]]; then COMPREPLY=($(compgen -W "$(_cigri_clusters)" -- "$word")); return; fi ;;
        --set) if [[ $tool == gridsub ]]; then COMPREPLY=($(compgen -W "$_cigri_campaign_keys" -- "$word")); compopt -o nospace 2>/dev/null; return; fi ;;
        -p|--priority) if [[ $tool == gridmod || $tool == gridsub ]]; then COMPREPLY=($(compgen -W "highest high above_normal normal below_normal low lowest suspended urgent" -- "$word")); return; fi ;;
        --color) COMPREPLY=($(compgen -W "auto always never" -- "$word")); return ;;
        --params) COMPREPLY=($(compgen -W "waiting running failed done" -- "$word")); return ;;
        -s|--severity) if [[ $tool == gridnotify ]]; then COMPREPLY=($(compgen -W "low medium high" -- "$word")); return; fi ;;
        --with) COMPREPLY=($(compgen -W "oar slurm oar,slurm none" -- "$word")); return ;;
        -f|--file|-F|--jobfile|--csv) if [[ $tool == gridsub ]]; then COMPREPLY=($(compgen -f -- "$word")); return; fi ;;
    esac
    case $tool in
        gridadmin|cigri) _cigri_command_line "$tool" "$word" ;;
        *)
            if [[ $word == -* ]]; then
                COMPREPLY=($(compgen -W "$(_cigri_options "$tool")" -- "$word"))
            elif [[ $tool == gridsub || $tool == gridsim || $tool == localsub ]]; then
                COMPREPLY=($(compgen -f -- "$word"))
            elif [[ $tool == gridclusters ]]; then
                COMPREPLY=($(compgen -W "$(_cigri_clusters)" -- "$word"))
            else
                COMPREPLY=($(compgen -W "$(_cigri_campaigns)" -- "$word"))
            fi ;;
    esac
}
complete -o filenames -F _cigri gridsub gridsim localsub
complete -F _cigri gridstat griddel gridmod gridevents gridclusters gridnotify gridtoken gridadmin cigri
