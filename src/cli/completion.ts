import { COMMON_OPTIONS, type Command } from './command.ts'

export const completion: Command = {
  name: 'completion',
  about: 'Print a completion script for a shell',
  details:
    'bash: source <(teslim completion bash) in ~/.bashrc. zsh: source <(teslim completion zsh) in ~/.zshrc, after compinit. fish: teslim completion fish > ~/.config/fish/completions/teslim.fish. It completes the word "teslim", and runs it to do so; with npx, define it before: teslim() { npx teslim "$@"; }',
  positionals: ['bash|zsh|fish'],
  async run({ word: shell }) {
    const script = SCRIPTS[shell as keyof typeof SCRIPTS]
    return { json: { shell, script }, text: () => script }
  },
}

/** Stands for names of files, which the shell knows. */
const FILES = 'FILES'
const namesFile = (argument: string): boolean => /^\[?(?:FILE|PATH)\b/.test(argument)

type LoadCommand = (name: string) => Promise<Command | undefined>

/** The command that the scripts run; no help names it. The other commands come as arguments because it is one of them. */
export const createComplete = (names: readonly string[], load: LoadCommand): Command => ({
  name: 'complete',
  about: 'Print the words with which a command line may end',
  positionals: ['[WORD...]'],
  async run({ positionals }) {
    const last = positionals.at(-1) ?? ''
    // bash makes three words of --status=0.
    const before = positionals.slice(0, -1).filter((word) => word !== '=')
    const begun = last === '=' ? '' : last
    const words = await wordsAfter(before, names, load)
    const fitting =
      words.includes(FILES) && !begun.startsWith('-') ? [FILES] : words.filter((word) => word.startsWith(begun))
    return { json: fitting, text: () => fitting.join('\n') }
  },
})

/** What may come next: words, and `FILES` where files are meant; nothing after an option with a free value. */
async function wordsAfter(typed: readonly string[], names: readonly string[], load: LoadCommand): Promise<string[]> {
  let at = ''
  for (const word of typed) {
    const next = `${at}${word} `
    if (names.some((name) => `${name} `.startsWith(next))) at = word === 'help' ? at : next
  }
  const following = names
    .filter((name) => name.startsWith(at))
    .map((name) => name.slice(at.length).split(' ', 1).join())
  const command = await load(at.trim())
  if (command === undefined) return [...new Set(following)]
  const { positionals = [] } = command
  const options = { ...command.options, ...COMMON_OPTIONS }
  const [, option = ''] = /^--(.+)$/.exec(typed.at(-1) ?? '') ?? []
  const { value, choices = {} } = options[option] ?? {}
  if (value !== undefined) return namesFile(value) ? [FILES] : Object.keys(choices)
  return [
    ...positionals.flatMap((each) => (each.includes('|') ? each.split('|') : namesFile(each) ? [FILES] : [])),
    ...Object.keys(options).map((name) => `--${name}`),
  ]
}

/** With `-o default` readline completes names of files where the function offers nothing. bash 3 cannot turn that off. */
const BASH = `# Completion of teslim for bash: source <(teslim completion bash)
_teslim() {
  COMPREPLY=($(teslim complete -- "\${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null))
  if [ "\${COMPREPLY[0]}" = ${FILES} ]; then COMPREPLY=(); else compopt +o default 2>/dev/null; fi
}
complete -o default -F _teslim teslim`

const ZSH = `#compdef teslim
# Completion of teslim for zsh: source <(teslim completion zsh)
_teslim() {
  local found=(\${(f)"$(teslim complete -- "\${(@)words[2,CURRENT]}" 2>/dev/null)"})
  if [ "\${found[1]}" = ${FILES} ]; then _files; else compadd -- $found; fi
}
if [ "\${funcstack[1]}" = _teslim ]; then _teslim "$@"; else compdef _teslim teslim; fi`

const FISH = `# Completion of teslim for fish 3.4 and later: teslim completion fish > ~/.config/fish/completions/teslim.fish
function __teslim_complete
  teslim complete -- (commandline -opc)[2..-1] "$(commandline -ct)" 2>/dev/null
end
complete -c teslim -f -a '(__teslim_complete | string match -v ${FILES})'
complete -c teslim -n '__teslim_complete | string match -q ${FILES}' -F`

const SCRIPTS = { bash: BASH, zsh: ZSH, fish: FISH }
