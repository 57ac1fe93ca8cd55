import { createHash } from 'node:crypto';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { etcdutlFlags, parseFlags, refuse, requireFlag } from './flags.ts';
import { beginProgram } from './program.ts';

// etcd's tool for files: snapshots of the fake etcd, whose data is a journal. Revisions that jump, as for a restore, are for the real one, in
// test/clients.

await beginProgram('etcdutl', () => {});
const [noun, verb, path = '', ...more] = process.argv.slice(2);
const flags = parseFlags('etcdutl', etcdutlFlags, more);
if (noun !== 'snapshot') refuse(`Error: the fake etcdutl does not know ${noun}`);
const file = readFileSync(path);
const content = file.subarray(0, -32);
if (!createHash('sha256').update(content).digest().equals(file.subarray(-32))) refuse('Error: expected sha256 does not match');

if (verb === 'status') {
  const last = content.toString().trimEnd().split('\n').at(-1) ?? '';
  process.stdout.write(JSON.stringify({ revision: last === '' ? 1 : JSON.parse(last).revision }));
} else if (verb === 'restore' && !flags.get('bump-revision')) {
  const wal = join(requireFlag(flags, 'data-dir'), 'member', 'wal');
  mkdirSync(wal, { recursive: true, mode: 0o700 });
  writeFileSync(join(wal, 'journal'), content, { mode: 0o600 });
} else refuse(`Error: the fake etcdutl does not know snapshot ${verb} ${more.join(' ')}`);
process.exit(0);
