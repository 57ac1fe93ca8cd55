import ts from 'typescript';
import { type Rule, type Source, treeOf } from './rule.ts';

/** They stand for so many things that at the top of a file they say none. CONTRIBUTING.md has the words for each. */
const vague = new Set(['within', 'hold', 'found', 'state', 'answer', 'complete']);

const namesAtTheTop = (source: Source): string[] =>
  treeOf(source).statements.flatMap((s) => {
    if (ts.isFunctionDeclaration(s)) return s.name ? [s.name.text] : [];
    return ts.isVariableStatement(s) ? s.declarationList.declarations.map((d) => d.name.getText()) : [];
  });

const at = (text: string): Source[] => [{ file: 'src/areas/x/a.ts', text }];

export const namesSayWhat: Rule<Source[]> = {
  name: 'a name at the top of a file says what it is of',
  enforced: true,
  find: (sources) =>
    sources
      .filter(({ file }) => file.startsWith('src/'))
      .flatMap((source) =>
        namesAtTheTop(source)
          .filter((name) => vague.has(name))
          .map((name) => ({ where: source.file, what: `\`${name}\` stands for many things; use a verb with its object` })),
      ),
  except: [],
  planted: [at('export const found = () => 1;'), at('export async function hold() {}'), at('const state = new Map();')],
  innocent: [at('export function findUpload() { const state = 1; return state; }')],
};

/** How often they still stand in the sources. The number may only fall: lower it with the last of the words that you replaced. */
const maxVagueSubjects = 34;
const vagueSubject = /\b(whoever|nobody)\b/gi;

const countVagueSubjects = (sources: Source[]) => sources.reduce((sum, { text }) => sum + (text.match(vagueSubject)?.length ?? 0), 0);

export const sentencesNameWhoActs: Rule<Source[]> = {
  name: 'a sentence names who acts: the caller, the tenant, the worker; not whoever, not nobody',
  enforced: true,
  find: (sources) => {
    const count = countVagueSubjects(sources);
    if (count === maxVagueSubjects) return [];
    const what = `"whoever" and "nobody" stand ${count} times in the sources, and ${maxVagueSubjects} times in scripts/house/words.ts`;
    return [{ where: 'src', what: `${what}: ${count > maxVagueSubjects ? 'name who acts' : 'lower the number there'}` }];
  },
  except: [],
  planted: [at('nobody '.repeat(maxVagueSubjects + 1)), at(`// ${'Whoever '.repeat(maxVagueSubjects - 1)}`)],
  innocent: [at('whoever '.repeat(maxVagueSubjects))],
};
