/** Loaded into a server with --import: of the other areas it has their tables alone, and starts in half the time. What it does with mail is the same. */
import { readdirSync } from 'node:fs';
import { registerHooks } from 'node:module';
import type { AnyArea } from '../../area.ts';
import { email } from '../index.ts';

const folder = new URL('../../', import.meta.url);
const others = readdirSync(folder, { withFileTypes: true }).filter((entry) => entry.isDirectory() && entry.name !== email.name);
const tablesOf = (name: string): AnyArea => ({
  name,
  operations: [],
  migrations: { schema: name, folder: new URL(`${name}/migrations/`, folder) },
});
const hasTables = ({ name }: { name: string }) => readdirSync(new URL(`${name}/`, folder)).includes('migrations');

export const areas: readonly AnyArea[] = [email, ...others.filter(hasTables).map(({ name }) => tablesOf(name))];

registerHooks({
  resolve: (specifier, context, resolveNext) =>
    specifier === '../areas/index.ts'
      ? { url: import.meta.url, format: 'module-typescript', shortCircuit: true }
      : resolveNext(specifier, context),
});
