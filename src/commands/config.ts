import type { Command } from 'commander';
import { type ExplainedSetting, readConfig } from '../kernel/config.ts';

export function registerConfig(program: Command) {
  program
    .command('config')
    .description('show every setting as it is typed, where its value comes from, and what it means')
    .option('--json', 'as JSON')
    .action((options: { json?: boolean }) => {
      const { explained } = readConfig(process.env, process.cwd());
      console.log(options.json ? JSON.stringify(explained, null, 2) : explained.map(settingLines).join('\n'));
    });
}

/** A line for a shell or an environment file, below comments. A secret is a comment too. */
export const settingLines = ({ env, text, value, origin, meaning }: ExplainedSetting): string =>
  `# ${meaning} [${origin}]\n${value === '(set)' ? `# ${env} is set and not shown` : `${env}=${quoted(text)}`}\n`;

const quoted = (text: string): string => (/^[\w@%+=:,./-]*$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`);
