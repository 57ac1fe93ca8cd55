// Every installed package carries a licence that we may ship under. Unlicense only below a package of our choosing.
import { createRequire } from 'node:module';
import { promisify } from 'node:util';

const checker = createRequire(import.meta.url)('license-checker-rseidelsohn') as {
  init: (o: object, done: (e: Error | null, found: Record<string, { licenses: string | string[] }>) => void) => void;
};
const allowed =
  /^(MIT|MIT-0|BSD(-[23]-Clause)?|BSD\*?|0BSD|ISC|Apache-2\.0|MPL-2\.0|PostgreSQL|CC0-1\.0|Python-2\.0|PSF-2\.0|BlueOak-1\.0\.0|CC-BY-[34]\.0|WTFPL)\*?$/;
const { dependencies, devDependencies, optionalDependencies } = createRequire(import.meta.url)('../package.json') as Record<
  string,
  Record<string, string>
>;
const chosen = new Set(Object.keys({ ...dependencies, ...devDependencies, ...optionalDependencies }));

/** `(MIT OR CC0-1.0)`: one allowed alternative is enough; `A AND B`: both must be. */
const may = (expression: string): boolean => {
  const bare = expression.replaceAll(/[()]/g, '').trim();
  if (/ OR /i.test(bare)) return bare.split(/ OR /i).some(may);
  if (/ AND /i.test(bare)) return bare.split(/ AND /i).every(may);
  return allowed.test(bare);
};

const found = await promisify(checker.init.bind(checker))({ start: '.', excludePrivatePackages: true });
let bad = 0;
for (const [name, { licenses }] of Object.entries(found)) {
  const list = [licenses].flat();
  const own = name.slice(0, name.lastIndexOf('@'));
  if (list.some(may) || (list.includes('Unlicense') && !chosen.has(own)) || own === '@quarterdeck/server') continue;
  bad++;
  console.error(`${name}: ${list.join(', ')} is not among the licences we ship under`);
}
if (Object.keys(found).length < 50) throw new Error('the licence checker saw hardly any package');
process.exit(bad ? 1 : 0);
