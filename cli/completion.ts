import { Argument, type Command as Commander } from 'commander';

interface CompletionNode {
  /** What was typed up to here. */
  at: string;
  /** What may come next. */
  words: string[];
  isLeaf: boolean;
}

const shells = { bash, zsh, fish };

export function registerCompletion(program: Commander) {
  program
    .command('completion')
    .description('a script that completes commands and flags: source <(quarterdeck completion bash)')
    .addArgument(new Argument('<shell>').choices(Object.keys(shells)))
    .action((shell: keyof typeof shells) => void process.stdout.write(shells[shell](completionNodes(program))));
}

/** Every command with what follows it. Written into the script: asking us at every key press would take a process each time. */
function completionNodes(command: Commander, at = ''): CompletionNode[] {
  const children = command.commands;
  const choices = command.registeredArguments.flatMap((a) => a.argChoices ?? []);
  const flags = command.options.flatMap((o) => o.long ?? []);
  const here = { at, words: [...children.map((c) => c.name()), ...choices, ...flags, '--help'], isLeaf: children.length === 0 };
  return [here, ...children.flatMap((child) => completionNodes(child, `${at} ${child.name()}`))];
}

/** Words that are no flags lead to a place; behind a leaf come its arguments and the values of its flags. */
const patterns = ({ at, isLeaf }: CompletionNode) => (isLeaf ? [`'${at}'`, `'${at} '*`] : [`'${at}'`]);

function bash(all: CompletionNode[]): string {
  const cases = all.map((place) => `    ${patterns(place).join('|')}) words='${place.words.join(' ')}' ;;\n`).join('');
  return `_quarterdeck() {
  local word at='' words=''
  for word in "\${COMP_WORDS[@]:1:COMP_CWORD-1}"; do
    [[ $word == -* ]] || at+=" $word"
  done
  case "$at" in
${cases}  esac
  COMPREPLY=($(compgen -W "$words" -- "\${COMP_WORDS[COMP_CWORD]}"))
}
complete -o default -F _quarterdeck quarterdeck
`;
}

function zsh(all: CompletionNode[]): string {
  const cases = all.map((place) => `    ${patterns(place).join('|')}) compadd -- ${place.words.join(' ')} ;;\n`).join('');
  return `#compdef quarterdeck
_quarterdeck() {
  local word at=''
  for word in "\${(@)words[2,CURRENT-1]}"; do
    [[ $word == -* ]] || at+=" $word"
  done
  case "$at" in
${cases}  esac
}
compdef _quarterdeck quarterdeck
`;
}

function fish(all: CompletionNode[]): string {
  const cases = all
    .map((place) => `    case ${patterns(place).join(' ').replaceAll("'*", "*'")}\n      printf '%s\\n' ${place.words.join(' ')}\n`)
    .join('');
  return `function __quarterdeck_words
  set -l at ''
  for word in (commandline -opc)[2..-1]
    string match -q -- '-*' $word; or set at "$at $word"
  end
  switch "$at"
${cases}  end
end
complete -c quarterdeck -f -a '(__quarterdeck_words)'
`;
}
