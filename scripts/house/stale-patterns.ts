import ts from 'typescript';
import { lineOf, nodesBelow, type Rule, type Source, treeOf } from './rule.ts';

// A rule that names files keeps its names when files move, and then judges nothing, or excuses what nobody knows. Every alternative of a
// pattern for paths must match a file that there is.

export interface Patterns {
  /** The rules' own sources. */
  rules: Source[];
  /** Every file of the project. */
  files: string[];
}

/** Patterns and texts that name a path below one of these. */
const namesPath = /(^|[^\w.])(src|contract|cli|sdk|test|bench|bin|scripts)\\?\//;

/** Invented files of examples; those in `planted` and `innocent` are known by their place. */
const isInvented = (text: string) => /src\\?\/(areas|drivers|programs)\\?\/x\\?\/|\/a\.ts$/.test(text);

function isExample(node: ts.Node): boolean {
  for (let above = node.parent; above; above = above.parent)
    if (ts.isPropertyAssignment(above) && /^(planted|innocent)$/.test(above.name.getText())) return true;
  return false;
}

interface Group {
  start: number;
  end: number;
  bars: number[];
}

/** Groups of a pattern with the bars between their alternatives; the whole pattern is the first one. */
function groupsOf(pattern: string): Group[] {
  const whole: Group = { start: 0, end: pattern.length, bars: [] };
  const groups = [whole];
  const open = [whole];
  let isInClass = false;
  for (let at = 0; at < pattern.length; at++) {
    const letter = pattern[at];
    if (letter === '\\') at++;
    else if (letter === '[') isInClass = true;
    else if (letter === ']') isInClass = false;
    else if (isInClass) continue;
    else if (letter === '(') {
      const head = /^\((\?[:=!]|\?<[=!]|\?<\w+>)?/.exec(pattern.slice(at))![0];
      const group = { start: at + head.length, end: at, bars: [] };
      groups.push(group);
      open.push(group);
    } else if (letter === ')') open.pop()!.end = at;
    else if (letter === '|') open.at(-1)!.bars.push(at);
  }
  return groups;
}

/** The pattern once for each alternative of each of its groups. */
function alternativesOf(pattern: string): string[] {
  const groups = groupsOf(pattern).filter(({ bars }) => bars.length > 0);
  if (groups.length === 0) return [pattern];
  return groups.flatMap(({ start, end, bars }) => {
    const cuts = [start - 1, ...bars, end];
    return cuts.slice(1).map((cut, i) => pattern.slice(0, start) + pattern.slice(cuts[i]! + 1, cut) + pattern.slice(end));
  });
}

/** Path patterns of a rule's source: regular expressions, and texts that a path is compared with. */
function pathsIn(source: Source): { line: number; alternative: string; matches: (file: string) => boolean }[] {
  const tree = treeOf(source);
  return nodesBelow(tree).flatMap((node) => {
    if (isExample(node)) return [];
    const line = lineOf(tree, node.getStart());
    const pattern = patternOf(node);
    if (pattern !== undefined) {
      if (!namesPath.test(pattern) || isInvented(pattern)) return [];
      return alternativesOf(pattern)
        .filter((alternative) => namesPath.test(alternative))
        .map((alternative) => ({ line, alternative, matches: (file: string) => new RegExp(alternative).test(file) }));
    }
    const isPath =
      ts.isStringLiteral(node) && /^(src|contract|cli|sdk|test|bench|bin)\/[\w./-]+$/.test(node.text) && !isInvented(node.text);
    return isPath ? [{ line, alternative: node.text, matches: (file: string) => file.startsWith(node.text) }] : [];
  });
}

/** A regular expression, or a text that begins like one: the import rules are written so. */
function patternOf(node: ts.Node): string | undefined {
  if (ts.isRegularExpressionLiteral(node)) return node.text.slice(1, node.text.lastIndexOf('/'));
  // `$1`: what a group of another pattern matched.
  return ts.isStringLiteral(node) && node.text.startsWith('^') ? node.text.replaceAll(/\$\d/g, '[^/]+') : undefined;
}

const rule = (text: string): Source[] => [{ file: 'scripts/house/one.ts', text }];
const files = ['src/kernel/cache.ts', 'src/admin/doctor/ports.ts'];

export const patternsMatchFiles: Rule<Patterns> = {
  name: 'a rule that names files names files that there are',
  enforced: true,
  find: ({ rules, files: there }) =>
    rules.flatMap((source) =>
      pathsIn(source)
        .filter(({ matches }) => !there.some(matches))
        .map(({ line, alternative }) => ({ where: `${source.file}:${line}`, what: `\`${alternative}\` matches no file any more` })),
    ),
  except: [],
  planted: [
    { rules: rule("const is = (file) => file === 'src/kernel/gone.ts';"), files },
    { rules: rule('const is = /^src\\/kernel\\/gone\\.ts$/;'), files },
    { rules: rule('const is = /^src\\/kernel\\/(cache|gone)\\.ts$/;'), files },
    { rules: rule('const is = /^src\\/kernel\\/cache\\.ts$|^src\\/gone\\//;'), files },
    { rules: rule("module.exports = { to: { path: '^src/kernel/(cache|gone)' } };"), files },
  ],
  innocent: [
    { rules: rule("const is = (file) => file.startsWith('src/admin/doctor/');"), files },
    { rules: rule('const is = /^src\\/(kernel|admin)\\/([^/]+\\/)?(cache|ports)\\.ts$/;'), files },
    { rules: rule("const planted = 'src/areas/x/open.ts';"), files },
  ],
};
