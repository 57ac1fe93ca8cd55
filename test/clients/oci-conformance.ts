// The OCI conformance suite itself against a whole server with real credentials: `npm test -- test/clients/oci-conformance.ts`.
// It is a Go program, so it needs Go and the Go module proxy; our own tests state the same expectations with npm alone.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { cp, mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { before, test } from 'node:test';
import { promisify } from 'node:util';
import { quarterdeck } from '../harness/index.ts';

const exec = promisify(execFile);
const suite = 'github.com/opencontainers/distribution-spec/conformance@v0.0.0-20260730175803-fee21197eb94';
let folder: string;

before(async () => {
  folder = await mkdtemp(join(tmpdir(), 'oci-'));
  const { stdout } = await exec('go', ['mod', 'download', '-json', suite], { cwd: folder });
  const source = join(folder, 'suite');
  await cp((JSON.parse(stdout) as { Dir: string }).Dir, source, { recursive: true });
  await exec('chmod', ['-R', 'u+w', source]);
  await exec('go', ['build', '-o', join(folder, 'conformance'), '.'], { cwd: source, timeout: 150_000 });
});

for (const version of ['1.1', 'dev']) {
  test(`the OCI conformance suite, version ${version}`, { timeout: 170_000 }, async (t) => {
    const server = await quarterdeck(t);
    await server.owner.post('/registry/registries', { slug: 'acme' });
    const { body: login } = await server.owner.post('/registry/login-credentials', {});
    const results = join(folder, version);
    const env = {
      ...process.env,
      OCI_REGISTRY: new URL(server.url).host,
      OCI_TLS: 'disabled',
      OCI_VERSION: version,
      OCI_REPO1: 'acme/repo1',
      OCI_REPO2: 'acme/repo2',
      OCI_USERNAME: login.username,
      OCI_PASSWORD: login.password,
      OCI_RESULTS_DIR: results,
    };
    const { stdout } = await exec(join(folder, 'conformance'), [], { env, maxBuffer: 64 * 1024 * 1024 }).catch((error) => error);
    const junit = await readFile(join(results, 'junit.xml'), 'utf8');
    const attributes = /<testsuite ([^>]*)>/.exec(junit)![1]!;
    const count = (what: string) => Number(new RegExp(`\\b${what}="(\\d+)"`).exec(attributes)?.[1] ?? 0);
    const [tests, failures, errors, skipped, disabled] = ['tests', 'failures', 'errors', 'skipped', 'disabled'].map(count) as [
      number,
      number,
      number,
      number,
      number,
    ];
    t.diagnostic(`${tests} checks, ${failures} failures, ${errors} errors, ${skipped} skipped, ${disabled} not of this version`);
    assert.ok(tests > 600, `only ${tests} checks were made`);
    const bad = String(stdout)
      .split('\n')
      .filter((line) => /FAIL|Skip|Error/.test(line));
    assert.deepEqual({ failures, errors, skipped }, { failures: 0, errors: 0, skipped: 0 }, bad.join('\n'));
    if (version === 'dev') await rm(folder, { recursive: true, force: true });
  });
}
