import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import guardsTable from '../../sdk/generated/guards.json' with { type: 'json' };

const guards = guardsTable as Record<string, { kinds?: string[] }>;
const folder = join(import.meta.dirname, '../../console');
const known = new Set(Object.values(guards).flatMap(({ kinds = [] }) => kinds));

const sources = readdirSync(folder, { recursive: true, encoding: 'utf8' })
  .filter((file) => /\.tsx?$/.test(file))
  .map((file) => ({ file, text: readFileSync(join(folder, file), 'utf8') }));

/** Lists of kinds that have a name: of all files, and of one alone. */
const listsIn = (text: string, pattern: RegExp) => new Map([...text.matchAll(pattern)].map(([, name, list]) => [name!, list!]));
const exported = new Map(sources.flatMap(({ text }) => [...listsIn(text, /export const (\w*[kK]inds) = (\[[^\]]*\])/g)]));

/** The kinds of a piece of code: those it names, those of lists that it names, and those of operations. */
function kindsIn(code: string, own: ReadonlyMap<string, string>): string[] {
  const named = [...code.matchAll(/\b(\w*[kK]inds)\b/g)].map(([, name]) => own.get(name!) ?? exported.get(name!) ?? '');
  const lists = [
    code,
    ...named,
    ...named.flatMap((list) => [...list.matchAll(/\.\.\.(\w+)/g)].map(([, name]) => exported.get(name!) ?? '')),
  ];
  return [
    ...lists.flatMap((list) => [...list.matchAll(/'([a-z]+\.[a-z]+)'/g)].map(([, kind]) => kind!)),
    ...[...code.matchAll(/kindsOf\('(\w+)'\)/g)].flatMap(([, operation]) => guards[operation!]!.kinds ?? []),
  ];
}

/** From an opening parenthesis to the one that closes it. */
function callAt(text: string, from: number): string {
  let depth = 0;
  for (let at = from; at < text.length; at++) {
    if (text[at] === '(') depth++;
    if (text[at] === ')' && --depth === 0) return text.slice(from, at);
  }
  return '';
}

test('a screen asks again after every hint that its readings hang on, and waits for none that never comes', () => {
  let readings = 0;
  const deaf: string[] = [];
  const never: string[] = [];
  for (const { file, text } of sources) {
    const own = listsIn(text, /const (\w*[kK]inds) = (\[[^\]]*\])/g);
    for (const { index } of text.matchAll(/useQuery(?:<[^>(]*>)?\(\{/g)) {
      const call = callAt(text, text.indexOf('(', index));
      const [, given = 'kinds'] = /\bkinds(?::\s*((?:\[[^\]]*\]|[^,\n])*))?,/.exec(call) ?? [];
      const heard = kindsIn(given, own);
      const shown = [...call.matchAll(/\b(?:api|client)\.\w+\.(\w+)/g)].flatMap(([, operation]) => guards[operation!]?.kinds ?? []);
      if (shown.length) readings++;
      for (const kind of shown)
        if (!heard.includes(kind) && !/getOverview/.test(call)) deaf.push(`${file} shows ${kind} and does not hear of it`);
      for (const kind of heard) if (!known.has(kind)) never.push(`${file} waits for ${kind}`);
    }
  }
  assert.deepEqual([[...new Set(deaf)], [...new Set(never)]], [[], []]);
  assert.ok(readings > 25, String(readings));
});
