import { Argument, type Command as Commander } from 'commander';
import { readCommands } from '../sdk/commands.ts';
import { aliasOptions } from './command.ts';
import type { CliContext } from './connect.ts';
import { profilePlaces, registerNames } from './names/complete.ts';

interface CompletionNode {
  /** What was typed up to here. */
  at: string;
  /** What may come next. */
  words: string[];
  isLeaf: boolean;
  /** Its arguments or flags take things of the server, whose names are asked for. */
  takesNames: boolean;
}

const shells = { bash, zsh, fish };

export function registerCompletion(program: Commander, here?: CliContext) {
  if (here) registerNames(program, here);
  program
    .command('completion')
    .description('a script that completes commands and flags: source <(quarterdeck completion bash)')
    .addArgument(new Argument('<shell>').choices(Object.keys(shells)))
    .action((shell: keyof typeof shells) => void process.stdout.write(shells[shell](completionNodes(program, '', placesWithNames()))));
}

/** The commands that take the name of something, as they are typed. */
const placesWithNames = () =>
  new Set(
    readCommands()
      .commands.filter(({ params, fields }) => [...params, ...fields, ...fields.flatMap((f) => f.fields ?? [])].some((f) => f.thing))
      .map(({ words }) => ` ${words.join(' ')}`)
      .concat(profilePlaces.map((words) => ` ${words}`)),
  );

/** Every command with what follows it. Written into the script: asking us at every key press would take a process each time. */
function completionNodes(command: Commander, at: string, named: Set<string>): CompletionNode[] {
  const children = command.commands.filter((child) => !child.name().startsWith('__'));
  const choices = command.registeredArguments.flatMap((a) => a.argChoices ?? []);
  const flags = command.options.flatMap((o) => (aliasOptions.has(o) ? [] : (o.long ?? [])));
  const words = [...children.map((c) => c.name()), ...choices, ...flags, '--help'];
  const here = { at, words, isLeaf: children.length === 0, takesNames: named.has(at) };
  return [here, ...children.flatMap((child) => completionNodes(child, `${at} ${child.name()}`, named))];
}

/** Words that are no flags lead to a place; behind a leaf come its arguments and the values of its flags. */
const patterns = ({ at, isLeaf }: CompletionNode) => (isLeaf ? [`'${at}'`, `'${at} '*`] : [`'${at}'`]);

function bash(all: CompletionNode[]): string {
  const cases = all
    .map((place) => `    ${patterns(place).join('|')}) words='${place.words.join(' ')}'${place.takesNames ? ' names=1' : ''} ;;\n`)
    .join('');
  return `_quarterdeck() {
  local word at='' words='' names=''
  for word in "\${COMP_WORDS[@]:1:COMP_CWORD-1}"; do
    [[ $word == -* ]] || at+=" $word"
  done
  case "$at" in
${cases}  esac
  [[ \${COMP_WORDS[COMP_CWORD-1]} == --profile ]] && words='' names=1
  COMPREPLY=($(compgen -W "$words" -- "\${COMP_WORDS[COMP_CWORD]}"))
  if [[ $names && "\${COMP_WORDS[COMP_CWORD]}" != -* ]]; then
    while IFS= read -r word; do COMPREPLY+=("$word"); done < <("\${COMP_WORDS[0]}" __complete "\${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null)
  fi
}
complete -o default -F _quarterdeck quarterdeck
`;
}

function zsh(all: CompletionNode[]): string {
  const cases = all
    .map((place) => `    ${patterns(place).join('|')}) compadd -- ${place.words.join(' ')}${place.takesNames ? '; names=1' : ''} ;;\n`)
    .join('');
  return `#compdef quarterdeck
_quarterdeck() {
  local word at='' names=''
  for word in "\${(@)words[2,CURRENT-1]}"; do
    [[ $word == -* ]] || at+=" $word"
  done
  [[ $words[CURRENT-1] == --profile ]] && names=1 && at=' --profile'
  case "$at" in
${cases}  esac
  if [[ -n $names && $words[CURRENT] != -* ]]; then
    compadd -- "\${(@f)$("$words[1]" __complete "\${(@)words[2,CURRENT]}" 2>/dev/null)}"
  fi
}
compdef _quarterdeck quarterdeck
`;
}

function fish(all: CompletionNode[]): string {
  const cases = all
    .map(
      (place) =>
        `    case ${patterns(place).join(' ').replaceAll("'*", "*'")}\n      printf '%s\\n' ${place.words.join(' ')}\n${place.takesNames ? '      set names 1\n' : ''}`,
    )
    .join('');
  return `function __quarterdeck_words
  set -l at ''
  set -l names ''
  for word in (commandline -opc)[2..-1]
    string match -q -- '-*' $word; or set at "$at $word"
  end
  if test (commandline -opc)[-1] = --profile
    set at ' --profile'
    set names 1
  end
  switch "$at"
${cases}  end
  if test -n "$names"; and not string match -q -- '-*' (commandline -ct)
    set -l typed (commandline -opc) (commandline -ct)
    $typed[1] __complete $typed[2..-1] 2>/dev/null
  end
end
complete -c quarterdeck -f -a '(__quarterdeck_words)'
`;
}
