// Writes the table of settings in docs/operating.md from the configuration. `--check` says whether it is fresh.
import { readFile, writeFile } from 'node:fs/promises';
import { describeSettings } from '../src/kernel/config.ts';

const page = new URL('../docs/operating.md', import.meta.url);
const begin = '<!-- settings: made by `npm run settings` -->\n';
const end = '<!-- end of settings -->\n';

const cell = (text: string) => text.replaceAll('|', '\\|').replaceAll('<', '&lt;');
const rows = describeSettings().map(
  ({ env, fallback, meaning }) =>
    `| \`${env}\` | ${fallback === '' ? 'none' : `\`${fallback.replaceAll(',', ', ')}\``} | ${cell(meaning)} |`,
);
const table = `| setting | default | meaning |\n|---|---|---|\n${rows.join('\n')}\n`;

const text = await readFile(page, 'utf8');
const [from, to] = [text.indexOf(begin), text.indexOf(end)];
if (from < 0 || to < from) throw new Error(`docs/operating.md has lost the lines ${begin.trim()} and ${end.trim()}; put them back`);
const wanted = `${text.slice(0, from + begin.length)}${table}${text.slice(to)}`;
if (!process.argv.includes('--check')) await writeFile(page, wanted);
else if (text !== wanted) {
  console.error('the settings in docs/operating.md are stale: run `npm run settings` and commit it');
  process.exit(1);
}
