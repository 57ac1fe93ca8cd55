import { basename, dirname } from 'node:path';
import ts from 'typescript';
import type { Rule, Source } from './rule.ts';

const maxUnexplainedFiles = 10;
const minCommentLines = 10;

/** The comments before the first statement of a file. */
function openingComment(text: string): string {
  const ranges = ts.getLeadingCommentRanges(text, 0) ?? [];
  return ranges.map(({ pos, end }) => text.slice(pos, end)).join('\n');
}

/** Whether an index.ts above the folder names it in its opening comment, such as `store/` or `views/render`. */
function isNamedAbove(folder: string, explained: ReadonlyMap<string, string>): boolean {
  for (let above = dirname(folder); above !== '.'; above = dirname(above)) {
    const name = folder.slice(above.length + 1);
    if (new RegExp(`(?<![\\w/-])${name}(?![\\w-])`).test(explained.get(above) ?? '')) return true;
  }
  return false;
}

/** A reader of a large room learns first who acts, what flows, which states there are and what survives a crash. */
export const largeRoomsExplainThemselves: Rule<Source[]> = {
  name: 'a folder with more than ten files is explained where it begins',
  enforced: true,
  find: (sources) => {
    const inSrc = sources.filter(({ file }) => file.startsWith('src/'));
    const explained = new Map<string, string>();
    for (const { file, text } of inSrc) {
      const comment = basename(file) === 'index.ts' ? openingComment(text) : '';
      if (comment.split('\n').length >= minCommentLines) explained.set(dirname(file), comment);
    }
    return [...Map.groupBy(inSrc, ({ file }) => dirname(file))]
      .filter(([folder, files]) => files.length > maxUnexplainedFiles && !/^(operations|migrations)$/.test(basename(folder)))
      .filter(([folder]) => !explained.has(folder) && !isNamedAbove(folder, explained))
      .map(([where, files]) => ({
        where,
        what: `holds ${files.length} files; its index.ts must open with a comment of ${minCommentLines} lines or more (actors, flow, states, crashes), or the area's index.ts name it in such a comment`,
      }));
  },
  except: [],
  planted: [
    roomOf('src/areas/x/store', 11),
    [...roomOf('src/kernel/x', 10), { file: 'src/kernel/x/index.ts', text: `${comment(9)}export {};\n` }],
    [...roomOf('src/kernel/x', 10), { file: 'src/kernel/x/index.ts', text: `import './a.ts';\n${comment(12)}export {};\n` }],
    [...roomOf('src/areas/x/store', 11), { file: 'src/areas/x/index.ts', text: comment(12, 'rules/ decides.') }],
    [...roomOf('src/areas/x/store', 11), { file: 'src/areas/x/index.ts', text: comment(12, 'the file y/store/a.ts, and keystore/.') }],
  ],
  innocent: [
    roomOf('src/areas/x/store', 10),
    roomOf('src/areas/x/operations', 40),
    [...roomOf('src/kernel/x', 10), { file: 'src/kernel/x/index.ts', text: `${comment(10)}export {};\n` }],
    [...roomOf('src/areas/x/store', 11), { file: 'src/areas/x/index.ts', text: comment(12, 'store/ holds the SQL.') }],
    [...roomOf('src/areas/x/views/render', 11), { file: 'src/areas/x/index.ts', text: comment(12, '→ `views/render` (HTML)') }],
  ],
};

function roomOf(folder: string, count: number): Source[] {
  return Array.from({ length: count }, (_, n) => ({ file: `${folder}/a${n}.ts`, text: '' }));
}

function comment(lines: number, sentence = 'Actors.'): string {
  return `// ${sentence}\n`.repeat(lines);
}
