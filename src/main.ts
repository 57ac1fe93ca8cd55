import { makeProgram, runProgram } from '../cli/program.ts';
import { registerServe } from './commands/serve.ts';
import { build } from './kernel/version.ts';

const program = makeProgram(build).commandsGroup('Server:');

registerServe(program);
// A server needs none of the four hundred commands beside it.
if (process.argv[2] !== 'serve') await registerOthers();

async function registerOthers(): Promise<void> {
  const [{ registerProbe }, { registerConfig }, { registerAdmin }] = await Promise.all([
    import('./commands/probe.ts'),
    import('./commands/config.ts'),
    import('./admin/index.ts'),
  ]);
  registerProbe(program);
  registerConfig(program);
  registerAdmin(program);
  const [{ registerUser }, { ownServer }] = await Promise.all([import('../cli/index.ts'), import('./commands/own-server.ts')]);
  registerUser(program, { env: process.env, version: build, server: ownServer }, process.argv.slice(2));
}

runProgram(program);
