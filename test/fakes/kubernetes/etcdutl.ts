import { beginProgram } from './program.ts';

// etcd's tool for files. What it does with snapshots is tested with the real one, in test/clients.

await beginProgram('etcdutl', () => {});
process.stderr.write(`Error: the fake etcdutl does not know ${process.argv.slice(2, 4).join(' ')}\n`);
process.exit(1);
