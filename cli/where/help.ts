import type { Command as Commander } from 'commander';

/** `quarterdeck help email domains create`: the same as --help behind it. */
export function registerHelp(program: Commander) {
  program
    .command('help')
    .description('help for a command: quarterdeck help email domains create')
    .argument('[command...]', 'the words of the command')
    .action((words: string[]) => {
      let found = program;
      for (const word of words) {
        const next = found.commands.find((each) => each.name() === word || each.aliases().includes(word));
        // The group itself refuses the word, with the nearest that it knows.
        if (!next) return void found.parse([word], { from: 'user' });
        found = next;
      }
      found.outputHelp();
    });
}
