import { makeProgram, runProgram } from '../cli/program.ts';
import { registerHealth } from './commands/health.ts';
import { registerServe } from './commands/serve.ts';
import { build } from './kernel/version.ts';

const program = makeProgram(build).commandsGroup('Server:');

registerServe(program);
registerHealth(program);
// A server needs none of the four hundred commands beside it, and a container engine asks for its health all the time.
if (!['serve', 'health'].includes(process.argv[2] ?? '')) await registerOthers();

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
