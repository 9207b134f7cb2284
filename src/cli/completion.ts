import { COMMON_OPTIONS, type Command } from './command.ts'

/** The `completion` command. The commands come as a function because it is one of them. */
export const createCompletion = (loadCommands: () => Promise<readonly Command[]>): Command => ({
  name: 'completion',
  about: 'Print a completion script for a shell',
  details:
    'bash: source <(teslim completion bash) in ~/.bashrc. zsh: source <(teslim completion zsh) in ~/.zshrc, after compinit. fish: teslim completion fish > ~/.config/fish/completions/teslim.fish. It completes the word "teslim"; with npx, add: alias teslim="npx teslim".',
  positionals: ['bash|zsh|fish'],
  async run({ positionals: [shell = 'bash'], json }, { out }) {
    const script = scripts[shell as keyof typeof scripts](wordsByPlace(await loadCommands()))
    out(json ? JSON.stringify({ shell, script }) : script)
  },
})

/** Stands for names of files, which the shell knows. */
const FILES = 'FILES'
const namesFile = (argument = ''): boolean => /^\[?(?:FILE|PATH)\b/.test(argument)

/**
 * What may come next after `''`, `customer`, `customer add` or `delivery list --status`: words, and `FILES` where files are meant;
 * nothing after an option with a free value.
 */
function wordsByPlace(commands: readonly Command[]): Map<string, string[]> {
  const places = new Map<string, string[]>([['', []]])
  const add = (place: string, word: string): void => {
    const words = places.get(place) ?? []
    if (!words.includes(word)) places.set(place, [...words, word])
  }
  for (const { name, positionals = [], options } of commands) {
    const words = name.split(' ')
    for (const [index, word] of words.entries()) add(words.slice(0, index).join(' '), word)
    for (const each of positionals.filter((each) => each.includes('|')))
      for (const word of each.split('|')) add(name, word)
    if (positionals.some(namesFile)) add(name, FILES)
    for (const [option, { type, value, choices = {} }] of Object.entries({ ...options, ...COMMON_OPTIONS })) {
      add(name, `--${option}`)
      if (type === 'string') places.set(`${name} --${option}`, namesFile(value) ? [FILES] : Object.keys(choices))
    }
  }
  return places
}

type Places = Map<string, string[]>

/** The function that bash and zsh share. Every word consists of letters, digits and hyphens. */
const wordsFunction = (places: Places): string => `_teslim_words() {
  case "$1" in
${Array.from(places, ([place, words]) => `    '${place}') echo '${words.join(' ')}' ;;`).join('\n')}
    *) return 1 ;;
  esac
}`

/** Skips options and "help"; every other word that leads to a known place is part of the command. */
const FIND_PLACE = `    case "$at$word" in -*|help) continue ;; esac
    case "$word" in -*) continue ;; esac
    _teslim_words "\${at:+$at }$word" >/dev/null && at="\${at:+$at }$word"`

/** With `-o default` readline completes names of files where the function offers nothing. bash 3 cannot turn that off. */
const bash = (places: Places): string => `# Completion of teslim for bash: source <(teslim completion bash)
${wordsFunction(places)}
_teslim() {
  local current="\${COMP_WORDS[COMP_CWORD]}" previous="\${COMP_WORDS[COMP_CWORD-1]}" at= word found
  [ "$current" = = ] && current=
  [ "$previous" = = ] && previous="\${COMP_WORDS[COMP_CWORD-2]}"
  for word in "\${COMP_WORDS[@]:1:COMP_CWORD-1}"; do
${FIND_PLACE}
  done
  found="$(_teslim_words "$at $previous")" || found="$(_teslim_words "$at")"
  COMPREPLY=()
  case "$found/$current" in
    *${FILES}*/-*) ;;
    *${FILES}*) return ;;
  esac
  compopt +o default 2>/dev/null
  COMPREPLY=($(compgen -W "\${found/${FILES}/}" -- "$current"))
}
complete -o default -F _teslim teslim`

const zsh = (places: Places): string => `#compdef teslim
# Completion of teslim for zsh: source <(teslim completion zsh)
${wordsFunction(places)}
_teslim() {
  local at= word found
  for word in "\${words[@]:1:$((CURRENT-2))}"; do
${FIND_PLACE}
  done
  found="$(_teslim_words "$at \${words[CURRENT-1]}")" || found="$(_teslim_words "$at")"
  case "$found" in *${FILES}*) _files ;; esac
  compadd -- \${=found/${FILES}/}
}
if [ "\${funcstack[1]}" = _teslim ]; then _teslim "$@"; else compdef _teslim teslim; fi`

const fish = (
  places: Places,
): string => `# Completion of teslim for fish: teslim completion fish > ~/.config/fish/completions/teslim.fish
function __teslim_words
  switch "$argv[1]"
${Array.from(places, ([place, words]) => `    case '${place}'\n      ${words.length > 0 ? `printf '%s\\n' ${words.join(' ')}` : 'true'}`).join('\n')}
    case '*'
      return 1
  end
end
function __teslim_complete
  set -l tokens (commandline -opc)[2..-1]
  set -l at ''
  for word in $tokens
    string match -q -- '-*' $word; and continue
    test "$at$word" = help; and continue
    __teslim_words (string trim "$at $word") >/dev/null; and set at (string trim "$at $word")
  end
  __teslim_words (string trim -- "$at $tokens[-1]"); or __teslim_words "$at"
end
complete -c teslim -f -a '(__teslim_complete | string match -v ${FILES})'
complete -c teslim -n '__teslim_complete | string match -q ${FILES}' -F`

const scripts = { bash, zsh, fish }
